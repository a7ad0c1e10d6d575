"""Writes grid_numpy.json: what JAX and NumPy say to cases of the tables of tests/grid/test_numpy.py.

    python -m tests.goldens.make_grid_numpy [name ...]

from the root, in effax's environment; a Python with jax is asked (EFFAX_BENCH_JAX). Cases are drawn
of functions that are not in the file yet, and again of those that are named; they follow from the
function's name, by a seed. To draw all again, remove the file.
"""

import sys

from tests.grid.ask import ROOT, Oracle, jax_python
from tests.grid.found_numpy import FOUND
from tests.grid.play import record


def main() -> None:
    from tests.grid.test_numpy import TABLE

    python = jax_python()
    if python is None:
        raise SystemExit("no Python with jax here: EFFAX_BENCH_JAX names one")
    oracle = Oracle(python)
    try:
        path = ROOT / "tests/goldens/grid_numpy.json"
        record(TABLE, path, oracle, only=sys.argv[1:], also=FOUND)
    finally:
        oracle.close()


if __name__ == "__main__":
    main()
