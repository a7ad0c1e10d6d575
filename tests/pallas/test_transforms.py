"""Every transformation goes through a kernel, and gives what it gives of the plain function."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import effax as fx
import effax.numpy as jnp
from effax.experimental import pallas as pl
from tests.examples.samples import load
from tests.pallas.kernels import PAIRS

pytestmark = pytest.mark.cpu

pairs = pytest.mark.parametrize("kernel, plain, args", PAIRS.values(), ids=PAIRS)


def close(found, expected):
    for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        assert_allclose(x, y, rtol=2e-5, atol=2e-5)


def weighted(f):
    """A scalar of a function's result, with another cotangent for each element."""

    def scalar(*args):
        y = f(*args)
        return jnp.sum(jnp.sin(y) * jnp.arange(y.size).reshape(y.shape))

    return scalar


@pairs
def test_value(kernel, plain, args):
    close(kernel(*args), plain(*args))
    close(fx.jit(kernel)(*args), plain(*args))


@pairs
def test_forward_derivative(kernel, plain, args):
    tangents = tuple(np.cos(x) for x in args)
    close(fx.jvp(kernel, args, tangents), fx.jvp(plain, args, tangents))
    close(fx.jacfwd(kernel)(*args), fx.jacfwd(plain)(*args))


@pairs
def test_gradient(kernel, plain, args):
    where = tuple(range(len(args)))
    expected = fx.grad(weighted(plain), where)(*args)
    close(fx.grad(weighted(kernel), where)(*args), expected)
    close(fx.jit(fx.grad(weighted(kernel), where))(*args), expected)
    close(fx.grad(weighted(fx.checkpoint(kernel)), where)(*args), expected)


@pairs
def test_second_derivative(kernel, plain, args):
    def along(f):
        return fx.jvp(fx.grad(weighted(f)), args, args)

    close(along(kernel), along(plain))


@pairs
def test_batch(kernel, plain, args):
    many = tuple(np.stack([x, 0.5 * x, 0.25 * x]) for x in args)
    close(fx.vmap(kernel)(*many), fx.vmap(plain)(*many))
    axes = (0, *(None,) * (len(args) - 1))
    close(fx.vmap(kernel, axes)(many[0], *args[1:]), fx.vmap(plain, axes)(many[0], *args[1:]))
    close(fx.vmap(fx.grad(weighted(kernel)))(*many), fx.vmap(fx.grad(weighted(plain)))(*many))
    close(fx.jacrev(kernel)(*args), fx.jacrev(plain)(*args))


@pairs
def test_a_transform_of_a_user(kernel, plain, args):
    """Bounds of every value: each block of a kernel is two, of lows and of highs."""
    Interval = load("interval").Interval
    around = [Interval(np.asarray(x - 0.01), np.asarray(x + 0.01)) for x in args]
    try:
        expected = Interval.transform(plain)(*around)
    except fx.errors.MissingRuleError:
        pytest.skip("the example has no rule for an effect of this function")
    found = Interval.transform(kernel)(*around)
    value = np.asarray(plain(*args))
    assert (np.asarray(found.lo) <= value + 1e-6).all()
    assert (value <= np.asarray(found.hi) + 1e-6).all()
    close([found.lo, found.hi], [expected.lo, expected.hi])


def _adds(x_ref, o_ref):
    o_ref[...] += x_ref[...]


def _adds_from_zero(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def _doubles(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


@pytest.mark.parametrize(
    ("body", "size", "place", "stays"),
    [
        (_adds, 1, lambda i: (0,), False),
        (_adds_from_zero, 1, lambda i: (0,), False),
        (_doubles, 3, lambda i: (i,), True),
        (_doubles, 3, lambda i: (2 - i,), False),
        (_doubles, 6, lambda i: (2 * i,), False),
    ],
)
def test_what_nobody_set_is_known_to_a_users_transform(body, size, place, stays):
    """Its leaves were zeros, which stand for what the class says, as bounds of 0 and 0."""

    def kernel(x):
        return pl.pallas_call(
            body,
            fx.ShapeDtypeStruct((size,), np.float32),
            grid=3,
            in_specs=[pl.BlockSpec((1,), lambda i: (i,))],
            out_specs=pl.BlockSpec((1,), place),
        )(x)

    Interval = load("interval").Interval
    x = np.arange(1, 4, dtype=np.float32)
    of_interval = Interval.transform(kernel)
    found, value = of_interval(Interval(x - 0.5, x + 0.5)), np.asarray(kernel(x))
    low, high = np.asarray(found.lo), np.asarray(found.hi)
    assert (np.isnan(value) == np.isnan(low)).all() and (np.isnan(value) == np.isnan(high)).all()
    known = ~np.isnan(value)
    assert (low[known] <= value[known]).all() and (value[known] <= high[known]).all()
    program = fx.make_program(lambda lo, hi: of_interval(Interval(lo, hi)).lo)(x, x)
    assert ("kernel[" in str(program)) == stays


@pairs
def test_costs_are_counted_at_every_point(kernel, plain, args):
    """A handler with a state goes through the loop that the kernel means."""
    result, counted = load("cost").cost(kernel)(*args)
    _, of_plain = load("cost").cost(plain)(*args)
    close(result, plain(*args))
    assert counted["total"][0] >= 0.5 * of_plain["total"][0]


@pairs
def test_reference_backend(kernel, plain, args):
    from effax.backends.reference.evaluate import interpret

    program = fx.make_program(kernel)(*args)
    (found,) = interpret(lambda *xs: program.run(*program.consts, *xs))(*args)
    close(found, plain(*args))
