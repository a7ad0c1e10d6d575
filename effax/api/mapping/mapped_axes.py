"""The axes that `vmap` maps, checked against the arguments: their ranks, and their one length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from effax.api.calling.arguments import name_of
from effax.api.calling.signatures import Parameters
from effax.effects.tree import keystr, tree_flatten_with_path
from effax.effects.types import str_long
from effax.effects.value import length
from effax.keys.arrays import is_keys


def leaf_of(fun: Callable[..., Any], args: Any, keywords: Any, i: int) -> str:
    """Name a leaf of the arguments for a message: `argument x[0]`, or `kwargs['y']`."""
    leaves, _ = tree_flatten_with_path((args, keywords), is_leaf=is_keys)
    inside, first, *rest = leaves[i][0]
    if getattr(inside, "idx", 0) == 1:
        return f"kwargs{keystr((first, *rest))}"
    return f"argument {Parameters.of(fun).first(len(args))[first.idx]}{keystr(tuple(rest))}"


def checked_axis(
    axes: Sequence[Any],
    types: Sequence[Any],
    i: int,
    fun: Callable[..., Any],
    args: Any,
    keywords: Any,
) -> int:
    """The axis of leaf `i` of the arguments, counted from the front.

    Raises `TypeError` where it is no integer, `ValueError` where the leaf has no such axis.
    """
    axis, shape = axes[i], types[i].shape
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"vmap in_axes must be an int, None, or a tree of these, but got {axis!r}")
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its "
            f"rank should be at least {axis + 1 if axis >= 0 else -axis}, but is only {len(shape)} "
            f"(its shape is {shape}); it is {leaf_of(fun, args, keywords, i)} of {name_of(fun)}"
            + ("" if shape else f"; {_instead_of_scalar(types)}")
        )
    return axis % len(shape)


def _instead_of_scalar(types: Sequence[Any]) -> str:
    """Say what to do with a scalar that is to be mapped, by the types of all arguments."""
    if any(t is not None and t.shape for t in types):
        return "pass in_axes=None for an argument that is not to be mapped"
    return "pass an array with that axis"


def batch_size(
    axes: Sequence[int | None],
    types: Sequence[Any],
    given: int | None,
    fun: Callable[..., Any],
    args: Any,
    keywords: Any,
) -> int:
    """The one length of all mapped axes, and `given`. Raises `ValueError` where there are more."""
    lengths = {t.shape[a] for a, t in zip(axes, types, strict=True) if a is not None}
    if given is not None:
        lengths.add(given)
    if len(lengths) == 1:
        size: int = length(lengths.pop())
        return size
    found: list[tuple[int, str]] = []
    for i, (a, t) in enumerate(zip(axes, types, strict=True)):
        if a is not None:
            where = leaf_of(fun, args, keywords, i)
            found.append((t.shape[a], f"axis {a} of {where} of type {str_long(t)}"))
    if given is not None:
        found.append((given, "the argument axis_size of vmap"))
    if not found and not axes:
        raise ValueError(
            "vmap wrapped function must be passed at least one argument containing an array or "
            f"axis_size must be specified, got empty *args={args} and **kwargs={keywords} for "
            f"{name_of(fun)}"
        )
    if not found:
        raise ValueError(
            "vmap must have at least one non-None value in in_axes, or axis_size: nothing says "
            f"how many times {name_of(fun)} is to be mapped"
        )
    raise ValueError(
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        + ";\n".join(_groups(found))
        + f"\nThey are arguments of {name_of(fun)}: pass in_axes=None for those not to be mapped"
    )


def _groups(found: Sequence[tuple[int, str]]) -> list[str]:
    """A line for each length, the most frequent one first, with one of the axes that have it."""
    lines = []
    for size, count in Counter(n for n, _ in found).most_common():
        example = next(where for n, where in found if n == size)
        if count == 1:
            lines.append(f"  * one axis had size {size}: {example}")
        else:
            which = "some" if lines else "most"
            lines.append(f"  * {which} axes ({count} of them) had size {size}, e.g. {example}")
    return lines
