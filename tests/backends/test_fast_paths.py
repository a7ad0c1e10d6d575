"""Each fast path gives the values of the rule it stands before, at special values too.

`make paths` runs other tests with paths switched off, and with paths taken at all sizes.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax.backends.xla.fast.path import PATHS
from effax.effects import config
from effax.effects.columns import load

load("effax.backends.xla.lowering")
load("effax.backends.xla.fast")


@pytest.fixture(autouse=True)
def all_paths():
    """Whatever the environment asks for."""
    with config.fast_paths("all"):
        yield


RNG = np.random.default_rng(0)
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -7.0, 1e6, -3e8, 1e30, np.inf, -np.inf, np.nan], np.float32
)
FLOATS = np.concatenate([RNG.standard_normal(4096 - 78) * 30, np.tile(SPECIAL, 6)])
FLOATS = RNG.permutation(FLOATS).astype(np.float32)
with np.errstate(over="ignore"):
    HALVES = FLOATS.astype(np.float16)
NUMBERS = RNG.standard_normal(4096).astype(np.float32)
INTEGERS = RNG.integers(-(2**31), 2**31, 4096).astype(np.int32)
DIVISORS = np.concatenate([RNG.integers(-9, 9, 4000), np.full(96, -1)]).astype(np.int32)
INTEGERS[-50:] = -(2**31)
SIGNED_ZEROS = np.where(RNG.integers(0, 2, 4096) > 0, 0.0, -0.0).astype(np.float32)
IMAGES = np.round(RNG.standard_normal((2, 9, 11, 6)) * 3).astype(np.float32)


def _pool(window, strides, padding):
    def loss(x):
        return (lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding) ** 2).sum()

    return fx.grad(loss)


TRIANGLES = (NUMBERS[:2048].reshape(2, 32, 32) / 32 + 2 * np.eye(32)).astype(np.float32)


def _first_of_segment(before, after):
    return before[0] | after[0], jnp.where(after[0], after[1], before[1])


def _solve(**how):
    return lambda a, b: lax.linalg.triangular_solve(a, b, **how)


MOVED = {
    "sort_packed": [
        (lambda x: jnp.argsort(x), FLOATS),
        (lambda x: jnp.argsort(x.reshape(64, 64), axis=0), FLOATS),
        (lambda x: jnp.argsort(x), HALVES),
        (lambda x: jnp.argsort(x), INTEGERS),
        (lambda x: jnp.argsort(x), INTEGERS.astype(np.uint32)),
        (lambda x: jnp.argsort(x), DIVISORS.astype(np.int8)),
        (lambda x, y: lax.sort((x, y, -y), num_keys=1), DIVISORS, FLOATS),
    ],
    "div": [(lax.div, INTEGERS, DIVISORS), (lax.div, INTEGERS.view("u4"), DIVISORS.view("u4"))],
    "rem": [(lax.rem, INTEGERS, DIVISORS), (lax.rem, INTEGERS.view("u4"), DIVISORS.view("u4"))],
    "argmax": [
        (lambda x: jnp.argmax(x.reshape(16, 256), 1), FLOATS),
        (lambda x: jnp.argmax(x.reshape(64, 64), 0), FLOATS),
        (lambda x: jnp.argmax(x.reshape(2, 32, 64), 1), NUMBERS),
        (lambda x: jnp.argmax(x.reshape(64, 64), 0), DIVISORS),
        (lambda x: jnp.argmax(x), DIVISORS),
        (lambda x: jnp.argmax(x.reshape(16, 256) > 60, 1), FLOATS),
    ],
    "argmin": [
        (lambda x: jnp.argmin(x.reshape(16, 256), 1), FLOATS),
        (lambda x: jnp.argmin(x.reshape(64, 64), 0), FLOATS),
        (lambda x: jnp.argmin(x.reshape(64, 64), 0), np.full(4096, np.inf, np.float32)),
    ],
    "cummax": [
        (lambda x: lax.cummax(x, 0), FLOATS),
        (lambda x: lax.cummax(x.reshape(64, 64), 0, reverse=True), FLOATS),
        (lambda x: lax.cummax(x.reshape(64, 64), 1), INTEGERS),
    ],
    "cummin": [
        (lambda x: lax.cummin(x, 0, reverse=True), FLOATS),
        (lambda x: lax.cummin(x.reshape(64, 64), 1), FLOATS),
    ],
    "reduce_max": [
        (lambda x: jnp.max(x), FLOATS),
        (lambda x: jnp.max(x), SIGNED_ZEROS),
        (lambda x: jnp.max(x.reshape(64, 64), 1), FLOATS),
        (lambda x: jnp.max(x.reshape(2, 8, 256), (1, 2)), HALVES),
        (lambda x: jnp.max(jnp.tile(x, 3)[:12285].reshape(189, 65), 1), NUMBERS),
        (lambda x: jnp.max(jnp.tile(x, 3)[:8191]), INTEGERS),
        (lambda x: jnp.max(x.reshape(64, 64), 1), INTEGERS.view("u4")),
    ],
    "reduce_min": [
        (lambda x: jnp.min(x), FLOATS),
        (lambda x: jnp.min(x), SIGNED_ZEROS),
        (lambda x: jnp.min(x.reshape(64, 64), 1), INTEGERS),
        (lambda x: jnp.min(jnp.tile(x, 3)[:8191]), NUMBERS),
    ],
    "associative_scan": [
        (lambda x: lax.associative_scan(jnp.maximum, x.reshape(32, 128)), FLOATS),
        (lambda x: lax.associative_scan(jnp.maximum, x.reshape(128, 32), axis=1), FLOATS),
        (lambda x: lax.associative_scan(jnp.add, x.reshape(64, 64), reverse=True), INTEGERS),
        (
            lambda x: fx.vmap(lambda x: lax.associative_scan(jnp.minimum, x))(
                x.reshape(2, 16, 128)
            ),
            FLOATS,
        ),
        (
            lambda x: fx.grad(
                lambda x: (lax.associative_scan(jnp.maximum, x.reshape(32, 128)) ** 2).sum()
            )(x),
            IMAGES.ravel()[:1].repeat(4096) * np.arange(4096, dtype=np.float32),
        ),
        (
            lambda x: lax.associative_scan(_first_of_segment, (x > 100, x), axis=1),
            DIVISORS.reshape(2, 32, 64),
        ),
    ],
    "select_and_scatter_add": [
        (_pool((1, 2, 2, 1), (1, 2, 2, 1), "VALID"), IMAGES),
        (_pool((1, 3, 3, 1), (1, 2, 2, 1), "SAME"), IMAGES),
        (_pool((1, 2, 2, 1), (1, 3, 3, 1), "VALID"), IMAGES),
        (_pool((1, 3, 2, 1), (1, 1, 1, 1), "SAME"), IMAGES),
    ],
}

ROUNDED = {
    "sort_bits": [
        (jnp.sort, FLOATS),
        (jnp.sort, HALVES),
        (lambda x: jnp.sort(x.reshape(64, 64), axis=0), FLOATS),
        (lambda x: jnp.sort(x.astype(jnp.bfloat16)), FLOATS),
    ],
    "cumsum": [
        (lambda x: lax.cumsum(x.reshape(64, 64), 0), NUMBERS),
        (lambda x: lax.cumsum(x.reshape(64, 64), 1, reverse=True), NUMBERS),
        (lambda x: lax.cumsum(jnp.tile(x, 9).reshape(288, 128), 0), NUMBERS),
        (lambda x: lax.cumsum(x, 0), INTEGERS),
    ],
    "triangular_solve": [
        (_solve(left_side=True, lower=True), TRIANGLES, NUMBERS.reshape(2, 32, 64)),
        (_solve(left_side=False, lower=False), TRIANGLES, NUMBERS.reshape(2, 64, 32)),
        (
            _solve(left_side=True, lower=False, transpose_a=True),
            TRIANGLES,
            NUMBERS[:64].reshape(2, 32, 1),
        ),
        (
            _solve(left_side=False, lower=True, unit_diagonal=True),
            TRIANGLES,
            NUMBERS.reshape(2, 64, 32),
        ),
        (
            _solve(left_side=True, lower=True, transpose_a=True, conjugate_a=True),
            TRIANGLES * (1 + 0.5j),
            NUMBERS.reshape(2, 32, 64).astype(np.complex64),
        ),
        (
            _solve(left_side=True, lower=True, conjugate_a=True),
            TRIANGLES * (1 + 0.5j),
            NUMBERS.reshape(2, 32, 64).astype(np.complex64),
        ),
    ],
    "cumprod": [
        (lambda x: lax.cumprod(1 + 0.01 * x.reshape(64, 64), 0), NUMBERS),
        (lambda x: lax.cumprod(x, 0, reverse=True), INTEGERS),
    ],
    "pow": [
        (jnp.power, FLOATS, RNG.permutation(FLOATS)),
        (
            jnp.power,
            *np.meshgrid(
                SPECIAL[[0, 1, 2, 3, 4, 5, 6, 10, 11, 12]].repeat(20), np.linspace(-8, 8, 33)
            ),
        ),
        (lambda x: jnp.abs(x) ** 1.5, NUMBERS),
    ],
    "cbrt": [(jnp.cbrt, FLOATS), (jnp.cbrt, NUMBERS)],
    "sin": [(jnp.sin, np.tile(FLOATS, 2)), (jnp.sin, np.tile(NUMBERS, 2))],
    "cos": [(jnp.cos, np.tile(FLOATS, 2)), (jnp.cos, np.tile(NUMBERS, 2))],
    "tan": [(jnp.tan, np.tile(FLOATS, 2)), (jnp.tan, np.tile(NUMBERS, 2))],
    "atan": [(jnp.arctan, FLOATS)],
    "asin": [(jnp.arcsin, FLOATS / 60), (jnp.arcsin, FLOATS)],
    "acos": [(jnp.arccos, FLOATS / 60), (jnp.arccos, FLOATS)],
    "atan2": [(jnp.arctan2, FLOATS, RNG.permutation(FLOATS)), (jnp.arctan2, FLOATS, FLOATS)],
}

CASES = [(name, i) for name in MOVED | ROUNDED for i in range(len((MOVED | ROUNDED)[name]))]


def test_every_path_has_cases():
    assert PATHS.keys() == {*MOVED, *ROUNDED, "pieces"}  # see test_pieces.py


def _both_ways(name, i):
    function, *operands = (MOVED | ROUNDED)[name][i]
    fast = fx.jit(lambda *xs: function(*xs))
    results = [np.asarray(x) for x in fx.tree.leaves(fast(*operands))]
    text = fast.lower(*operands).as_text()
    with config.fast_paths(f"-{name}"):
        plain = [np.asarray(x) for x in fx.tree.leaves(fast(*operands))]
        assert fast.lower(*operands).as_text() != text, "the path is not taken"
    return results, plain


@pytest.mark.parametrize(("name", "i"), CASES)
def test_a_path_gives_what_the_plain_rule_gives(name, i):
    results, plain = _both_ways(name, i)
    for x, y in zip(results, plain, strict=True):
        assert x.dtype == y.dtype
        if name in MOVED:
            np.testing.assert_array_equal(x, y)
        else:
            tolerance = 0 if x.dtype.kind not in "fc" else 2e-5 if name.startswith("cum") else 1e-6
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", [32768, 40003])
@pytest.mark.parametrize("function", [lax.cumsum, lambda x: lax.cumprod(1 + x / 100)])
def test_prefixes_in_one_dimension_are_those_of_xla_to_the_bit(function, length):
    """Random choices search them."""
    x = np.resize(NUMBERS, length)
    fast = np.asarray(fx.jit(lambda x: function(x))(x))
    with config.fast_paths("none"):
        plain = np.asarray(fx.jit(lambda x: function(x) + 0)(x))
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan"])
def test_circular_functions_are_correct_to_half_a_unit(name):
    """Against NumPy in float64; 0.51 units leave room for a tie."""
    numpy_name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name)
    x = RNG.uniform(-1, 1, 3000).astype(np.float32)
    if name in ("sin", "cos", "tan", "atan"):
        x = np.concatenate([x * 10, x * 900_000, x * np.float32(1e-6)])
    exact = getattr(np, numpy_name)(x.astype(np.float64))
    found = np.asarray(fx.jit(getattr(jnp, numpy_name))(x)).astype(np.float64)
    units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert units.max() < 0.51


def test_zeros_keep_their_signs():
    zeros = np.tile(np.array([0.0, -0.0], np.float32), 4096)
    for function in (jnp.sin, jnp.tan, jnp.arctan, jnp.arcsin):
        assert np.array_equal(np.signbit(fx.jit(function)(zeros)), np.signbit(zeros))


@pytest.mark.parametrize("asked", ["none", "sin", "-div,-rem"])
def test_paths_are_chosen_by_name(asked):
    def text():
        return fx.jit(lambda x: jnp.sin(x)).lower(np.tile(NUMBERS, 2)).as_text()

    everything = text()
    with config.fast_paths(asked):
        assert (text() == everything) == (asked != "none")


def test_a_path_is_named_before_any_other_is_loaded():
    code = "import effax.numpy as jnp; print(jnp.sin(jnp.zeros(10_000))[0])"
    env = os.environ | {"EFFAX_FAST_PATHS": "-sin"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.0\n"


def test_a_name_of_no_path_is_refused():
    with config.fast_paths("sine"), pytest.raises(ValueError, match="no fast path is called sine"):
        fx.jit(lambda x: jnp.sin(x)).lower(np.tile(NUMBERS, 2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_large_extremum_keeps_its_nan(dtype, axis):
    """XLA's CPU backend (and with it JAX 0.10) drops it from 1024 elements on."""
    with config.enable_x64(True):
        x = RNG.standard_normal((64, 64)).astype(dtype)
        x[3, 5] = np.nan
        x[7, 5] = -np.nan
        for ours, theirs in ((jnp.max, np.max), (jnp.min, np.min)):
            np.testing.assert_array_equal(ours(x, axis), theirs(x, axis))


@pytest.mark.parametrize(
    "special",
    [
        (),
        (np.nan,),
        (np.inf, -np.inf),
        (np.inf, -np.inf, np.nan),
        (-np.inf,),
        (3e38,) * 9,
    ],
)
def test_an_extremum_of_an_array_that_is_there_is_asked_by_a_sum(special):
    """To the bit what the exact fold gives; where the sum is in doubt, it is that fold."""
    x = np.resize(NUMBERS, 70001)
    x[40000 : 40000 + len(special)] = special
    signed_zeros = np.resize(SIGNED_ZEROS, 70001)
    for function in (jnp.max, jnp.min):
        assert "stablehlo.case" in fx.jit(function).lower(x).as_text()
        for values in (x, np.abs(x), -np.abs(x), np.full_like(x, x[40000]), signed_zeros):
            fast = np.asarray(function(values))
            with config.fast_paths("none"):
                exact = np.asarray(function(values))
            np.testing.assert_array_equal(fast, exact)
            assert np.signbit(fast) == np.signbit(exact) or np.isnan(fast)


@pytest.mark.parametrize("function", [jnp.exp, jnp.exp2, jnp.sinh, jnp.cosh, lambda x: 2.0**x])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_an_exponential_of_a_nan_that_the_compiler_knows_is_nan(function, dtype):
    """XLA's CPU backend (and with it JAX 0.10) gives what was in memory."""
    x = np.linspace(0.1, 1, 1000).astype(dtype)

    def scaled(x):
        return function(x * jnp.nan)

    def chosen(x):
        return function(jnp.where(x[0] < 2, jnp.nan, x))

    def called(x):
        return function(x) + fx.jit(lambda y: function(y))(x * jnp.nan)

    for f in (scaled, chosen, called):
        assert np.isnan(fx.jit(f)(x)).all()
    with config.fast_paths("-pow"):
        text = fx.jit(lambda x: function(x)).lower(x).as_text()
    assert "select" not in text, "it costs nothing where there is no NaN"
