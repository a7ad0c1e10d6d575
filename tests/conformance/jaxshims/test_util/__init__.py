"""jax._src.test_util, written anew on the target's public API."""

# ruff: noqa: F401 (what the tests ask for by this module's name)

import unittest

from absl.testing import absltest, parameterized

from jaxshims import _absl
from jaxshims.public_test_util import check_close, check_grads, check_jvp, check_vjp
from jaxshims.test_util.cases import (
    BufferDonationTestCase,
    JaxTestCase,
    JaxTestLoader,
    check_raises,
    check_raises_regexp,
    global_config_context,
    promote_like_jnp,
    strict_promotion_if_dtypes_match,
    thread_local_config_context,
    with_config,
    with_global_config,
)
from jaxshims.test_util.comparing import (
    _assert_numpy_allclose,
    _check_dtypes_match,
    check_eq,
    default_gradient_tolerance,
    default_tolerance,
    dtypes,
    is_sequence,
    join_tolerance,
    num_float_bits,
    supported_dtypes,
    to_default_dtype,
    tolerance,
    with_jax_dtype_defaults,
)
from jaxshims.test_util.devices import (
    MAX_CASES_SAMPLING_RETRIES,
    NUM_GENERATED_CASES,
    SKIP_SLOW_TESTS,
    TEST_NUM_THREADS,
    TEST_TARGETS,
    TEST_WITH_PERSISTENT_COMPILATION_CACHE,
    device_supports_buffer_donation,
    device_under_test,
    get_tpu_version,
    is_asan,
    is_cloud_tpu,
    is_cloud_tpu_at_least,
    is_cuda_compute_capability_at_least,
    is_cuda_compute_capability_equal,
    is_cuda_version_at_least,
    is_device_cuda,
    is_device_rocm,
    is_device_tpu,
    is_device_tpu_at_least,
    is_gil_disabled,
    is_msan,
    is_optimized_build,
    is_running_under_pytest,
    is_sanitized,
    is_test_rbe,
    is_tsan,
    jaxlib_version,
    numpy_version,
    parse_version,
    pjrt_c_api_version_at_least,
    pytest_mark_if_available,
    request_cpu_devices,
    run_on_devices,
    runtime_environment,
    skip_on_devices,
    skip_on_flag,
    skip_under_pytest,
    stablehlo_version_at_least,
    test_device_matches,
    thread_unsafe_test,
    thread_unsafe_test_class,
)
from jaxshims.test_util.operands import (
    NUMPY_SCALAR_SHAPE,
    PYTHON_SCALAR_SHAPE,
    ScalarShape,
    _dims_of_shape,
    dtype_str,
    format_shape_dtype_string,
    is_valid_shape,
    rand_bool,
    rand_default,
    rand_fullrange,
    rand_indices_unique_along_axis,
    rand_int,
    rand_like,
    rand_nonzero,
    rand_not_small,
    rand_positive,
    rand_small,
    rand_small_positive,
    rand_some_equal,
    rand_some_inf,
    rand_some_inf_and_nan,
    rand_some_nan,
    rand_some_zero,
    rand_uniform,
    rand_unique_int,
)
from jaxshims.test_util.parameters import (
    cases_from_gens,
    named_cases_from_sampler,
    parameterized_filterable,
    sample_product,
    sample_product_testcases,
    sanitize_test_name,
)
from jaxshims.test_util.programs import (
    assert_dot_precision,
    assert_dot_preferred_element_type,
    assert_num_jit_and_pmap_compilations,
    count_jit_and_pmap_lowerings,
    count_jit_compilation_cache_miss,
    fwd_bwd_jaxprs,
    iter_eqns,
    register_event_duration_listener,
)
from jaxshims.test_util.surroundings import (
    JIT_IMPLEMENTATION,
    CudaArchSpecificTest,
    capture_stderr,
    capture_stdout,
    complex_plane_sample,
    create_mesh,
    set_env,
    with_explicit_mesh,
    with_mesh,
    with_mesh_from_kwargs,
)
from jaxshims.test_warning_util import ignore_warning, raise_on_warnings, record_warnings

# `jtu.parameterized` is used by some tests.
__all_modules__ = ("parameterized", "absltest", "unittest")

_absl.parse()
