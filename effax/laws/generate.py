"""Well-typed programs, drawn at random over the effects that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from effax.effects.types import ShapedArray, bool_, float64, int32, is_float
from effax.laws.builder import Builder, Draw, Grammar
from effax.laws.control import CONTROL
from effax.laws.kinds import KINDS
from effax.laws.kinds_control import MORE
from effax.laws.sketch import Sketch

_LENGTHS: Final = st.integers(1, 3)
GRAMMAR: Final = Grammar(
    KINDS,
    {name: (kind,) * 3 for name, kind in CONTROL.items()}
    | {name: (kind,) * 2 for name, kind in MORE.items()},
)
CONTROL_KINDS: Final = frozenset(GRAMMAR.holding)


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
    """Draw a program of one to three float inputs and one or two float outputs.

    Args:
      control: names of the kinds of control flow that may occur.
      types: the types of the inputs; drawn by default.
      results: the types of the outputs; drawn by default.
      max_steps: the largest number of steps.
      dtype: the dtype of floats.
      smallest: the least length of an axis.
      ending: the kind of the last step, a name among those of control flow.
    """
    if types is None:
        types = [ShapedArray(draw(shapes(smallest=smallest)), dtype) for _ in range(draw(_LENGTHS))]
    builder = Builder(draw, types, 2, control, GRAMMAR)
    for _ in range(draw(st.integers(1, max_steps))):
        builder.step()
    if ending is not None:
        GRAMMAR.holding[ending][0](builder)
    floats = builder.of(lambda k: is_float(k.type.dtype))
    if results is not None:
        # The newest values first, so that earlier steps are used.
        fitted = [builder.fitted(floats[i % len(floats)], t) for i, t in enumerate(results)]
        return builder.sketch([builder.small(x, 2.0) for x in fitted])
    outputs = [floats[0]]
    if len(floats) > 1 and draw(st.booleans()):
        outputs.append(draw(st.sampled_from(floats[1:])))
    return builder.sketch([builder.small(x, 100.0) for x in outputs])


@st.composite
def mixed_programs(draw: Draw, /, dtype: Any = float64, **options: Any) -> Sketch:
    """Draw a program that may have an integer or a Boolean among its inputs, and empty axes.

    Args:
      dtype: the dtype of floats.
      options: arguments of `programs`.
    """
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
    """Draw values for the inputs of a sketch, within the bound it was built for.

    Args:
      sketch: the program.
      seed: the number that the values are drawn from.
    """
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
