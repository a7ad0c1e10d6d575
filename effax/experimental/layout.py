"""The order of arrays' axes in memory: `Layout`, and `Format`, a layout on devices.

Arrays lie row-major here; what a compiled program would like is in `Compiled.input_formats`.
"""

from __future__ import annotations

from typing import Any

from effax.api.custom.vjp import custom_vjp
from effax.backends.xla.analysis import Format as Format
from effax.backends.xla.analysis import Layout as Layout
from effax.effects.frames import filtered
from effax.effects.rows.foreign import Target, foreign_call
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_unflatten
from effax.effects.types import typeof

__all__ = ["Format", "Layout", "with_layout_constraint"]
__dir__ = __all__.copy


@filtered
def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Ask the compiler for a layout of the arrays of a tree while they are in a program.

    Args:
      x: a tree of arrays.
      layouts: a `Layout`, or a tree of them that may end above the leaves of `x`.

    Returns:
      The same values. Outside of programs arrays lie row-major as ever.

    Raises:
      ValueError: for a layout that orders other axes than an array has.

    >>> import effax, effax.numpy as jnp
    >>> effax.jit(lambda x: with_layout_constraint(2 * x, Layout((1, 0))))(jnp.ones((1, 2)))
    Array([[2., 2.]], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    asked = broadcast_prefix(layouts, x, is_leaf=lambda y: isinstance(y, Layout))
    for leaf, layout in zip(leaves, asked, strict=True):
        order, type = getattr(layout, "major_to_minor", None), typeof(leaf)
        if order is None or sorted(order) != list(range(type.ndim)):
            raise ValueError(
                f"with_layout_constraint: expected a Layout of the {type.ndim} axes of "
                f"{type.str_short()}, got {layout!r}"
            )
    return tree_unflatten(
        tree,
        [_laid_out(tuple(at.major_to_minor), leaf) for leaf, at in zip(leaves, asked, strict=True)],
    )


def _laid_out(order: tuple[int, ...], x: Any) -> Any:
    target = Target("LayoutConstraint", (), (order,), (order,), api_version=1)

    def constrained(x: Any) -> Any:
        types = (typeof(x).strong(),)
        return foreign_call(x, target=target, result_types=types, vmap_method="broadcast_all")[0]

    # It is linear: the identity.
    made = custom_vjp(constrained)
    made.defvjp(lambda x: (made(x), None), lambda _, ct: (ct,))
    return made(x)
