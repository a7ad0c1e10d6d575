"""Inverses from both ends: round trips, determinants of Jacobians, densities, refusals, the laws."""

import doctest

import numpy as np
import pytest
import scipy.stats

import effax as fx
import effax.numpy as jnp
from effax import lax
from tests.examples.samples import load
from tests.programs.e3 import PROGRAMS, X

example = load("inverse")

inverse, inverse_and_ildj, log_prob = example.inverse, example.inverse_and_ildj, example.log_prob
NotInvertibleError = example.NotInvertibleError

M = np.random.default_rng(0).normal(size=(3, 3))
POINT = np.array([0.3, 0.55, 0.8])


@pytest.fixture(autouse=True, scope="module")
def float64():
    fx.config.update("jax_enable_x64", True)
    yield
    fx.config.update("jax_enable_x64", False)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_its_page():
    fx.config.update("jax_enable_x64", False)
    assert doctest.testmod(example).failed == 0
    fx.config.update("jax_enable_x64", True)


@fx.custom_jvp
def custom_exp(x):
    return jnp.exp(x)


@custom_exp.defjvp
def custom_exp_jvp(primals, tangents):
    return custom_exp(*primals), custom_exp(*primals) * tangents[0]


def layers(x):
    """The last carry is known, the first one isn't; the counter's first is, its last isn't."""
    return lax.fori_loop(0, 3, lambda i, c: jnp.sinh(M @ c) * (i + 1), x)


def autoregressive(x):
    """The first carry is known, and the rows of x come one after the other."""
    return lax.scan(lambda c, a: (c + a * jnp.exp(c), a * jnp.exp(c)), 0.1, x)[1]


def coupling(x):
    """A flow that splits: each half decides how the other is scaled."""
    for _ in range(2):
        x = jnp.concatenate([x[:1], x[1:] * jnp.exp(jnp.sin(x[0])) + x[0] ** 2])[::-1]
    return x


def split(x, y):
    return {"sum": x + y, "scaled": y * 3.0}


BIJECTIONS = {
    "affine": lambda x: 2 * jnp.exp(x) + 1,
    "powers": lambda x: (x**3 - 1) / 7,
    "division": lambda x: 3 / (1 - jnp.sqrt(x)),
    "special": lambda x: fx.scipy.special.erf(jnp.arctan(jnp.log1p(x))),
    "sigmoid": lambda x: fx.nn.sigmoid(-x),
    "matrix": lambda x: jnp.tanh(M @ x),
    "solve": lambda x: jnp.linalg.solve(M, x),
    "permutation": lambda x: jnp.roll(x[np.array([2, 0, 1])], 1),
    "cumsum": jnp.cumsum,
    "products": lambda x: lax.associative_scan(lambda a, b: a * b, x),
    "jit": fx.jit(lambda x: jnp.sinh(x) / 3),
    "remat": fx.checkpoint(lambda x: jnp.exp(jnp.sinh(x))),
    "custom": custom_exp,
    "vmap": lambda x: fx.vmap(lambda a: jnp.log(a) * 2)(x),
    "cond": lambda x: lax.cond(jnp.asarray(True), jnp.exp, lambda x: 2 * x, x),
    "switch": lambda x: lax.switch(1, [jnp.exp, jnp.sinh], x),
    "layers": layers,
    "autoregressive": autoregressive,
    "coupling": coupling,
}


@pytest.mark.parametrize("name", BIJECTIONS)
def test_bijection(name):
    f, x = BIJECTIONS[name], jnp.asarray(POINT)
    expected = -jnp.linalg.slogdet(fx.jacfwd(f)(x))[1]
    for way in (inverse_and_ildj(f), fx.jit(inverse_and_ildj(f))):
        found, ildj = way(f(x))
        close(found, x)
        close(ildj, expected)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("layers", "coupling")]


@pytest.mark.parametrize("name", ["matrix", "autoregressive", "cond", "custom", *SLOW])
def test_under_transforms(name):
    """Rows by vmap; the gradient of the determinant by differences of numbers."""
    f, x = BIJECTIONS[name], jnp.asarray(POINT)
    rows = jnp.stack([x, 0.9 * x])
    found, ildjs = fx.vmap(inverse_and_ildj(f))(fx.vmap(f)(rows))
    close(found, rows)
    close(ildjs[1], inverse_and_ildj(f)(f(rows[1]))[1])

    def ildj(x):
        return inverse_and_ildj(f)(f(x))[1]

    steps = 1e-5 * np.eye(3)
    slopes = [(ildj(x + s) - ildj(x - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(fx.jit(fx.grad(ildj))(x), slopes, rtol=1e-6, atol=1e-6)
    close(inverse(fx.grad(lambda x: jnp.sum(jnp.cosh(x))))(jnp.sinh(x)), x)


def test_several_arguments_and_closures():
    x, y = jnp.asarray(POINT), jnp.ones(3)
    close(inverse(split, x, y)(split(x, y)), (x, y))
    close(inverse(lambda a: jnp.reshape(a, (4,)), jnp.zeros((2, 2)))(jnp.arange(4.0)).shape, (2, 2))
    slope = fx.grad(lambda t: jnp.sum(inverse(lambda x: x * t)(x)))(2.0)
    close(slope, -jnp.sum(x) / 4)


def test_densities():
    """Log-normal, logistic-normal and a correlated normal, against SciPy."""

    def normal(x):
        return jnp.sum(-0.5 * x**2 - 0.5 * np.log(2 * np.pi))

    for y in (0.3, 2.0):
        close(
            log_prob(normal, lambda x: jnp.exp(0.5 * x + 1))(y),
            scipy.stats.lognorm.logpdf(y, 0.5, scale=np.e),
        )
    y = jnp.asarray([0.2, -1.0, 0.5])
    expected = scipy.stats.multivariate_normal.logpdf(y, np.ones(3), M @ M.T)
    close(log_prob(normal, lambda x: M @ x + 1)(y), expected)


REFUSED = {
    "sin": (jnp.sin, "'sin'"),
    "even": (lambda x: x**2, "'integer_pow'"),
    "used twice": (lambda x: x * jnp.exp(x), "'mul'"),
    "unknown branch": (lambda x: lax.cond(x[0] > 0, jnp.exp, jnp.sinh, x), "'cond'"),
    "inside jit": (fx.jit(lambda x: jnp.exp(jnp.cos(x))), "'cos'"),
    "inside scan": (lambda x: lax.scan(lambda c, _: (jnp.abs(c), None), x, None, 2)[0], "'abs'"),
    "steps unknown": (lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: 2 * c, x), "'while'"),
    "too few": (lambda x: jnp.zeros(3), "do not depend on all"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    f, pattern = REFUSED[name]
    with pytest.raises(NotInvertibleError, match=pattern):
        inverse(f)(jnp.asarray(POINT))


def test_sizes():
    with pytest.raises(NotInvertibleError, match="numbers of elements"):
        inverse_and_ildj(lambda x: jnp.concatenate([x, x]), jnp.zeros(2))(jnp.ones(4))
    with pytest.raises(ValueError, match="the result is"):
        inverse(lambda x: jnp.concatenate([x, x]))(jnp.ones(4))


# Of the 25 programs these two are bijections that equations show to be; the others mix what is
# unknown (both factors of a product), lose it (sin, squares, sort, the branch taken, the number of
# steps), or say too little (a column of a factor, a slice).
INVERTIBLE = {"dense_tanh", "associative_scan"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    f, x = PROGRAMS[name].make(fx, jnp), jnp.asarray(X)
    if name in INVERTIBLE:
        found, ildj = fx.jit(inverse_and_ildj(f))(f(x))
        close(found, x)
        close(ildj, -jnp.linalg.slogdet(fx.jacfwd(f)(x))[1])
        return
    with pytest.raises(NotInvertibleError, match=r"from its result|all of its inputs"):
        inverse(f, x)(f(x))
