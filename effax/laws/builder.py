"""The environment in which programs are generated: typed values, and the steps that made them.

A program is built step by step in an environment of typed values. Each value has a bound on its
size, found as the program is built; what may grow is brought back by a smooth function, and what
an effect is not safe on never reaches it. So programs are finite, and differentiable where their
effects are, by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from effax.effects.effect import Effect
from effax.effects.rows import conversion, elementwise, reduction, shape, transcendental
from effax.effects.types import ShapedArray, bool_, float64, int32, is_float
from effax.laws.domains import DOMAINS, Pointwise, float_effects, other_effects
from effax.laws.sketch import Operand, Sketch, SketchValue, Step, staged

Draw = st.DrawFn
Kind = Callable[["Builder"], None]

LARGEST: Final = 24
"""The largest number of elements of an array in a drawn program."""
_LARGE: Final = 4.0


@attrs.frozen
class Known:
    """A value of the environment: its number, its type, and a bound on its elements."""

    value: SketchValue
    type: ShapedArray
    bound: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape


@attrs.frozen
class Grammar:
    """The kinds of steps that there are, each as often as it is to be drawn."""

    plain: Sequence[Kind] = ()
    holding: Mapping[str, Sequence[Kind]] = attrs.field(factory=dict)
    """Kinds of effects that hold programs, by the name under which they are asked for."""


class Builder:
    """An environment of values, and the steps that made them."""

    def __init__(
        self,
        draw: Draw,
        types: Sequence[ShapedArray],
        depth: int,
        control: frozenset[str],
        grammar: Grammar | None = None,
    ) -> None:
        self.draw = draw
        self.grammar = Grammar() if grammar is None else grammar
        self.types = tuple(types)
        self.depth = depth
        self.control = control
        self.steps: list[Step] = []
        self.known: list[Known] = []
        self.float = next((t.dtype for t in self.types if is_float(t.dtype)), float64)
        for t in self.types:
            self._add(t, 2.0)

    def _add(self, type: ShapedArray, bound: float) -> Known:
        made = Known(SketchValue(len(self.known)), type, bound)
        self.known.append(made)
        return made

    def perform(
        self, effect: Effect, *operands: Known | Operand, bound: float = 1.0, **attributes: Any
    ) -> Any:
        """Add a step; its result (a list of them for an effect of several)."""
        types = tuple(x.type if isinstance(x, Known) else effect.operand_type(x) for x in operands)
        found = effect.infer(types, {k: staged(v) for k, v in attributes.items()})
        results = found if effect.multiple else (found,)
        refs = tuple(x.value if isinstance(x, Known) else x for x in operands)
        self.steps.append(Step(effect, refs, attributes, len(results)))
        made = [self._add(t, bound) for t in results]
        return made if effect.multiple else made[0]

    # ------------------------------------------------------------------------ picking operands

    def of(self, test: Callable[[Known], bool]) -> list[Known]:
        """The values that pass a test, the newest first; references are none."""
        arrays = [k for k in reversed(self.known) if isinstance(k.type, ShapedArray)]
        return [k for k in arrays if test(k)]

    def of_type(self, type: ShapedArray) -> list[Known]:
        """The values of a type, the newest first."""
        return self.of(lambda k: k.type is type)

    def pick(self, test: Callable[[Known], bool]) -> Known | None:
        """One of the values that pass a test; None where there is none."""
        found = self.of(test)
        return self.draw(st.sampled_from(found)) if found else None

    def a_float(self, min_rank: int = 0) -> Known | None:
        """A float value of small size."""
        found = self.pick(lambda k: is_float(k.type.dtype) and len(k.shape) >= min_rank)
        return None if found is None else self.small(found)

    def small(self, x: Known, bound: float = _LARGE) -> Known:
        """The value, or its sine where it may be larger than the bound."""
        if x.bound <= bound or not is_float(x.type.dtype):
            return x
        return self.perform(transcendental.sin, x, bound=1.0)

    def within(self, x: Known, domain: str) -> Known:
        """A smooth function of a value that lies in the domain."""
        if domain == "any":
            return self.small(x)
        low, high = DOMAINS[domain]
        x = self.small(x, (1.0 if domain in ("unit", "inner") else high - low) ** 0.5)
        if domain == "unit":
            return self.perform(elementwise.mul, x, high, bound=high)
        if domain == "inner":
            half = self.perform(elementwise.mul, self.small(x, 1.0), 0.25, bound=0.25)
            return self.perform(elementwise.add, half, 0.5, bound=high)
        squared = self.perform(elementwise.mul, x, x, bound=x.bound**2)
        if domain == "negative":
            opposite = self.perform(elementwise.mul, squared, -1.0, bound=squared.bound)
            return self.perform(elementwise.add, opposite, high, bound=-low)
        return self.perform(elementwise.add, squared, low, bound=high)

    def fitted(self, x: Known, type: ShapedArray) -> Known:
        """A value of the given type made of another: as it is, or its sum, spread out."""
        if x.type.dtype != type.dtype:
            if x.type.dtype not in (bool_, type.dtype) and is_float(type.dtype):
                x = self.perform(elementwise.min, self.perform(elementwise.max, x, -3, bound=9), 3)
            if type.dtype == bool_:
                x = self.perform(conversion.convert_element_type, x, dtype=int32, bound=_LARGE)
            x = self.perform(conversion.convert_element_type, x, dtype=type.dtype, bound=_LARGE)
        if x.shape == type.shape:
            return x
        if x.shape:
            if type.dtype == bool_:
                effect = reduction.reduce_or
            else:
                effect = reduction.reduce_sum
            n = max(1, x.type.size)
            x = self.perform(effect, x, axes=tuple(range(len(x.shape))), bound=n * x.bound)
        if type.shape:
            x = self.perform(shape.broadcast_in_dim, x, shape=type.shape, dims=(), bound=x.bound)
        return self.small(x)

    def sketch(self, outputs: Sequence[Known], name: str = "f") -> Sketch:
        """Return the program built so far, without steps that the outputs do not need."""
        made = Sketch(self.types, tuple(self.steps), tuple(k.value for k in outputs), name)
        return made.without_dead_steps()

    def inner(self, types: Sequence[ShapedArray], steps: int) -> Builder:
        """A builder for a program inside this one."""
        found = Builder(self.draw, types, self.depth - 1, self.control, self.grammar)
        for _ in range(self.draw(st.integers(0, steps))):
            found.step()
        return found

    def step(self) -> None:
        """Add one thing, of a kind that the environment allows."""
        kinds = list(self.grammar.plain)
        if self.depth > 0:
            for name, holding in self.grammar.holding.items():
                if name in self.control:
                    kinds += holding
        self.draw(st.sampled_from(kinds))(self)

    def pointwise(self, choices: Sequence[Pointwise]) -> None:
        """Perform an effect on elements, its operands brought into its domain."""
        chosen = self.draw(st.sampled_from(choices))
        dtypes = [self.float if is_float(d) else d for d in chosen.dtypes]
        first = self.pick(lambda k: k.type.dtype == dtypes[0])
        if first is None:
            return
        operands = [first]
        for dtype in dtypes[1:]:
            peers = self.of_type(first.type.update(dtype=dtype))
            operands.append(self.draw(st.sampled_from(peers)))
        if is_float(chosen.dtypes[0]):
            operands = [self.within(x, d) for x, d in zip(operands, chosen.domains, strict=True)]
        self.perform(chosen.effect, *operands, bound=chosen.bound)


def _floats(b: Builder) -> None:
    b.pointwise([p for p in float_effects() if p.smooth])


def _jumps(b: Builder) -> None:
    b.pointwise([p for p in float_effects() if not p.smooth])


def _others(b: Builder) -> None:
    b.pointwise(other_effects())


POINTWISE: Final = (_floats,) * 7 + (_jumps, _others)
"""Kinds of steps that are effects on elements, as often as they are to be drawn."""
