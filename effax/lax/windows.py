"""Folds of windows that slide over an array."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.rows import window
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.effects.value import greatest, length
from effax.lax.folds import WINDOWS, folded, monoid
from effax.operands.arguments import broadcast, strong


def _padding(
    padding: Any,
    lengths: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    if not isinstance(padding, str):
        return tuple((python_operator.index(a), python_operator.index(b)) for a, b in padding)
    return tuple(padtype_to_pads(lengths, sizes, strides, padding))


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Return the padding (low, high) of each axis that "SAME", "SAME_LOWER" or "VALID" stands for.

    Raises `RuntimeError` for another word, `TypeError` for what is none.

    Args:
      in_shape: the length of each axis.
      window_shape: the length of the window along each axis.
      window_strides: how far the window moves, for each axis.
      padding: the word, in any case of letters.

    >>> import effax.lax as lax
    >>> lax.padtype_to_pads((5,), (2,), (2,), "SAME")
    [(0, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(
            f"Unknown padding type: {padding!r}; expected 'SAME', 'SAME_LOWER' or 'VALID'"
        )
    word = padding.upper()
    if word not in ("SAME", "SAME_LOWER", "VALID"):
        raise RuntimeError(
            f"Unknown padding type {padding!r}: expected 'SAME', 'SAME_LOWER' or 'VALID'"
        )
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    if 0 in window_strides:
        raise ValueError(f"window_strides must be positive, got {tuple(window_strides)}")
    pads = []
    given = (map(length, numbers) for numbers in (in_shape, window_shape, window_strides))
    for n, size, stride in zip(*given, strict=True):
        total = (-(-n // stride) - 1) * stride + size - n
        total = greatest(total, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if word == "SAME" else (more, less))
    return pads


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Fold a box that slides over an array, by an associative function.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: the identity of `computation` for each array, a scalar; in the tree of `operand`.
      computation: an associative function of two scalars, or of two trees of them.
      window_dimensions: the length of the window along each axis.
      window_strides: how far the window moves, for each axis; 1 by default.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each axis.
      base_dilation, window_dilation: elements of the array and of the window are that far apart; 1
        by default.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.reduce_window(jnp.arange(4), 0, lax.add, (2,))
    Array([1, 3, 5], dtype=int32)
    """
    xs, tree = tree_flatten(operand)
    lengths = typeof(xs[0]).shape
    sizes = tuple(python_operator.index(n) for n in window_dimensions)
    if len(sizes) != len(lengths):
        raise TypeError(
            f"reduce_window: the window {sizes} must have one length for each axis of {lengths}"
        )
    ones = (1,) * len(sizes)
    strides = ones if window_strides is None else tuple(window_strides)
    base = ones if base_dilation is None else tuple(base_dilation)
    holes = ones if window_dilation is None else tuple(window_dilation)
    pads = _padding(
        padding,
        lengths,  # "SAME" refers to the operand as it is given, as in JAX
        [window.dilated(n, h) for n, h in zip(sizes, holes, strict=True)],
        strides,
    )
    attributes: dict[str, Any] = {
        "window_dimensions": sizes,
        "window_strides": strides,
        "padding": pads,
        "base_dilation": base,
        "window_dilation": holes,
    }
    effect, from_identity = monoid(
        computation, tree_flatten(init_value)[0], [typeof(x).dtype for x in xs], WINDOWS
    )
    if effect is not None and from_identity:
        return tree_unflatten(tree, [effect(xs[0], **attributes)])
    xs, inits, body, tree = folded("reduce_window", operand, init_value, computation)
    if effect is None:
        found = window.reduce_window(*xs, *inits, body=body, **attributes)
    else:
        totals = effect(xs[0], **attributes)
        found = [computation(broadcast(inits[0], typeof(totals).shape), totals)]
    return tree_unflatten(tree, [strong(x) for x in found])


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape that `reduce_window` gives.

    Args:
      operand_shape: the shape of the array.
      window_dimensions: the length of the window along each axis.
      window_strides: how far the window moves, for each axis.
      padding: (low, high) for each axis.
      base_dilation, window_dilation: elements of the array and of the window are that far apart; 1
        by default.

    >>> import effax.lax as lax
    >>> lax.reduce_window_shape_tuple((5,), (2,), (2,), [(0, 1)])
    (3,)
    """
    ones = (1,) * len(window_dimensions)
    return window.windows(
        "reduce_window",
        tuple(operand_shape),
        tuple(window_dimensions),
        tuple(window_strides),
        tuple((a, b) for a, b in padding),
        ones if base_dilation is None else tuple(base_dilation),
        ones if window_dilation is None else tuple(window_dilation),
    )
