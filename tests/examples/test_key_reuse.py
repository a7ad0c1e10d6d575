"""Random keys used twice: what is refused, and what is not."""

import inspect

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import laws, random
from effax.errors import KeyReuseError
from tests.examples import e3

key_reuse = e3.load("key_reuse")
check = key_reuse.check
KEY = random.key(0)

test_on_programs = e3.everywhere(check)


def draws_in(loop):
    return lambda k: loop(lambda c: c + random.normal(k))


BAD = {
    "two lines": lambda k: (random.normal(k), random.uniform(k)),
    "split and draw": lambda k: (random.split(k), random.normal(k)),
    "jit twice": lambda k: [g(k) for g in [fx.jit(random.normal)] * 2],
    "closed over": lambda k: (random.normal(KEY), random.normal(KEY)),
    "scan over a constant": draws_in(
        lambda f: lax.scan(lambda c, _: (f(c), None), 0.0, None, length=3)
    ),
    "scan that does not split": lambda k: lax.scan(
        lambda c, _: ((c[0], c[1] + random.normal(c[0])), None), (k, 0.0), None, length=3
    ),
    "fori": draws_in(lambda f: lax.fori_loop(0, 3, lambda i, c: f(c), 0.0)),
    "while": draws_in(lambda f: lax.while_loop(lambda c: c < 3, f, 0.0)),
    "condition": lambda k: lax.while_loop(lambda c: random.uniform(k) < c, lambda c: c / 2, 1.0),
    "one branch, then after": lambda k: (
        lax.cond(True, random.normal, lambda k: 0.0, k),
        random.normal(k),
    ),
    "a slice, then all": lambda k: (
        (keys := random.split(k, 3)),
        random.normal(keys[1]),
        fx.vmap(random.normal)(keys),
    ),
    "all, then a slice": lambda k: (
        (keys := random.split(k, 3)),
        fx.vmap(random.normal)(keys),
        random.normal(keys[1]),
    ),
    "one row, then a scan": lambda k: (
        (keys := random.split(k, 3)),
        random.normal(keys[2]),
        lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, keys),
    ),
    "a scan, then one row": lambda k: (
        (keys := random.split(k, 3)),
        lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, keys),
        random.normal(keys[2]),
    ),
    "inside grad": lambda k: fx.grad(lambda x: x * random.normal(k) * random.uniform(k))(1.0),
    "inside vmap": lambda k: fx.vmap(lambda x: x * random.normal(k) * random.uniform(k))(
        jnp.ones(3)
    ),
    "inside remat": lambda k: (fx.checkpoint(random.normal)(k), random.normal(k)),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("wrap", [lambda f: f, fx.jit])
def test_refused(name, wrap):
    for f in (check(wrap(BAD[name])), wrap(check(BAD[name]))):
        with pytest.raises(KeyReuseError, match="a key is used that was used up at"):
            f(random.key(1))


def good(key):
    a, b = random.split(key)
    keys = random.split(b, 5)
    total = lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, keys)[0]
    total += lax.cond(total > 0, random.normal, random.uniform, random.fold_in(a, 1))
    total += random.normal(random.clone(keys[3]))
    rows = jnp.stack([random.key_data(random.fold_in(a, 10 + i)) for i in range(3)])
    total += fx.vmap(random.normal)(rows).sum()

    def step(s):
        one, other = random.split(s[0])
        return one, s[1] + random.uniform(other)

    total += lax.while_loop(lambda s: s[1] < 3, step, (random.fold_in(a, 9), 0.0))[1]
    return total + fx.jit(random.normal)(a)


def test_what_is_right_passes_and_is_unchanged():
    expected = good(KEY)
    for f in (check(good), fx.jit(check(good)), check(fx.jit(good))):
        np.testing.assert_allclose(f(KEY), expected, rtol=1e-6)
    keys = random.split(KEY, 2)
    np.testing.assert_allclose(fx.vmap(check(good))(keys), fx.vmap(good)(keys), rtol=1e-6)


def test_branches_may_each_use_it():
    def f(k):
        return lax.switch(1, [random.normal, random.uniform, lambda k: 0.0], k)

    assert check(f)(KEY) == f(KEY)


def test_keys_of_another_generator_have_four_words():
    def split_well(k):
        one, other = random.split(k)
        return random.normal(one) + random.normal(other)

    key = random.key(0, impl="rbg")
    assert check(split_well)(key) == split_well(key)
    for name in ("two lines", "a slice, then all", "scan over a constant"):
        with pytest.raises(KeyReuseError):
            check(BAD[name])(key)


def test_old_keys_are_keys_too():
    with pytest.raises(KeyReuseError):
        check(lambda k: random.normal(k) + random.normal(k))(random.PRNGKey(0))


SAMPLERS = {
    "poisson": (3.0,),
    "binomial": (5.0, 0.3),
    "gamma": (2.0,),
    "beta": (2.0, 3.0),
    "dirichlet": (np.ones(3, np.float32),),
    "t": (3.0,),
    "permutation": (5,),
    "choice": (5,),
    "truncated_normal": (0.0, 1.0),
    "orthogonal": (3,),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_use_their_key_once(name):
    sampler = getattr(random, name)
    check(lambda k: sampler(k, *SAMPLERS[name]))(KEY)
    with pytest.raises(KeyReuseError):
        check(lambda k: (sampler(k, *SAMPLERS[name]), random.normal(k)))(KEY)


def test_both_lines_are_named():
    def f(k):
        x = random.normal(k)
        return x + random.uniform(k)

    first = inspect.getsourcelines(f)[1] + 1
    with pytest.raises(KeyReuseError) as caught:
        check(f)(KEY)
    used, before = str(caught.value).split("used up at")
    assert f"test_key_reuse.py:{first + 1} " in used
    assert f"test_key_reuse.py:{first} " in before


def test_laws():
    report = laws.check(check, max_examples=5)
    assert {v.verdict for v in report.verdicts} == {"true"}, report
