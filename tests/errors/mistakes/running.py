"""Run common mistakes under one library, effax or JAX, and note how each fails.

JAX runs them in a process of its own, so this file imports neither library by itself:

    python tests/errors/mistakes/running.py jax tests/errors/mistakes/programs.toml
"""

from __future__ import annotations

import contextlib
import importlib
import json
import linecache
import os
import re
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Print nothing meanwhile."""
    with open(os.devnull, "w") as nothing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            yield


def steady(message: str) -> str:
    """A message without what differs from run to run: addresses, and folders on the disk."""
    message = re.sub(r"0x[0-9a-f]{6,}", "0x...", message)
    message = re.sub(r"object id \d+", "object id ...", message)
    return re.sub(r"(?<![\w.])/[\w./-]*/(?=\w+/[\w.-]+\.py)", ".../", message)


def foreign_files(error: BaseException, library: str) -> list[str]:
    """The library's own files in the traceback of an error or of one of its causes."""
    found, shown = [], error
    while shown is not None and len(found) < 100:
        found += [frame.filename for frame in traceback.extract_tb(shown.__traceback__)]
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    return [file for file in found if f"/{library}/" in file]


def run(library: str, name: str, text: str) -> dict[str, Any]:
    """Run a program; describe its error: classes, message, lines printed, files of the library."""
    jax, jnp = importlib.import_module(library), importlib.import_module(f"{library}.numpy")
    names = {"jax": jax, "jnp": jnp, "np": importlib.import_module("numpy"), "__name__": "mistake"}
    file = f"{name}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    try:
        with silent():
            exec(compile(text, file, "exec"), names)
    except Exception as error:
        return {
            "type": type(error).__name__,
            "classes": [cls.__name__ for cls in type(error).__mro__],
            "message": steady(str(error)),
            "lines": sum(part.count("\n") for part in traceback.format_exception(error)),
            "foreign": foreign_files(error, library),
        }
    raise AssertionError(f"{name} does not fail under {library}")


def programs(path: str | Path) -> dict[str, dict[str, Any]]:
    """The table of mistakes."""
    return tomllib.loads(Path(path).read_text())


if __name__ == "__main__":
    found = {n: run(sys.argv[1], n, row["program"]) for n, row in programs(sys.argv[2]).items()}
    print(json.dumps(found))
