"""`linear_call`: a linear function that brings its own transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.api.calling.arguments import flat_function, name_of
from effax.effects.frames import filtered
from effax.effects.rows.conversion import convert_element_type
from effax.effects.tree import (
    PyTreeDef,
    tree_flatten,
    tree_structure,
    tree_unflatten,
    treedef_tuple,
)
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.custom_linear import Coupled
from effax.interpreters.stage import Staged, stage


@filtered
def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a linear function whose transpose is given too: `fun(residual_args, linear_args)`.

    Transposing the call (in reverse mode, by `linear_transpose`) calls `fun_transpose`, and
    transposing that `fun`, in a batch too. Derivatives in `linear_args` call `fun` on tangents;
    those in `residual_args` go through `fun` itself.

    Args:
      fun: `fun(residual_args, linear_args)`, linear in the second.
      fun_transpose: `fun_transpose(residual_args, cotangents)`, of cotangents of the results;
        gives cotangents of `linear_args`.
      residual_args: a tree of arrays.
      linear_args: a tree of arrays.

    Raises:
      TypeError: where `fun_transpose` gives anything but a tree like `linear_args`.

    >>> import effax
    >>> def half(x):
    ...     return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, x)
    >>> half(3.0), effax.grad(half)(3.0)
    (Array(1.5, dtype=float32, weak_type=True), Array(0.5, dtype=float32, weak_type=True))
    """
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    known, types = [typeof(x) for x in residuals], [typeof(x) for x in linear]
    flat, out = flat_function(fun, _arguments(residual_tree, linear_tree))
    forward = stage(flat, [*known, *types], name_of(fun))
    in_types, in_tree = [*known, *forward.program.out_types], _arguments(residual_tree, out[0])
    back = _transpose(fun_transpose, in_types, in_tree, types, linear_tree)
    both = Coupled.of(forward, back, len(residuals))
    found = both.perform([*forward.captured, *back.captured, *residuals, *linear])
    return tree_unflatten(out[0], found)


def _arguments(*trees: PyTreeDef) -> PyTreeDef:
    """The structure of positional arguments and of no keywords."""
    return treedef_tuple([treedef_tuple(trees), tree_structure({})])


def _transpose(
    function: Callable[..., Any],
    types: Sequence[ShapedArray],
    in_tree: Any,
    wanted: Sequence[ShapedArray],
    tree: Any,
) -> Staged:
    """The transposed function as a program whose results have the types of what it is linear in."""
    given, out = flat_function(function, in_tree)

    def flat(*values: Any) -> list[Any]:
        found = given(*values)
        if out[0] != tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output "
                f"structure {out[0]} and input structure {tree}."
            )
        return [_like(x, t, name_of(function)) for x, t in zip(found, wanted, strict=True)]

    return stage(flat, types, name_of(function))


def _like(x: Any, type: ShapedArray, name: str) -> Any:
    found = typeof(x)
    if found.shape != type.shape:
        raise TypeError(
            f"linear_call: {name} must give cotangents of the shapes of the linear inputs: "
            f"expected {type.str_short()}, but got {found.str_short()}"
        )
    return convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)
