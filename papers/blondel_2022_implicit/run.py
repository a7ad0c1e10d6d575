"""Implicit differentiation, modular: the optimality condition is differentiated, not the solver.

Prints claim, measurement and verdict; `--large` adds times.
"""

import sys
import time
from functools import wraps
from itertools import pairwise

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax import lax


def implicit(condition):
    """Derivatives of a solver from the condition that its result satisfies.

    condition(x, *args) is zero at x = solver(*args), and x is a vector. Then dx is the solution of
    A dx = -dF, A the condition's Jacobian at x, and dF its change with the arguments.
    """

    def decorate(solver):
        @fx.custom_jvp
        @wraps(solver)
        def solved(*args):
            return solver(*args)

        @solved.defjvp
        def solved_jvp(primals, tangents):
            x = solved(*primals)
            jacobian = fx.jacfwd(condition)(x, *primals)
            change = fx.jvp(lambda *args: condition(x, *args), primals, tangents)[1]
            return x, -jnp.linalg.solve(jacobian, change)

        return solved

    return decorate


RNG = np.random.default_rng(0)
DATA, TARGET = RNG.normal(size=(20, 5)), RNG.normal(size=20)


def loss(x, theta):
    """Ridge regression."""
    return 0.5 * jnp.sum((DATA @ x - TARGET) ** 2) + 0.5 * theta * jnp.sum(x**2)


def descent(theta, steps=2000):
    """Gradient descent, `steps` steps of it."""
    rate = 1 / (np.linalg.norm(DATA, 2) ** 2 + theta)
    step = lambda x, _: (x - rate * fx.grad(loss)(x, theta), None)  # noqa: E731
    return lax.scan(step, jnp.zeros(5), None, length=steps)[0]


ridge = implicit(fx.grad(loss))(lambda theta: descent(theta))


@implicit(fx.grad(loss))
def ridge_outside(theta):
    """A solver that nothing differentiates: NumPy's, called from the program."""

    def solve(theta):
        return np.linalg.solve(DATA.T @ DATA + theta * np.eye(5), DATA.T @ TARGET)

    return fx.pure_callback(solve, fx.ShapeDtypeStruct((5,), np.float64), theta)


def closed(theta):
    """The solution in closed form."""
    return jnp.linalg.solve(DATA.T @ DATA + theta * jnp.eye(5), DATA.T @ TARGET)


def lasso_condition(x, theta):
    """A proximal gradient step leaves the solution where it is."""
    z = x - 0.01 * (DATA.T @ (DATA @ x - TARGET))
    return x - jnp.sign(z) * jnp.maximum(jnp.abs(z) - 0.01 * theta, 0.0)


@implicit(lasso_condition)
def lasso(theta):
    return lax.fori_loop(0, 3000, lambda _, x: x - lasso_condition(x, theta), jnp.zeros(5))


def rows():
    """Claim, measurement, whether it holds."""
    with fx.enable_x64(True):
        yield from _rows()


def _rows():
    theta = jnp.asarray(2.0)
    exact = fx.jacfwd(closed)(theta)
    errors = [float(jnp.abs(fx.jacfwd(f)(theta) - exact).max()) for f in (ridge, ridge_outside)]  # pyright: ignore[reportArgumentType]
    errors += [float(jnp.abs(fx.jacrev(f)(theta) - exact).max()) for f in (ridge, ridge_outside)]  # pyright: ignore[reportArgumentType]
    yield (
        "the implicit derivative is exact, whatever the solver, forward and reverse",
        f"descent and a solver of NumPy's: differences up to {max(errors):.0e}",
        max(errors) < 1e-9,
    )
    found = [float(jnp.abs(fx.jacrev(descent)(theta, n) - exact).max()) for n in (5, 20, 80, 320)]
    yield (
        "the derivative of the unrolled solver tends to it",
        "after 5, 20, 80, 320 steps: " + ", ".join(f"{e:.0e}" for e in found),
        all(b < a for a, b in pairwise(found)) and found[-1] < 1e-9,
    )
    second = float(
        jnp.abs(
            fx.hessian(lambda t: jnp.sum(ridge(t)))(theta)
            - fx.hessian(lambda t: jnp.sum(closed(t)))(theta)
        )
    )
    yield (
        "it can be differentiated again",
        f"second derivatives: difference {second:.0e}",
        second < 1e-9,
    )
    many = fx.jit(fx.vmap(fx.jacrev(ridge)))(jnp.array([0.5, 2.0, 8.0]))
    error = float(jnp.abs(many[1] - exact).max())
    yield "it composes with vmap and jit", f"difference {error:.0e}", error < 1e-9
    slope, h = fx.jacfwd(lasso)(jnp.asarray(3.0)), 1e-5
    difference = (lasso(jnp.asarray(3.0 + h)) - lasso(jnp.asarray(3.0 - h))) / (2 * h)
    error = float(jnp.abs(slope - difference).max())
    yield (
        "conditions may be fixed points: the lasso",
        f"from differences: {error:.0e}",
        error < 1e-6,
    )


def lines():
    """Count the code lines of `implicit`."""
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(implicit))
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    docs = len((ast.get_docstring(function) or "").splitlines()) + 1
    return sum(1 for x in inspect.getsource(implicit).splitlines() if x.strip()) - docs


def main():
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(f"NOTE  not reproduced: the paper's experiments; `implicit` has {lines()} lines")
    if "--large" in sys.argv:
        for name, f in (("implicit", ridge), ("unrolled", descent)):
            run = fx.jit(fx.grad(lambda t, f=f: jnp.sum(f(t)))).lower(2.0).compile()
            start = time.perf_counter()
            fx.block_until_ready(run(2.0))
            print(f"  {name}: {(time.perf_counter() - start) * 1e3:.1f} ms")
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
