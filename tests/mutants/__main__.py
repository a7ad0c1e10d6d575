"""Mutants of the examples' transforms and of the library's columns, and the laws that find them.

python -m tests.mutants [interval units jvp ...] [--into docs/mutants.md]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.mutants.columns import COLUMNS
from tests.mutants.table import ASKED, of_column, of_transform, row, write_into


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("names", nargs="*", help="transforms and columns; by default all")
    parser.add_argument("--into", type=Path, help="the page whose table is written")
    given = parser.parse_args()
    rows = []
    for name in given.names or [*ASKED, *COLUMNS]:
        counted = of_column(name) if name in COLUMNS else of_transform(name)
        if counted is not None:
            rows.append(counted)
            print(row(counted), flush=True)
            if given.into:
                write_into(given.into, rows)
    return any(one["unexplained"] for one in rows)


sys.exit(main())
