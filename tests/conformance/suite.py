"""The test files to run, in groups; exclusions; and extraction of JAX's tests.

No JAX code lives in this directory.  The test files are taken at run time from
a JAX git repository (bare or not) or from a plain source tree.
"""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

DEFAULT_REPO = os.environ.get("JAX_REPO", "jax.git")
DEFAULT_REF = "jax-v0.10.2"

GROUPS: dict[str, list[str]] = {
    "core": [
        "api_test",
        "api_util_test",
        "core_test",
        "custom_api_test",
        "custom_linear_solve_test",
        "custom_root_test",
        "lax_control_flow_test",
        "batching_test",
        "checkify_test",
        "tree_util_test",
        "generated_fun_test",
        "dtypes_test",
        "x64_context_test",
        "debug_nans_test",
        "errors_test",
        "mutable_array_test",
        "state_test",
        "name_stack_test",
        "jax_jit_test",
        "key_reuse_test",
        "typing_test",
        "package_structure_test",
        "device_test",
        "fused_test",
    ],
    "lax": [
        "lax_test",
        "lax_autodiff_test",
        "lax_vmap_test",
        "lax_vmap_op_test",
        "ann_test",
        "scheduling_groups_test",
        "xla_metadata_test",
    ],
    "numpy": [
        "lax_numpy_test",
        "lax_numpy_operators_test",
        "lax_numpy_reducers_test",
        "lax_numpy_indexing_test",
        "lax_numpy_ufuncs_test",
        "lax_numpy_einsum_test",
        "lax_numpy_setops_test",
        "lax_numpy_vectorize_test",
        "polynomial_test",
        "fft_test",
        "string_array_test",
        "array_api_test",
    ],
    "array": [
        "array_test",
        "array_extensibility_test",
        "array_interoperability_test",
        "pickle_test",
        "layout_test",
        "transfer_guard_test",
    ],
    "random": [
        "random_test",
        "random_lax_test",
        "random_impl_test",
        "stateful_rng_test",
        "blocked_sampler_test",
    ],
    "linalg": [
        "linalg_test",
        "eigh_test",
        "svd_test",
        "qdwh_test",
        "lobpcg_test",
        "cholesky_update_test",
    ],
    "scipy": [
        "lax_scipy_test",
        "lax_scipy_special_functions_test",
        "lax_scipy_sparse_test",
        "lax_scipy_spectral_dac_test",
        "scipy_fft_test",
        "scipy_interpolate_test",
        "scipy_ndimage_test",
        "scipy_optimize_test",
        "scipy_signal_test",
        "scipy_spatial_test",
        "scipy_stats_test",
    ],
    "nn": [
        "nn_test",
        "stax_test",
        "optimizers_test",
        "ode_test",
        "jet_test",
        "image_test",
        "experimental_rnn_test",
        "scaled_dot_test",
    ],
    "callback": [
        "debugging_primitives_test",
        "debugger_test",
        "python_callback_test",
        "buffer_callback_test",
        "debug_info_test",
        "ffi_test",
        "monitoring_test",
        "logging_test",
        "source_info_test",
        "source_mapper_test",
        "metadata_test",
        "roofline_test",
        "profiler_test",
        "heap_profiler_test",
        "garbage_collection_guard_test",
        "warnings_util_test",
        "deprecation_test",
    ],
    "sharding": [
        "pmap_test",
        "shard_map_test",
        "pjit_test",
        "multi_device_test",
        "multibackend_test",
        "memories_test",
        "shard_alike_test",
        "linalg_sharding_test",
        "mesh_utils_test",
        "custom_partitioning_test",
        "ragged_collective_test",
        "async_collectives_test",
        "control_deps_test",
        "colocated_python_test",
    ],
    "export": [
        "export_test",
        "aot_test",
        "shape_poly_test",
        "compilation_cache_test",
        "cache_key_test",
        "extend_test",
        "jax_to_ir_test",
    ],
    "sparse": ["sparse_test", "sparse_bcoo_bcsr_test", "sparsify_test"],
}

# The files a first effax release should be measured on: nearly all of their
# tests need only the public API plus test_util.
GROUPS["priority"] = [
    "lax_numpy_test",
    "lax_numpy_operators_test",
    "lax_numpy_reducers_test",
    "lax_numpy_indexing_test",
    "lax_numpy_ufuncs_test",
    "lax_numpy_einsum_test",
    "lax_numpy_setops_test",
    "lax_numpy_vectorize_test",
    "polynomial_test",
    "fft_test",
    "lax_test",
    "lax_autodiff_test",
    "lax_vmap_test",
    "lax_vmap_op_test",
    "api_test",
    "custom_api_test",
    "lax_control_flow_test",
    "batching_test",
    "tree_util_test",
    "generated_fun_test",
    "dtypes_test",
    "array_test",
    "random_test",
    "random_lax_test",
    "nn_test",
    "linalg_test",
    "lax_scipy_test",
    "lax_scipy_special_functions_test",
    "scipy_stats_test",
    "scipy_signal_test",
    "scipy_spatial_test",
    "scipy_ndimage_test",
    "scipy_interpolate_test",
    "scipy_optimize_test",
    "scipy_fft_test",
    "ode_test",
    "optimizers_test",
    "stax_test",
    "jet_test",
    "image_test",
    "checkify_test",
    "debugging_primitives_test",
    "python_callback_test",
]

# Twelve quick files (about two minutes with real jax): a smoke test.
GROUPS["smoke"] = [
    "tree_util_test",
    "generated_fun_test",
    "lax_numpy_vectorize_test",
    "lax_numpy_einsum_test",
    "lax_numpy_ufuncs_test",
    "optimizers_test",
    "stax_test",
    "scipy_interpolate_test",
    "lax_vmap_op_test",
    "polynomial_test",
    "ode_test",
    "scipy_ndimage_test",
]

# Tests that pass with jax's own internals but not with the shims, although jax
# is right: they are counted as "internal", not as failures.  Keys are
# "Class::method" without a parameter suffix.
_FRAMES = "counts JAX's own frames, which change with its versions, as the test says"
_TRACERS = "looks for a class of jax._src by name: BatchTracer, DynamicJaxprTrace"
_BITS = "looks for random_bits, a primitive of jax._src"
_NAME = "looks for the library's name by a plain assert, in which effax's does not count"

HARNESS_LIMITS: dict[str, dict[str, str]] = {
    "api_test": {
        "TracebackTest::test_scan_traceback": _FRAMES,
        "TracebackTest::test_cond_traceback": _FRAMES,
        "TracebackTest::test_jit_traceback": _FRAMES,
        "TracebackTest::test_grad_traceback": _FRAMES,
        "TracebackTest::test_vmap_traceback": _FRAMES,
        "TracebackTest::test_custom_vjp_traceback": _FRAMES,
        "APITest::test_cache_miss_explanations_other_weak_type": "looks for the address of JAX's docs",
        "EnvironmentInfoTest::test_print_environment_info": _NAME,
        "APITest::test_leak_checker_catches_a_sublevel_leak": _TRACERS,
        "JitTest::test_jit_lower_compile_vmap": _TRACERS,
    },
    "key_reuse_test": {
        "KeyReuseEagerTest::test_key_reuse_within_jit": _BITS,
        "KeyReuseEagerTest::test_simple_reuse_nojit": _BITS,
        "KeyReuseGlobalFlagsTest::test_key_reuse_flag": _BITS,
    },
    "core_test": {
        "CoreTest::test_invalid_shape_error_with_jit_tracer_passed": _TRACERS,
        "JaxprTypeChecks::test_check_jaxpr_invalid_long": "relies on private caches being emptied",
    },
    "random_test": {
        "PrngTest::test_config_prngs_registered": "looks at the private table of generators",
    },
    "debugging_primitives_test": {
        "PartitionedDebugCallbackTest::test_debug_print_with_logging": "listens to a logger of jax._src",
    },
    "ffi_test": {
        "FfiTest::test_non_hashable_attributes": "looks for FrozenDict, a class of jax._src",
    },
    "profiler_test": {
        "ProfilerTest::testProfilerGetFDOProfile": "asks for stop_and_get_fdo_profile, which is private",
        "ProfilerTest::testProgrammaticProfiling": "looks for pxla.py, a file of jax._src",
        "ProfilerTest::testProgrammaticProfilingConcurrency": "looks for pxla.py",
        "ProfilerTest::testProgrammaticProfilingPathlib": "looks for pxla.py",
        "ProfilerTest::testProgrammaticProfilingWithOptionsPathlib": "looks for pxla.py",
    },
    "pjit_test": {
        "ShardingInTypesTest::test_set_mesh": "undoes jax.set_mesh through private state",
        "PJitTest::test_pretty_print_html": "uses jax._src.pretty_printer",
    },
}

EXCLUDED: dict[str, str] = {
    "absl_cpp_logging_test": "tests jaxlib's C++ logging",
    "clear_backends_test": "jaxlib client life cycle",
    "cudnn_fusion_test": "GPU only",
    "custom_partitioning_sharding_rule_test": "MLIR (sdy dialect) internals",
    "distributed_initialize_test": "multi-process runtime",
    "distributed_test": "multi-process runtime",
    "documentation_coverage_test": "needs JAX's docs tree",
    "export_back_compat_test": "serialized StableHLO data shipped in jax._src",
    "export_harnesses_multi_platform_test": "built on jax._src test_harnesses",
    "export_serialization_back_compat_test": "serialized data in jax._src",
    "fused_attention_stablehlo_test": "GPU only",
    "fused_attention_stablehlo_multigpu_test": "GPU only",
    "gpu_memory_flags_test": "GPU only",
    "hardware_utils_test": "probes /dev for accelerators",
    "config_test": "tests jax._src.config itself",
    "error_check_test": "tests jax._src.error_check, not public",
    "hijax_test": "hijax is not public",
    "jax_numpy_error_test": "tests jax._src.numpy.error, not public",
    "jaxpr_effects_test": "defines effect types, which public API cannot",
    "jaxpr_util_test": "tests jax._src.jaxpr_util itself",
    "lax_numpy_hijax_test": "tests jax._src.numpy.hijax, not public",
    "hypothesis_test_util_test": "tests jax._src.hypothesis_test_util itself",
    "lazy_loader_test": "tests jax._src.lazy_loader itself",
    "local_wheel_smoke_test": "tests the jaxlib wheel",
    "lru_cache_test": "tests jax._src.lru_cache itself",
    "magma_linalg_test": "GPU only",
    "mock_gpu_test": "GPU only",
    "mock_gpu_topology_test": "GPU only",
    "mosaic_test": "Mosaic (Pallas back end)",
    "multiprocess_gpu_test": "GPU only, multi-process",
    "overlap_test": "GPU only",
    "pgle_test": "profile-guided XLA compilation internals",
    "pretty_printer_test": "tests jax._src.pretty_printer itself",
    "profiler_session_test": "jaxlib profiler",
    "pytorch_interoperability_test": "needs torch",
    "scaled_matmul_stablehlo_test": "GPU only",
    "sourcemap_test": "tests jax._src.sourcemap itself",
    "stack_test": "tests jax._src.tpu.linalg.stack itself",
    "util_test": "tests jax._src.util itself",
    "version_test": "tests the arithmetic of jax's own version number",
    "traceback_test": "tests jaxlib's C++ tracebacks",
    "unary_ops_accuracy_test": "TPU only",
    "xla_bridge_test": "PJRT plug-in registration internals",
    "xla_interpreter_test": "one test of a private function",
    "xla_transform_test": "XLA HLO-pass hooks",
    "lax_reference": "helper, not a test",
    "pallas/*, mosaic/*, multiprocess/*, third_party/*": "Pallas, Mosaic GPU, multi-process and vendored tests",
}


def all_files() -> list[str]:
    out: list[str] = []
    for name, files in GROUPS.items():
        if name in ("priority", "smoke"):
            continue
        out += [f for f in files if f not in out]
    return out


def resolve_files(files: str | None, groups: str | None) -> list[str]:
    out: list[str] = []
    for g in (groups or "").split(","):
        if not g:
            continue
        if g == "all":
            out += all_files()
        elif g in GROUPS:
            out += GROUPS[g]
        else:
            sys.exit(f"unknown group {g!r}; groups: all, {', '.join(GROUPS)}")
    for f in (files or "").split(","):
        if f:
            f = f.removesuffix(".py")
            out.append(f if f.endswith("_test") else f + "_test")
    return list(dict.fromkeys(out))


def extract_tests(dest: pathlib.Path, repo: str, ref: str) -> str:
    """Puts JAX's tests/ directory under ``dest``; returns a description."""
    path = pathlib.Path(repo)
    if not path.exists():
        sys.exit(
            f"no JAX source at {repo}; set JAX_REPO to a git directory, a "
            "checkout, or a source tree that has tests/"
        )
    git_dir = None
    if (path / "HEAD").exists() and (path / "objects").exists():
        git_dir = path
    elif (path / ".git").exists():
        git_dir = path / ".git"
    if git_dir is not None:
        proc = subprocess.run(
            ["git", f"--git-dir={git_dir}", "archive", "--format=tar", ref, "tests"],
            capture_output=True,
        )
        if proc.returncode != 0:
            sys.exit(f"git archive {ref} failed: {proc.stderr.decode().strip()}")
        with tarfile.open(fileobj=io.BytesIO(proc.stdout)) as tar:
            tar.extractall(dest, filter="data")
        sha = subprocess.run(
            ["git", f"--git-dir={git_dir}", "rev-parse", ref + "^{commit}"],
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.strip()
        return f"{ref} ({sha[:12]})"
    if (path / "tests").is_dir():
        shutil.copytree(path / "tests", dest / "tests")
        return f"source tree {repo}"
    sys.exit(f"{repo} is neither a git directory nor a tree with tests/")
