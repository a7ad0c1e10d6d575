"""Shapes with unknown lengths, as `convert` takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.api.compiling.staging import eval_shape
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.tree import tree_map
from effax.export import symbolic_args_specs


class PolyShape(tuple[Any, ...]):
    """A shape with unknown lengths, as a tuple; the text `"b, _, ..."` says the same.

    Args:
      dim_specs: numbers, names of unknowns, `"_"`, and `...` at the end.

    >>> PolyShape("b", 3, ...)
    PolyShape('b', 3, ...)
    """

    __slots__ = ()

    def __new__(cls, *dim_specs: Any) -> PolyShape:
        """Return the shape with these lengths."""
        return super().__new__(cls, dim_specs)

    def __str__(self) -> str:
        inside = ", ".join("..." if n is ... else str(n) for n in self)
        return f"({inside}{',' * (len(self) == 1)})"

    def __repr__(self) -> str:
        return f"PolyShape({', '.join('...' if n is ... else repr(n) for n in self)})"


def specified(args: Any, polymorphic_shapes: Any, constraints: Sequence[str] = ()) -> Any:
    """Return the types of arguments, with the unknown lengths that the caller gave names.

    Args:
      args: a tree of `ShapeDtypeStruct`s, in whose shapes an unknown length is None.
      polymorphic_shapes: a tree of texts and `PolyShape`s, for all leaves or for some.
      constraints: comparisons that hold between the unknowns.
    """
    texts = tree_map(
        lambda x: str(x) if isinstance(x, PolyShape) else x,
        polymorphic_shapes,
        is_leaf=lambda x: x is None or isinstance(x, PolyShape),
    )
    return symbolic_args_specs(args, texts, constraints=constraints)


def eval_polymorphic_shape(
    fun_jax: Callable[..., Any], *, polymorphic_shapes: Any = None
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that infers the result types of `fun_jax` for unknown lengths.

    Args:
      fun_jax: a function of trees of arrays.
      polymorphic_shapes: shapes of its arguments, as for `convert`.

    Returns:
      A function of arrays or types. It returns a tree of `ShapeDtypeStruct`s and a tree of their
      shapes as texts, which `polymorphic_shapes` takes.

    >>> import effax, effax.numpy as jnp
    >>> x, w = effax.ShapeDtypeStruct((8, 3), "float32"), effax.ShapeDtypeStruct((3, 5), "float32")
    >>> eval_polymorphic_shape(jnp.matmul, polymorphic_shapes=["b, _", None])(x, w)
    (ShapeDtypeStruct(shape=(b, 5), dtype=float32), '(b, 5)')
    """

    def evaluate(*args_specs: Any) -> tuple[Any, Any]:
        types = tree_map(lambda x: ShapeDtypeStruct(x.shape, x.dtype), args_specs)
        found = eval_shape(fun_jax, *specified(types, polymorphic_shapes))
        return found, tree_map(lambda t: str(PolyShape(*t.shape)), found)

    return evaluate
