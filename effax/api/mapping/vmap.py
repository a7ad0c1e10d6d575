"""`vmap`: a function of one example made one of a batch of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np

from effax.api.calling.arguments import name_of, wearing
from effax.api.calling.differentiable import float0_zeros
from effax.api.calling.float0 import is_nothing
from effax.api.calling.signatures import Parameters, leaf_names
from effax.api.mapping.mapped_axes import batch_size, checked_axis, leaf_of
from effax.backends.xla.array import Array, asarray
from effax.effects.cuts import Cut, cut_of, names_of
from effax.effects.effect import REFERENCES
from effax.effects.errors import RefError
from effax.effects.frames import filtered
from effax.effects.rows.shape import move_axis
from effax.effects.rows.state import OwnedRef, Ref, Window, new_ref, ref_get, ref_set
from effax.effects.tree import (
    broadcast_prefix,
    keystr,
    mismatch_details,
    none_leaf_registry,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_unflatten,
)
from effax.effects.types import typeof
from effax.effects.value import Value
from effax.interpreters.batch.batched import BATCHED, Batch, Batched
from effax.interpreters.batch.vmappables import VMAPPABLE, Held, element, hold, whole
from effax.interpreters.functor.discharge import distinct
from effax.keys.arrays import axis_of_words, is_keys

P = ParamSpec("P")
R = TypeVar("R")


def vmap(
    fun: Callable[P, R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[P, R]:
    """Map a function over an axis of its arguments, as one batched computation.

    Args:
      fun: a function of pytrees of arrays.
      in_axes: which axis of each argument is mapped: an integer, None for none, or a tuple (with
        trees of them for arguments that are trees), one entry a positional argument. Arguments
        by keyword are mapped along their first axis.
      out_axes: where the mapped axis goes in each result; None for results that are not mapped.
      axis_name: a name for the axis, by which collectives such as `psum` call it.
      axis_size: its length, needed only when no argument is mapped.
      spmd_axis_name: the axes of a mesh that the batch is cut along where a function inside says
        how its values are cut (`with_sharding_constraint`, `shard_map` over other axes).

    Returns:
      A function of the same arguments with one more axis.

    Raises:
      ValueError: where mapped axes differ in length, don't exist, or trees don't match.

    >>> import effax, effax.numpy as jnp
    >>> effax.vmap(jnp.dot, in_axes=(0, None))(jnp.eye(2), jnp.arange(2.0))
    Array([0., 1.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, str | bytes | float | bool | dict):
        advice = f" For one argument that is a dict, write in_axes=({in_axes!r},)."
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes!r}."
            + (advice if isinstance(in_axes, dict) else "")
        )
    if not isinstance(out_axes, int | None) and not all(
        isinstance(a, int) for a in tree_flatten(out_axes)[0]
    ):
        raise TypeError(
            f"vmap out_axes must be an int, None, or a tree of these, but got {out_axes}"
        )
    return mapped_over(fun, in_axes, out_axes, axis_size, (axis_name, spmd_axis_name))


def mapped_over(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_size: int | None,
    kind: tuple[Any, ...],
) -> Callable[..., Any]:
    """The function for a batch; `kind` are arguments of its `Batch` after the size. See `vmap`."""

    @wearing(fun, annotated=False)
    @filtered
    def mapped(*args: Any, **keywords: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                "positional arguments passed to the function, but got "
                f"{len(in_axes)=}, {len(args)=} in a call to {name_of(fun)}"
            )
        if VMAPPABLE:
            args, keywords = hold((args, keywords))
        leaves, tree = tree_flatten((args, keywords))
        if not REFERENCES.isdisjoint(map(type, leaves)):
            _check_references(leaves, args, keywords, fun)
        if type(in_axes) is int and not keywords and all([type(x) is Array for x in args]):
            axes: list[Any] = [in_axes] * len(args)
        else:
            axes = _flat_axes("vmap in_axes", in_axes, args) + [0] * len(tree_flatten(keywords)[0])
            axes = _axes_of_words("vmap in_axes", axes, (args, keywords), 0, fun)
        # Arguments that are not mapped are passed on unchanged, and need not be arrays.
        types = [
            None if a is None or type(x) is Held else typeof(x)
            for a, x in zip(axes, leaves, strict=True)
        ]
        axes = [
            a if t is None else checked_axis(axes, types, i, fun, args, keywords)
            for i, (a, t) in enumerate(zip(axes, types, strict=True))
        ]
        measured = axes
        if VMAPPABLE:
            measured = [None if t is None else a for a, t in zip(axes, types, strict=True)]
        size = batch_size(measured, types, axis_size, fun, args, keywords)
        handler = Batch(None, size, *kind)
        handler.cut = _cut_of_batch(leaves, types, axes, kind)
        handler.spare = axis_size is not None or len(axes) - axes.count(None) > 1
        values = [
            _unmapped(x) if a is None else _batched(handler, x, a)
            for x, a in zip(leaves, axes, strict=True)
        ]

        def one() -> tuple[Any, list[Any], Any, list[Any]]:
            # Nodes of trees are made and taken apart under the handler, as in any transform: those
            # of flax.nnx note the trace that they are made in.
            new_args, new_keywords = tree_unflatten(tree, values)
            result = fun(*new_args, **new_keywords)
            result = hold(result) if VMAPPABLE else result
            if type(result) is Batched and type(out_axes) is int:
                return result, [result], None, [out_axes]
            outs, out_tree = tree_flatten(result)
            places = _flat_axes("vmap out_axes", out_axes, result)
            return result, outs, out_tree, _axes_of_words("vmap out_axes", places, result, 1)

        result, outs, out_tree, places = handler.run(one)
        if out_tree is None:
            return _unbatch(handler, result, places[0], size)
        if None in places:
            _check_unmapped(handler, result, outs, places)
        done = [_unbatch(handler, x, a, size) for x, a in zip(outs, places, strict=True)]
        return tree_unflatten(out_tree, done)

    if getattr(fun, "__doc__", None):
        mapped.__doc__ = (
            f"Vectorized version of {name_of(fun)}: its arguments and results have one more axis.\n"
            f"\nOriginal documentation:\n\n{fun.__doc__}"
        )
    return mapped


def _cut_of_batch(
    leaves: Sequence[Any], types: Sequence[Any], axes: Sequence[Any], kind: tuple[Any, ...]
) -> Cut | None:
    """The cut of the mapped axes of the arguments along explicit axes of a mesh, all alike.

    Raises `ValueError` where they are not, where an argument that is not mapped is cut along the
    same axis of the mesh, or where `spmd_axis_name` says another thing.
    """
    if all([t is None or t.cut is None for t in types]):
        return None
    mapped = [(t, a) for t, a in zip(types, axes, strict=True) if t is not None and a is not None]
    found = {None if t.cut is None else t.cut.entries[a] for t, a in mapped}
    if found <= {None}:
        return None
    if len(found) > 1:
        shown = " vs ".join(sorted(map(str, found)))
        raise ValueError(
            "Mapped away dimension of inputs passed to vmap should be sharded the same. Got "
            f"inconsistent axis specs: {shown}; reshard the arguments (effax.sharding.reshard)"
        )
    (entry,) = found
    for x, a in zip(leaves, axes, strict=True):
        cut = typeof(x).cut if a is None and isinstance(x, Value) else None
        if cut is not None and any({*names_of(entry)} & {*names_of(e)} for e in cut.entries):
            raise ValueError(
                "Unmapped values passed to vmap cannot be sharded along the mesh axis you are "
                f"vmapping over. Got type: {typeof(x).str_short()}, in_axes: None, and vmapped "
                f"mesh axis: {entry!r}; reshard it (effax.sharding.reshard)"
            )
    spmd = kind[1] if len(kind) > 1 else None
    if spmd is not None and names_of(spmd) != names_of(entry):
        raise ValueError(
            "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. "
            f"Got spmd_axis_name={spmd!r} and arrays sharded on {entry!r}"
        )
    mesh = next(t.cut.mesh for t, _ in mapped if t.cut is not None)
    return cut_of(mesh, (entry,))


def _check_references(leaves: Sequence[Any], args: Any, keywords: Any, fun: Any) -> None:
    """Raise `RefError` for a reference given twice, `TypeError` for a part of one."""
    from effax.api.references.references import refuse_parts

    refuse_parts((args, keywords), f"vmap of {name_of(fun)}")
    tree = tree_flatten((args, keywords))[1]
    distinct(leaves, name_of(fun), lambda: leaf_names(Parameters.of(fun), tree))


def _ready(x: Any) -> Any:
    return asarray(x) if isinstance(x, np.ndarray) else x


class PytreeLeaf:
    """Stands for any leaf of a tree in a message about trees."""

    __module__ = "effax"


def _flat_axes(what: str, prefix: Any, tree: Any) -> list[Any]:
    try:
        return list(broadcast_prefix(prefix, tree, is_leaf=lambda x: x is None))
    except ValueError:
        structure = tree_flatten(tree)[1]
        shown = tree_unflatten(structure, [PytreeLeaf()] * structure.num_leaves)
        raise ValueError(
            f"{what} specification must be a tree prefix of the corresponding value; the axes "
            f"{prefix} do not match the structure of the value. "
            f"{mismatch_details(what, prefix, shown, none_leaf_registry)}\n"
            "Give each part of the value an axis or None; one may stand for a whole subtree."
        ) from None


def _axes_of_words(
    what: str, axes: list[Any], tree: Any, more: int, fun: Callable[..., Any] | None = None
) -> list[Any]:
    """Axes of arrays of keys, of which the words have one more, the last; others as they are.

    `fun` is the function whose arguments `tree` has, for messages that name them.
    """
    found = []
    tops = tree_leaves(tree, is_leaf=is_keys)  # an array of keys has one leaf: its words
    for i, (axis, x) in enumerate(zip(axes, tops, strict=True)):
        if is_keys(x):
            ndim, named = x.ndim + more, ""
            if fun is not None and isinstance(axis, int) and not -ndim <= axis < ndim:
                args, keywords = tree
                named = f", {leaf_of(fun, args, keywords, i)} of {name_of(fun)}"
            axis = axis_of_words(axis, ndim, f"{what}{named}")
        found.append(axis)
    return found


def _window(handler: Batch, ref: Ref, axis: int) -> Window:
    """A reference to arrays of the batch, as each of them sees it."""

    def read() -> Any:
        return Batched(handler, move_axis(ref_get(ref), axis, 0))

    def write(value: Any) -> None:
        ref_set(ref, move_axis(handler.leaves(value, BATCHED)[0], 0, axis))

    lengths = ref.type.shape
    one = ref.type.inner_aval.update(shape=lengths[:axis] + lengths[axis + 1 :])
    return Window(handler, one, read, write, ref.type.constant)


def _ref_of_batch(handler: Batch, ref: Ref, axis: Any, size: int) -> Ref:
    """A reference that the mapped function returns: to the whole batch."""
    if type(ref) is OwnedRef and ref.handler is handler:
        return new_ref(_unbatch(handler, ref.read(), axis, size))
    if axis is not None:
        raise RefError(
            f"vmap: the mapped function returned a reference that was made outside, {ref!r}; give "
            "it out_axes None, or don't return it"
        )
    return ref


def _unmapped(x: Any) -> Any:
    return x.value if type(x) is Held else x


def _batched(handler: Batch, x: Any, axis: Any) -> Any:
    if type(x) is Held:
        return element(partial(_batched, handler), x.value, axis)
    if isinstance(x, Ref):
        return _window(handler, x, axis)
    if is_nothing(x):  # a symbolic zero, the same in all lanes
        return float0_zeros((*x.shape[:axis], *x.shape[axis + 1 :]))
    return Batched(handler, move_axis(_ready(x), axis, 0))


def _check_unmapped(
    handler: Batch, result: Any, outs: Sequence[Any], places: Sequence[int | None]
) -> None:
    """Raise `ValueError` for a result that differs along the batch where out_axes is None."""
    for i, (x, axis) in enumerate(zip(outs, places, strict=True)):
        if axis is None and handler.owns(x):
            named = f" (axis_name={handler.axis_name})" if handler.axis_name is not None else ""
            path = keystr(tree_flatten_with_path(result)[0][i][0])
            raise ValueError(
                f"vmap has mapped output{named} but out_axes is None at vmap out_axes{path}: "
                "the result differs along the mapped axis, so give an integer, the position of "
                "that axis in it"
            )


def _unbatch(handler: Batch, x: Any, axis: Any, size: int) -> Any:
    if type(x) is Held:
        return whole(lambda y, at: _unbatch(handler, y, at, size), size, x.value, axis)
    if isinstance(x, Ref):
        return _ref_of_batch(handler, x, axis, size)
    batched = handler.owns(x)
    if axis is None:
        return x
    try:
        ndim = len(typeof(x).shape) + 1
    except TypeError:
        raise TypeError(
            f"Output from batched function {x!r} with type {type(x)} is not a valid effax type"
        ) from None
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"vmap out_axes: axis {axis} is out of bounds for a result with {ndim} "
            f"{'axis' if ndim == 1 else 'axes'}"
        )
    if is_nothing(x):
        return float0_zeros((*x.shape[: axis % ndim], size, *x.shape[axis % ndim :]))
    many = x.many if batched else handler.repeated(_ready(x))
    return move_axis(many, 0, axis % ndim)


def axis_size(name: Hashable) -> int:
    """The length of a named axis that a handler now installed binds.

    Raises `NameError` when there is none of that name.
    """
    from effax.api.calling.call_arguments import axes_in_scope

    for found, size in axes_in_scope():
        if found == name:
            return int(size)
    raise NameError(
        f"unbound axis name: {name}. Bind it with vmap(..., axis_name={name!r}) or pmap"
    )
