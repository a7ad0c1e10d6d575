"""`linear_call`: whoever transposes the call finds the transpose that it brings."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.custom_derivatives import linear_call

X = np.array([0.5, 1.0, 2.0], np.float32)
C = jnp.asarray([3.0, 4.0, 5.0])


def told(r, x):
    """x / r, whose transpose is told apart from the true one by a factor of 7."""
    return linear_call(lambda r, x: x / r, lambda r, ct: 7 * ct / r, r, x)


def closing(x):
    """A tree of results, and programs that close over arrays, differently."""
    out = linear_call(
        lambda r, x: {"a": x * C * r, "b": x[0]}, lambda r, ct: ct["a"] * C * r + ct["b"], 2.0, x
    )
    return out["a"] + out["b"]


AROUND = {
    "plain": lambda f: f,
    "jit": effax.jit,
    "vmap": lambda f: lambda x: effax.vmap(f)(x[None])[0],
    "checkpoint": effax.checkpoint,
    "cond": lambda f: lambda x: lax.cond(x.sum() > 0, f, lambda x: x, x),
    "scan": lambda f: lambda x: lax.scan(lambda _, x: (None, f(x)), None, x[None])[1][0],
    "linearize": lambda f: lambda x: effax.linearize(f, x)[1](x),
}


@pytest.mark.parametrize("around", AROUND)
def test_the_transpose_is_its_own(around):
    f = AROUND[around](lambda x: told(2.0, x))
    np.testing.assert_allclose(f(X), X / 2)
    gradient = effax.grad(lambda x: f(x).sum())
    for g in (gradient, effax.jit(gradient)):
        np.testing.assert_allclose(g(X), [3.5] * 3)
    each = effax.vmap(gradient)(np.stack([X, X]))
    np.testing.assert_allclose(each, [[3.5] * 3] * 2)
    tangent = effax.jvp(f, (X,), (X,))[1]
    np.testing.assert_allclose(tangent, X / 2)


def test_transposing_twice_gives_the_function_again():
    def transpose(f):
        return lambda y: effax.linear_transpose(f, 1.0)(y)[0]

    f = lambda x: told(2.0, x)  # noqa: E731
    found = [float(g(1.0)) for g in (f, transpose(f), transpose(transpose(f)))]
    assert found == [0.5, 3.5, 0.5]
    assert float(transpose(transpose(transpose(f)))(1.0)) == 3.5


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_programs_that_close_over_arrays(transform):
    f = transform(closing)
    np.testing.assert_allclose(f(X), X * C * 2 + X[0])
    _, pull = effax.vjp(f, X)
    np.testing.assert_allclose(pull(np.ones(3, np.float32))[0], C * 2 + 3)
    np.testing.assert_allclose(effax.jit(effax.vmap(f))(np.stack([X, 2 * X]))[1], 2 * f(X))


def test_derivatives_in_residuals_go_through_the_function():
    f = lambda r, x: told(r, x)  # noqa: E731
    assert effax.grad(f)(2.0, 3.0) == -0.75
    by_both = effax.grad(lambda x: told(x, x) * x)(2.0)
    assert by_both == pytest.approx(1 + 2 * (7 / 2 - 2 / 4))
    found = effax.vmap(effax.grad(f))(X, X)
    np.testing.assert_allclose(found, -1 / X, rtol=1e-6)


def test_an_unmapped_operand_has_the_sum_of_the_cotangents():
    f = effax.vmap(told, in_axes=(0, None))
    gradient = effax.grad(lambda x: f(X, x).sum())(3.0)
    np.testing.assert_allclose(gradient, 7 * (1 / X).sum(), rtol=1e-6)


def test_a_transpose_of_other_trees_or_shapes_is_refused():
    with pytest.raises(TypeError, match="transpose output pytree structure must match"):
        linear_call(lambda r, x: x, lambda r, ct: (ct, ct), (), 1.0)
    with pytest.raises(TypeError, match=r"cotangents of the shapes of the linear inputs"):
        linear_call(lambda r, x: x.sum(), lambda r, ct: ct, (), X)


@effax.tree_util.register_pytree_node_class
class Square:
    """A class that looks at what it is made of."""

    def __init__(self, side):
        assert isinstance(side, effax.Array | np.ndarray | float)
        self.side = side

    def tree_flatten(self):
        return (self.side,), None

    @classmethod
    def tree_unflatten(cls, _, held):
        return cls(*held)


def test_residuals_and_results_are_made_of_values_alone():
    def scaled(square, x):
        f = lambda r, x: Square(r.side * x.side)  # noqa: E731
        return linear_call(f, f, square, x).side

    square = Square(jnp.float32(3))
    assert scaled(square, Square(2.0)) == 6.0
    assert effax.grad(lambda x: scaled(square, Square(x)))(2.0) == 3.0
