"""Numbers of less than a byte: each operation gives what it gives for whole bytes.

XLA's own programs do not: see `the end of effax/backends/xla/lowering/elementwise.py`. Most of these
were wrong, refused, or the end of the process on a CPU or a GPU.
"""

import ml_dtypes
import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

DTYPES = ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"]
MOVES = """
    jnp.stack([x, x])
    jnp.concatenate([x, x[:, :1]], 1)
    jnp.concatenate([x[1:], x], 0)
    jnp.roll(x, 1, 1)
    x[:, ::-1].T
    lax.pad(x, x[0, 0], ((1, -1, 0), (0, 1, 1)))
    x[jnp.array([2, 0, 1]), jnp.array([0, 4, 1])]
    jnp.take(x, jnp.array([4, 0, 1, 1]), axis=1)
    lax.dynamic_slice(x, (i, i + 1), (2, 3))
    lax.dynamic_update_slice(x, x[:1, :3], (i, i))
    x.at[1, 2].set(x[0, 0])
    x.at[1].set(x[0])
    x.at[:, 1].set(x[:, 0])
    x.at[jnp.array([0, 2]), jnp.array([1, 3])].set(x[0, :2])
    x.at[jnp.array([0, 0])].max(x[1:])
    jnp.where(x > 0, x, jnp.zeros_like(x))
    jnp.broadcast_to(x[:, None], (3, 2, 5))
    jnp.repeat(x, 2, axis=1)
    jnp.tril(x)
    lax.map(lambda row: row[::-1], x)
    lax.scan(lambda c, row: (jnp.maximum(c, row), c), x[0], x)
    lax.fori_loop(0, 3, lambda k, c: jnp.roll(c, 1, 1), x)
    lax.fori_loop(0, 3, lambda k, c: lax.dynamic_update_index_in_dim(c, x[2 - k], k, 0), x)
    lax.fori_loop(0, 3, lambda k, c: jnp.maximum(c, x[k]), x[0])
    vmap(lambda row, k: lax.dynamic_update_slice(row, row[:1], (k,)))(x, jnp.arange(3))
"""
ORDERS = """
    jnp.sort(x, axis=1)
    jnp.sort(x, axis=0)
    jnp.argsort(x, axis=1)
    jnp.lexsort((x[0], x[1]))
    lax.top_k(x, 2)
    jnp.argmax(x, axis=1)
    jnp.argmin(x, axis=0)
    jnp.max(x, axis=1)
    jnp.unique(x, size=4, fill_value=0)
    jnp.searchsorted(jnp.sort(x[0]), x[1])
    jnp.searchsorted(jnp.sort(x[0]), x[1], method="sort")
    lax.cummax(x, 1)
    lax.reduce_window(x, jnp.array(0, x.dtype), lax.max, (1, 2), (1, 1), "SAME")
    x == x[::-1]
    x < x[::-1]
    jnp.clip(x, x[0, 0], x[0, 0])
"""
SUMS = """
    x + x[::-1]
    x * x[::-1]
    lax.dot(x, x.T)
    lax.dot(x, x.T, preferred_element_type=wide)
    lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), "SAME")
    jnp.dot(x.astype("float32"), jnp.ones((5, 4)))
    jnp.dot(jnp.ones((2, 5)), x.astype("float32").T)
    (x > 0).astype(x.dtype)
    jnp.clip(x, 0, 1).astype("uint2").astype("int4").astype("uint4").astype("int32")
"""


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


def bits(x, dtype):
    """The bits of numbers that are to be of a dtype; of others the numbers."""
    x = np.asarray(x)
    if x.dtype != dtype and x.dtype not in (np.int8, np.float32):
        return x
    if "int" in dtype:
        return x.astype(np.int64) & ((1 << ml_dtypes.iinfo(dtype).bits) - 1)
    return x.astype(dtype).astype(np.float32)


def draw(dtype):
    rng = np.random.default_rng(1)
    if "float" in dtype:
        return rng.choice(np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6, -1, -2, -6, -0.5]), (3, 5))
    ends = ml_dtypes.iinfo(dtype)
    return rng.integers(int(ends.min), int(ends.max), (3, 5), np.int8, endpoint=True)


def program(code, wide):
    names = {"jnp": jnp, "lax": lax, "vmap": effax.vmap, "wide": wide}
    return eval(f"lambda x, i: ({code})", names)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code", [*lines(MOVES), *lines(ORDERS), *lines(SUMS)])
def test_numbers_of_less_than_a_byte_are_as_those_of_bytes(code, dtype):
    numbers, i = draw(dtype), jnp.int32(1)
    f = program(code, "int32" if "int" in dtype else "float32")
    with effax.default_matmul_precision("highest"):
        found = effax.jit(f)(jnp.array(numbers.astype(dtype)), i)
        wanted = effax.jit(f)(jnp.array(numbers), i)
    for x, y in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(bits(x, x.dtype.name), bits(y, x.dtype.name))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("code", [*lines(MOVES)[:4], *lines(ORDERS)[:6]])
def test_the_same_of_single_calls(code, dtype):
    numbers = draw(dtype)
    f = program(code, None)
    found, wanted = f(jnp.array(numbers.astype(dtype)), 1), f(jnp.array(numbers), 1)
    for x, y in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(bits(x, x.dtype.name), bits(y, x.dtype.name))


FLOATS = ["float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"]
FLOATS += ["float8_e4m3b11fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["erf", "erfc", "i1e", "gammaln"])
def test_special_functions_of_narrow_floats(name, dtype):
    special = effax.scipy.special
    f = getattr(special, name)
    x = jnp.array([0.5, 1, 2, 4], dtype)
    wide = f(x.astype("float32"))
    np.testing.assert_array_equal(f(x).astype("float32"), wide.astype(dtype).astype("float32"))


NAN = float("nan")


@pytest.mark.parametrize(
    "numbers",
    [
        [complex(NAN, 1), 1 + 2j],
        [1 + 2j, complex(1, NAN)],
        [3 + 2j, complex(1, NAN), 4],
        [complex(1, NAN), 3 + 2j],
        [complex(-np.inf, 3), complex(NAN, 1), 1 + 2j],
    ],
)
@pytest.mark.parametrize("name", ["min", "max"])
def test_the_extremum_of_complex_numbers_is_a_nan_wherever_it_stands(numbers, name):
    x = np.array(numbers, "complex64")
    wanted = getattr(np, name)(x)
    for found in (getattr(jnp, name)(x), getattr(lax, f"reduce_{name}")(x, (0,))):
        np.testing.assert_array_equal(found, wanted)
    pair = {"min": jnp.minimum, "max": jnp.maximum}[name]
    np.testing.assert_array_equal(pair(x[0], x[1]), getattr(np, f"{name}imum")(x[0], x[1]))


def test_the_first_of_many_nan_is_found():
    """On a GPU, threads compare in any order."""
    for size in (17, 272, 2048, 100_000):
        x = np.ones(size, "f4")
        x[size // 3 :: 7] = NAN
        assert jnp.argmin(x) == jnp.argmax(x) == size // 3
        assert jnp.argmax(x.reshape(-1, 1), axis=0)[0] == size // 3
        assert jnp.argmax(jnp.asarray(x, "bfloat16")) == size // 3


def test_a_product_with_a_mask_keeps_nan():
    """XLA's compiler for GPUs would take it for a choice."""
    mask, x = np.array([False, True, False]), np.array([0, -1, np.inf], "f4")
    for f in (lambda m, x: m * x, lambda m, x: m.astype("float32") * x):
        np.testing.assert_array_equal(effax.jit(f)(mask, x), [0, -1, NAN])


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("bad", [NAN, np.inf])
def test_singular_vectors_of_a_matrix_with_a_nan_are_nan(bad, full):
    x = np.ones((2, 3, 2), "f4")
    x[0, 1, 0] = bad
    for y in jnp.linalg.svd(x, full_matrices=full):
        assert np.isnan(y[0]).all() and np.isfinite(y[1]).all()
    assert np.isnan(jnp.linalg.svd(x, compute_uv=False)[0]).all()
