"""A user's interpreter as one more column of the matrix, and that the column says what happens."""

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax import matrix
from effax.effects.effect import all_effects, find_effect
from effax.errors import MissingRuleError
from tests.seeing.bounds import Interval, bounds

NAME = "tests/seeing/bounds.py:Interval"
UNIT = Interval(0.5, 1.0)


def column(text, name):
    """Effect to cell, of one column of a printed matrix."""
    head, *lines = text.split("\n\n")[0].splitlines()
    start = head.index(name)
    return {
        line.split()[0]: line[start : start + 10].strip()
        for line in lines
        if line.startswith("  ") and line.strip()
    }


def test_the_column_is_printed(capsys):
    assert matrix.main([NAME]) == 0
    out = capsys.readouterr().out
    cells = column(out, "interval")
    assert cells["add"] == cells["sin"] == cells["mul"] == "rule"
    assert cells["scan"] == cells["while"] == cells["cond"] == cells["call"] == "functor"
    assert cells["rem"] == ""
    assert {line.split()[0] for line in out.splitlines()[-8:]} >= {"jvp", "interval"}
    counted = next(line for line in out.splitlines() if line.startswith("  interval"))
    library = [e for es in matrix.rows(matrix.library_families()).values() for e in es]
    for kind in ("rule", "functor"):
        assert f"{sum(cells[e.name] == kind for e in library)} {kind}" in counted
    assert f"{sum(not cells[e.name] for e in library)} empty" in counted


def test_a_family_of_rows(capsys):
    matrix.main([NAME, "--family", "control"])
    assert set(column(capsys.readouterr().out, "interval").values()) == {"functor"}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("add", lambda x: x + x),
        ("exp", jnp.exp),
        ("scan", lambda x: lax.scan(lambda c, _: (c + 1.0, None), x, None, length=2)[0]),
        ("cond", lambda x: lax.cond(True, jnp.exp, jnp.sin, x)),
        ("rem", lambda x: x % 2.0),
        ("atan2", lambda x: jnp.arctan2(x, x)),
    ],
)
def test_a_cell_says_what_happens(name, run):
    if matrix.column_of(Interval)(find_effect(name)).kind:
        assert isinstance(bounds(run)(UNIT), Interval)
    else:
        with pytest.raises(MissingRuleError, match=name):
            bounds(run)(UNIT)


def test_a_catch_all_is_generic():
    class Counter(effax.Interpreter):
        value: effax.Leaf

    @Counter.default
    def count(effect, *operands, **attributes):
        return Counter(effect(*(x.value for x in operands), **attributes))

    cells = column(matrix.table(Counter), "counter")
    assert cells["rem"] == "generic"
    assert cells["scan"] == "functor"
    assert cells["custom_linear"] in ("functor", "expanded")
    found = Counter.transform(lambda x: x % 2)(Counter(jnp.asarray(np.float32(5))))
    assert float(found.value) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.py:Interval"], "there is no file nowhere.py"),
        (["tests/seeing/bounds.py:Missing"], "no interpreter named 'Missing'"),
        (["no_module_of_this_name:Interval"], "No module named"),
        (["Interval"], "module:Class or file.py:Class"),
        (["--family", "waves"], "no family is named waves"),
    ],
)
def test_bad_arguments_are_refused_in_a_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        matrix.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_the_interpreter_of_the_examples(capsys):
    assert matrix.main(["examples/transforms/interval.py:Interval"]) == 0
    cells = column(capsys.readouterr().out, "interval")
    assert cells["mul"] == cells["sin"] == cells["select_n"] == "rule"
    assert cells["scan"] == "functor"
    ours = {e.name for e in all_effects() if e.family in matrix.library_families()}
    assert [name for name in ours & cells.keys() if not cells[name]] == []
