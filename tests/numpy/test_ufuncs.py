"""The elementwise functions of effax.numpy against NumPy, and what JAX has beyond it."""

import numpy as np
import pytest

import effax
import effax.numpy.ufuncs as jnp
from effax.effects.config import config, numpy_rank_promotion
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage

random = np.random.default_rng(3)
X = random.normal(size=(3, 4)).astype(np.float32) * 2
Y = random.normal(size=(4,)).astype(np.float32) * 2
N = random.integers(-9, 10, (3, 4)).astype(np.int32)
J = random.integers(-9, 10, (4,)).astype(np.int32)
U = random.integers(0, 200, (3, 4)).astype(np.uint8)
B = X > 0
Z = (X + 1j * Y).astype(np.complex64)
EDGES = np.array([0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 3e38, 1e-30], np.float32)

UNARY = """abs absolute fabs negative positive sign square sqrt cbrt reciprocal exp exp2 expm1 log
log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sinc i0
floor ceil trunc rint deg2rad rad2deg degrees radians isnan isinf isfinite isposinf isneginf
signbit logical_not bitwise_not invert real imag conj conjugate angle isreal iscomplex spacing
nan_to_num frexp modf round""".split()  # noqa: SIM905
BINARY = """add subtract multiply divide true_divide floor_divide mod remainder fmod divmod power
float_power maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign nextafter
heaviside equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm ldexp isclose allclose
array_equal array_equiv""".split()  # noqa: SIM905


def agree(found, wanted, tolerance=2e-5):
    if isinstance(wanted, tuple):
        for f, w in zip(found, wanted, strict=True):
            agree(f, w, tolerance)
        return
    wanted = np.asarray(wanted)
    found = np.asarray(found)
    assert found.shape == wanted.shape
    if wanted.dtype.kind in "fc":
        narrow = found.dtype.type
        with np.errstate(all="ignore"):
            wanted = wanted.astype(narrow)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name):
    ask, define = getattr(jnp, name), getattr(np, name)
    asked = 0
    for x in (X, N, U, B, Z, EDGES, np.float16(0.5)):
        wide = x.astype(np.float32) if x.dtype == np.float16 else x
        if x.dtype.kind in "iub":
            # NumPy computes small integers in half precision.
            wide = x if name in KEEP else x.astype(np.float32)
        try:
            with np.errstate(all="ignore"):
                wanted = define(wide)
        except TypeError:
            continue
        if name in ("sqrt", "log", "reciprocal") and x.dtype == bool:
            continue
        try:
            found = ask(x)
        except (TypeError, ValueError, NotImplementedError):
            assert x.dtype.kind in "cb", (name, x.dtype)
            continue
        asked += 1
        agree(found, wanted, 2e-2 if x.dtype == np.float16 or name == "spacing" else 3e-5)
    assert asked >= 2


KEEP = set(
    """abs absolute negative positive sign square floor ceil trunc isnan isinf isfinite isposinf
    isneginf signbit logical_not bitwise_not invert real imag conj conjugate isreal iscomplex
    nan_to_num round""".split()  # noqa: SIM905
)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name):
    ask, define = getattr(jnp, name), getattr(np, name)
    exponents = np.abs(J) % 8
    divisors = np.where(J == 0, 5, J)
    asked = 0
    for x, y in ((X, Y), (N, divisors), (U, np.uint8(7)), (B, B), (Z, Y), (X, 2.0), (3, N)):
        integers = np.asarray(x).dtype.kind == "i" and np.asarray(y).dtype.kind == "i"
        if name in ("left_shift", "right_shift", "power", "ldexp") and integers:
            y = np.abs(y) % 8
        if name in ("power", "float_power"):
            x = np.abs(x) if np.asarray(x).dtype.kind == "f" else x
        if name == "ldexp":
            y = exponents if np.ndim(y) else 3
        if name == "spacing":
            continue
        wide = np.float32 if integers and name in FLOATING else None
        try:
            with np.errstate(all="ignore"):
                wanted = define(np.asarray(x, wide), np.asarray(y, wide)) if wide else define(x, y)
        except (TypeError, ValueError):
            continue
        try:
            found = ask(x, y)
        except (TypeError, ValueError):
            assert np.asarray(x).dtype.kind in "cb" or name in ("gcd", "lcm"), (name, x, y)
            continue
        asked += 1
        if (
            name in ("floor_divide", "divmod", "mod", "remainder", "fmod")
            and np.asarray(x).dtype == bool
        ):
            continue
        if np.asarray(wanted).dtype == np.float16:
            continue  # NumPy computes small integers in half precision
        agree(found, wanted, 1e-4)
    assert asked >= 1


FLOATING = {"divide", "true_divide", "arctan2", "hypot", "logaddexp", "logaddexp2", "float_power"}


def test_edges_of_functions_of_two():
    x, y = np.meshgrid(EDGES[:8], EDGES[:8])
    names = (
        "maximum minimum fmax fmin copysign nextafter arctan2 hypot logaddexp equal less isclose"
    )
    for name in (*names.split(), "add", "multiply", "divide", "remainder", "fmod", "heaviside"):
        with np.errstate(all="ignore"):
            agree(getattr(jnp, name)(x, y), getattr(np, name)(x, y))


def test_where_clip_round_and_nan_to_num():
    agree(jnp.where(B, X, 0.0), np.where(B, X, 0.0))
    agree(jnp.where(B[:, :1], X, Y), np.where(B[:, :1], X, Y))
    agree(jnp.where(N, 1, 2), np.where(N, 1, 2))
    agree(jnp.where(True, X, Y), np.where(True, X, Y))
    agree(jnp.clip(X, -1, 1), np.clip(X, -1, 1))
    agree(jnp.clip(X, None, Y), np.clip(X, None, Y))
    agree(jnp.clip(N, min=0), np.clip(N, 0, None))
    agree(jnp.round(X, 2), np.round(X, 2))
    agree(jnp.round(Z, 1), np.round(Z, 1))
    agree(jnp.round(1234.5, -2), np.float32(1200))
    agree(
        jnp.nan_to_num(EDGES, nan=7, posinf=8, neginf=X[0, 0]),
        np.nan_to_num(EDGES, nan=7, posinf=8, neginf=X[0, 0]),
    )
    with pytest.raises(ValueError, match="Either both or neither"):
        jnp.where(B, X)


def test_closeness():
    assert not jnp.allclose(X, X + 1e-2)
    assert jnp.allclose(X, X + 1e-9)
    assert jnp.isclose(10, 11, atol=2)
    assert not jnp.isclose(np.inf, -np.inf)
    assert jnp.allclose(EDGES, EDGES, equal_nan=True)
    assert not jnp.array_equal(X, Y)
    assert jnp.array_equal(EDGES, EDGES, equal_nan=True)
    assert jnp.array_equiv(np.ones(3), 1)


def test_integer_powers():
    agree(jnp.power(X, 3), X**3)
    agree(jnp.power(N, 2), N**2)
    agree(jnp.power(X, -2), X**-2.0, 1e-4)
    agree(jnp.power(2, np.arange(8)), 2 ** np.arange(8))
    agree(jnp.power(np.arange(4), np.array([0, 1, 5, 19])), np.arange(4) ** np.array([0, 1, 5, 19]))
    with pytest.raises(TypeError, match="negative powers"):
        jnp.power(N, -1)
    program = stage(lambda x: [jnp.power(x, 3)], [ShapedArray((), "float32")]).program
    assert [e.effect.name for e in program.equations] == ["integer_pow"]


@pytest.mark.parametrize(
    ("function", "point", "slope"),
    [
        (jnp.sinc, 0.0, 0.0),
        (jnp.i0, 0.0, 0.0),
        (jnp.i0, 1.0, 0.5651591),
        (lambda x: jnp.logaddexp(x, x), 2.0, 1.0),
        (lambda x: jnp.logaddexp(x, -np.inf), 2.0, 1.0),
        (lambda x: jnp.logaddexp(-np.inf, x), -np.inf, 1.0),
        (lambda x: jnp.hypot(x, 4.0), 3.0, 0.6),
        (jnp.abs, 0.0, 1.0),
        (lambda x: jnp.power(x, 2), 3.0, 6.0),
        (lambda x: jnp.power(x, 2.5), 4.0, 20.0),
        (lambda x: jnp.frexp(x)[0], 6.0, 0.125),
        (lambda x: jnp.ldexp(x, 3), 6.0, 8.0),
        (
            lambda x: jnp.where(
                jnp.greater(x, 0), jnp.log(jnp.where(jnp.greater(x, 0), x, 1.0)), 0.0
            ),
            -1.0,
            0.0,
        ),
        (lambda x: jnp.clip(x, 0, 1), 0.5, 1.0),
        (lambda x: jnp.maximum(x, 0), 0.0, 0.5),
        (lambda x: jnp.remainder(x, 2.0), 3.5, 1.0),
        (lambda x: jnp.modf(x)[0], 3.5, 1.0),
        (lambda x: jnp.copysign(x, -1.0), 2.0, -1.0),
    ],
)
def test_derivatives(function, point, slope):
    np.testing.assert_allclose(effax.grad(function)(np.float32(point)), slope, rtol=1e-5, atol=1e-6)


def test_second_derivative_of_sinc_at_zero():
    second = effax.grad(effax.grad(jnp.sinc))(0.0)
    np.testing.assert_allclose(second, -(np.pi**2) / 3, rtol=1e-5)


def test_literals_stay_in_the_equation():
    f32 = ShapedArray((3,), "float32")
    program = stage(lambda x: [jnp.add(jnp.multiply(x, 2.0), 1)], [f32]).program
    assert [e.effect.name for e in program.equations] == ["mul", "add"]


def test_python_integers_wrap_to_the_dtype():
    agree(jnp.add(np.uint8(5), -1), np.uint8(4))
    jitted = effax.jit(lambda x: jnp.add(x, -1))
    agree(jitted(np.uint8(5)), np.uint8(4))


def test_what_is_refused():
    with pytest.raises(
        TypeError, match=r"add requires ndarray or scalar arguments, got <class 'list'>"
    ):
        jnp.add([1, 2], X)
    with pytest.raises(
        TypeError, match=r"Incompatible shapes for broadcasting: shapes=\[\(3, 4\), \(3,\)"
    ):
        jnp.add(X, X[:, 0])
    with pytest.raises(ValueError, match="Incompatible shapes"):
        jnp.where(B, X, X[:, 0])
    with pytest.raises(TypeError):
        jnp.bitwise_and(X, X)
    with pytest.raises(TypeError, match="complex"):
        jnp.floor_divide(Z, Z)
    with pytest.raises(ValueError, match="must be integers"):
        jnp.gcd(X, X)


def test_rank_promotion_can_be_refused():
    with numpy_rank_promotion("raise"), pytest.raises(ValueError, match="numpy_rank_promotion"):
        jnp.add(X, Y)
    with numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank"):
        jnp.multiply(X, Y)
    assert config.numpy_rank_promotion == "allow"


@pytest.mark.parametrize("sign", [jnp.sign, effax.lax.sign])
def test_the_sign_of_a_complex_number_turns(sign):
    """JAX's derivative is 0."""
    z, t = np.complex64(3 + 4j), np.complex64(0.5 - 0.25j)
    value, slope = effax.jvp(sign, (z,), (t,))
    np.testing.assert_allclose(value, 0.6 + 0.8j, rtol=1e-6)
    h = 1e-6 * complex(t)
    ahead, behind = ((complex(z) + s * h) / abs(complex(z) + s * h) for s in (1, -1))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-5)
    assert effax.grad(lambda x: sign(x + 1j).imag)(0.0) == 0
    np.testing.assert_allclose(effax.grad(lambda x: sign(x + 1j).real)(0.0), 1, rtol=1e-6)
    assert effax.jvp(sign, (np.complex64(0),), (t,))[1] == 0
    assert effax.grad(sign)(2.0) == 0
