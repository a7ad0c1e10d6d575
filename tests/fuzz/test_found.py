"""Findings of the fuzz that a line can say: an expression, and what it gives or how it is refused."""

import pytest

import effax
import effax.image
import effax.lax as lax
import effax.nn as nn
import effax.numpy as jnp
import effax.scipy as jsp
from effax import random
from effax.effects.rows.conversion import convert_element_type

NAMES: dict[str, object] = {
    "effax": effax,
    "jnp": jnp,
    "lax": lax,
    "nn": nn,
    "random": random,
    "jsp": jsp,
}
NAMES["weak"] = lax.broadcast(2, (3,))

GIVES = """
effax.image.resize(jnp.ones((2, 2), "float8_e4m3fn"), (4, 2), "linear").dtype | dtype(float8_e4m3fn)
jnp.interp(0.5, jnp.array([0, 1]), jnp.array([1, 2], "bfloat16"), period=2).dtype | dtype(bfloat16)
jnp.nonzero(jnp.array([0, 1]), size=0, fill_value=1.5)[0] | Array([], shape=(0,), dtype=int32)
jnp.flatnonzero(jnp.array([0, 1]), size=0, fill_value=1.5) | Array([], shape=(0,), dtype=int32)
jnp.add.reduceat(weak, jnp.array([1, 0])) | Array([2, 6], dtype=int32, weak_type=True)
jnp.subtract.reduceat(weak, jnp.array([1, 0])) | Array([ 2, -2], dtype=int32, weak_type=True)
jnp.logaddexp.reduceat(weak, jnp.array([0])).round(2) | Array([3.1], dtype=float32)
lax.ragged_dot(jnp.ones((0, 3)), jnp.ones((1, 3, 2)), jnp.array([0])).shape | (0, 2)
effax.jit(jnp.split)(weak, jnp.zeros(0))[0].shape | (3,)
effax.jit(jnp.array_split)(weak, jnp.zeros(0))[0].shape | (3,)
nn.celu(jnp.ones(1, int), jnp.ones(1, 'int8')) | Array([1.], dtype=float32, weak_type=True)
nn.celu(jnp.ones(1, int), jnp.ones(1)) | Array([1.], dtype=float32)
effax.tree.reduce_associative(lambda x, y: f"({x}{y})", [*"abcdefg"]) | '((a(bc))((de)(fg)))'
random.dirichlet(random.key(0), jnp.ones((2, 0)), dtype="bfloat16") | Array([], shape=(2, 0), dtype=bfloat16)
jnp.intersect1d(jnp.zeros(0, int), weak, size=2, fill_value=3) | Array([3, 3], dtype=int32)
jnp.intersect1d(jnp.zeros(0, int), weak, return_indices=True, size=1)[1:] | (Array([0], dtype=int32), Array([3], dtype=int32))
lax.linalg.cholesky_update(jnp.ones((1, 1), "bfloat16"), jnp.zeros(1, "bfloat16")) | Array([[1]], dtype=bfloat16)
jnp.diag(lax.linalg.cholesky_update(-jnp.eye(2), jnp.zeros(2))) | Array([-1., -1.], dtype=float32)
lax.linalg.cholesky_update(jnp.array([[3e30]]), jnp.array([4e30])) | Array([[5.e+30]], dtype=float32)
jsp.special.betaln(1e38, 0.5).round(2) | Array(-43.18, dtype=float32, weak_type=True)
jsp.special.betaln(1e6, -2.5).round(3) | Array(34.483, dtype=float32, weak_type=True)
jsp.special.betaln(jnp.inf, -2.5) | Array(inf, dtype=float32, weak_type=True)
jsp.stats.t.logpdf(2.0, jnp.array([3.4e38])).round(4) | Array([-2.9189], dtype=float32)
jsp.stats.t.logpdf(1.9, jnp.array([3.4e38])).round(4) | Array([-2.7238998], dtype=float32)
lax.reduce_precision(1.1, True, jnp.int8(23)) | Array(0., dtype=float32, weak_type=True)
lax.integer_pow(3, jnp.array(2)) | Array(9, dtype=int32, weak_type=True)
lax.split(jnp.arange(2), jnp.array([1, 1]))[1] | Array([1], dtype=int32)
lax.dot(jnp.ones((1, 3), "int2"), jnp.ones((3, 1), "uint4")) | Array([[3]], dtype=uint4)
random.binomial(random.key(0), 5, jnp.asarray(1, "float8_e4m3fn")) | Array(5., dtype=float32)
random.binomial(random.key(0), 5, jnp.asarray(1, "int4")) | Array(5., dtype=float32)
jnp.diagflat(0.5, k=1)[0] | Array([0. , 0.5], dtype=float32)
jnp.nan_to_num(jnp.array([jnp.nan, 3]), nan=jnp.ones((2, 1))).tolist() | [[1.0, 3.0], [1.0, 3.0]]
jsp.stats.poisson.pmf(jnp.inf, jnp.array([0.5, 3.0])) | Array([0., 0.], dtype=float32)
nn.dot_product_attention(*3 * [jnp.ones((1, 2, 1, 1))], query_seq_lengths=[1]).tolist() | [[[[1.0]], [[0.0]]]]
random.choice(random.key(0), jnp.arange(2), p=jnp.array([0, 1], "int4")) | Array(1, dtype=int32)
jnp.setxor1d(jnp.array([1, jnp.nan, 2, jnp.nan]), jnp.array([2, jnp.nan])) | Array([ 1., nan, nan], dtype=float32)
jnp.setxor1d(jnp.array([jnp.nan]), jnp.array([2.0]), size=3, fill_value=0) | Array([ 2., nan,  0.], dtype=float32)
jnp.hypot(weak, weak).weak_type, jnp.hypot(1, 2).weak_type | (False, True)
jnp.cross(weak, weak) | Array([0, 0, 0], dtype=int32)
jnp.logical_and(weak, weak), jnp.logical_not(weak).weak_type | (Array([ True,  True,  True], dtype=bool), False)
jnp.copysign(weak, jnp.ones(3)) | Array([2., 2., 2.], dtype=float32)
jnp.round(weak / 3, 1), jnp.round(1.25, 1) | (Array([0.7, 0.7, 0.7], dtype=float32), Array(1.2, dtype=float32, weak_type=True))
weak.at[0].divide(2), (weak / 2).at[0].power(2) | (Array([1., 2., 2.], dtype=float32, weak_type=True), Array([1., 1., 1.], dtype=float32, weak_type=True))
jnp.ldexp(jnp.float32(1.5), jnp.uint32(2**32 - 1)) | Array(inf, dtype=float32)
jnp.tri(2, k=2**31 - 1).tolist(), jnp.tril(jnp.ones((1, 2)), -(2**31)).tolist() | ([[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0]])
jnp.eye(2, k=-(2**31)).any(), jnp.insert(jnp.zeros(1), 2**31 - 1, 1) | (Array(False, dtype=bool), Array([0., 1.], dtype=float32))
jnp.take(jnp.arange(6), jnp.uint32(2**31 + 5), mode="wrap"), jnp.put(jnp.arange(2), jnp.uint32(2**32 - 1), 9, mode="wrap", inplace=False) | (Array(1, dtype=int32), Array([0, 9], dtype=int32))
jnp.roll(jnp.arange(6), (jnp.uint32(2**31 + 5), 1), (0, 0)) | Array([4, 5, 0, 1, 2, 3], dtype=int32)
jnp.power(3, jnp.array([63, 64, 100])), jnp.power(2, jnp.array([65])) | (Array([2111105451, 2038349057, -818408495], dtype=int32), Array([0], dtype=int32))
lax.switch(jnp.uint32(2**32 - 1), [lambda: 1, lambda: 2]) | Array(2, dtype=int32, weak_type=True)
lax.reshape(jnp.arange(6).reshape(2, 3), (2, 3), (1, 0)).tolist() | [[0, 3, 1], [4, 2, 5]]
jnp.histogram(jnp.ones(2), jnp.array([0, 3], "bfloat16"))[1].dtype | dtype('float32')
jsp.ndimage.map_coordinates(jnp.eye(2), [jnp.zeros(1), jnp.ones(1, "uint2")], 0) | Array([0.], dtype=float32)
jsp.linalg.leslie(jnp.array([True, False]), 0.5).weak_type | True
effax.image.resize(jnp.ones((2, 1, 1)), (2, 3, 1), "lanczos3", antialias=False)[0].ravel() | Array([1., 1., 1.], dtype=float32)
jsp.signal.detrend(jnp.eye(2), axis=(0, 1), type="constant").tolist() | [[0.5, -0.5], [-0.5, 0.5]]
effax.jvp(jnp.fmin, (3.0, 2.0), (jnp.nan, 1.0))[1] | Array(1., dtype=float32, weak_type=True)
jnp.bincount(jnp.array([-1])), jnp.bincount(jnp.zeros(0, int)) | (Array([1], dtype=int32), Array([], shape=(0,), dtype=int32))
jnp.size(jnp.ones((2, 3)), [1, 0]), jnp.size(jnp.ones((2, 3)), axis=[0]) | (6, 2)
jnp.linspace(-2, jnp.array([1.0, 9]), num=0, retstep=True)[1] | Array(nan, dtype=float32)
jsp.special.hyp1f1([1.0], [2.0], [0.0]), jsp.special.expn([2], [0.0]) | (Array([1.], dtype=float32), Array([1.], dtype=float32))
lax.reduce_window(jnp.array([1 + 2j, 1 - 3j, 3j]), complex(-jnp.inf), lax.max, (2,), (1,), "VALID") | Array([1.+2.j, 1.-3.j], dtype=complex64)
jsp.linalg.lu_solve(jsp.linalg.lu_factor(2 * jnp.eye(2)), [1, 2]) | Array([0.5, 1. ], dtype=float32)
jsp.special.bessel_jn([1, 2], v=0).shape | (1, 2)
effax.jvp(jnp.fmax, (3.0, jnp.nan), (1.0, jnp.nan))[1] | Array(1., dtype=float32, weak_type=True)
"""

REFUSES = """
lax.tile(jnp.ones(2), (0.5,)) | cannot be interpreted as an integer
lax.padtype_to_pads((3,), (4,), (1,), None) | Unknown padding type: None
jsp.stats.rankdata(jnp.array(True), axis=-1) | out of bounds
lax.conv(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (0,), "SAME") | window_strides must be positive
jnp.einsum("ii->i", jnp.ones((3, 1))) | axes 0 and 1 of f32\\[3,1\\] have the same name
jnp.geomspace(0.5, 2.5, num=-1) | Number of samples, -1, must be non-negative
jsp.special.bessel_jn(1.0, v=-1) | must not be negative, got -1
lax.linalg.ormqr(jnp.ones((3, 2)), jnp.ones(3), jnp.ones((3, 3))) | k <= min\\(m, n\\)
lax.conv_general_permutations(jnp.ones(3)) | must be three strings, got Array
lax.conv_general_permutations(("NC", "OI")) | must be three strings, got \\('NC', 'OI'\\)
lax.conv_general_shape_tuple((1, 1, 2.5), (1, 1, 1), (1,), "SAME", None) | integer type, got \\(1, 1, 2.5\\)
lax.conv_transpose_shape_tuple((1, 1, 2), (1, [1], 1), (1,), "SAME", None) | integer type, got \\(1, \\[1\\], 1\\)
lax.split(jnp.arange(5), (2.0, 3)) | as an integer: split argument `sizes` is 2.0
lax.reduce_precision(1.0, 8.0, 23) | as an integer: reduce_precision argument `exponent_bits` is 8.0
lax.integer_pow(1.0, 2.0) | as an integer: integer_pow argument `y` is 2.0
lax.select(True, 2.0, jnp.ones(3)) | same shapes
jnp.repeat(jnp.zeros(0), jnp.ones(2, int), total_repeat_length=2) | broadcast
random.uniform(random.key(0), (), "float8_e8m0fnu") | that have a mantissa, not in float8_e8m0fnu
random.geometric(random.key(0), jnp.ones((), "float4_e2m1fn")) | that have a mantissa
random.categorical(random.key(0), jnp.ones(2, "int4")) | must be a float dtype, got int4
"""


def lines(table: str) -> list[list[str]]:
    return [line.split(" | ") for line in table.strip().splitlines()]


@pytest.mark.parametrize(("expression", "wanted"), lines(GIVES))
def test_an_expression_gives(expression: str, wanted: str) -> None:
    assert repr(eval(expression, NAMES)) == wanted


@pytest.mark.parametrize(("expression", "message"), lines(REFUSES))
def test_an_expression_is_refused(expression: str, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        eval(expression, NAMES)


@pytest.mark.parametrize(
    "function",
    [
        *(
            jsp.special.entr,
            jsp.special.logit,
            jsp.special.ndtri,
            jnp.trapezoid,
            jsp.integrate.trapezoid,
        ),
        *(lambda x: jsp.special.kl_div(x, x), lambda x: jsp.special.rel_entr(x, x)),
    ],
)
def test_weak_numbers_of_32_bits_stay_so(function) -> None:
    with effax.enable_x64(True):
        narrow = jnp.full(4, 0.3, jnp.float32)
        given = convert_element_type(narrow, dtype=narrow.dtype, weak_type=True)
        assert function(given).dtype == "float32"


def test_a_weak_number_of_32_bits_and_a_number_of_python_meet_in_64_compiled_too() -> None:
    narrow = lax.broadcast(2, (3,))
    with effax.enable_x64(True):
        assert (narrow + 1).dtype == effax.jit(lambda x: x + 1)(narrow).dtype == "int64"


@pytest.mark.parametrize("weak", [False, True])
def test_places_of_64_bits_keep_their_upper_half(weak: bool) -> None:
    with effax.enable_x64(True):
        one = jnp.asarray(2**32 + 1)
        far = convert_element_type(one, dtype=one.dtype, weak_type=weak)
        x = jnp.arange(4)
        assert lax.dynamic_slice(x, (far,), (2,)).tolist() == [2, 3]
        assert lax.dynamic_slice(x, (-far,), (2,)).tolist() == [0, 1]
        assert lax.dynamic_update_slice(x, x[:1], (far,)).tolist() == [0, 1, 2, 0]
        assert jnp.insert(x, far, 7).tolist() == [0, 1, 2, 3, 7]
        assert jnp.ldexp(1.5, -far) == 0
        assert lax.switch(far, [lambda: 1, lambda: 2, lambda: 3]) == 3
        assert lax.switch(-far, [lambda: 1, lambda: 2, lambda: 3]) == 1
