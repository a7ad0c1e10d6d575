"""A few mutants each day; `python -m tests.mutants` asks all of them."""

import datetime

import pytest

import effax as fx
from effax.laws import check
from effax.laws.failures import FAILURES
from tests.mutants import columns
from tests.mutants.survivors import SURVIVORS, UNASKED
from tests.mutants.table import ASKED, class_of, of_column, of_transform
from tests.mutants.transforms import finds, mutants

EACH = 8
QUICK = "units", "nan_provenance", "cost", "harvest", "seed", "adev", "dual", "batched"


@pytest.mark.parametrize("name", QUICK)
def test_mutants_of_the_day_are_found(name):
    asked = ASKED[name]
    cls = class_of(asked)
    every = list(mutants(cls))
    today = datetime.date.today().toordinal()
    chosen = [every[(today * EACH + i) % len(every)] for i in range(min(EACH, len(every)))]
    missed = [x.name for x in chosen if finds(asked, cls, x) == ""]
    assert not set(missed) - set(SURVIVORS.get(name, ()))


@pytest.mark.parametrize(
    "name",
    [
        "div: division check dropped",
        "log: NaN check dropped",
        "gather: bounds check dropped",
        "scatter_add: bounds check dropped",
        "dynamic_slice: bounds check dropped",
    ],
)
def test_a_check_that_is_dropped_is_missed(name):
    (mutant,) = (x for x in columns.mutants("checkify") if x.name == name)
    assert columns.finds("checkify", mutant) == FAILURES.name


LINEAR = "psum", "all_gather", "ppermute", "all_to_all", "reduce_scatter"
COLLECTIVES = {
    "jvp": (*LINEAR, "ragged_all_to_all"),
    "transpose": (*LINEAR, "ragged_all_to_all"),
    "batch": (*LINEAR, "axis_index", "pmax", "pmin"),
}


@pytest.mark.parametrize(
    "column, name", [(c, n) for c, names in COLLECTIVES.items() for n in names]
)
def test_collectives_with_a_wrong_rule_break_a_law(monkeypatch, column, name):
    """They are asked in whole programs alone, as these bind the axis."""
    rules = columns.COLUMNS[column].rules
    effect = next(e for e in rules if e.name == name)
    right = rules[effect]

    def wrong(*args, **how):
        return fx.tree.map(lambda x: x * 1.5 if hasattr(x, "dtype") else x, right(*args, **how))

    asked = [
        "collectives_are_of_the_batch",
        "collectives_forwards",
        "collectives_backwards",
    ]
    assert check(laws=asked, max_examples=4).holds
    monkeypatch.setitem(rules, effect, wrong)
    assert not check(laws=asked, max_examples=4).holds


def test_each_effect_that_is_not_asked_has_a_reason():
    missing = {name for column in columns.COLUMNS for name in columns.unasked(column)}
    assert missing == set(UNASKED)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ASKED, *columns.COLUMNS])
def test_mutants_that_no_law_finds_have_reasons(name):
    counted = of_column(name) if name in columns.COLUMNS else of_transform(name)
    if counted is not None:
        assert not counted["unexplained"]
        reasons = SURVIVORS.get(name, {}).values()
        harmless = sum(not why.startswith("supposed, not shown") for why in reasons)
        wrong = counted["of"] - harmless
        assert counted["found"] >= 0.95 * wrong or wrong < 20


def test_the_mutants_that_survive_exist():
    for name, reasons in SURVIVORS.items():
        if name in ASKED:
            known = {x.name for x in mutants(class_of(ASKED[name]))}
        else:
            known = {x.name for x in columns.mutants(name)}
        assert set(reasons) <= known, name
