"""Moving values between host and devices, and waiting for them."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as np

from effax.api.placing.shardings import resolve
from effax.backends.xla import array as arrays
from effax.backends.xla import guard
from effax.backends.xla.array import Array
from effax.backends.xla.client import has_joined
from effax.backends.xla.mesh import NamedSharding
from effax.backends.xla.placement import Sharding, place
from effax.backends.xla.putting import put_on
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.mesh import AbstractMesh, PartitionSpec
from effax.effects.rows import naming
from effax.effects.tree import (
    broadcast_prefix,
    mismatch_details,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from effax.effects.value import Value
from effax.memory import Space

T = TypeVar("T")


@filtered
def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Put the arrays of a tree on a device, or shard them over several.

    They are committed to the device or sharding, if one is named.

    Within a compiled function a sharding over a mesh is a constraint, and otherwise values stay
    where they are: XLA places what is computed. Cotangents go back to where a value came from. A
    `memory.Space` in place of a device names a memory of the device where the value lies.

    Args:
      x: a pytree of array_likes.
      device: a device, a sharding, a spec over the mesh in context, or a tree of these above the
        arrays; with None arrays stay where they are and other values go to the default device.
      src: the devices or shardings that cotangents go back to, or a tree of these above the
        arrays; with None those where the arrays were when the gradient was computed, if known.
      donate: whether the arrays are given up, or a tree of bools above the arrays; they are deleted
        where they go to the same devices in another order, and kept otherwise, as by JAX.
      may_alias: whether the result may share memory with `x`, or a tree of bools above the arrays;
        by default it may.

    Raises:
      ValueError: for a sharding that can't cut an array, for trees that are not above the arrays,
        and where both `donate` and `may_alias` are true of an array.

    >>> import effax
    >>> effax.device_put(1.0, effax.devices("cpu")[0])
    Array(1., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten(x)
    places = _each(device, x, len(leaves), "device")
    sources = _each(src, x, len(leaves), "src")
    given = _each(donate, x, len(leaves), "donate")
    shared = _each(may_alias, x, len(leaves), "may_alias")
    if any(g and s for g, s in zip(given, shared, strict=True)):
        raise ValueError(
            "device_put: may_alias and donate cannot be True at the same time. A donated array may "
            "be overwritten, so the result can't share its memory with it"
        )
    if has_joined():
        _compare_among_processes(leaves, places)
    with guard.asked_for():
        return tree_unflatten(
            tree,
            [
                _put(v, d, s, m is None or bool(m), bool(g))
                for v, d, s, m, g in zip(leaves, places, sources, shared, given, strict=True)
            ],
        )


def _compare_among_processes(leaves: list[Any], places: list[Any]) -> None:
    """Refuse values of one process that go to devices of several, and are not the same in all."""
    checked: list[tuple[Any, Any]] = []
    for x, where in zip(leaves, places, strict=True):
        if (
            isinstance(where, Sharding)
            and not isinstance(getattr(where, "mesh", None), AbstractMesh)
            and not where.is_fully_addressable
            and not isinstance(x, Carrier)
            and not (isinstance(x, Array) and not x.is_fully_addressable)
        ):
            checked.append((x, where.placement()))
    if checked:
        from effax.backends.xla import agreement

        agreement.refuse_different_values(checked)


def _each(given: Any, x: Any, count: int, name: str) -> list[Any]:
    """Find what is given for each leaf by a prefix of the tree, or raise `ValueError`."""
    if not isinstance(given, (tuple, list, dict)):
        return [given] * count
    try:
        return list(broadcast_prefix(given, x, is_leaf=lambda d: d is None))
    except ValueError:
        raise ValueError(
            f"device_put {name} specification must be a tree prefix of the corresponding value. "
            + mismatch_details(f"device_put {name}", given, x)
        ) from None


def _put(x: Any, where: Any, src: Any, may_alias: bool, donate: bool) -> Any:
    if isinstance(where, Space):
        return _in_space(x, where)
    if isinstance(where, PartitionSpec | NamedSharding):
        where = resolve(where, "device_put", "device")
    if isinstance(where, NamedSharding):
        try:
            where.check_compatible_aval(np.shape(x))
        except ValueError as error:
            raise ValueError(
                "One of device_put args is incompatible with its sharding annotation "
                f"{where}: {error}"
            ) from None
        where.shard_shape(np.shape(x))
    if not isinstance(x, Carrier):
        return arrays.device_put(x, where, may_alias=may_alias, donate=donate)
    if where is None:
        return x
    return put_on(x, _sharding(where), None if src is None else _sharding(src))


def _sharding(where: Any) -> Sharding:
    """A device, a platform's name or a `Format` as a sharding."""
    return where if isinstance(where, Sharding) else place(where)


_SPACES: Final = {Space.Device: "device", Space.Host: "pinned_host"}


def _in_space(x: Any, space: Space) -> Any:
    if not isinstance(x, Value):
        x = arrays.device_put(x, None)
    there = _SPACES.get(space)
    return x if there is None else naming.moved(x, src="any", dst=there)


@filtered
def device_get(x: Any) -> Any:
    """Return a tree with its arrays as NumPy arrays; traced values stay as they are.

    Args:
      x: a pytree.

    >>> import effax, effax.numpy as jnp
    >>> effax.device_get(jnp.arange(2))
    array([0, 1], dtype=int32)
    """

    def get(v: Any) -> Any:
        return np.asarray(v) if hasattr(v, "__array__") and not isinstance(v, Carrier) else v

    with guard.asked_for():
        return tree_map(get, x)


def block_until_ready(x: T) -> T:
    """Wait until the arrays of a tree are computed, and return the tree.

    Args:
      x: a pytree; leaves without a method `block_until_ready` are left alone.

    >>> import effax, effax.numpy as jnp
    >>> effax.block_until_ready([jnp.ones(2)])
    [Array([1., 1.], dtype=float32)]
    """
    for v in tree_leaves(x):
        if hasattr(v, "block_until_ready"):
            v.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying the arrays of a tree to the host, without waiting, and return the tree.

    Leaves without a method `copy_to_host_async` are left alone.

    Args:
      x: a pytree.
    """
    for v in tree_leaves(x):
        start = getattr(v, "copy_to_host_async", None)
        if start is not None:
            start()
    return x
