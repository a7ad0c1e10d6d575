"""Rules of plain English that can be held mechanically."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import all_files, listing, tree

OPENING = re.compile("(What|Who|Whom|Whose|Which|Those|Where|How|That)\\b")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) for each string that stands alone: docstrings, and strings after assignments."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, text.strip()


def test_docstrings_open_with_their_subject():
    """A noun, or a verb: not a clause that has to be read to its end."""
    clauses = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path in all_files()
        for line, text in docstrings(path)
        if OPENING.match(text)
    ]
    assert not clauses, listing(clauses)
