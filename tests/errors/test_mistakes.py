"""Hundreds of common mistakes: JAX's class, the facts that a judgement rests on, nothing internal.

The programs are in `mistakes/programs.toml`, with the judgement of effax's message beside JAX's.
Both messages are in `mistakes/messages.json`, which `python -m tests.errors.mistakes.recording`
writes anew.
"""

import json
import re
import sys

import pytest

from tests.errors.mistakes.recording import MESSAGES, TABLE, of
from tests.errors.mistakes.running import programs

ROWS = programs(TABLE)
RECORDED = json.loads(MESSAGES.read_text())
JUDGEMENTS = {"better", "as good"}
INTERNAL = re.compile(
    r"\b(Variable|Stage|Dual|Batched|Carried|Lifting|Record)\b|INVALID_ARGUMENT"
    r"|effax\.(effects|interpreters|backends|api)\b|(effax|effects|interpreters|backends)/\w+[\w/]*\.py"
)
"""Names of the kernel's classes and of its files, which tell users nothing."""


@pytest.fixture(scope="module")
def found():
    """The errors of all mistakes, made in a process of its own, as some change settings or trees."""
    return of("effax", sys.executable)


def test_the_table_is_complete():
    assert len(ROWS) >= 191
    assert ROWS.keys() == RECORDED.keys()
    for name, row in ROWS.items():
        assert row["judgement"] in JUDGEMENTS, name
        assert row["says"], name
        assert row["judgement"] == "as good" or row["because"], name
        assert len(row["program"].splitlines()) <= 7, name


@pytest.mark.parametrize("name", ROWS)
def test_a_mistake(name, found):
    row, ours, theirs = ROWS[name], found[name], RECORDED[name]["jax"]
    if "another_class" in row:  # the reason
        assert theirs["type"] not in ours["classes"], "the classes agree: delete the reason"
    elif row.get("asks_otherwise"):  # the same built-in class, for another question
        assert "TypeError" in ours["classes"]
    else:
        assert theirs["type"] in ours["classes"]
    for words in row["says"]:
        assert words in ours["message"]
    assert not INTERNAL.search(ours["message"]), ours["message"]


def test_tracebacks_are_shorter_than_jax(found):
    """Causes are cut as errors are: in all, effax prints less than three quarters of the lines."""
    ours = sum(found[name]["lines"] for name in ROWS)
    assert ours < 0.75 * sum(RECORDED[name]["jax"]["lines"] for name in ROWS)


def test_tracebacks_show_no_file_of_effax(found):
    """Public functions cut their tracebacks. Names of settings are another matter."""
    shown = {name for name, one in found.items() if one["foreign"]}
    assert shown <= OUTSIDE_ENTRY_POINTS, "wrap the function with `filtered`"


OUTSIDE_ENTRY_POINTS = {
    "config-unknown",
    "config-wrong-value",
    "print-a-leak",
    "register-twice",
    "uint8-overflow",
}
