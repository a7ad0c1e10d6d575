"""LAPACK, as custom calls that jaxlib ships for the CPU; registered when first needed."""

from __future__ import annotations

import threading
from typing import Final

from effax.effects.runtime import _jax

_lock: Final = threading.Lock()
_registered: Final[set[str]] = set()


def ensure_registered() -> None:
    """Make the targets `lapack_*_ffi` and `cpu_csr_*` known to XLA. Cheap after the first call.

    The first call imports `scipy.linalg`, whose LAPACK it is, and takes a quarter of a second.
    """
    if "cpu" in _registered:
        return
    with _lock:
        if "cpu" in _registered:
            return
        from effax.effects.runtime import _lapack, cpu_sparse, lapack

        _lapack.initialize()
        targets = lapack.registrations()["cpu"] + cpu_sparse.registrations()["cpu"]
        # jax in the same process may have registered them; registering twice is an error.
        known = set(_jax.custom_call_targets("Host"))
        for name, target, version in targets:
            if name not in known:
                _jax.register_custom_call_target(name, target, "cpu", api_version=version)
                if version == 1 and name.endswith("_ffi"):
                    _jax.register_custom_call_as_batch_partitionable(name)
        _registered.add("cpu")
