"""Seed 002, "From NumPy to JAX": `checkify`, the three `minimize` programs and user-defined types.

Every program, only its import line changed. The first half of the document is in
test_from_numpy_to_jax.py.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp
from effax.experimental.checkify import check, checkify
from effax.tree_util import register_pytree_node_class


def test_exceptions_inside_jit():
    def double(value):
        value = jnp.asarray(value)
        if (value < 0).any():
            raise ValueError("Expected a scalar.")
        return 2 * value

    assert float(double(1.0)) == 2.0
    with pytest.raises(ValueError, match="Expected a scalar"):
        double(-1.0)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(double)(1.0)  # Error: Throw ConcretizationTypeError exception!


def test_checkify():
    def double(value):
        value = jnp.asarray(value)
        check((value >= 0).any(), "Expected a non-negative values.")
        return 2 * value

    err, res = jax.jit(checkify(double))(1.0)
    err.throw()  # OK
    assert float(res) == 2.0
    assert err.get() is None

    err, res = jax.jit(checkify(double))(-1.0)
    with pytest.raises(ValueError, match=r"Expected a non-negative values\."):
        err.throw()  # Error: ValueError: Expected a scalar!
    assert float(res) == -2.0


def objective(params):
    return (params**2).sum()


def opt_fn(params, updates):
    """`make_sgd()` of the document: learning rate 0.1, L2 weight 1e-5."""
    updates = params + 1e-5 * updates
    return 1e-1 * updates


def descend(max_iter):
    """The same in NumPy: the values after 1 to `max_iter` steps, and the last parameters."""
    params, values = np.ones(2), []
    for _ in range(max_iter):
        values.append((params**2).sum())
        params = params - opt_fn(params, 2 * params)
    return values, params


def minimize_unrolled(static):
    @partial(jax.jit, static_argnums=static)
    def minimize(obj, opt, params, max_iter=20, verbose=False):
        for i in range(max_iter):
            value, updates = jax.value_and_grad(obj)(params)
            params -= opt(params, updates)
            if verbose:
                jax.debug.print("[{i}] value={value}", i=i, value=value)
        return value, params

    return minimize


def minimize_fori_loop(static):
    @partial(jax.jit, static_argnums=static)
    def minimize(obj, opt, params, max_iter=20, verbose=False):
        def body_fn(index, state):
            i = index  # the document's `i` is undefined here; it means the index
            _, params = state
            value, updates = jax.value_and_grad(obj)(params)
            params -= opt(params, updates)
            if verbose:
                jax.debug.print("[{i}] value={value}", i=i, value=value)
            return value, params

        value, params = jax.lax.fori_loop(0, max_iter, body_fn, (0.0, params))
        return value, params

    return minimize


STATIC = (0, 1, 4)


@pytest.mark.parametrize("make", [minimize_unrolled, minimize_fori_loop])
def test_minimize(make):
    minimize = make(STATIC)
    value, params = minimize(objective, opt_fn, jnp.ones(2))
    values, expected = descend(20)
    assert isinstance(value.item(), float)
    np.testing.assert_allclose(value.item(), values[-1], rtol=1e-5)
    np.testing.assert_allclose(params, expected, rtol=1e-5)
    assert value.dtype == params.dtype == np.float32


@pytest.mark.parametrize("make", [minimize_unrolled, minimize_fori_loop])
def test_minimize_with_printing(make, capfd):
    static = (*STATIC, 3) if make is minimize_unrolled else STATIC
    minimize = make(static)
    minimize(objective, opt_fn, jnp.ones(2), 4, True)[0].block_until_ready()
    jax.effects_barrier()

    lines = [line for line in capfd.readouterr().out.splitlines() if "value=" in line]
    assert [line.split("]")[0] for line in sorted(lines)] == ["[0", "[1", "[2", "[3"]
    printed = [float(line.split("=")[1]) for line in sorted(lines)]
    np.testing.assert_allclose(printed, descend(4)[0], rtol=1e-5)


def test_unrolled_loop_needs_a_static_count():
    """`range(max_iter)` of a traced count is refused: the document passes the default instead."""
    minimize = minimize_unrolled(STATIC)
    with pytest.raises(TypeError):
        minimize(objective, opt_fn, jnp.ones(2), 4)


@partial(jax.jit, static_argnums=(0, 1, 4))
def minimize_while_loop(obj, opt, params, max_iter=20, verbose=False):
    def cond_fn(state):
        value, _ = state
        jax.debug.print("[{i}] value={value}", i=1, value=value)
        return value >= 1e-1

    def body_fn(state):
        _, params = state
        value, updates = jax.value_and_grad(obj)(params)
        params -= opt(params, updates)
        return value, params

    value, params = jax.lax.while_loop(cond_fn, body_fn, (float("+inf"), params))
    return value, params


def test_minimize_until_a_tolerance(capfd):
    value, params = minimize_while_loop(objective, opt_fn, jnp.ones(2))
    value.block_until_ready()
    jax.effects_barrier()

    values, _ = descend(100)
    steps = next(n for n, v in enumerate(values, 1) if v < 1e-1)
    np.testing.assert_allclose(value.item(), values[steps - 1], rtol=1e-5)
    np.testing.assert_allclose(params, descend(steps)[1], rtol=1e-5)
    lines = [line for line in capfd.readouterr().out.splitlines() if "value=" in line]
    assert len(lines) == steps + 1  # the condition is asked once more than the body runs
    assert "[1] value=inf" in lines


def test_lowered_text(capsys):
    print(minimize_while_loop.lower(objective, opt_fn, jnp.ones(2)).as_text())
    text = capsys.readouterr().out
    assert text.startswith("module @")
    assert "stablehlo.while" in text
    assert "func.func public @main" in text
    assert "tensor<2xf32>" in text


def getitem(cp, index):
    ix, jx = index
    row = cp.cores[0][ix]
    col = cp.cores[1][jx]
    return row @ col


def test_user_defined_type_is_not_an_argument():
    @dataclass
    class CP:
        cores: tuple[np.ndarray, ...]
        shape: tuple[int, ...]
        rank: int

        @property
        def ndim(self) -> int:
            return len(self.shape)

    cp = CP(cores=[jnp.ones((3, 2)), jnp.ones((3, 2))], shape=(3, 3), rank=2)
    assert float(getitem(cp, (0, 0))) == 2.0  # OK
    with pytest.raises(TypeError, match="CP"):
        jax.jit(getitem)(cp, (0, 0))  # Error: throws TypeError exception!


@register_pytree_node_class
class Canonical:
    """Class Canonical is a container for tensor represented with CP-decomposition."""

    def __init__(self, cores: list[jax.Array], shape: list[int], rank: int):
        self.shape = tuple(shape)
        self.rank = rank
        self.cores = cores

    def __repr__(self) -> str:
        params = f"ndim={self.ndim}, shape={self.shape}, ranks={self.rank}"
        return f"{self.__class__.__name__}({params})"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def tree_flatten(self):
        return self.cores, {"shape": self.shape, "rank": self.rank}

    @classmethod
    def tree_unflatten(cls, treedef, leaves):
        return cls(leaves, **treedef)


def test_user_defined_type_as_a_pytree():
    u, v = jnp.arange(6.0).reshape(3, 2), jnp.ones((3, 2))
    cp = Canonical(cores=[u, v], shape=(3, 3), rank=2)
    assert float(jax.jit(getitem)(cp, (1, 0))) == 5.0  # OK
    assert float(jax.jit(getitem)(cp, (2, 1))) == 9.0  # OK

    leaves, treedef = jax.tree_util.tree_flatten(cp)
    assert leaves[0] is u and leaves[1] is v
    again = jax.tree_util.tree_unflatten(treedef, leaves)
    assert repr(again) == "Canonical(ndim=2, shape=(3, 3), ranks=2)"

    gradient = jax.grad(lambda cp: getitem(cp, (0, 0)))(cp)
    assert isinstance(gradient, Canonical)
    np.testing.assert_array_equal(gradient.cores[1], [[0, 1], [0, 0], [0, 0]])
