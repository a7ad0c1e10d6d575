"""effax.random draws what jax.random draws: the recorded calls of tests/goldens/random.json.

Bits, keys, integers, permutations and uniform numbers are the same bits. Samplers that pass through
`log` or `erf_inv` may differ by two units in the last place, and rejection loops by rounding.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp
from effax import random
from tests.goldens.make_random import CLOSE, EXACT, ULP, ULP_OF_ONE, dtype_of, replay

GOLDENS = Path(__file__).parents[1] / "goldens"
CALLS = json.loads((GOLDENS / "random.json").read_text())
RTOL = {"float16": 2e-2, "bfloat16": 5e-2, "float32": 2e-5, "float64": 1e-12}


def describe(numbered: tuple[int, dict]) -> str:
    """The name of a test: `uniform-2x3-float16-12`, with the number of the call last."""
    i, call = numbered
    words = [call["function"]]
    for value in [*call["args"], *call["kwargs"].values()]:
        if not isinstance(value, dict):
            words.append(str(value))
        elif "tuple" in value:
            words.append("x".join(map(str, value["tuple"])) or "scalar")
        else:
            words.append("array" if "array" in value else value["dtype"])
    return "-".join([*words, *(["x64"] if call["x64"] else []), str(i)])


@pytest.fixture(scope="module")
def goldens():
    with np.load(GOLDENS / "random.npz") as stored:
        return dict(stored)


@pytest.fixture
def x64():
    """Sets `jax_enable_x64` for one test; off again after it."""
    yield lambda on: jax.config.update("jax_enable_x64", on)
    jax.config.update("jax_enable_x64", False)


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: str) -> None:
    if tolerance == EXACT:
        np.testing.assert_array_equal(actual, expected)
        return
    if expected.dtype.kind == "c":
        for part in ("real", "imag"):
            assert_close(getattr(actual, part), getattr(expected, part), tolerance)
        return
    name = expected.dtype.name
    actual, wide = actual.astype("f8"), expected.astype("f8")
    if tolerance == CLOSE:
        np.testing.assert_allclose(actual, wide, rtol=RTOL[name], atol=RTOL[name])
        return
    assert tolerance in (ULP, ULP_OF_ONE)
    magnitude = np.maximum(np.abs(wide), 1.0 if tolerance == ULP_OF_ONE else 1e-30)
    unit = float(ml_dtypes.finfo(name).eps) * np.exp2(np.floor(np.log2(magnitude)))
    off = np.abs(actual - wide) / unit
    assert np.all(off <= 2), f"{off.max()} units in the last place\n{actual}\n{wide}"


@pytest.mark.parametrize("numbered", list(enumerate(CALLS)), ids=describe)
def test_stream(numbered, goldens, x64):
    i, call = numbered
    dtype = dtype_of(call["dtype"])
    expected = goldens[str(i)]
    if dtype == ml_dtypes.bfloat16:
        expected = expected.view(dtype)
    x64(call["x64"])
    result = replay(random, call)
    assert (result.dtype, result.shape) == (dtype, expected.shape)
    assert_close(np.asarray(result), expected, call["tol"])


def test_new_style_keys():
    """`key` wraps the same words as `PRNGKey`, and draws the same numbers."""
    old, new = random.PRNGKey(7), random.key(7)
    assert new.shape == ()
    assert jax.dtypes.issubdtype(new.dtype, jax.dtypes.prng_key)
    np.testing.assert_array_equal(random.key_data(new), old)
    np.testing.assert_array_equal(random.uniform(new, (5,)), random.uniform(old, (5,)))
    split = random.split(new, 3)
    assert split.shape == (3,)
    np.testing.assert_array_equal(random.key_data(split), random.split(old, 3))
    np.testing.assert_array_equal(random.key_data(random.fold_in(new, 4)), random.fold_in(old, 4))
    np.testing.assert_array_equal(random.key_data(random.wrap_key_data(old)), old)


@pytest.mark.parametrize("sampler", ["uniform", "normal", "bits"])
def test_streams_under_jit_and_vmap(sampler):
    """The same numbers inside a compiled program, and for each key of a batch."""
    draw = getattr(random, sampler)
    keys = random.split(random.PRNGKey(1), 4)
    expected = np.stack([draw(key, (3,)) for key in keys])
    assert_close(np.asarray(jax.jit(lambda k: draw(k, (3,)))(keys[0])), expected[0],
                 ULP if sampler == "normal" else EXACT)  # fmt: skip
    assert_close(np.asarray(jax.vmap(lambda k: draw(k, (3,)))(keys)), expected,
                 ULP if sampler == "normal" else EXACT)  # fmt: skip


ALONE = {
    "gamma": lambda key: random.gamma(key, jnp.array([0.5, 2.0])),
    "loggamma": lambda key: random.loggamma(key, 2.0),
    "beta": lambda key: random.beta(key, 2.0, 3.0),
    "dirichlet": lambda key: random.dirichlet(key, jnp.ones(3)),
    "grad of gamma": lambda key: jax.grad(lambda a: random.gamma(key, a))(1.5),
}


@pytest.mark.parametrize("name", ALONE)
def test_gamma_numbers_of_a_batch_of_rbg_keys_are_those_of_each(name):
    keys = random.split(random.key(3, impl="rbg"), 4)
    alone = jnp.stack([ALONE[name](key) for key in keys])
    many = jax.vmap(ALONE[name])
    for run in (many, jax.jit(many), lambda k: jax.vmap(many)(k[None])[0]):
        np.testing.assert_allclose(run(keys), alone, rtol=1e-5)


def test_gamma_numbers_of_a_batch_of_unsafe_keys_are_jaxs():
    keys = random.split(random.key(3, impl="unsafe_rbg"), 4)
    found = jax.vmap(lambda key: random.gamma(key, 1.5))(keys)
    np.testing.assert_allclose(found, [2.4017696, 3.5879998, 2.3976607, 0.28642169], rtol=1e-5)
