"""Implicit keys: every draw has its own, in every lane, step and branch; derivatives are pathwise."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import laws, random
from effax.errors import UnhandledEffectError
from tests.examples import e3

seed = e3.load("seed")
normal, uniform = seed.normal, seed.uniform
KEY = random.key(7)


def keeps_results(f):
    return lambda *args: seed.seed(lambda *xs: f(*xs))(KEY, *args)


test_on_programs = e3.everywhere(keeps_results)


def model(x):
    """A loop of random length inside branches and lanes."""

    def walk(x):
        return lax.while_loop(lambda s: uniform() < 0.7, lambda s: s + jnp.abs(normal()), x)

    y = lax.cond(x > 0, walk, lambda x: x - uniform(), x)
    return lax.scan(lambda c, _: (c + normal(), normal((2,))), y, None, length=3)


def test_the_key_decides():
    one, same = seed.seed(model)(KEY, 1.0), seed.seed(model)(random.key(7), 1.0)
    fx.tree.map(np.testing.assert_array_equal, one, same)
    assert one[0] != seed.seed(model)(random.key(8), 1.0)[0]
    np.testing.assert_array_equal(seed.seed(model)(random.PRNGKey(7), 1.0)[1], one[1])


@pytest.mark.parametrize("wrap", [lambda f: fx.jit(seed.seed(f)), lambda f: seed.seed(fx.jit(f))])
def test_jit_on_either_side(wrap):
    fx.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6),
        wrap(model)(KEY, 1.0),
        seed.seed(model)(KEY, 1.0),
    )


def test_what_is_drawn_is_never_the_same_twice():
    def f(xs):
        lanes = fx.vmap(lambda x: (normal(), fx.vmap(lambda y: normal())(jnp.zeros(2))))(xs)
        _, steps = lax.scan(lambda c, _: (c, normal((2,))), 0.0, None, length=4)
        nested = fx.vmap(lambda x: lax.scan(lambda c, _: (c, normal()), x, None, length=3)[1])(xs)
        branch = fx.vmap(lambda x: lax.cond(x > 0, normal, lambda: normal() + 100.0))(xs)
        return lanes, steps, nested, branch, normal((5,)), seed.repeat(normal, 3)()

    drawn = seed.seed(f)(KEY, jnp.array([1.0, -1.0, 1.0]))
    numbers = np.concatenate([np.ravel(x) for x in fx.tree.leaves(drawn)])
    assert len(np.unique(numbers)) == len(numbers) == 3 + 6 + 8 + 9 + 3 + 5 + 3


def test_moments_through_vmap_and_scan():
    n = 2000

    def mean(_):
        return lax.scan(lambda c, _: (c + normal() / 4, None), 0.0, None, length=4)[0]

    drawn = np.asarray(fx.jit(seed.seed(fx.vmap(mean)))(KEY, jnp.zeros(n)))
    assert abs(drawn.mean()) < 4 * 0.5 / np.sqrt(n)
    assert abs(drawn.std() - 0.5) < 0.04


def test_lanes_of_a_while_stop_on_their_own():
    def count(_):
        return lax.while_loop(lambda s: uniform() < 0.5, lambda s: s + 1, 0)

    n = 800
    counts = np.asarray(fx.jit(seed.seed(fx.vmap(count)))(KEY, jnp.zeros(n)))
    expected = [n * 0.5 ** (k + 1) for k in range(4)]
    found = [np.sum(counts == k) for k in range(4)]
    np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(n / 4))


def test_vmap_over_keys():
    keys = random.split(KEY, 3)
    found = fx.vmap(lambda k: seed.seed(normal)(k))(keys)
    np.testing.assert_array_equal(found, [seed.seed(normal)(k) for k in keys])


def noisy(m):
    def body(c, _):
        return c * normal() + m, None

    return lax.scan(body, m, None, length=3)[0] + jnp.sin(m * normal())


@pytest.mark.parametrize("wrap", [lambda f: f, fx.jit, fx.checkpoint])
def test_grad_on_either_side_is_pathwise(wrap):
    inside = seed.seed(fx.grad(wrap(noisy)))(KEY, 2.0)
    outside = fx.grad(lambda m: seed.seed(wrap(noisy))(KEY, m))(2.0)
    h = 1e-2
    up, down = (seed.seed(noisy)(KEY, 2.0 + s) for s in (h, -h))
    np.testing.assert_allclose(inside, outside, rtol=1e-5)
    np.testing.assert_allclose(inside, (up - down) / (2 * h), rtol=2e-3)


def test_remat_does_not_draw_again():
    def f(x):
        return jnp.sin(fx.checkpoint(lambda y: jnp.sin(y * normal((5,))))(x)).sum()

    inside = seed.seed(fx.grad(f))(KEY, 2.0)
    np.testing.assert_allclose(inside, fx.grad(lambda m: seed.seed(f)(KEY, m))(2.0), rtol=1e-5)


def test_custom_rules_may_draw():
    @fx.custom_vjp
    def f(x):
        return x * normal()

    f.defvjp(lambda x: (x * 2.0, None), lambda _, ct: (ct * 100.0,))
    assert float(seed.seed(fx.grad(f))(KEY, 1.0)) == 100.0
    assert float(fx.grad(lambda x: seed.seed(f)(KEY, x))(1.0)) == 100.0
    assert float(seed.seed(f)(KEY, 1.0)) != float(seed.seed(lambda x: f(x) * 0 + f(x))(KEY, 1.0))


def test_other_samplers():
    assert seed.seed(seed.bernoulli)(KEY, 0.5).dtype == bool
    logits = jnp.log(jnp.array([0.1, 0.9]))
    draws = seed.seed(seed.repeat(lambda: seed.categorical(logits), 500))(KEY)
    assert 0.8 < float(np.mean(draws)) < 0.97
    shape = 2.5
    slope = seed.seed(fx.grad(lambda a: seed.sample(random.gamma, a)))(KEY, shape)
    assert np.isfinite(slope)
    assert slope > 0


@pytest.mark.parametrize("f", [lambda: normal(), fx.jit(lambda: normal())])
def test_unseeded_is_refused_by_name(f):
    with pytest.raises(UnhandledEffectError, match="wrap it in seed"):
        f()


def test_inner_seeds_answer_first():
    def f():
        return seed.seed(normal)(random.key(1)) + 0 * normal()

    assert seed.seed(f)(KEY) == seed.seed(normal)(random.key(1))


def test_laws():
    report = laws.check(keeps_results, max_examples=5)
    assert {v.verdict for v in report.verdicts} == {"true"}, report
