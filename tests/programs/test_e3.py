"""The 25 programs of research.md, E3, under jit, vmap, jvp, grad and every nesting of two.

Compared with what jax computes (tests/goldens/e3.npz) to 1e-8 in float64. Where jax refuses, by
the table in e3.py, effax either refuses with the same class of error or has the right numbers.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp
from tests.programs.e3 import NESTINGS, PROGRAMS, X, nest, refused

GOLDENS = Path(__file__).parents[1] / "goldens"
SHAPES = json.loads((GOLDENS / "e3.json").read_text())["shapes"]
# Features still to come: programs that need one are expected to fail, and noticed when they pass.
WAITING: frozenset[str] = frozenset()


@pytest.fixture(autouse=True, scope="module")
def float64():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def goldens(name: str) -> dict[str, np.ndarray]:
    """The golden of each nesting of a program, by its label."""
    with np.load(GOLDENS / "e3.npz") as stored:
        vector = stored[name]
    results, start = {}, 0
    for label, shape in SHAPES[name].items():
        size = int(np.prod(shape))
        results[label] = vector[start : start + size].reshape(shape)
        start += size
    assert start == vector.size
    return results


def cases():
    for name, program in PROGRAMS.items():
        expected = goldens(name)
        waits = program.needs & WAITING
        marks = [pytest.mark.xfail(reason=f"needs {sorted(waits)}", strict=True)] if waits else []
        for nesting in NESTINGS:
            label = ".".join(nesting)
            yield pytest.param(name, nesting, expected[label], id=f"{name}-{label}", marks=marks)


def test_there_are_25_programs():
    assert len(PROGRAMS) == 25
    assert len(NESTINGS) == 4 + 16
    assert set(SHAPES) == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_alone(name):
    """Jitted or not, the same numbers: the golden of `jit` is that of the program itself."""
    result = PROGRAMS[name].make(jax, jnp)(jnp.asarray(X))
    np.testing.assert_allclose(result, goldens(name)["jit"], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("name", "nesting", "expected"), list(cases()))
def test_nesting(name, nesting, expected):
    transformed = nest(jax, jnp, nesting, PROGRAMS[name].make(jax, jnp))
    refusal = refused(name, nesting)
    try:
        result = transformed(jnp.asarray(X))
    except Exception as error:
        if refusal is None:
            raise
        error_class, pattern = refusal
        with pytest.raises(error_class, match=pattern):
            raise error
        return
    assert result.dtype == np.float64
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-8)
