"""Each fast path gives the values of the rule it stands before, at special values too.

`make paths` runs other tests with paths switched off, and with paths taken at all sizes.
"""

import os
import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import nn
from effax.backends.xla.fast.path import PATHS
from effax.effects import config
from effax.effects.columns import load

pytestmark = pytest.mark.cpu

load("effax.backends.xla.lowering")
load("effax.backends.xla.fast")
convolution, elementwise, reduction, reduction_apart, transcendental, window = (
    import_module(f"effax.backends.xla.fast.{name}")
    for name in (
        *("convolution", "elementwise", "reduction", "reduction_apart"),
        *("transcendental", "window"),
    )
)


@pytest.fixture(autouse=True)
def all_paths(monkeypatch):
    """Whatever the environment asks for, and for arrays of 4096 elements."""
    monkeypatch.setattr(reduction, "FEW", 4096)
    monkeypatch.setattr(reduction, "WRITTEN", 2048)
    monkeypatch.setattr(reduction_apart, "LEAST", 2048)
    monkeypatch.setattr(elementwise, "LONG", 2048)
    monkeypatch.setattr(elementwise, "VAST", 4096)
    monkeypatch.setattr(reduction, "VECTOR", 2048)
    monkeypatch.setattr(reduction, "LONG", 128)
    monkeypatch.setattr(elementwise, "LARGE", 256)
    monkeypatch.setattr(transcendental, "LARGE", 2048)
    monkeypatch.setattr(transcendental, "PERIODIC", 8192)
    monkeypatch.setattr(convolution, "LARGE", 64)
    monkeypatch.setattr(window, "LARGE", 1024)
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
SCALES = NUMBERS * (2.0 ** RNG.integers(-126, 127, 4096)).astype(np.float32)
"""Numbers as far apart as the dtype has them: a quotient of two may be infinite."""
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


WHOLE = RNG.integers(1, 2**20, 8192).astype(np.float32)
DIVISOR = RNG.uniform(1, 2, 8192).astype(np.float32)
LAYOUTS = {
    "NHWC": ("NHWC", "HWIO", "NHWC"),
    "NCHW": ("NCHW", "OIHW", "NCHW"),
    "NWC": ("NWC", "WIO", "NWC"),
    "NDHWC": ("NDHWC", "DHWIO", "NDHWC"),
}


def _convolve(images, window, like="NHWC", **how):
    """A convolution of operands of these shapes, and both its gradients."""
    rank = len(images) - 2
    how = {"window_strides": (1,) * rank, "padding": "SAME", **how}
    how["dimension_numbers"] = LAYOUTS[like]

    def function(x, y):
        x, y = (jnp.resize(v, s) for v, s in ((x, images), (y, window)))
        found, back = fx.vjp(lambda x, y: lax.conv_general_dilated(x, y, **how), x, y)
        return found, *back(jnp.cos(jnp.arange(found.size, dtype=x.dtype)).reshape(found.shape))

    return function, NUMBERS, NUMBERS[::-1].copy()


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
    "rem_float": [
        (lax.rem, np.tile(NUMBERS, 2), np.tile(RNG.permutation(NUMBERS), 2)),
        (lax.rem, np.tile(FLOATS, 2), np.tile(RNG.permutation(FLOATS), 2)),
        (lax.rem, np.tile(HALVES, 2), np.tile(RNG.permutation(HALVES), 2)),
        (lax.rem, np.tile(SCALES, 2), np.tile(RNG.permutation(SCALES), 2)),
        (lambda x: lax.rem(x.astype(jnp.bfloat16), jnp.bfloat16(0.7)), np.tile(NUMBERS, 2)),
        (lax.rem, WHOLE * DIVISOR, DIVISOR),
        (lax.rem, np.nextafter(WHOLE * DIVISOR, np.float32(0)), DIVISOR),
        (lax.rem, WHOLE * np.float32(1e-38), DIVISOR * np.float32(2e-38)),
    ],
    "argmax": [
        (lambda x: jnp.argmax(x.reshape(16, 256), 1), FLOATS),
        (lambda x: jnp.argmax(x.reshape(256, 16).astype(jnp.bfloat16), 1), FLOATS),
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
    "fold": [
        (lambda x: jnp.argmax(jnp.arctan(x).reshape(256, 16), 1), FLOATS),
        (lambda x: jnp.argmin(jnp.arctan(x).reshape(16, 256), 1), FLOATS),
        (lambda x: jnp.argmax(jnp.arctan(x).reshape(64, 64), 0), FLOATS),
        (lambda x: jnp.max(jnp.arctan(x).reshape(16, 256), 1), FLOATS),
        (lambda x: jnp.min(jnp.arctan(x)), FLOATS),
        (lambda x: lax.map(lambda r: jnp.argmax(jnp.arctan(r), -1), x.reshape(2, 256, 8)), FLOATS),
        (lambda x: jnp.argmax(fx.jit(jnp.arctan)(x).reshape(256, 16), 1), FLOATS),
        (lambda x: fx.random.categorical(fx.random.key(0), x.reshape(256, 16)), NUMBERS),
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
    "convolution": [
        _convolve((2, 9, 8, 6), (3, 3, 1, 12), feature_group_count=6, window_strides=(2, 1)),
        _convolve((2, 6, 9, 8), (6, 1, 3, 2), "NCHW", feature_group_count=6),
        _convolve((2, 32, 16), (4, 1, 16), "NWC", feature_group_count=16, rhs_dilation=(2,)),
        _convolve((2, 7, 7, 12), (3, 3, 4, 6), feature_group_count=3),
        _convolve((2, 6, 6, 24), (5, 3, 8, 6), feature_group_count=3),
        _convolve((1, 8, 8, 60), (7, 9, 3, 40), feature_group_count=20),
        _convolve((1, 8, 8, 34), (7, 9, 1, 34), feature_group_count=34),
        _convolve((2, 12, 12, 1), (3, 3, 1, 8)),
        _convolve((1, 5, 6, 7, 4), (3, 2, 3, 4, 5), "NDHWC", window_strides=(2, 1, 1)),
        _convolve((1, 6, 5, 4, 4), (2, 3, 3, 2, 4), "NDHWC", feature_group_count=2),
        _convolve((2, 9, 9, 4), (1, 1, 4, 8)),
        _convolve((2, 6, 6, 4), (3, 3, 4, 8), lhs_dilation=(2, 2), padding=((1, 2), (1, 2))),
        _convolve((2, 4, 12, 12), (8, 4, 3, 3), "NCHW"),
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
    "cumlogsumexp": [
        (lambda x: lax.cumlogsumexp(x.reshape(32, 128), 0), FLOATS),
        (lambda x: lax.cumlogsumexp(x.reshape(64, 64), 1, reverse=True), FLOATS),
        (lambda x: lax.cumlogsumexp(x, 0, reverse=True), np.tile(NUMBERS, 8)),
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

SUMS = "cumsum", "cumprod", "convolution"
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
            tolerance = 0 if x.dtype.kind not in "fc" else 2e-5 if name in SUMS else 1e-6
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


def test_angles_of_subnormal_points():
    """Threads of XLA's take such numbers for zeros, whose angle is another."""
    y = np.array([1e-40, -1e-40, 1e-45, 1e-40, -3e-39, 1e-42, 0.0, -0.0], "float32")
    x = np.array([0.0, -0.0, 0.0, 1e-40, -2e-39, -1e30, 1e-45, -1e-45], "float32")
    found = np.asarray(jnp.arctan2(np.tile(y, 1024), np.tile(x, 1024)))
    wanted = np.arctan2(y.astype("float64"), x.astype("float64"))
    np.testing.assert_allclose(found, np.tile(wanted, 1024), rtol=1e-6)


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
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int16", "uint16", "int32"]
)
@pytest.mark.parametrize("cached", [0, 1 << 21])
@pytest.mark.parametrize("rows", [24, 48])
def test_places_of_columns_are_the_first_ones(dtype, cached, rows, monkeypatch):
    monkeypatch.setattr(reduction, "CACHED", cached)
    x = RNG.integers(0, 9, (rows, 128)).astype(np.float32)
    x[5:7, 3] = x[rows - 1, 4] = x[0, 5] = np.nan if "float" in dtype else 100
    with config.enable_x64(True):
        given = jnp.asarray(x).astype(dtype)
        for function, oracle in ((jnp.argmax, np.argmax), (jnp.argmin, np.argmin)):
            found = fx.jit(lambda x, f=function: f(x, axis=0))(given)
            np.testing.assert_array_equal(found, oracle(x, axis=0))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int16, np.uint32])
@pytest.mark.parametrize("shape", [(1, 5003), (50, 101), (300, 67), (3, 2048)])
def test_extrema_of_rows_that_no_lanes_divide(dtype, shape):
    x = (RNG.standard_normal(shape) * 50 + 200).astype(dtype)
    for function, oracle in ((jnp.max, np.max), (jnp.min, np.min)):
        found = fx.jit(lambda x, f=function: f(x, axis=1))(x)
        np.testing.assert_array_equal(found, oracle(x, axis=1))


def test_groups_of_a_convolution_do_not_meet():
    """An infinity in one is not multiplied by the zeros that others would have there."""
    x, w = jnp.ones((2, 8, 8, 24)).at[0, 3, 3, 5].set(np.inf), jnp.ones((3, 3, 8, 6))
    same = {"dimension_numbers": LAYOUTS["NHWC"], "feature_group_count": 3}

    def loss(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", **same)[..., 2:].sum()

    by_x, by_w = fx.jit(fx.grad(loss, (0, 1)))(x, w)
    assert np.isfinite(by_x).all() and np.isfinite(by_w[..., 2:]).all()


@pytest.mark.parametrize("like", ["NHWC", "NCHW"])
def test_a_convolution_in_a_loop_is_in_the_layout_that_xla_takes(like):
    """XLA turns operands in the entry computation only; elsewhere it was 70 times as slow."""
    shapes = {"NHWC": ((2, 9, 9, 4), (3, 3, 4, 8)), "NCHW": ((2, 4, 9, 9), (8, 4, 3, 3))}[like]
    function, x, w = _convolve(*shapes, like)

    def steps(x, w):
        return lax.fori_loop(0, 2, lambda i, ws: function(x, ws)[2].ravel(), w)

    w = w[: np.prod(shapes[1])]
    text = fx.jit(steps).lower(x, w).as_text()
    layouts = re.findall(r"dim_numbers = (.*?), window", text)
    assert set(layouts) == {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"}
    with config.fast_paths("none"):
        plain = fx.jit(lambda x, w: steps(x, w))(x, w)
    np.testing.assert_allclose(fx.jit(steps)(x, w), plain, rtol=2e-5, atol=1e-4)


def _rows_by(function):
    """Whether XLA's maximum is taken alone; values of rows with NaN by all paths and by none."""
    x = NUMBERS[:4096].reshape(64, 64).copy()
    x[3, 5], x[7, 60], x[9, 9] = np.nan, -np.nan, np.inf
    with config.fast_paths("reduce_max"):
        fast = fx.jit(lambda x: function(x))
        results = [np.asarray(v) for v in fx.tree.leaves(fast(x))]
        text = fast.lower(x).as_text()
    with config.fast_paths("none"):
        plain = fx.jit(lambda x: function(x))
        exact = [np.asarray(v) for v in fx.tree.leaves(plain(x))]
        return "stablehlo.maximum" in text and "xor" not in text, results, exact


def _shifted(x, axis=1):
    return jnp.exp(x - x.max(axis, keepdims=True))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nn.softmax(x, 1),
        lambda x: nn.softmax(x, 0),
        lambda x: nn.log_softmax(x, 1),
        lambda x: nn.logsumexp(x, 1),
        lambda x: nn.softmax(x.astype(jnp.bfloat16), 1),
        lambda x: _shifted(x) / _shifted(x).sum(1, keepdims=True),
        lambda x: _shifted(x, (0, 1)).sum(),
        fx.grad(lambda x: nn.softmax(x, 1)[:, 0].sum()),
        fx.grad(lambda x: nn.logsumexp(x, 1).sum()),
    ],
)
def test_a_maximum_whose_nan_survives_in_a_sum_is_xlas_own(function):
    own, fast, plain = _rows_by(function)
    assert own
    for x, y in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
        tolerance = 2e-2 if x.dtype.itemsize < 4 else 1e-5
        np.testing.assert_allclose(x.astype(float), y.astype(float), tolerance, tolerance)


@pytest.mark.parametrize(
    "function",
    [
        _shifted,
        lambda x: _shifted(x).sum(0),
        lambda x: (_shifted(x).sum(1), x.max(1)),
        lambda x: _shifted(x, 0) / _shifted(x, 0).sum(1, keepdims=True),
        lambda x: jnp.exp(x - x.max(0)[:, None]).sum(1),
        lambda x: jnp.where(x > 0, _shifted(x), 0).sum(1),
        lambda x: _shifted(x)[:, :7].sum(1),
        lambda x: jnp.exp(jnp.roll(x, 1) - x.max(1, keepdims=True)).sum(1),
        lambda x: jnp.isnan(_shifted(x)).sum(1),
        lambda x: jnp.sqrt(x.max(1)),
    ],
)
def test_a_maximum_that_others_see_keeps_its_nan(function):
    own, fast, plain = _rows_by(function)
    assert not own
    for x, y in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(np.isnan(x), np.isnan(y))


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
