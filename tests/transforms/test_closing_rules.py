"""Forward mode through `custom_vjp` whose backward function closes over arrays, or traced values."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend
from effax.backends.reference.evaluate import interpret
from effax.errors import UnsupportedDerivativeError

WEIGHTS = jnp.array([1.0, 2.0, 3.0])
X = jnp.ones(3)


def ten_times(weights):
    """A weighted sum whose derivative is ten times its own."""

    @fx.custom_vjp
    def f(x):
        return jnp.sum(x * weights)

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (10.0 * ct * weights,))
    return f


f = ten_times(WEIGHTS)

FORWARD = {
    "jvp": lambda: fx.jvp(f, (X,), (X,))[1],
    "jvp of jit": lambda: fx.jvp(fx.jit(f), (X,), (X,))[1],
    "jit of jvp": lambda: fx.jit(lambda x: fx.jvp(f, (x,), (x,))[1])(X),
    "jacfwd": lambda: jnp.sum(fx.jacfwd(f)(X)),
    "linearize": lambda: fx.linearize(f, X)[1](X),
    "jvp of vmap": lambda: jnp.mean(fx.jvp(fx.vmap(f), (X[None],), (X[None],))[1]),
    "jvp of remat": lambda: fx.jvp(fx.checkpoint(f), (X,), (X,))[1],
    "jvp of cond": lambda: fx.jvp(lambda x: lax.cond(x[0] > 0, f, jnp.sum, x), (X,), (X,))[1],
}


@pytest.mark.parametrize("name", FORWARD)
def test_a_constant_of_the_module(name):
    assert float(FORWARD[name]()) == 60.0


def test_forward_over_reverse_and_the_reference():
    def g(x):
        return f(x) ** 2

    def moved(x):
        return fx.jvp(f, (x,), (x,))[1]

    np.testing.assert_allclose(fx.jvp(fx.grad(g), (X,), (X,))[1], 2 * 60 * 10 * WEIGHTS)
    assert float(interpret(moved)(np.ones(3, np.float32))) == 60.0
    program = fx.make_program(moved)(X)
    written = extend.python_source(program).function
    assert float(written()(*[X] * len(program.inputs))[0]) == 60.0


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: fx.jvp(f, (X,), (X,))[1],
        lambda f: fx.linearize(f, X)[1](X),
        lambda f: jnp.sum(fx.jacfwd(f)(X)),
        lambda f: jnp.sum(fx.grad(f)(X)),
    ],
)
def test_a_value_of_a_batch_outside(derivative):
    many = jnp.stack([WEIGHTS, 2 * WEIGHTS])
    found = fx.vmap(lambda w: derivative(ten_times(w)))(many)
    np.testing.assert_allclose(found, [60.0, 120.0])


def test_a_backward_function_that_is_not_linear_is_refused_still():
    @fx.custom_vjp
    def g(x):
        return jnp.sum(x)

    g.defvjp(lambda x: (g(x), None), lambda _, ct: (jnp.sin(ct) * WEIGHTS,))
    with pytest.raises(fx.errors.UnsupportedDerivativeError, match="'sin'"):
        fx.jvp(g, (X,), (X,))


def triple(w):
    """A product with `w`, whose rules close over it."""

    @fx.custom_vjp
    def h(x):
        return x * w

    h.defvjp(lambda x: (x * w, None), lambda _, ct: (ct * w,))
    return h


def moved(f, x):
    return fx.jvp(f, (x,), (1.0,))[1]


def twice(f):
    return lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][0]


# Each gives w: the derivative of x * w by x, w itself a value of a transform outside.
OUTSIDE = {
    "jit of jvp": fx.jit(lambda x, w: moved(triple(w), x)),
    "jit of jit of jvp": fx.jit(lambda x, w: fx.jit(moved, static_argnums=0)(triple(w), x)),
    "jit of jvp of jit": fx.jit(lambda x, w: moved(fx.jit(triple(w)), x)),
    "jit of jvp of vmap": fx.jit(lambda x, w: moved(lambda x: fx.vmap(triple(w))(x[None])[0], x)),
    "jit of vmap of jvp": fx.jit(lambda x, w: fx.vmap(lambda x: moved(triple(w), x))(x[None])[0]),
    "jit of linearize": fx.jit(lambda x, w: fx.linearize(triple(w), x)[1](1.0)),
    "jit of jacfwd": fx.jit(lambda x, w: fx.jacfwd(triple(w))(x)),
    "jit of jvp of scan": fx.jit(lambda x, w: moved(twice(triple(w)), x)),
    "scan of jvp": lambda x, w: twice(lambda x: moved(triple(w), x))(x),
    "jit of jvp of cond": fx.jit(
        lambda x, w: moved(lambda x: lax.cond(x > 0, triple(w), jnp.sin, x), x)
    ),
    "jit of jvp of remat": fx.jit(lambda x, w: moved(fx.checkpoint(triple(w)), x)),
    "grad by w of jvp": lambda x, w: w * fx.grad(lambda w: moved(triple(w), x))(w),
    "jit of grad by w of jvp": fx.jit(lambda x, w: w * fx.grad(lambda w: moved(triple(w), x))(w)),
    "grad by w of jit of jvp": lambda x, w: (
        w * fx.grad(lambda w: fx.jit(lambda x: moved(triple(w), x))(x))(w)
    ),
    "jvp by w of jit of jvp": lambda x, w: (
        w * moved(lambda w: fx.jit(lambda x: moved(triple(w), x))(x), w)
    ),
    "vmap by w of jit of jvp": lambda x, w: fx.vmap(
        lambda w: fx.jit(lambda x: moved(triple(w), x))(x)
    )(w[None])[0],
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_traced_value_of_the_transform_outside(name):
    x, w = jnp.float32(2.0), jnp.float32(3.0)
    np.testing.assert_allclose(OUTSIDE[name](x, w), w, rtol=1e-6)


@fx.custom_vjp
def decided(x):
    return jnp.sin(x)


def _decided_back(kept, ct):
    flag, x = kept
    return (ct * jnp.cos(x),) if flag else (None,)


decided.defvjp(lambda x: (jnp.sin(x), (True, x)), _decided_back)


def _once(f):
    return lambda c, _: (f(c), None)


BRANCHING = {
    "jvp": lambda x: moved(decided, x),
    "jit of jvp": fx.jit(lambda x: moved(decided, x)),
    "jit of linearize": fx.jit(lambda x: fx.linearize(decided, x)[1](1.0)),
    "jit of grad": fx.jit(fx.grad(decided)),
    "jit of grad of scan": fx.jit(fx.grad(lambda x: lax.scan(_once(decided), x, None, 1)[0])),
}


@pytest.mark.parametrize("name", BRANCHING)
def test_a_backward_function_branches_on_a_boolean_that_it_was_left(name):
    """Equinox's checkpointed loops leave which of their operands move."""
    x = jnp.float32(2.0)
    np.testing.assert_allclose(BRANCHING[name](x), jnp.cos(x), rtol=1e-6)


@fx.custom_jvp
def unmoved(x, y):
    return x


@unmoved.defjvp
def _unmoved_jvp(primals, tangents):
    raise RuntimeError("what is not differentiated")


def test_a_rule_that_refuses_is_not_asked_by_vmap_alone():
    """Equinox marks values so that are not to be differentiated."""
    f = fx.vmap(lambda x, y: lax.scan(lambda c, _: (unmoved(c, y), None), x, None, 2)[0], (None, 0))
    for each in (f, fx.jit(f)):
        np.testing.assert_array_equal(each(2.0, X), [2, 2, 2])
        with pytest.raises(RuntimeError, match="not differentiated"):
            fx.grad(lambda x, f=each: f(x, X).sum())(2.0)


@fx.custom_jvp
def hidden(x, y):
    return x


def _hidden_jvp(primals, tangents):
    if not isinstance(tangents[1], fx.custom_derivatives.SymbolicZero):
        raise RuntimeError("y does not move")
    return primals[0], tangents[0] * primals[1]


hidden.defjvp(_hidden_jvp, symbolic_zeros=True)


def test_a_tangent_of_each_lane_of_a_result_of_all_is_refused():
    """It was given as one of another shape than the result's."""
    f = fx.vmap(hidden, (None, 0))
    with pytest.raises(UnsupportedDerivativeError, match="differs between lanes"):
        fx.jvp(lambda x: f(x, X), (2.0,), (1.0,))
