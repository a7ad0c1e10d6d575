"""Patterns of Jacobians: no element that is other than zero is outside of them."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import effax as fx
import effax.numpy as jnp
from effax import laws, lax
from tests.examples.samples import POINTS, PROGRAMS, X, load, make

sparsity = load("sparsity")
Sparsity, Local, pattern = sparsity.Sparsity, sparsity.Local, sparsity.pattern

# What the elements that are found are beyond those that are other than zero somewhere, and why.
DENSE = {
    "sort": "any element may be any of the sorted ones",
    "dynamic_slice": "the place depends on x, so any slice is possible",
}


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


def slopes(f, x):
    return np.asarray(fx.jacfwd(f)(x)) != 0


def test_its_example_runs():
    assert doctest.testmod(sparsity).failed == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_the_programs_of_e3(name):
    f = make(name)
    found, local = np.asarray(pattern(f)(X)), np.asarray(pattern(f, local=True)(X))
    numeric = [slopes(f, x) for x in POINTS]
    assert all(np.all(found >= n) for n in numeric)
    assert np.all(local >= numeric[0])
    assert np.all(found >= local)
    if name not in DENSE:
        np.testing.assert_array_equal(found, np.any(numeric, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_under_jit_and_vmap(name):
    f = make(name)
    alone = np.asarray(pattern(f, local=True)(X))
    np.testing.assert_array_equal(fx.jit(pattern(fx.jit(f), local=True))(X), alone)
    np.testing.assert_array_equal(pattern(fx.vmap(f))(POINTS[:1])[0, :, 0], pattern(f)(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_local_patterns_of_a_batch(name):
    f = make(name)
    many = np.asarray(fx.vmap(pattern(f, local=True))(POINTS))
    for one, x in zip(many, POINTS, strict=True):
        assert np.all(one >= slopes(f, x))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"while_loop"}))
def test_of_a_gradient(name):
    """The other order: the pattern of a gradient's derivative is the Hessian's."""
    slope = fx.grad(lambda x: jnp.sum(jnp.sin(make(name)(x))))
    assert np.all(np.asarray(pattern(slope)(X)) >= slopes(slope, X))


def test_a_gradient_goes_through():
    """The value that is carried is differentiated as if no sets went with it."""

    def f(x):
        start = Sparsity(x, jnp.eye(5, dtype=bool))
        return jnp.sum(Sparsity.transform(make("scan"))(start).value)

    np.testing.assert_allclose(fx.grad(f)(X), fx.grad(lambda x: jnp.sum(make("scan")(x)))(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"while_loop"}))
def test_gradients_go_through_on_the_programs_of_e3(name):
    def f(x):
        return jnp.sum(Local.transform(make(name))(Local(x, jnp.eye(5, dtype=bool))).value ** 2)

    expected = fx.grad(lambda x: jnp.sum(make(name)(x) ** 2))(X)
    np.testing.assert_allclose(fx.grad(f)(X), expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(laws.programs(), st.integers(0, 9), st.booleans())
def test_generated_programs_stay_inside(sketch, seed, local):
    args = laws.arguments(sketch, seed)
    for k in range(len(sketch.outputs)):

        def f(x, k=k):
            return sketch(x, *args[1:])[k]

        found = np.asarray(pattern(f, local=local)(args[0]))
        numeric = np.asarray(fx.jacfwd(f)(args[0]))
        assert np.all(found | ~(np.abs(numeric) > 0))


def test_laws():
    report = laws.check(
        Sparsity.transform,
        embed=lambda *xs: [seeded(x) for x in xs],
        project=lambda found: fx.tree.map(
            lambda x: x.value if isinstance(x, Sparsity) else x,
            found,
            is_leaf=lambda x: isinstance(x, Sparsity),
        ),
        max_examples=3,
    )
    # A predicate is not known here: what comes out of both branches is the first one's value.
    for verdict in report.verdicts:
        if verdict.law not in ("T f = f", "T (g . f) = T g . T f"):
            assert verdict.verdict == "true", str(report)


def seeded(x):
    return Sparsity(x, jnp.ones((1, *np.shape(x)), bool))


def test_laws_of_local_patterns():
    report = laws.check(
        Local.transform,
        embed=lambda *xs: [Local(x, jnp.ones((1, *np.shape(x)), bool)) for x in xs],
        project=lambda found: fx.tree.map(
            lambda x: x.value if isinstance(x, Sparsity) else x,
            found,
            is_leaf=lambda x: isinstance(x, Sparsity),
        ),
        max_examples=3,
    )
    assert all(v.verdict == "true" for v in report.verdicts), str(report)


# --------------------------------------------------------------------- what is known, what is not


def shown(f, x, **options):
    return np.asarray(pattern(f, **options)(np.asarray(x))).astype(int).tolist()


def test_a_known_zero_lets_nothing_through():
    a = np.array([[1.0, 0.0], [2.0, 3.0]])
    assert shown(lambda x: a @ x, [1.0, 2.0]) == [[1, 0], [1, 1]]
    assert shown(lambda x: np.array([0.0, 1.0]) * x, [1.0, 2.0]) == [[0, 0], [0, 1]]


def test_a_zero_that_depends_on_the_inputs_does():
    def f(x):
        return lax.cond(x[0] > 0, lambda: 0.0, lambda: 1.0) * x

    assert shown(f, [1.0, 2.0]) == [[1, 0], [0, 1]]
    assert shown(lambda x: jnp.floor(x) * x[::-1], [0.5, 0.5]) == [[0, 1], [1, 0]]


def test_branches_are_united():
    def f(x):
        return lax.cond(x[0] > 0, lambda: x[:1] * 1.0, lambda: x[1:] * 2.0)

    assert shown(f, [1.0, 2.0]) == [[1, 1]]
    assert shown(f, [1.0, 2.0], local=True) == [[1, 0]]
    assert shown(f, [-1.0, 2.0], local=True) == [[0, 1]]


def test_a_loop_of_unknown_length_is_a_fixpoint():
    def f(x):
        """Each step moves what is known by one place."""
        return lax.while_loop(lambda c: jnp.sum(c) < 10, lambda c: jnp.roll(c, 1) + 0.5, x)

    assert shown(f, [1.0, 2.0, 3.0]) == [[1] * 3] * 3


def test_a_loop_of_known_length_is_not():
    def f(x):
        return lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, jnp.roll(s[1], 1)), (0, x))[
            1
        ]

    assert shown(f, [1.0, 2.0, 3.0]) == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_a_place_that_depends_on_the_inputs_may_be_any():
    def f(x):
        return x[jnp.argmax(x)]

    assert shown(f, [1.0, 2.0]) == [1, 1]
    assert shown(f, [1.0, 2.0], local=True) == [0, 1]


def test_sorting_is_dense_along_its_axis():
    found = np.asarray(pattern(lambda x: jnp.sort(x, axis=1))(np.ones((2, 2))))
    np.testing.assert_array_equal(found[0, :, 0], np.ones((2, 2)))
    np.testing.assert_array_equal(found[0, :, 1], np.zeros((2, 2)))


def test_a_result_that_depends_on_nothing():
    assert shown(lambda x: jnp.ones(2), [1.0, 2.0, 3.0]) == [[0] * 3] * 2
    assert shown(lax.stop_gradient, [1.0]) == [[0]]
