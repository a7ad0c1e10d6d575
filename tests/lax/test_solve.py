"""Implicit differentiation: the derivative is of the system, not of how it is solved."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

random = np.random.default_rng(0)
A = (random.normal(size=(3, 3)) + 3 * np.eye(3)).astype(np.float32)
B = random.normal(size=3).astype(np.float32)


def iterated(matvec, b):
    """Jacobi's method, through a loop that reverse mode can't take."""
    diagonal = jnp.stack([matvec(row)[i] for i, row in enumerate(np.eye(3, dtype=np.float32))])

    def step(x):
        return x + 0.7 * (b - matvec(x)) / diagonal

    return lax.while_loop(lambda x: jnp.max(jnp.abs(matvec(x) - b)) > 1e-6, step, b / diagonal)


def solve(a, b):
    return lax.custom_linear_solve(lambda x: a @ x, b, iterated, iterated)


def direct(a, b):
    return jnp.linalg.solve(a, b)


def total(f):
    return lambda a, b: jnp.sum(jnp.sin(f(a, b)))


def test_value():
    np.testing.assert_allclose(solve(A, B), np.linalg.solve(A, B), rtol=1e-4)


def test_reverse_and_forward_mode():
    for one, other in zip(
        effax.grad(total(solve), (0, 1))(A, B), effax.grad(total(direct), (0, 1))(A, B), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    found, wanted = (effax.jvp(total(f), (A, B), (A, B))[1] for f in (solve, direct))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_second_derivative():
    found, wanted = (effax.hessian(total(f), 1)(A, B) for f in (solve, direct))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)])
def test_batches(axes):
    operands = [np.stack([x, 1.5 * x]) if k == 0 else x for x, k in zip((A, B), axes, strict=True)]
    for make in (lambda f: f, effax.grad):
        found, wanted = (effax.vmap(make(total(f)), axes)(*operands) for f in (solve, direct))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_the_transposed_solver_is_asked_for_in_reverse_mode_only():
    def f(b):
        return jnp.sum(lax.custom_linear_solve(lambda x: A @ x, b, iterated))

    assert np.isfinite(effax.jvp(f, (B,), (B,))[1])
    with pytest.raises(ValueError, match="transpose_solve"):
        effax.grad(f)(B)


def test_results_of_another_tree_are_refused():
    with pytest.raises(TypeError, match="structure must match b"):
        lax.custom_linear_solve(lambda x: (x,), B, iterated)


def test_root():
    def cube_root(a):
        def newton(f, x):
            def step(x):
                value, slope = effax.jvp(f, (x,), (jnp.ones_like(x),))
                return x - value / slope

            return lax.while_loop(lambda x: jnp.max(jnp.abs(f(x))) > 1e-4, step, x)

        return lax.custom_root(
            lambda x: x**3 - a, jnp.ones_like(a), newton, lambda g, y: y / g(jnp.ones_like(y))
        )

    a = np.array([8.0, 27.0], np.float32)
    np.testing.assert_allclose(cube_root(a), [2, 3], rtol=1e-4)
    slope = effax.grad(lambda a: jnp.sum(cube_root(a)))(a)
    np.testing.assert_allclose(slope, [1 / 12, 1 / 27], rtol=1e-4)
    np.testing.assert_allclose(effax.jvp(cube_root, (a,), (a,))[1], [2 / 3, 1], rtol=1e-4)


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_what_else_a_solver_gives(transform):
    """It has no derivative, and goes along under every transformation."""
    a = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
    b = np.array([1.0, 2.0], np.float32)

    def f(a, b):
        return lax.custom_linear_solve(
            lambda x: a @ x,
            b,
            lambda matvec, b: (jnp.linalg.solve(a, b), {"norm": jnp.abs(b).sum()}),
            symmetric=True,
            has_aux=True,
        )

    (x, aux), (dx, moved) = transform(lambda b: effax.jvp(lambda b: f(a, b), (b,), (b,)))(b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-5)
    np.testing.assert_allclose(dx, x, rtol=1e-5)
    assert float(aux["norm"]) == 3.0 and float(moved["norm"]) == 0.0
    rows = transform(effax.vmap(lambda b: f(a, b)))(np.stack([b, 2 * b]))
    assert rows[1]["norm"].tolist() == [3.0, 6.0]

    def total(a, b):
        x, aux = f(a, b)
        return x.sum() + aux["norm"]

    to_a, to_b = transform(effax.grad(total, argnums=(0, 1)))(a, b)
    w = np.linalg.solve(a.T, np.ones(2))
    np.testing.assert_allclose(to_b, w, rtol=1e-5)
    np.testing.assert_allclose(to_a, -np.outer(w, np.linalg.solve(a, b)), rtol=1e-4)


def _root_by_factors(a, b, solve=jnp.linalg.solve):
    """The x with `a x = b`; both solvers close over a, and neither asks the function given."""
    return lax.custom_root(
        lambda x: a @ x - b,
        b,
        lambda f, _: (solve(a, b), {"norm": jnp.abs(b).sum()}),
        lambda g, y: solve(a, y),
        has_aux=True,
    )[0]


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_the_tangent_solver_of_a_root_may_close_over_what_is_differentiated(transform):
    a = np.array([[3.0, 1.0], [0.5, 2.0]], np.float32)
    b = np.array([1.0, 2.0], np.float32)
    for order in (1, 2):
        ours, known = (
            _derivatives(lambda a, b, f=f: jnp.sum(f(a, b) ** 2), order)
            for f in (_root_by_factors, jnp.linalg.solve)
        )
        for x, y in zip(transform(ours)(a, b), known(a, b), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def _derivatives(f, order):
    by_reverse = effax.grad(f, argnums=(0, 1))
    if order == 1:
        return by_reverse
    return lambda a, b: sum(effax.jacfwd(by_reverse, argnums=(0, 1))(a, b), ())


def test_the_tangent_solver_of_a_root_is_transposed():
    """Also where the matrix is not symmetric, and the solver doesn't look at what it is given."""
    a = np.array([[3.0, 1.0], [0.5, 2.0]], np.float32)
    b = np.array([1.0, 2.0], np.float32)
    found = effax.grad(lambda b: _root_by_factors(jnp.asarray(a), b)[0])(b)
    np.testing.assert_allclose(found, np.linalg.inv(a)[0], rtol=1e-5)


def test_functions_of_a_root_keep_the_tree():
    same, pair = (lambda f, x: x), (lambda f, x: (x, x))
    for name, functions in {
        "f": (lambda x: (x, x), same, same),
        "solve": (lambda x: x, pair, same),
        "tangent_solve": (lambda x: x, same, pair),
    }.items():
        with pytest.raises(TypeError, match=rf"^{name}\(\) output pytree structure must match"):
            lax.custom_root(functions[0], 0.0, *functions[1:])
