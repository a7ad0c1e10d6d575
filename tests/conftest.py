"""Settings that every test shares: repeatable examples, no deadlines."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=True,  # the same examples on every machine
    deadline=None,  # the first example of a type compiles
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cpu") is not None:
        import effax

        if effax.default_backend() != "cpu":
            pytest.skip("of a CPU alone")


@pytest.fixture(scope="module", autouse=True)
def _a_small_heap() -> Iterator[None]:
    """Keep the collector from walking the programs, executables and caches of earlier modules.

    Each test of what is freed collects the whole heap, which takes seconds after some thousand
    tests (42 for one of them).
    """
    yield
    gc.collect()
    gc.freeze()
