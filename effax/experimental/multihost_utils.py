"""Agreement and communication among the processes of a job.

In a process that runs alone each function is the identity, or does nothing: programs written for
many machines run unchanged on one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from effax.backends.xla import agreement, processes
from effax.backends.xla.array import Array, from_shards
from effax.backends.xla.device import devices, process_count
from effax.backends.xla.executable import effects_barrier
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.effects import tree as trees
from effax.effects.errors import ProcessLostError
from effax.effects.handler import Carrier
from effax.effects.mesh import PartitionSpec

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "host_local_array_to_global_array",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]
__dir__ = __all__.copy


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the values of all processes, in all processes, as NumPy arrays.

    Args:
      in_tree: a tree of values that have the same shapes and dtypes in every process; or arrays
        over the devices of several processes, of which all of the elements are fetched.
      tiled: whether the values are put end to end along their first axis, instead of stacked along
        a new one; True for arrays over several processes. Scalars are stacked.

    Returns:
      The tree with NumPy arrays of the dtypes given.

    Raises:
      ValueError: for an array over several processes without `tiled`.
      ProgramDisagreementError: where the shapes or dtypes of processes differ.

    >>> import effax.numpy as jnp
    >>> process_allgather(jnp.arange(2))
    array([[0, 1]], dtype=int32)
    """
    leaves, tree = trees.tree_flatten(in_tree)
    found: list[Any] = [None] * len(leaves)
    own: dict[int, np.ndarray[Any, Any]] = {}
    for i, x in enumerate(leaves):
        if isinstance(x, Array) and not x.is_fully_addressable:
            if not tiled:
                raise ValueError(
                    "process_allgather: Gathering global non-fully-addressable arrays only "
                    f"supports tiled=True, and {x.type.str_short()} has elements of all processes"
                )
            found[i] = np.asarray(_everywhere(x))
        else:
            own[i] = np.asarray(x)
    for i, rows in zip(own, _exchanged(list(own.values()), np.stack), strict=True):
        found[i] = rows.reshape(-1, *rows.shape[2:]) if tiled and rows.ndim > 1 else rows
    return trees.tree_unflatten(tree, found)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return the values of the process that is the source, as NumPy arrays, in all processes.

    Args:
      in_tree: a tree of values that have the same shapes and dtypes in every process.
      is_source: whether this process is the source; by default process 0 is.

    Raises:
      ValueError: in a process that runs alone and is not the source.

    >>> broadcast_one_to_all({"seed": 7})["seed"]
    array(7)
    """
    job = processes.current()
    if job is None and is_source is False:
        raise ValueError(
            "broadcast_one_to_all: is_source is False, but this process runs alone; leave it out"
        )
    source = job is None or (job.index == 0 if is_source is None else is_source)
    leaves, tree = trees.tree_flatten(in_tree)
    own = [np.asarray(x) if source else np.zeros_like(x) for x in leaves]
    return trees.tree_unflatten(tree, _exchanged(own, sum))


def _exchanged(arrays: list[np.ndarray[Any, Any]], join: Callable[[Any], Any]) -> list[Any]:
    """Each array joined with those of the other processes: stacked, or as a sum of their bytes.

    They travel as bytes, all at once, so that no dtype is changed.
    """
    if processes.current() is None or process_count() == 1:
        return [x[None] if join is np.stack else x for x in arrays]
    if not arrays:
        return []
    sizes = [x.nbytes for x in arrays]
    flat = [np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in arrays]
    mesh = _one_device_each()
    from effax.api.placing.global_arrays import make_array_from_process_local_data

    rows = NamedSharding(mesh, PartitionSpec("process"))
    spread = make_array_from_process_local_data(rows, np.concatenate(flat)[None])
    gathered = np.asarray(_everywhere(spread) if join is np.stack else _summed(spread))
    made, start = [], 0
    for x, size in zip(arrays, sizes, strict=True):
        part = np.ascontiguousarray(gathered[..., start : start + size])
        made.append(part.view(x.dtype).reshape((*gathered.shape[:-1], *x.shape)))
        start += size
    return made


@functools.cache
def _one_device_each() -> Mesh:
    first: dict[int, Any] = {}
    for device in devices():
        first.setdefault(device.process_index, device)
    return Mesh(np.array([first[i] for i in sorted(first)]), "process")


@functools.cache
def _on_all(mesh: Any, what: str) -> Callable[[Any], Array]:
    from effax.api.compiling.jit import jit
    from effax.effects.rows.reduction import reduce_sum

    def identity(x: Any) -> Any:
        return x

    def total(x: Any) -> Any:
        return reduce_sum(x, axes=(0,))

    spread = NamedSharding(mesh, PartitionSpec())
    return jit(identity if what == "all" else total, out_shardings=spread)


def _everywhere(x: Array) -> Array:
    mesh = x.sharding.mesh if isinstance(x.sharding, NamedSharding) else None
    if mesh is None:
        mesh = Mesh(np.array(x.sharding.placement().devices), "device")
    return _on_all(mesh, "all")(x)


def _summed(x: Array) -> Array:
    return _on_all(_one_device_each(), "sum")(x)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise `AssertionError` in every process unless all have the same tree of values.

    Digests are compared, so that large trees cost little. NaNs are equal, and zeros of both signs.

    Args:
      in_tree: a tree of values; of an array over several processes, the first piece of each.
      fail_message: the beginning of the error's message.

    >>> assert_equal({"step": 3})  # one process agrees with itself
    """
    job = processes.current()
    if job is None:
        return
    values = []
    for path, x in trees.tree_flatten_with_path(in_tree)[0]:
        here = isinstance(x, Array) and not x.is_fully_addressable
        value = np.asarray(x.addressable_data(0) if here else x)
        if value.dtype.kind in "fc":
            value = np.where(np.isnan(value), np.nan, value + 0).astype(value.dtype)
        values.append((trees.keystr(path) or "the value", value))
    found = agreement.different_values(job, "assert_equal", values)
    if found:
        begin = f"{fail_message}. " if fail_message else ""
        raise AssertionError(f"{begin}Processes have different values: {found}")


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come here and what they did so far has happened.

    Args:
      name: of this place in the program, the same in all processes.

    Raises:
      AssertionError: where another process came to another place.
      ProcessTimeoutError: where some did not come in time; it says which.

    >>> sync_global_devices("an epoch is over")
    """
    if not isinstance(name, str):
        raise TypeError(f"sync_global_devices: name must be a string, got {name!r}")
    effects_barrier()
    job = processes.current()
    if job is not None:
        different = job.compare("sync_global_devices", name)
        if different:
            places = ", ".join(f"{job.describe(i)} at {x!r}" for i, x in different.items())
            raise AssertionError(f"sync_global_devices name mismatch ('{name}'): {places}")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return whether this is the step at which all processes are to save, and leave.

    A process that gets SIGTERM, as schedulers send it before they take a machine away, tells the
    others; all get True for the same step, the next that none of them has begun. Call it once in
    each step. From the first call on SIGTERM does not end the process.

    Args:
      step_id: the number of the step, counted alike in all processes.

    >>> reached_preemption_sync_point(10)  # alone, there is nobody to agree with
    False
    """
    job = processes.current()
    return job is not None and job.reached_preemption(step_id)


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return arrays over a mesh whose parts are each process's arrays, cut as `pspecs` says.

    Args:
      local_inputs: a tree of arrays, each the part of this process; arrays over several processes
        stay as they are.
      global_mesh: a mesh in which the devices of each process are a box.
      pspecs: a tree of specs, or a prefix of it.

    Raises:
      ValueError: where a spec is None.

    >>> import effax, effax.numpy as jnp
    >>> from effax.sharding import PartitionSpec as P
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(jnp.arange(3), mesh, P("x")).sharding.spec
    P('x',)
    """

    def convert(x: Any, sharding: NamedSharding) -> Any:
        from effax.api.placing.global_arrays import (
            global_shape,
            make_array_from_process_local_data,
            make_array_from_single_device_arrays,
        )

        if isinstance(x, Array):
            if not x.is_fully_addressable:
                return x
            local = NamedSharding(global_mesh.local_mesh, sharding.spec)
            if x.sharding.is_equivalent_to(local, x.ndim):  # the pieces are there already
                shape = global_shape(x.shape, sharding)
                parts = [shard.data for shard in x.addressable_shards]
                return make_array_from_single_device_arrays(shape, sharding, parts)
        return make_array_from_process_local_data(sharding, x)

    return _converted(local_inputs, global_mesh, pspecs, convert)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Return the part of each array over a mesh that lies on the devices of this process.

    Args:
      global_inputs: a tree of arrays; those all on this process's devices stay as they are.
      global_mesh: a mesh in which the devices of each process are a box.
      pspecs: how the arrays are cut; a tree of specs, or a prefix of it.

    >>> import effax, effax.numpy as jnp
    >>> from effax.sharding import PartitionSpec as P
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array(jnp.arange(3), mesh, P("x"))
    Array([0, 1, 2], dtype=int32)
    """

    def convert(x: Any, sharding: NamedSharding) -> Any:
        from effax.api.placing.devices import device_put

        if isinstance(x, Array) and x.is_fully_addressable:
            return x
        spread = device_put(x, sharding)
        local = NamedSharding(global_mesh.local_mesh, sharding.spec)
        cuts = (*local.cuts(), *(1,) * spread.ndim)
        piece = spread.type.update(shape=sharding.shard_shape(spread.shape))
        shape = tuple(n * k for n, k in zip(piece.shape, cuts, strict=False))
        parts = {shard.device: shard.data for shard in spread.addressable_shards}
        ordered = [parts[device] for device in local.placement().devices]
        return from_shards(ordered, piece.update(shape=shape), local)

    return _converted(global_inputs, global_mesh, pspecs, convert)


def _converted(
    tree: Any, mesh: Any, specs: Any, convert: Callable[[Any, NamedSharding], Any]
) -> Any:
    from effax.api.placing.devices import device_put

    def is_spec(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)

    leaves, structure = trees.tree_flatten(tree)
    alone = not mesh.is_multi_process
    made = []
    for x, spec in zip(leaves, trees.broadcast_prefix(specs, tree, is_leaf=is_spec), strict=True):
        if spec is None:
            raise ValueError(
                "`None` is not a valid input to the pspecs argument. Please use "
                "effax.sharding.PartitionSpec() if you wanted to replicate your input."
            )
        sharding = NamedSharding(mesh, spec)
        plain = alone or isinstance(x, Carrier)
        made.append(device_put(x, sharding) if plain else convert(x, sharding))
    return trees.tree_unflatten(structure, made)


@contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the devices whose processes are alive while the block runs, the same in all processes.

    Raises `ProcessLostError` after the block where one of their processes died in it.

    >>> import effax
    >>> with live_devices(effax.devices()) as alive:
    ...     len(alive) == effax.device_count()
    True
    """
    job = processes.current()
    if job is None:
        yield list(devices)
        return
    before = job.alive()
    yield [device for device in devices if device.process_index in before]
    after = job.alive()
    lost = [i for i in before if after.get(i) != before[i]]
    if lost:
        names = ", ".join(map(job.describe, lost))
        raise ProcessLostError(f"live_devices: while the block ran, {names} ended")
