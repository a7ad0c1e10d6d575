"""The laws of rules that programs bring, of transforms that keep them and of one that does not."""

import pytest

import effax as fx
from effax import laws, traits

NAMES = (
    "jvp (T f) = the rule of f, which custom_jvp gives",
    "grad (T f) = the rule of f, which custom_vjp gives",
    "vmap (T f) = the rule of f, which custom_vmap gives",
)


class Kept(fx.Interpreter):
    value: fx.Leaf(primal=True)


@Kept.default
def on_values(effect, *operands, **attributes):
    return Kept.map(effect, *operands, **attributes)


class Opening(Kept):
    """Says that a leaf is the value, and opens bodies all the same."""


@Opening.rule(fx.effects.custom_jvp_call, fx.effects.custom_vjp_call, fx.effects.custom_vmap_call)
def opened(*operands, program, run, **_):
    return run(program, *operands)


class Watched(fx.Interpreter, every=True):
    """Owns no value, and counts."""

    n: fx.State = 0.0


@Watched.default
def count(effect, *operands, state, **attributes):
    if effect in traits.composite:
        return NotImplemented
    state.n = state.n + 1.0
    return effect(*operands, **attributes)


def _verdicts(cls, embed=None):
    found = laws.check(cls.transform, embed=embed, laws=NAMES, max_examples=8)
    return [v.verdict for v in found.verdicts]


def test_rules_are_kept():
    assert _verdicts(Kept, lambda *xs: tuple(map(Kept, xs))) == ["true"] * 3
    assert _verdicts(Watched) == ["true"] * 3


def test_an_opened_body_is_found():
    assert _verdicts(Opening, lambda *xs: tuple(map(Opening, xs))) == ["false"] * 3


def test_who_has_no_leaf_that_is_the_value_is_not_asked():
    class Pair(fx.Interpreter):
        one: fx.Leaf
        two: fx.Leaf

    with pytest.raises(ValueError, match="no law named"):
        laws.check(Pair.transform, laws=NAMES)
