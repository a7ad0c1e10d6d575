"""JAX in a process of its own, for the long run."""

from collections.abc import Iterator

import pytest

from tests.grid.ask import Oracle, jax_python


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    python = jax_python()
    if python is None:
        pytest.skip("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    asked = Oracle(python)
    yield asked
    asked.close()
