"""Compressed Jacobians and Hessians are the dense ones."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import effax as fx
import effax.numpy as jnp
from effax import laws
from tests.examples.samples import PROGRAMS, X, load, make

compressed = load("compressed")
ORDERS = ("natural", "largest_first", "smallest_last")


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


def test_its_example_runs():
    assert doctest.testmod(compressed).failed == 0


@pytest.mark.parametrize("mode", ["forward", pytest.param("reverse", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobians_of_the_programs_of_e3(name, mode):
    if (name, mode) == ("while_loop", "reverse"):
        return  # reverse mode needs checkpoints there
    f = make(name)
    found = compressed.sparse_jacobian(f, mode=mode)(jnp.asarray(X))
    np.testing.assert_allclose(found, fx.jacfwd(f)(X), rtol=1e-9, atol=1e-12)


def coupled(x):
    """Each element meets the next one and the one four places away."""
    return x**2 * jnp.roll(x, 1) + jnp.sin(jnp.roll(x, 4))


def energy(x):
    return jnp.sum(x[1:] ** 2 * x[:-1]) + jnp.sum(jnp.sin(x[::3])) * 2 + x[0] * x[-1]


@pytest.mark.parametrize("order", ORDERS)
def test_fewer_directions_than_inputs(order):
    x = np.random.default_rng(0).normal(size=40)
    plan = compressed.jacobian(coupled, x, order)
    assert plan.directions <= 5
    assert len(plan.rows) == 3 * 40
    np.testing.assert_allclose(plan.dense(x), fx.jacfwd(coupled)(x), rtol=1e-12)
    dense = np.asarray(fx.jacfwd(coupled)(x))
    np.testing.assert_allclose(plan(jnp.asarray(x)), dense[plan.rows, plan.columns], rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_hessians(order):
    x = np.random.default_rng(0).normal(size=30)
    plan = compressed.hessian(energy, x, order)
    assert plan.directions <= 4
    np.testing.assert_allclose(plan.dense(x), fx.hessian(energy)(x), rtol=1e-10, atol=1e-12)


def test_rows_are_grouped_where_that_takes_less():
    def f(x):
        return jnp.stack([jnp.sum(x**2), jnp.prod(x)])

    plan = compressed.jacobian(f, np.arange(1.0, 7.0))
    assert plan.directions == 2
    np.testing.assert_allclose(plan.dense(np.arange(1.0, 7.0)), fx.jacfwd(f)(np.arange(1.0, 7.0)))


def test_arrays_of_more_axes():
    def f(x):
        return jnp.tanh(x[:, 1:] - x[:, :-1])

    x = np.random.default_rng(0).normal(size=(3, 4))
    found = compressed.sparse_jacobian(f)(x)
    assert found.shape == (3, 3, 3, 4)
    np.testing.assert_allclose(found, fx.jacfwd(f)(x), rtol=1e-12)


def test_under_jit_vmap_and_grad():
    xs = np.random.default_rng(0).normal(size=(3, 8))
    sparse, dense = compressed.sparse_jacobian(coupled), fx.jacfwd(coupled)
    np.testing.assert_allclose(fx.jit(sparse)(xs[0]), dense(xs[0]), rtol=1e-12)
    np.testing.assert_allclose(fx.vmap(sparse)(xs), fx.vmap(dense)(xs), rtol=1e-12)
    np.testing.assert_allclose(
        fx.grad(lambda x: jnp.sum(sparse(x) ** 2))(xs[0]),
        fx.grad(lambda x: jnp.sum(dense(x) ** 2))(xs[0]),
        rtol=1e-10,
    )
    hessian = compressed.sparse_hessian(energy)
    np.testing.assert_allclose(fx.jit(hessian)(xs[0]), fx.hessian(energy)(xs[0]), rtol=1e-10)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(laws.programs(control=frozenset({"call", "cond", "scan"})), st.integers(0, 9))
def test_generated_programs(sketch, seed):
    args = laws.arguments(sketch, seed)

    def f(x):
        return sketch(x, *args[1:])[0]

    found = compressed.sparse_jacobian(f, mode="forward")(args[0])
    np.testing.assert_allclose(found, fx.jacfwd(f)(args[0]), rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------- colorings

graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20)
    )
)


def neighbors(n, edges):
    graph = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            graph[a].add(b)
            graph[b].add(a)
    return graph


@settings(max_examples=100, deadline=None)
@given(graphs, st.sampled_from(ORDERS))
def test_neighbors_differ(given_graph, order):
    graph = neighbors(*given_graph)
    colors = compressed.colored(graph, order)
    assert all(colors[v] != colors[w] for v in range(len(graph)) for w in graph[v])
    assert max(colors) <= max(map(len, graph))  # a greedy coloring needs no more


@settings(max_examples=100, deadline=None)
@given(graphs, st.sampled_from(ORDERS))
def test_paths_of_four_have_three_colors(given_graph, order):
    graph = neighbors(*given_graph)
    colors = compressed.colored(graph, order, star=True)
    for a in range(len(graph)):
        for b in graph[a]:
            for c in graph[b] - {a}:
                for d in graph[c] - {a, b}:
                    assert len({colors[k] for k in (a, b, c, d)}) >= 3


def test_smallest_last_is_best_on_a_wheel_of_stars():
    """The order is the one by which trees get two colors."""
    tree = neighbors(7, {(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)})
    assert max(compressed.colored(tree, "smallest_last")) == 1


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="none of natural, largest_first and smallest_last"):
        compressed.colored([set()], "random")
