"""What several processes agree on, where there is one process: it agrees with itself.

Programs written for many hosts run here unchanged on one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from effax.backends.xla.executable import effects_barrier
from effax.effects.tree import tree_leaves, tree_map

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
    """The arrays of all processes as NumPy arrays: stacked, or end to end if `tiled`.

    >>> import effax.numpy as jnp
    >>> process_allgather(jnp.arange(2))
    array([[0, 1]], dtype=int32)
    """
    return tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of the process that is the source, as NumPy arrays, in all processes.

    Raises `ValueError` where no process is the source.

    >>> broadcast_one_to_all({"seed": 7})["seed"]
    array(7)
    """
    if is_source is False:
        raise ValueError("broadcast_one_to_all: no process is the source: there is this one only")
    return tree_map(np.asarray, in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """See to it that all processes have the same values: one has.

    >>> assert_equal({"step": 3})  # one process agrees with itself
    """
    tree_map(np.asarray, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come here and what they did so far has happened.

    >>> sync_global_devices("an epoch is over")
    """
    if not isinstance(name, str):
        raise TypeError(f"sync_global_devices takes a name, and not {name!r}")
    effects_barrier()


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this process is about to be taken away: nothing here says that it is.

    >>> reached_preemption_sync_point(10)
    False
    """
    return False


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Arrays of this process as arrays over a mesh of devices, cut as `pspecs` says.

    >>> import effax, effax.numpy as jnp
    >>> from effax.sharding import PartitionSpec as P
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(jnp.arange(3), mesh, P("x")).sharding.spec
    P('x',)
    """
    return _placed(local_inputs, global_mesh, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Any, pspecs: Any) -> Any:
    """Arrays over a mesh as arrays of this process, which holds all of them.

    >>> import effax, effax.numpy as jnp
    >>> from effax.sharding import PartitionSpec as P
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array(jnp.arange(3), mesh, P("x"))
    Array([0, 1, 2], dtype=int32)
    """
    return _placed(global_inputs, global_mesh, pspecs)


def _placed(tree: Any, mesh: Any, specs: Any) -> Any:
    from effax.api.devices import device_put
    from effax.effects.tree import broadcast_prefix, tree_structure, tree_unflatten
    from effax.sharding import NamedSharding, PartitionSpec

    def is_spec(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)

    found = broadcast_prefix(specs, tree, is_leaf=is_spec)
    placed = [
        device_put(x, NamedSharding(mesh, PartitionSpec() if spec is None else spec))
        for x, spec in zip(tree_leaves(tree), found, strict=True)
    ]
    return tree_unflatten(tree_structure(tree), placed)


@contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """The devices whose processes are alive while the block runs: all of this process.

    >>> import effax
    >>> with live_devices(effax.devices()) as alive:
    ...     len(alive) == effax.device_count()
    True
    """
    yield list(devices)
