"""Ask effax and JAX what nobody thought of, for so many seconds.

    python -m tests.fuzz [--seconds 120] [--seed N] [--only 'jnp.sort*'] [--recheck] [--show]
                         [--platform cuda] [--into build/fuzz]

from the root, in effax's environment; EFFAX_BENCH_JAX names a Python that has jax, else
.venv-bench's is taken. With `--platform` effax is asked there and on the CPU, and JAX nowhere. The
seed is today's by default, and a run goes on where the last one with its seed ended. `--recheck`
asks what was found again and forgets what is mended. The journal is in build/fuzz; the exit status
is 1 if a finding is grave.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from tests.fuzz.journal import Journal
from tests.fuzz.judge import GRAVE
from tests.fuzz.run import Run, effax_beside, effax_on
from tests.grid.ask import ROOT, jax_python


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    parser.add_argument("--only", default="*", help="a pattern of functions")
    parser.add_argument("--platform", help="an accelerator, whose answers are to be the CPU's")
    parser.add_argument("--into", type=Path, default=ROOT / "build/fuzz")
    parser.add_argument("--recheck", action="store_true", help="ask the findings again")
    parser.add_argument("--show", action="store_true", help="print the findings, ask nothing")
    given = parser.parse_args()
    journal = Journal(given.into)
    if not given.show:
        python = jax_python()
        if python is None and not given.platform:
            print("no Python with jax is here: EFFAX_BENCH_JAX can name one")
            return 2
        both = effax_on(given.platform) if given.platform else effax_beside(str(python))
        with Run(both, journal) as run:
            if given.recheck:
                run.recheck(given.only)
            else:
                run.spend(given.seconds, given.seed, given.only)
    for finding in journal.recall():
        print(f"{finding.function} {finding.kind}: {finding.case.line()}\n    {finding.why[:300]}")
    print(journal.summary())
    return int(any(f.kind in GRAVE for f in journal.recall()))


if __name__ == "__main__":
    sys.exit(main())
