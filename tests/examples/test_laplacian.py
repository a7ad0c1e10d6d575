"""The forward Laplacian: traces of Hessians, JAX's recorded derivatives, the laws."""

import doctest

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import laws
from effax.experimental.jet import directional_sum
from tests.examples.samples import load
from tests.programs.e3 import PROGRAMS, X
from tests.programs.test_e3 import goldens

laplacian = load("laplacian")

forward_laplacian, Laplacian = laplacian.forward_laplacian, laplacian.Laplacian


@pytest.fixture(autouse=True, scope="module")
def float64():
    fx.config.update("jax_enable_x64", True)
    yield
    fx.config.update("jax_enable_x64", False)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_its_page():
    with fx.enable_x64(False):
        assert doctest.testmod(laplacian).failed == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """The weighted sum whose gradient JAX recorded, and the Laplacian of all results."""
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)

    def weighted(x):
        y = f(x)
        return jnp.sum(np.cos(np.arange(y.size)).reshape(y.shape) * y)

    np.testing.assert_allclose(
        forward_laplacian(weighted)(x).rows, goldens(name)["grad"], 1e-8, 1e-8
    )
    found = forward_laplacian(f)(x)
    close(found.value, f(x))
    close(found.sum, directional_sum(f, (x,), (jnp.eye(5),), 2)[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_under_transforms(name):
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)

    def trace(x):
        return jnp.trace(fx.jacfwd(fx.jacfwd(f))(x), axis1=1, axis2=2)

    def by_laplacian(x):
        return forward_laplacian(f)(x).sum

    close(fx.jit(by_laplacian)(x), fx.jit(trace)(x))
    rows = jnp.stack([x, 0.9 * x])
    close(fx.jit(fx.vmap(by_laplacian))(rows)[1], by_laplacian(0.9 * x))
    close(forward_laplacian(fx.jit(f))(x).sum, by_laplacian(x))
    inside = forward_laplacian(fx.vmap(f))(rows)
    close(jnp.sum(inside.sum, 0), by_laplacian(x) + by_laplacian(0.9 * x))
    if name == "while_loop":  # reverse mode through it needs a bound on its steps
        return
    gradients = [fx.grad(lambda x, g=g: jnp.sum(jnp.sin(g(x)))) for g in (by_laplacian, trace)]
    close(*(fx.jit(g)(x) for g in gradients))
    slope = fx.grad(lambda x: jnp.sum(f(x)))
    close(
        fx.jit(lambda x: forward_laplacian(slope)(x).sum)(x),
        fx.jit(lambda x: directional_sum(slope, (x,), (jnp.eye(5),), 2)[1])(x),
    )


@pytest.mark.parametrize("name", ["dense_tanh", "cond", "custom_vjp"])
def test_other_transforms(name):
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X)

    def by_laplacian(x):
        return forward_laplacian(f)(x).sum

    def trace(x):
        return jnp.trace(fx.jacfwd(fx.jacfwd(f))(x), axis1=1, axis2=2)

    close(fx.vmap(by_laplacian)(jnp.stack([x, 0.9 * x]))[1], by_laplacian(0.9 * x))
    gradients = [fx.grad(lambda x, g=g: jnp.sum(jnp.sin(g(x)))) for g in (by_laplacian, trace)]
    close(*(fx.jit(g)(x) for g in gradients))


def test_known_functions():
    """Solutions of Laplace's equation, and polynomials of a matrix, which has axes of its own."""
    x = jnp.asarray([0.3, -0.4, 0.5])
    harmonics = [
        lambda x: 1 / jnp.linalg.norm(x),
        lambda x: jnp.exp(x[0]) * jnp.sin(x[1]),
        lambda x: jnp.log(x[0] ** 2 + x[1] ** 2),
        lambda x: jnp.arctan2(x[0], x[1]),
    ]
    for f in harmonics:
        close(forward_laplacian(f)(x).sum, 0.0)
    close(forward_laplacian(lambda a: jnp.sum(a**4))(jnp.ones((2, 3))).sum, 72.0)
    close(forward_laplacian(lambda a: jnp.linalg.det(a))(jnp.eye(3)).sum, 0.0)


def test_laws():
    def embed(*xs):
        return tuple(
            Laplacian(x, 0.1 * jnp.stack([x, x * x])) if x.dtype.kind == "f" else x for x in xs
        )

    def project(ys):
        return tuple(y.value if isinstance(y, Laplacian) else y for y in ys)

    report = laws.check(Laplacian.transform, embed=embed, project=project, max_examples=3)
    assert all(v.verdict == "true" for v in report.verdicts), report
