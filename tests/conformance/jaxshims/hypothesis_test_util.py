"""jax._src.hypothesis_test_util."""

from __future__ import annotations


def setup_hypothesis(max_examples=30):
    import hypothesis as hp

    hp.settings.register_profile(
        "harness",
        database=None,
        deadline=None,
        max_examples=max_examples,
        derandomize=True,
        suppress_health_check=list(hp.HealthCheck),
    )
    hp.settings.load_profile("harness")


def hypothesis_is_thread_safe():
    return True
