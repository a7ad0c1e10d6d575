"""Well-typed programs, drawn at random over the effects that there are.

A program is built step by step in an environment of typed values. Each value has a bound on its
size, found as the program is built; what may grow is brought back by a smooth function, and what
an effect is not safe on never reaches it. So programs are finite, and differentiable where their
effects are, by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from effax.effects import conversion, elementwise, reduction, shape, transcendental
from effax.effects.effect import Effect
from effax.effects.types import ShapedArray, bool_, float64, int32, is_float
from effax.laws.domains import DOMAINS, Pointwise, float_effects, other_effects
from effax.laws.sketch import Operand, Sketch, Step, Value, staged

Draw = st.DrawFn

LARGEST: Final = 24
"""How many elements an array of a program has at most."""
_LARGE: Final = 4.0


@attrs.frozen
class Known:
    """A value of the environment: its number, its type, and a bound on its elements."""

    value: Value
    type: ShapedArray
    bound: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape


class Builder:
    """An environment of values, and the steps that made them."""

    def __init__(
        self, draw: Draw, types: Sequence[ShapedArray], depth: int, control: frozenset[str]
    ) -> None:
        self.draw = draw
        self.types = tuple(types)
        self.depth = depth
        self.control = control
        self.steps: list[Step] = []
        self.known: list[Known] = []
        self.float = next((t.dtype for t in self.types if is_float(t.dtype)), float64)
        for t in self.types:
            self._add(t, 2.0)

    def _add(self, type: ShapedArray, bound: float) -> Known:
        made = Known(Value(len(self.known)), type, bound)
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
        """What was built, without what the outputs do not need."""
        made = Sketch(self.types, tuple(self.steps), tuple(k.value for k in outputs), name)
        return made.without_dead_steps()

    def inner(self, types: Sequence[ShapedArray], steps: int) -> Builder:
        """A builder for a program inside this one."""
        found = Builder(self.draw, types, self.depth - 1, self.control)
        for _ in range(self.draw(st.integers(0, steps))):
            found.step()
        return found

    def step(self) -> None:
        """Add one thing, of a kind that the environment allows."""
        from effax.laws.control import CONTROL
        from effax.laws.kinds import KINDS
        from effax.laws.kinds_control import MORE

        kinds: list[Callable[[Builder], None]] = list(KINDS)
        if self.depth > 0:
            kinds += [k for name, k in CONTROL.items() if name in self.control for _ in range(3)]
            kinds += [k for name, k in MORE.items() if name in self.control for _ in range(2)]
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


_LENGTHS: Final = st.integers(1, 3)
CONTROL_KINDS: Final = frozenset(
    {
        *("call", "remat", "cond", "scan", "while", "state"),
        *("rules", "policy", "checkpointed", "checked", "host", "solving"),
    }
)


def shapes(max_rank: int = 2, smallest: int = 1) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of small arrays."""
    return st.lists(st.integers(smallest, 3), min_size=0, max_size=max_rank).map(tuple)


@st.composite
def programs(
    draw: Draw,
    control: frozenset[str] = CONTROL_KINDS,
    types: Sequence[ShapedArray] | None = None,
    results: Sequence[ShapedArray] | None = None,
    max_steps: int = 7,
    dtype: Any = float64,
    smallest: int = 1,
    ending: str | None = None,
) -> Sketch:
    """Programs of one to three float inputs and one or two float outputs.

    `control` names the kinds of control flow that may occur, `smallest` is the least length of an
    axis. Where they are given, `types` are those of the inputs, and `results` of the outputs;
    and the last step is of the kind `ending`, a name among those of control flow.
    """
    from effax.laws.control import CONTROL
    from effax.laws.kinds_control import MORE

    if types is None:
        types = [ShapedArray(draw(shapes(smallest=smallest)), dtype) for _ in range(draw(_LENGTHS))]
    builder = Builder(draw, types, 2, control)
    for _ in range(draw(st.integers(1, max_steps))):
        builder.step()
    if ending is not None:
        {**CONTROL, **MORE}[ending](builder)
    floats = builder.of(lambda k: is_float(k.type.dtype))
    if results is not None:
        # The newest first, so that what was built is used.
        fitted = [builder.fitted(floats[i % len(floats)], t) for i, t in enumerate(results)]
        return builder.sketch([builder.small(x, 2.0) for x in fitted])
    outputs = [floats[0]]
    if len(floats) > 1 and draw(st.booleans()):
        outputs.append(draw(st.sampled_from(floats[1:])))
    return builder.sketch([builder.small(x, 100.0) for x in outputs])


@st.composite
def mixed_programs(draw: Draw, /, dtype: Any = float64, **options: Any) -> Sketch:
    """Programs that may have an integer or a Boolean among their inputs, and empty axes."""
    types = [ShapedArray(draw(shapes(smallest=0)), dtype)]
    if draw(st.booleans()):
        types.append(ShapedArray(draw(shapes(smallest=0)), draw(st.sampled_from((int32, bool_)))))
    return draw(programs(types=types, **options))


def drawn(n: int, **options: Any) -> list[Sketch]:
    """`n` programs, the same ones each time; options are those of `programs`."""
    found: list[Sketch] = []

    @settings(
        max_examples=n,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(**options))
    def keep(sketch: Sketch) -> None:
        found.append(sketch)

    keep()
    return found


def arguments(sketch: Sketch, seed: int) -> list[np.ndarray[Any, Any]]:
    """Values for the inputs of a sketch, within the bound it was built for."""
    generator = np.random.default_rng(seed)
    values = []
    for t in sketch.types:
        if is_float(t.dtype):
            values.append(generator.uniform(-2, 2, t.shape).astype(t.dtype))
        elif t.dtype == bool_:
            values.append(generator.integers(0, 2, t.shape).astype(bool))
        else:
            values.append(generator.integers(-2, 3, t.shape).astype(t.dtype))
    return values


EDGES: Final = np.array([-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0])
"""Values where rules change: both signs, zero, one, and ties among them."""


def edge_arguments(sketch: Sketch, seed: int) -> list[np.ndarray[Any, Any]]:
    """Values for the inputs of a sketch, all of them from `EDGES`."""
    generator = np.random.default_rng(seed)
    return [np.asarray(generator.choice(EDGES, t.shape)).astype(t.dtype) for t in sketch.types]


def _floats(b: Builder) -> None:
    b.pointwise([p for p in float_effects() if p.smooth])


def _jumps(b: Builder) -> None:
    b.pointwise([p for p in float_effects() if not p.smooth])


def _others(b: Builder) -> None:
    b.pointwise(other_effects())


POINTWISE: Final = (_floats,) * 7 + (_jumps, _others)
"""Kinds of steps that are effects on elements, as often as they are to be drawn."""
