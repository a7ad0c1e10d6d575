"""Write `messages.json`: how the common mistakes fail under effax, and under JAX.

    python -m tests.errors.mistakes.recording [a Python with JAX]

Without a Python that has JAX, JAX's part stays as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.errors.mistakes.running import programs

HERE = Path(__file__).parent
TABLE, MESSAGES = HERE / "programs.toml", HERE / "messages.json"


def of(library: str, python: str) -> dict[str, Any]:
    """Run all mistakes in a process of their own."""
    settings = {k: v for k, v in os.environ.items() if library == "effax" or k != "PYTHONPATH"}
    settings |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    command = [python, str(HERE / "running.py"), library, str(TABLE)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Run, merge, write."""
    before = json.loads(MESSAGES.read_text()) if MESSAGES.exists() else {}
    ours = of("effax", sys.executable)
    theirs = of("jax", sys.argv[1]) if len(sys.argv) > 1 else {}
    rows = {}
    for name in programs(TABLE):
        row = {"jax": before.get(name, {}).get("jax")}
        if theirs:
            row["jax"] = {k: theirs[name][k] for k in ("type", "lines", "message")}
        row["effax"] = {k: ours[name][k] for k in ("type", "lines", "message")}
        rows[name] = row
    MESSAGES.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
