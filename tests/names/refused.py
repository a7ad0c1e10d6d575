"""Public names of JAX 0.10 that effax does not have, each with its reason.

A key is `module.name`, where a `*` stands for any word. Modules that `effax.as_jax.absent` refuses
as a whole have their reason there. docs/refused.md is made of both.
"""

from fnmatch import fnmatchcase

from effax.as_jax.absent import ABSENT

_PRIMITIVE = "a primitive of JAX's interpreters; the effect of that name is in effax.effects"
_IMPORTED = "an import of JAX's own module, that `dir` happens to list"
_INTERNAL = "for the insides of JAX: there is nothing here that it could act on"
_PALLAS = "of one chip's memories, semaphores and pipelines, which effax's kernels do not name"
_SPARSE = "effax has the formats, and most of their functions, but not this one"
_LOWERING = "of JAX's own lowering, which effax does not have: an effect's lowering writes text"
_STAGING = "of JAX's own tracers and partial evaluation, which effax does not have"
_THREADS = "processes compare their programs before these run; threads are not compared"
_PROFILES = "each process writes a profile of its own"
_CORE = (
    "JaxprPpContext JaxprPpSettings OutputType abstract_token aval_mapping_handlers call "
    "concretization_function_error custom_typechecks literalable_types no_axis_name "
    "nonempty_axis_env_DO_NOT_USE"
)

REFUSED = {
    "jax.*.*_p": _PRIMITIVE,
    "jax.random.random_gamma_p": _PRIMITIVE,
    "jax.ad": _INTERNAL,
    "jax.lib": _INTERNAL,
    "jax.make_user_context": _INTERNAL,
    "jax.jax2tf_associative_scan_reductions": "a switch of jax2tf, which effax has no part of",
    "jax.remove_size_one_mesh_axis_from_type": "a switch of JAX's explicit sharding types",
    "jax.auto_pcast": "casts are put in wherever values meet under shard_map: there is no other way",
    "jax.numpy.float6_*": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.numpy.int1": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.numpy.uint1": "XLA's CPU backend has no such type; ml_dtypes has it for the host",
    "jax.debug.*DebugEffect": "callbacks are effects here, told apart by their attribute `ordered`",
    "jax.profiler.register_subprocess": _PROFILES,
    "jax.experimental.jet.*": _IMPORTED,
    "jax.experimental.ode.*": _IMPORTED,
    "jax.experimental.multihost_utils.*": _IMPORTED,
    "jax.experimental.serialize_executable.*": _IMPORTED,
    "jax.experimental.EArray": _INTERNAL,
    "jax.experimental.cur_qdd": _INTERNAL,
    "jax.experimental.primal_tangent_dtype": _INTERNAL,
    "jax.ffi.register_ffi_type_id": "deprecated in JAX: register_ffi_type",
    "jax.example_libraries.optimizers.*": _IMPORTED,
    "jax.thread_guard": _THREADS,
    "jax.api_util.*": _INTERNAL,
    "jax.core.ParamDict": _INTERNAL,
    **{f"jax.core.{name}": _STAGING for name in _CORE.split()},
    "jax.experimental.compute_on.compute_on2": "compute_on has its meaning",
    "jax.experimental.custom_partitioning.*": "rules are functions here, not Shardy's factor texts",
    "jax.experimental.hijax.*": "effax has no hijax types; a value of another kind is a carrier",
    "jax.experimental.mesh_utils.device_kind_handler_dict": "a table of TPU topologies",
    "jax.experimental.pallas.*": _PALLAS,
    "jax.experimental.rnn.rnn_*": "of cuDNN's kernels, in place of which effax scans",
    "jax.experimental.rnn.lstm_[bf]wd": "lstm is differentiated as it is",
    "jax.experimental.rnn.sigmoid": _IMPORTED,
    "jax.experimental.rnn.tanh": _IMPORTED,
    "jax.experimental.rnn.PRNGKeyArray": _IMPORTED,
    "jax.experimental.scheduling_groups.*": _INTERNAL,
    "jax.experimental.sparse.*": _SPARSE,
    "jax.extend.backend.*": "of JAX's own registry of back-ends; effax's is the runtime's",
    "jax.extend.core.*": _STAGING,
    "jax.extend.random.threefry_2x32": "random.bits has the same words; the block is an effect",
    "jax.interpreters.ad.*": "effax.jvp and effax.linearize are the public forms",
    "jax.interpreters.mlir.*": _LOWERING,
    "jax.interpreters.partial_eval.*": _STAGING,
    "jax.interpreters.pxla.*": "of JAX's own executables and meshes; jax.sharding has the public ones",
    "jax.interpreters.xla.Backend": _LOWERING,
    "jax.Array.device_buffer*": "deprecated in JAX: addressable_data",
}


def reason(name: str) -> str | None:
    """Why a name is not there, or None if nothing says so."""
    module = name.rpartition(".")[0].removeprefix("jax.")
    if module in ABSENT:
        return ABSENT[module][0]
    for pattern, why in REFUSED.items():
        if fnmatchcase(name, pattern):
            return why
    return None
