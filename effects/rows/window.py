"""Windows: effects that fold a box sliding over an array, and the gradients of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, NONE, SOUND, Facts
from effax.effects.program import Program
from effax.effects.rows.reduction import check_body
from effax.effects.signature import NUMERIC, ORDERED, require
from effax.effects.types import ShapedArray
from effax.effects.value import greatest

FAMILY = "window"

Lengths = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


def dilated(length: int, dilation: int) -> int:
    """The length of an axis whose elements come `dilation` places apart."""
    return 0 if length == 0 else 1 + dilation * (length - 1)


def windows(
    name: str,
    shape: Lengths,
    window_dimensions: Lengths,
    window_strides: Lengths,
    padding: Padding,
    base_dilation: Lengths,
    window_dilation: Lengths,
) -> Lengths:
    """Count the windows along each axis; raise `TypeError` where the parameters do not fit."""
    given: dict[str, Any] = {
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
        "base_dilation": base_dilation,
        "window_dilation": window_dilation,
    }
    for parameter, numbers in given.items():
        if len(numbers) != len(shape):
            raise TypeError(
                f"{name}: {parameter} must have one entry for each axis of shape {shape}, but it "
                f"is {numbers}"
            )
        if parameter != "padding" and any(n < 1 for n in numbers):
            raise TypeError(
                f"{name}: {parameter} must have every element be positive, got {numbers}"
            )
    counts = []
    for n, size, stride, (low, high), apart, holes in zip(shape, *given.values(), strict=True):
        room = dilated(n, apart) + low + high - dilated(size, holes)
        counts.append(greatest(room // stride + 1, 0))
    return tuple(counts)


def _window_reduction(name: str, kind: str, *, facts: Facts = NONE) -> Effect:
    def typing(x: ShapedArray, **window: Any) -> ShapedArray:
        require(name, kind, x)
        return x.update(shape=windows(name, x.shape, **window))

    return Effect(name, family=FAMILY, typing=typing, facts=facts)


reduce_window_sum = _window_reduction("reduce_window_sum", NUMERIC, facts=LINEAR)
"""`reduce_window_sum(x, window_dimensions, window_strides, padding, base_dilation,
window_dilation)`: the sum in each window; padding is with 0."""
reduce_window_max = _window_reduction("reduce_window_max", ORDERED, facts=SOUND)
"""The largest element in each window, with the parameters of `reduce_window_sum`."""
reduce_window_min = _window_reduction("reduce_window_min", ORDERED, facts=SOUND)
"""The smallest element in each window, with the parameters of `reduce_window_sum`."""


def _reduce_window_type(
    *operands: ShapedArray, body: Program, **window: Any
) -> Sequence[ShapedArray]:
    n = len(operands) // 2
    xs, inits = operands[:n], operands[n:]
    if not n or len(operands) != 2 * n:
        raise TypeError(
            "reduce_window: expected one initial value for each array, and at least one array"
        )
    for x, init in zip(xs, inits, strict=True):
        if init.shape:
            raise TypeError(
                "reduce_window expected init_values to be scalars but init_values have shapes "
                f"{[tuple(i.shape) for i in inits]}."
            )
        if x.shape != xs[0].shape or init.dtype != x.dtype:
            raise TypeError(
                f"reduce_window: arrays must have one shape, and initial values their dtypes, but "
                f"{x.str_short()} comes with {init.str_short()}"
            )
    check_body("reduce_window", body, tuple(x.update(shape=(), weak_type=False) for x in xs))
    counts = windows("reduce_window", xs[0].shape, **window)
    return [x.update(shape=counts) for x in xs]


reduce_window = Effect(
    "reduce_window",
    family=FAMILY,
    typing=_reduce_window_type,
    multiple=True,
    higher_order=True,
)
"""`reduce_window(*operands, *inits, body, window_dimensions, ...)`: fold each window by a program.

`body` is as in `reduce`; padding is with the initial values.
"""


def _select_and_gather_type(
    tangents: ShapedArray, x: ShapedArray, *, select: str, **window: Any
) -> ShapedArray:
    if tangents.shape != x.shape or tangents.dtype != x.dtype:
        raise TypeError(
            f"select_and_gather_add: {tangents.str_short()} and {x.str_short()} must be equal"
        )
    _check_select("select_and_gather_add", select)
    return tangents.update(shape=windows("select_and_gather_add", x.shape, **window))


def _check_select(name: str, select: str) -> None:
    if select not in ("ge", "le"):
        raise TypeError(f"{name}: select must be 'ge' or 'le', not {select!r}")


select_and_gather_add = Effect(
    "select_and_gather_add",
    family=FAMILY,
    typing=_select_and_gather_type,
    facts=SOUND,
)
"""`select_and_gather_add(tangents, x, select, window_dimensions, ...)`: of each window, the
tangent that belongs to its largest ('ge') or smallest ('le') element, the first of equals."""


def _select_and_scatter_type(
    source: ShapedArray,
    x: ShapedArray,
    *,
    select: str,
    window_dimensions: Lengths,
    window_strides: Lengths,
    padding: Padding,
) -> ShapedArray:
    ones = (1,) * x.ndim
    name = "select_and_scatter_add"
    counts = windows(name, x.shape, window_dimensions, window_strides, padding, ones, ones)
    if source.shape != counts or source.dtype != x.dtype:
        raise TypeError(
            f"{name}: {x.str_short()} has windows {counts}, but the source is {source.str_short()}"
        )
    _check_select(name, select)
    return x.strong()


select_and_scatter_add = Effect(
    "select_and_scatter_add", family=FAMILY, typing=_select_and_scatter_type
)
"""`select_and_scatter_add(source, x, select, window_dimensions, window_strides, padding)`: each
element of source added where its window of x is largest ('ge') or smallest ('le'), the first of
equals. The transpose of `select_and_gather_add`."""
