"""Batching rules of effects, as programs written for JAX give them: axes by position.

    primitive_batchers[effect] = rule        # rule(operands, dims, **attributes) -> result, dim
    fancy_primitive_batchers[effect] = rule  # rule(axis, operands, dims, **attributes)
    axis_primitive_batchers[effect] = rule   # rule(size, name, class, operands, dims, **attributes)

A dim is the position of the batch axis, or `not_mapped`. Operands come with the axis first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.jax_primitives import unnamed
from effax.effects.rows.shape import move_axis
from effax.effects.types import typeof
from effax.interpreters.batch import batched as column
from effax.interpreters.batch.vmappables import register_vmappable as register_vmappable
from effax.interpreters.batch.vmappables import unregister_vmappable as unregister_vmappable

__all__ = [
    "AxisData",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]

not_mapped = None


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """The array with one axis moved.

    >>> import effax.numpy as jnp
    >>> moveaxis(jnp.zeros((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    n = len(typeof(x).shape)
    return move_axis(x, source % n, destination % n)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """The array repeated along a new axis.

    >>> import effax.numpy as jnp
    >>> broadcast(jnp.zeros(3), 2, 1).shape
    (3, 2)
    """
    return moveaxis(column.repeat(x, sz), 0, axis)


def bdim_at_front(x: Any, bdim: int | None, size: int) -> Any:
    """The array with its batch axis first; repeated where it has none.

    >>> import effax.numpy as jnp
    >>> bdim_at_front(jnp.zeros((3, 2)), 1, 2).shape
    (2, 3)
    """
    return column.repeat(x, size) if bdim is None else moveaxis(x, bdim, 0)


@attrs.frozen(slots=True)
class AxisData:
    """The axis of a batch: what it is called and how long it is."""

    name: Any
    size: int


class _Batchers(dict[Effect, Callable[..., Any]]):
    """A table that fills cells; `told` is what a rule is told of the axis, before the operands."""

    def __init__(self, told: Callable[[column.Batch], tuple[Any, ...]] = lambda _: ()) -> None:
        super().__init__()
        self._told = told

    def __setitem__(self, effect: Effect, function: Callable[..., Any]) -> None:
        effect = unnamed(effect)
        super().__setitem__(effect, function)
        told = self._told

        def batch_from_table(
            handler: column.Batch, values: list[Any], batched: list[bool], **attributes: Any
        ) -> Any:
            dims = tuple(0 if b else not_mapped for b in batched)
            result, out = function(*told(handler), tuple(values), dims, **attributes)
            if not effect.multiple:
                return _front(result, out)
            outs = out if isinstance(out, tuple | list) else [out] * len(result)
            moved = [_front(x, d) for x, d in zip(result, outs, strict=True)]
            return [x for x, _ in moved], [b for _, b in moved]

        column.rule(effect)(batch_from_table)


def _front(x: Any, dim: int | None) -> tuple[Any, bool]:
    if dim is None:
        return x, False
    return (x if dim == 0 else moveaxis(x, dim, 0)), True


primitive_batchers: dict[Effect, Callable[..., Any]] = _Batchers()
fancy_primitive_batchers: dict[Effect, Callable[..., Any]] = _Batchers(
    lambda batch: (AxisData(batch.axis_name, batch.size),)
)
axis_primitive_batchers: dict[Effect, Callable[..., Any]] = _Batchers(
    lambda batch: (batch.size, batch.axis_name, type(batch))
)


def defvectorized(prim: Effect) -> None:
    """Say that it acts on each element: the batch axis is one more axis."""

    def vectorized(values: Sequence[Any], dims: Sequence[Any], **attributes: Any) -> Any:
        return prim(*values, **attributes), 0

    primitive_batchers[prim] = vectorized


def defbroadcasting(prim: Effect) -> None:
    """The same, for several operands of one shape: those without the axis are repeated."""
    column.elementwise(prim)


def defreducer(prim: Effect, ident: Any = None) -> None:
    """Say that it folds the axes in its attribute `axes`: they move by one."""

    def reducer(values: Sequence[Any], dims: Sequence[Any], *, axes: Any, **attributes: Any) -> Any:
        return prim(*values, axes=tuple(a + 1 for a in axes), **attributes), 0

    primitive_batchers[prim] = reducer
