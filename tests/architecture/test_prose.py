"""Rules of plain English that can be held mechanically."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import all_files, library_files, listing, tree

OPENING = re.compile("(What|Who|Whom|Whose|Which|Those|Where|How|That)\\b")


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) for each string that stands alone: docstrings, and strings after assignments."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, text.strip()


def text_of(node: ast.expr) -> str:
    """The text of a string literal, with `{}` for each value that is formatted; "" of others."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr():
            return "".join(map(text_of, node.values))
        case ast.FormattedValue():
            return "{}"
    return ""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) for each literal message of an error or a warning."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called == "warn" or called.endswith(("Error", "Warning")):
                texts = [text for x in node.args if " " in (text := text_of(x))]
                yield from ((node.lineno, text) for text in texts)


def test_docstrings_open_with_their_subject():
    """A noun, or a verb: not a clause that has to be read to its end."""
    clauses = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path in all_files()
        for line, text in docstrings(path)
        if OPENING.match(text)
    ]
    assert not clauses, listing(clauses)


RULES = {
    "(?i)(what|who|whom|whose|which|those|how) ": "open with the function, the argument or a noun",
    r".*\b(Variable|Stage|Dual|Batched|Record|Lifting|Interpretation)\b": (
        "users don't know the kernel's classes: say 'a traced value' (errors.describe_value)"
    ),
    r".*\bjax\.": "this library is effax",
    r".*(?<!here )\b(is|are) no (?!longer)": "say 'is not a', 'must be' or 'expected'",
    r".*\b(of|by) (such|theirs)\b": "name the thing",
}
"""Patterns of text that no message matches, each with the advice."""


@pytest.mark.parametrize("pattern", RULES)
def test_messages_speak_plainly(pattern):
    found = [
        f"{path}:{line}: {text}: {RULES[pattern]}"
        for path in library_files()
        for line, text in messages(path)
        if re.match(pattern, text, re.DOTALL)
    ]
    assert not found, listing(found)


def test_messages_are_found(tmp_path):
    """All forms of a message, so that the test above can fail."""
    path = tmp_path / "planted.py"
    path.write_text(
        "raise ValueError(f'what {x} is')\n"
        "raise errors.RefError('a Dual is no array') from None\n"
        "warnings.warn('see jax.numpy', stacklevel=2)\n"
    )
    found = [text for _, text in messages(path)]
    assert found == ["what {} is", "a Dual is no array", "see jax.numpy"]
    assert [any(re.match(p, text) for p in RULES) for text in found] == [True] * 3
