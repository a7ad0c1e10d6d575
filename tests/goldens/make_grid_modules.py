"""Writes grid_<table>.json: what jax says to cases of tests/grid's tables of lax, nn, scipy, trees.

    python -m tests.goldens.make_grid_modules [special stats ...]    (from the root)

Run by effax's Python; jax is asked in the process that EFFAX_BENCH_JAX names.
"""

import sys

from tests.grid.ask import Oracle, jax_python
from tests.grid.play import record
from tests.grid.test_modules import GOLDENS, TABLES, table

# Cases of a function, by table: as many as there are ways to call it, about.
COUNTS = {"lax_shapes": 3, "trees": 3, "lax_folds": 3}


def main() -> None:
    python = jax_python()
    if python is None:
        raise SystemExit("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    oracle = Oracle(python)
    for name in sys.argv[1:] or TABLES:
        record(table(name), GOLDENS / f"grid_{name}.json", oracle, COUNTS.get(name, 2))
        print(name, len(table(name)), "functions")
    oracle.close()


if __name__ == "__main__":
    main()
