"""Programs of one effect: what a rule is asked about by itself, before whole programs.

Operands are of the effect's signature: shapes of rank 0 to 2 and with axes of length 0 and 1, two
widths of floats, attributes as the kinds of steps draw them, and among the values zeros, ones, ties
and both signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from effax.effects import config
from effax.effects.effect import Effect
from effax.effects.rows import conversion
from effax.effects.rows.complex import imag, real
from effax.effects.types import ShapedArray, bool_, float32, float64, int32, is_complex
from effax.laws.builder import POINTWISE, Builder, Draw, Known
from effax.laws.domains import float_effects, other_effects
from effax.laws.generate import shapes
from effax.laws.sketch import Sketch

Kind = Callable[[Builder], Any]
_ASKED: Final = 40
"""The number of environments in which each kind of steps is tried, to see its effects."""
_TRIES: Final = 4
"""The number of steps drawn in one environment until one of them performs the effect."""


@st.composite
def environments(draw: Draw, dtype: Any = None, floats: bool = False) -> Builder:
    """A builder with nothing in it but inputs: two or three floats of one type, and an integer.

    With `floats` there are no others, and no empty axes.
    """
    width = draw(st.sampled_from((float64, float32))) if dtype is None else dtype
    smallest = 1 if floats else draw(st.sampled_from((1, 1, 1, 0)))
    types = [ShapedArray(draw(shapes(smallest=smallest)), width)] * 2
    if draw(st.booleans()):
        types.append(ShapedArray(draw(shapes()), width))
    if not floats:
        types += draw(st.sampled_from(([], [ShapedArray((), int32)], [ShapedArray((), bool_)])))
    return Builder(draw, types, 0, frozenset())


@cache
def _kinds() -> Mapping[Effect, Sequence[Kind]]:
    """For each effect the kinds of steps that perform it, found by trying each of them."""
    from effax.laws.kinds import KINDS
    from effax.laws.kinds_alone import ALONE

    found: dict[Effect, list[Kind]] = {}
    for p in (*float_effects(), *other_effects()):
        found.setdefault(p.effect, []).append(partial(Builder.pointwise, choices=[p]))
    for kind in dict.fromkeys(k for k in KINDS if k not in POINTWISE):
        for effect in performed_by(kind):
            kinds = found.setdefault(effect, [])
            if kind not in kinds:
                kinds.append(kind)
    for alone in ALONE:
        for effect in performed_by(alone, last=True):
            found.setdefault(effect, []).append(alone)
    return found


def performed_by(kind: Kind, last: bool = False) -> list[Effect]:
    """The effects that a kind of steps performs, or ends with, in some environment or other."""
    found: dict[Effect, None] = {}

    @settings(
        max_examples=_ASKED,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(environments(float64))
    def note(b: Builder) -> None:
        kind(b)
        found.update(dict.fromkeys(step.effect for step in (b.steps[-1:] if last else b.steps)))

    with config.enable_x64(True):
        note()
    return list(found)


def kinds_of(effects: Iterable[Effect], steps: Iterable[Kind] = ()) -> dict[Effect, Sequence[Kind]]:
    """For each of some effects the kinds of steps that perform it; `steps` are of a user's own.

    Effects that no kind performs are left out.
    """
    known = dict(_kinds())
    for kind in steps:
        for effect in performed_by(kind):
            known[effect] = [*known.get(effect, ()), kind]
    return {effect: known[effect] for effect in effects if effect in known}


@st.composite
def one_step(draw: Draw, effect: Effect, kinds: Sequence[Kind], floats: bool = False) -> Sketch:
    """A program whose results are those of one effect; other steps only bring operands to it.

    With `floats` all inputs are floats of 64 bits, and results are converted to such.
    """
    b = draw(environments(float64 if floats else None, floats))
    made: list[Known] = []
    for _ in range(_TRIES):
        draw(st.sampled_from(list(kinds)))(b)
        made = _made_by(effect, b)
        if made:
            break
    else:  # the environment has no operands for this effect
        reject()
    if floats:
        made = [x for k in made for x in _as_floats(b, k)]
    return b.sketch(made)


def _made_by(effect: Effect, b: Builder) -> list[Known]:
    """The arrays that the last step of an effect made."""
    made: list[Known] = []
    n = len(b.types)
    for step in b.steps:
        if step.effect is effect:
            made = [k for k in b.known[n : n + step.results] if isinstance(k.type, ShapedArray)]
        n += step.results
    return made


def _as_floats(b: Builder, x: Known) -> list[Known]:
    """A value as floats of 64 bits, its two parts where it is complex."""
    if is_complex(x.type.dtype):
        return [b.perform(part, x, bound=x.bound) for part in (real, imag)]
    if x.type.dtype == float64:
        return [x]
    return [b.perform(conversion.convert_element_type, x, dtype=float64, bound=x.bound)]
