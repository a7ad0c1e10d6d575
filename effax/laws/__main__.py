"""The laws by classes of programs, or by transformations.

    python -m effax.laws [examples]                          the library's laws, by programs
    python -m effax.laws --markdown asked.py [--into PAGE]   those of transformations, as a table

The file defines `ASKED`, a dict of `effax.laws.Asked` by name.
"""

import argparse
import runpy
import sys
from pathlib import Path

from effax.laws.check import matrix
from effax.laws.table import markdown, write_into


def main() -> None:
    """Read the command line; print a table."""
    parser = argparse.ArgumentParser(prog="python -m effax.laws")
    parser.add_argument("examples", nargs="?", type=int, default=5, help="programs for each cell")
    parser.add_argument("--markdown", metavar="FILE", help="a file that defines ASKED")
    parser.add_argument("--into", metavar="PAGE", type=Path, help="a page to write the table into")
    given = parser.parse_args()
    if given.markdown is None:
        print(matrix(given.examples))
        return
    sys.path.insert(0, str(Path(given.markdown).resolve().parent))
    table = markdown(runpy.run_path(given.markdown)["ASKED"], given.examples)
    print(table)
    if given.into is not None:
        write_into(given.into, table)


main()
