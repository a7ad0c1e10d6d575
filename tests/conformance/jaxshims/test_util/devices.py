"""The devices that tests run on, and the conditions under which tests are skipped."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import unittest

import numpy as np

import jaxshims
from jaxshims import config as _config


def _t(path, *default):
    return jaxshims.target_attr(path, *default)


NUM_GENERATED_CASES = _config._FlagHolder(int(os.environ.get("JAX_NUM_GENERATED_CASES", "10")))
MAX_CASES_SAMPLING_RETRIES = _config._FlagHolder(100)
TEST_NUM_THREADS = _config._FlagHolder(0)
TEST_WITH_PERSISTENT_COMPILATION_CACHE = _config._FlagHolder(False)
SKIP_SLOW_TESTS = _config._FlagHolder(
    os.environ.get("JAX_SKIP_SLOW_TESTS", "0").lower() in ("1", "true")
)
TEST_TARGETS = _config._FlagHolder("")

_FLAGS = {
    "jax_skip_slow_tests": SKIP_SLOW_TESTS,
    "jax_num_generated_cases": NUM_GENERATED_CASES,
    "jax_test_with_persistent_compilation_cache": TEST_WITH_PERSISTENT_COMPILATION_CACHE,
}


def device_under_test() -> str:
    backend = _t("default_backend", None)
    return backend() if backend is not None else "cpu"


def _device_tags() -> set[str]:
    d = device_under_test()
    tags = {d}
    if d in ("gpu", "cuda", "rocm"):
        tags.add("gpu")
        if d != "rocm":
            tags.add("cuda")
    return tags


def test_device_matches(device_types) -> bool:
    if isinstance(device_types, str):
        raise AssertionError("device_types is to be a list of strings")
    return bool(set(device_types) & _device_tags())


test_device_matches.__test__ = False  # no test, whatever its name says


def _skip_when(condition, reason):
    """A decorator for test methods and for whole test classes."""

    def decorate(target):
        if isinstance(target, type):
            setup = target.setUp

            def new_setup(self):
                if condition():
                    raise unittest.SkipTest(reason())
                setup(self)

            target.setUp = new_setup
            return target

        @functools.wraps(target)
        def wrapper(self, *args, **kwargs):
            if condition():
                raise unittest.SkipTest(reason())
            return target(self, *args, **kwargs)

        return wrapper

    return decorate


def skip_on_devices(*disabled_devices, skip_reason=None):
    return _skip_when(
        lambda: test_device_matches(disabled_devices),
        lambda: skip_reason or f"not supported on {device_under_test()}",
    )


def run_on_devices(*enabled_devices, skip_reason=None):
    return _skip_when(
        lambda: not test_device_matches(enabled_devices),
        lambda: skip_reason or f"runs on {enabled_devices} only",
    )


def device_supports_buffer_donation():
    return _skip_when(
        lambda: not test_device_matches(["cpu", "tpu", "gpu"]),
        lambda: f"no buffer donation on {device_under_test()}",
    )


def skip_on_flag(flag_name, skip_value):
    def value():
        if flag_name in _FLAGS:
            return _FLAGS[flag_name].value
        return _config.read(flag_name, None)

    return _skip_when(lambda: value() == skip_value, lambda: f"{flag_name} is {skip_value!r}")


def is_running_under_pytest() -> bool:
    return True


def skip_under_pytest(reason):
    return _skip_when(lambda: True, lambda: "not under pytest: " + reason)


def pytest_mark_if_available(marker):
    import pytest

    return getattr(pytest.mark, marker)


def thread_unsafe_test(condition=True):
    return lambda test: test


def thread_unsafe_test_class(condition=True):
    return lambda cls: cls


def request_cpu_devices(nr_devices: int):
    """Asks for several CPU devices, before the first one is made."""
    # If it is refused, the tests see the number of devices that there are.
    with contextlib.suppress(AttributeError, KeyError, ValueError, RuntimeError):
        _t("config").update("jax_num_cpu_devices", nr_devices)


def is_device_rocm():
    return False


def is_device_cuda():
    return test_device_matches(["cuda"])


def is_device_tpu(version=None, variant=""):
    return False


def is_device_tpu_at_least(version):
    return False


def get_tpu_version():
    return -1


def is_cloud_tpu():
    return False


def is_cloud_tpu_at_least(*date):
    return True


def pjrt_c_api_version_at_least(major_version, minor_version):
    return True


def stablehlo_version_at_least(required_version):
    return True


def is_cuda_compute_capability_at_least(capability):
    return False


def is_cuda_compute_capability_equal(capability):
    return False


def is_cuda_version_at_least(major, minor):
    return False


def is_optimized_build():
    return True


def is_asan():
    return False


is_msan = is_tsan = is_sanitized = is_test_rbe = is_asan


def is_gil_disabled():
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def runtime_environment():
    return None


def parse_version(v: str) -> tuple[int, ...]:
    return tuple(int(m) for m in re.findall(r"^\d+|(?<=\.)\d+", v))


def numpy_version():
    return parse_version(np.__version__)


def jaxlib_version():
    return parse_version(str(_t("__version__")))
