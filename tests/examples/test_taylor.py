"""Taylor mode: JAX's recorded derivatives, nested forward mode, other transforms, the laws.

JAX's own `jet` refuses 12 of the 25 programs.
"""

from pathlib import Path

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import laws, lax
from effax.effects.program import count_equations
from effax.experimental.jet import directional_sum, jet
from effax.experimental.taylor import series
from tests.programs.e3 import PROGRAMS, V, X
from tests.programs.test_e3 import goldens

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="module")
def float64():
    fx.config.update("jax_enable_x64", True)
    yield
    fx.config.update("jax_enable_x64", False)


def nested(f, order, direction=V):
    """The derivatives along a direction by nesting forward mode, the slow way."""
    found = []
    for _ in range(order):
        f = (lambda g: lambda x: fx.jvp(g, (x,), (direction + 0 * x,))[1])(f)
        found.append(f)
    return lambda x: [g(x) for g in found]


def taylor(f, order, direction=V):
    return lambda x: jet(f, (x,), ([direction + 0 * x] + [0 * x] * (order - 1),))[1]


def last(derivatives):
    return lambda x: jnp.sum(jnp.cos(derivatives(x)[-1]))


def close(a, b, tolerance=1e-9):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_the_example_is_the_library_s_own():
    example = ROOT / "examples" / "transforms" / "taylor.py"
    assert example.resolve() == (ROOT / "effax" / "experimental" / "taylor.py").resolve()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    f = PROGRAMS[name].make(fx, jnp)
    x, stored = jnp.asarray(X), goldens(name)
    close(taylor(f, 2)(x), [stored["jvp"], stored["jvp.jvp"]], 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_to_third_order_under_jit_and_vmap(name):
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)
    expected = nested(f, 3)(x)
    close(fx.jit(taylor(f, 3))(x), expected)
    close(taylor(fx.jit(f), 3)(x), expected)
    rows = jnp.stack([x, x * 0.9])
    many = fx.jit(fx.vmap(taylor(f, 2)))(rows)
    for i in range(2):
        close([y[i] for y in many], nested(f, 2)(rows[i]))
    close(fx.jit(taylor(fx.vmap(f), 2))(rows), many)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_and_gradients(name):
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)
    if name == "while_loop":  # reverse mode through it needs a bound on its steps
        f = PROGRAMS[name].twin(fx, jnp)
    outside = [fx.jit(fx.grad(last(by(f, 2))))(x) for by in (taylor, nested)]
    close(*[[y] for y in outside])
    slope = fx.grad(lambda x: jnp.sum(f(x)))
    close(fx.jit(taylor(slope, 2))(x), fx.jit(nested(slope, 2))(x))


@pytest.mark.parametrize("name", ["scan", "cond", "custom_jvp"])
def test_other_transforms(name):
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)
    many = fx.vmap(taylor(f, 2))(jnp.stack([x, x * 0.9]))
    close([y[1] for y in many], nested(f, 2)(x * 0.9))
    close([fx.jit(fx.grad(last(taylor(f, 2))))(x)], [fx.jit(fx.grad(last(nested(f, 2))))(x)])


@pytest.mark.parametrize("name", PROGRAMS)
def test_collapsed_sums(name):
    """Three directions, the sum of their second and third derivatives."""
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)
    rows = jnp.asarray(np.random.default_rng(0).normal(size=(2, 5)))
    orders = (2, 3) if name in ("dense_tanh", "scan", "cholesky") else (2,)
    for order in orders:
        value, found = directional_sum(f, (x,), (rows,), order)
        close([value], [f(x)])
        close([found], [sum(taylor(f, order, v)(x)[-1] for v in rows)])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x**0.5 / (1 + x),
        lambda x: jnp.log(x) * jnp.arctan2(x, x * x),
        lambda x: fx.scipy.special.erf(x) + fx.scipy.special.gammaln(x),
        lambda x: fx.nn.softplus(x) * fx.nn.gelu(x),
        lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3)) @ x,
        lambda x: jnp.linalg.eigvalsh(jnp.outer(x, x) + jnp.diag(jnp.arange(3.0)))[0] * x,
        lambda x: jnp.linalg.svd(jnp.outer(x, jnp.sin(x)) + jnp.diag(x))[1],
        lambda x: jnp.prod(x) * jnp.cumprod(x),
        lambda x: jnp.convolve(x, jnp.exp(x)),
        lambda x: jnp.abs(jnp.fft.fft(x)),
        lambda x: x ** jnp.sin(x),
        lambda x: jnp.maximum(x, 0.5) * jnp.clip(x, 0.2, 0.6),
    ],
)
def test_functions(f):
    x = jnp.asarray([0.3, 0.55, 0.8])
    v = np.array([1.0, -0.5, 0.25])
    close(taylor(f, 4, v)(x), nested(f, 4, v)(x), 1e-7)


def test_a_custom_rule_is_the_derivative():
    """A `custom_jvp` rule holds in every order, loops in the rule included."""

    @fx.custom_jvp
    def clipped(x):
        return jnp.where(x > 1, 1.0, x * x)

    @clipped.defjvp
    def clipped_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        double = lax.fori_loop(0, 2, lambda _, c: c + x * t, 0.0 * x)
        return clipped(x), double * clipped(x)

    for x in (0.5, 2.0):
        close(taylor(clipped, 3, 1.0)(jnp.asarray(x)), nested(clipped, 3, 1.0)(jnp.asarray(x)))
    with pytest.raises(fx.extend.MissingRuleError, match="sums over directions"):
        directional_sum(clipped, (0.5,), (jnp.ones(2),), 3)


def test_an_effect_from_outside_needs_a_derivative_only():
    cube = fx.extend.Effect("test_taylor_cube", family="mine", typing=lambda x: x)
    fx.extend.expand(cube)(lambda x: x * x * x)
    close(taylor(cube, 4, 1.0)(jnp.asarray(2.0)), [12.0, 12.0, 6.0, 0.0])


def test_the_work_is_polynomial():
    def f(x):
        return jnp.tanh(jnp.sin(x) * jnp.exp(x)) / (1 + x * x)

    def size(g):
        return count_equations(fx.make_program(g)(0.5))

    sizes = [size(taylor(f, k, 1.0)) for k in range(1, 9)]
    third_differences = np.diff(sizes, 3)
    assert abs(third_differences).max() <= 2, sizes  # quadratic
    assert size(lambda x: nested(f, 7, 1.0)(x)[-1]) > 5 * sizes[6]


def test_interface():
    assert jet(jnp.multiply, (2.0, 3.0), ([1.0, 0.0], [1.0, 0.0])) == (6.0, [5.0, 2.0])
    value, terms = jet(lambda x: {"a": x * x, "b": 3}, (2.0,), ([1.0, 0.0],))
    assert value == {"a": 4.0, "b": 3} and terms == {"a": [4.0, 2.0], "b": [0, 0]}
    assert jet(lambda x: x * x, (2.0,), ([1.0, 0.0],), factorial_scaled=False)[1] == [4.0, 1.0]
    assert jet(jnp.sin, (0.0,), ([],)) == (0.0, [])
    with pytest.raises(ValueError, match="inconsistent lengths"):
        jet(lambda x, y: x, (1.0, 2.0), ([1.0], []))
    with pytest.raises(ValueError, match="has to be an array"):
        jet(lambda x: x, ([1.0],), ([1.0],))
    with pytest.raises(TypeError, match="floating-point or complex"):
        jet(lambda x: x, (1,), ([1.0],))
    with pytest.raises(ValueError, match="order must be at least 1"):
        directional_sum(jnp.sin, (1.0,), (jnp.ones(2),), 0)


def test_laws():
    """Over random programs, control flow included: the first coefficients, with a moving start."""
    cls = series(2)

    def embed(*xs):
        return tuple(cls(x, 0.1 * x) if x.dtype.kind == "f" else x for x in xs)

    def project(ys):
        return tuple(y[0] if isinstance(y, cls) else y for y in ys)

    report = laws.check(cls.transform, embed=embed, project=project, max_examples=4)
    assert all(v.verdict == "true" for v in report.verdicts), report
