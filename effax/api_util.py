"""Functions of trees made functions of leaves, by the names of `jax.api_util`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects import tree
from effax.effects.types import ShapedArray, typeof
from effax.extend.linear_util import Store, WrappedFun, transformation_with_aux2
from effax.tree_util import (
    tree_flatten,
    tree_unflatten,
)

__all__ = [
    "argnums_partial",
    "debug_info",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "safe_map",
    "shaped_abstractify",
]
__dir__ = __all__.copy


def flatten_fun(f: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return a function of the leaves of `(args, keywords)`, to the leaves of the result.

    Args:
      f: the function, wrapped by `wrap_init`.
      in_tree: the tree structure of `(args, keywords)`.

    Returns:
      The function, and a function that gives the tree of the result once the first was called.

    >>> from effax.extend.linear_util import wrap_init
    >>> from effax.tree_util import tree_structure
    >>> tree = tree_structure(((1.0, [2.0]), {}))
    >>> flat, out_tree = flatten_fun(wrap_init(lambda x, y: {"sum": x + y[0]}), tree)
    >>> flat.call_wrapped(1.0, 2.0), out_tree()
    ([3.0], PyTreeDef({'sum': *}))
    """
    return _flat(f, in_tree)


def flatten_fun_nokwargs(f: WrappedFun, in_tree: Any) -> tuple[WrappedFun, Callable[[], Any]]:
    """Return a function of the leaves of a tuple of arguments, to the leaves of the result.

    Args:
      f: the function, wrapped by `wrap_init`.
      in_tree: the tree structure of the tuple.

    Returns:
      The function, and a function that gives the tree of the result once the first was called.

    >>> from effax.extend.linear_util import wrap_init
    >>> from effax.tree_util import tree_structure
    >>> flat, out_tree = flatten_fun_nokwargs(wrap_init(max), tree_structure((1, 2)))
    >>> flat.call_wrapped(1, 2)
    [2]
    """
    return _flat_without_keywords(f, in_tree)


@transformation_with_aux2
def _flat(call: Callable[..., Any], store: Store, in_tree: Any, *leaves: Any) -> list[Any]:
    args, keywords = tree_unflatten(in_tree, leaves)
    found, tree = tree_flatten(call(*args, **keywords))
    store.store(tree)
    return found


@transformation_with_aux2
def _flat_without_keywords(
    call: Callable[..., Any], store: Store, in_tree: Any, *leaves: Any
) -> list[Any]:
    found, tree = tree_flatten(call(*tree_unflatten(in_tree, leaves)))
    store.store(tree)
    return found


def argnums_partial(
    f: WrappedFun, dyn_argnums: Sequence[int], args: Sequence[Any], **_: Any
) -> tuple[WrappedFun, list[Any]]:
    """Return the function of the arguments at these places, the others fixed; and those arguments.

    Args:
      f: the function, wrapped by `wrap_init`.
      dyn_argnums: the places of the arguments that stay free; negative ones count from the end.
      args: all arguments.
      **_: JAX's further options, which are ignored.

    >>> from effax.extend.linear_util import wrap_init
    >>> g, rest = argnums_partial(wrap_init(lambda x, y: x - y), [1], (5, 3))
    >>> rest, g.call_wrapped(1)
    ([3], 4)
    """
    places = [i % len(args) for i in dyn_argnums]

    def with_fixed(call: Callable[..., Any], *dynamic: Any) -> Any:
        filled = list(args)
        for i, x in zip(places, dynamic, strict=True):
            filled[i] = x
        return call(*filled)

    return f.wrap(with_fixed), [args[i] for i in places]


def flatten_axes(name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, **_: Any) -> Any:
    """Return an axis (or None) for each leaf of a tree, from a prefix of it.

    Args:
      name: the name of the axes, for error messages.
      treedef: the structure of the tree.
      axis_tree: the axes, a prefix of the tree.
      kws, **_: JAX's further options, which are ignored.

    Raises:
      ValueError: where the axes are not a prefix, with `name` and each place that differs.

    >>> from effax.tree_util import tree_structure
    >>> flatten_axes("vmap in_axes", tree_structure((1, {"a": 2, "b": 3})), (0, None))
    [0, None, None]
    """
    return tree.flatten_axes(name, treedef, axis_tree)


def safe_map(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Apply `f` to the first elements, then to the second ones, ..., and return a list.

    Raises ValueError where the sequences are not of one length.

    >>> safe_map(max, [1, 5], [3, 4])
    [3, 5]
    """
    return [f(*xs) for xs in zip(*args, strict=True)]


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the type of an array or a number.

    Args:
      x: array_like.

    >>> shaped_abstractify(1.0)
    f32[]~weak
    """
    return typeof(x)


def debug_info(traced_for: str, fun: Callable[..., Any], *_: Any, **__: Any) -> str:
    """Describe a function that is traced; errors here name the user's lines by themselves.

    Args:
      traced_for: the name of the transformation.
      fun: the function.
      *_, **__: JAX's further arguments, which are ignored.

    >>> debug_info("jit", max)
    'max, traced for jit'
    """
    return f"{getattr(fun, '__name__', fun)}, traced for {traced_for}"
