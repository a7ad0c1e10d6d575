"""Callbacks: Python functions called by programs while they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.backends.xla.array import asarray
from effax.backends.xla.executable import effects_barrier as effects_barrier
from effax.backends.xla.placement import SingleDeviceSharding
from effax.effects.frames import filtered
from effax.effects.rows import callback as effects
from effax.effects.rows.callback import VMAP_METHODS
from effax.effects.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from effax.effects.types import ShapedArray, canonical_dtype, typeof


@attrs.frozen(slots=True)
class FlatCallback:
    """A function of trees of arrays, as one of flat NumPy arrays; equal for equal functions."""

    function: Callable[..., Any]
    tree: PyTreeDef

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results' leaves."""
        args, keywords = tree_unflatten(self.tree, [asarray(x) for x in arrays])
        return list(tree_leaves(self.function(*args, **keywords)))

    def __str__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def _result_types(announced: Any) -> tuple[tuple[ShapedArray, ...], PyTreeDef]:
    leaves, tree = tree_flatten(announced)
    types = []
    for x in leaves:
        if canonical_dtype(x.dtype) != x.dtype:
            raise ValueError(
                "result_shape_dtypes cannot specify 64-bit types when `enable_x64` is disabled, "
                f"but {x} was given; announce {canonical_dtype(x.dtype)} and convert in the "
                "callback, or set enable_x64"
            )
        types.append(ShapedArray(x.shape, x.dtype))
    return tuple(types), tree


def _refuse_sharding(name: str, sharding: Any) -> None:
    """A callback is called once, in this process, wherever its operands are."""
    if sharding is None:
        return
    if not isinstance(sharding, SingleDeviceSharding) or not sharding.is_fully_addressable:
        raise NotImplementedError(
            f"{name}: sharding must be None, or the SingleDeviceSharding of a device of this "
            f"process, got {sharding!r}; a callback is called once, in this process"
        )


@filtered
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Compute with a Python function on the host, as part of a program.

    The function must be pure: it may be called more than once, in any order, or not at all when
    its result is not used.

    Args:
      callback: a function of trees of arrays that gives a tree of arrays.
      result_shape_dtypes: a tree of the results' shapes and dtypes (`ShapeDtypeStruct`, arrays).
      *args: its arguments, trees of arrays.
      sharding: None, or the `SingleDeviceSharding` of a device of this process, in which the
        callback runs.
      vmap_method: what `vmap` makes of it. "sequential": the function is called for each lane;
        "expand_dims": once, batched arguments with one more axis in front, the others with an axis
        of length 1; "broadcast_all": once, all arguments with the batch axis.
      **kwargs: its arguments by keyword.

    Returns:
      A tree of arrays like `result_shape_dtypes`.

    Raises:
      ValueError: under differentiation (wrap it in `custom_jvp`), or for an unknown vmap_method.
      NotImplementedError: under `vmap` without vmap_method, and for another sharding.
      TypeError: for results that differ from those announced.

    >>> import effax, numpy as np
    >>> out = effax.ShapeDtypeStruct((3,), np.float32)
    >>> def by_numpy(x):
    ...     return np.sort(np.asarray(x))
    >>> effax.jit(lambda x: pure_callback(by_numpy, out, x))(np.float32([2, 3, 1]))
    Array([1., 2., 3.], dtype=float32)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: "
            f"{vmap_method}"
        )
    _refuse_sharding("pure_callback", sharding)
    leaves, tree = tree_flatten((args, kwargs))
    types, out_tree = _result_types(result_shape_dtypes)
    results = effects.pure_callback(
        *leaves,
        callback=FlatCallback(callback, tree),
        result_types=types,
        vmap_method=vmap_method,
    )
    return tree_unflatten(out_tree, results)


@filtered
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that acts: it is called as often as the program comes by.

    Args:
      callback: a function of trees of arrays that gives a tree of arrays.
      result_shape_dtypes: a tree of the results' shapes and dtypes; None for no results.
      *args: its arguments, trees of arrays.
      sharding: None, or the `SingleDeviceSharding` of a device of this process, in which the
        callback runs.
      ordered: whether calls happen in the order of the program's text. Such a callback can't be
        batched.
      **kwargs: its arguments by keyword.

    Returns:
      A tree of arrays like `result_shape_dtypes`.

    Raises:
      ValueError: under differentiation, or under `vmap` when ordered.
      NotImplementedError: for another sharding.

    >>> import effax, numpy as np
    >>> log = []
    >>> def note(x):
    ...     log.append(int(x))
    >>> effax.jit(lambda x: io_callback(note, None, x))(np.int32(3))
    >>> effects_barrier()
    >>> log
    [3]
    """
    _refuse_sharding("io_callback", sharding)
    leaves, tree = tree_flatten((args, kwargs))
    types, out_tree = _result_types(result_shape_dtypes)
    results = effects.io_callback(
        *leaves,
        callback=FlatCallback(callback, tree),
        result_types=types,
        ordered=bool(ordered),
    )
    return tree_unflatten(out_tree, results)


@attrs.frozen(slots=True)
class PartlyArrays:
    """A function whose arguments are partly arrays; the others are kept with it."""

    function: Callable[..., Any]
    tree: PyTreeDef
    kept: tuple[tuple[int, Any], ...] = attrs.field(hash=False)
    as_arrays: bool = True

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        """Call the function; no results."""
        rest = iter([asarray(x) for x in arrays] if self.as_arrays else arrays)
        known = dict(self.kept)
        leaves = [known[i] if i in known else next(rest) for i in range(len(known) + len(arrays))]
        args, keywords = tree_unflatten(self.tree, leaves)
        self.function(*args, **keywords)
        return ()

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", self.function))


def show(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    as_arrays: bool = True,
    partitioned: bool = False,
) -> None:
    """Perform `debug_callback` for arguments of which some may be no arrays at all."""
    leaves, tree = tree_flatten((args, kwargs))
    operands, kept = [], []
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            kept.append((i, x))
        else:
            operands.append(x)
    callback: Any = PartlyArrays(function, tree, tuple(kept), as_arrays)
    effects.debug_callback(
        *operands,
        callback=effects.OfPieces(callback) if partitioned else callback,
        ordered=bool(ordered),
    )
