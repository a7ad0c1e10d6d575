"""Public names of JAX 0.10 that effax does not have, each with its reason.

A key is `module.name`, where a `*` stands for any word; `make missing` prints what no key covers.
"""

from fnmatch import fnmatchcase

_PRIMITIVE = "a primitive of JAX's interpreters; the effect of that name is in effax.effects"
_IMPORTED = "an import of JAX's own module, that `dir` happens to list"
_INTERNAL = "for the insides of JAX: there is nothing here that it could act on"
_MESH = "meshes over processes and explicit sharding types are not there; pmap and device_put are"
_SINGLE = "for programs of several processes, which effax does not start"

REFUSED = {
    "jax.*.*_p": _PRIMITIVE,
    "jax.random.random_gamma_p": _PRIMITIVE,
    "jax.ad": _INTERNAL,
    "jax.lib": _INTERNAL,
    "jax.make_user_context": _INTERNAL,
    "jax.jax2tf_associative_scan_reductions": "a switch of jax2tf, which effax has no part of",
    "jax.remove_size_one_mesh_axis_from_type": "a switch of JAX's explicit sharding types",
    "jax.auto_pcast": "casts are put in wherever values meet under shard_map: there is no other way",
    "jax.host_*": "deprecated in JAX: process_index, process_count, process_indices",
    "jax.numpy.ComplexWarning": "deprecated in NumPy: numpy.exceptions.ComplexWarning",
    "jax.numpy.float6_*": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.numpy.int1": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.numpy.uint1": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.debug.*DebugEffect": "callbacks are effects here, told apart by their attribute `ordered`",
    "jax.profiler.register_subprocess": _SINGLE,
    "jax.experimental.jet.*": _IMPORTED,
    "jax.experimental.ode.*": _IMPORTED,
    "jax.experimental.multihost_utils.*": _IMPORTED,
    "jax.experimental.serialize_executable.*": _IMPORTED,
    "jax.experimental.EArray": _INTERNAL,
    "jax.experimental.cur_qdd": _INTERNAL,
    "jax.experimental.primal_tangent_dtype": _INTERNAL,
    "jax.ffi.*lowering*": "for rules of primitives written with MLIR's bindings; ffi_call lowers",
    "jax.ffi.register_ffi_type_id": "deprecated in JAX: register_ffi_type",
    "jax.example_libraries.optimizers.*": _IMPORTED,
    "jax.custom_derivatives.*": _INTERNAL,
    "jax.thread_guard": _SINGLE,
    "jax.Array.device_buffer*": "deprecated in JAX: addressable_data",
}


def reason(name: str) -> str | None:
    """Why a name is not there, or None if nothing says so."""
    for pattern, why in REFUSED.items():
        if fnmatchcase(name, pattern):
            return why
    return None
