"""Rules of one's own: symbolic zeros, what is kept under checkpoint, and what is not linear."""

from __future__ import annotations

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.custom_batching import custom_vmap
from effax.custom_derivatives import SymbolicZero
from effax.errors import UnsupportedDerivativeError


def with_backward(bwd, fun=lambda x: x, fwd=lambda x: (x, x), **options):
    f = effax.custom_vjp(fun)
    f.defvjp(fwd, bwd, **options)
    return f


NOT_LINEAR = {
    "sin": (lambda x, g: (jnp.sin(g),), "'sin'"),
    "clip": (lambda x, g: (jnp.clip(g, -1.0, 1.0),), "'min'|'max'|'clamp'"),
    "square": (lambda x, g: (g * g,), "'mul'.*both depend"),
    "normalised": (lambda x, g: (g / jnp.abs(g),), "'div'.*operand 1"),
    "product of matrices": (lambda x, g: (jnp.ones((1, 1)) @ g @ g,), "'dot_general'"),
    "branch": (lambda x, g: (lax.cond(g.sum() > 0, lambda: g, lambda: -g),), "'cond'.*operand 0"),
    "select": (lambda x, g: (jnp.where(g > 0, g, 0.0),), "'select_n'.*operand 0"),
    "loop": (lambda x, g: (lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c), g),), "'tanh'"),
    "while": (
        lambda x, g: (lax.while_loop(lambda c: c.sum() < 3.0, lambda c: c * 2, g),),
        "condition of a while loop",
    ),
    "integers": (lambda x, g: (g.astype(int).astype(float),), "convert_element_type"),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_forward_mode_says_what_is_not_linear(name):
    bwd, match = NOT_LINEAR[name]
    x = jnp.ones((1, 1))
    with pytest.raises(UnsupportedDerivativeError, match=match) as caught:
        effax.jvp(with_backward(bwd), (x,), (x,))
    assert "must be linear in the cotangent" in str(caught.value)
    if "performed at" in str(caught.value):
        assert "test_custom_rules.py" in str(caught.value)


def test_linear_backwards_are_transposed():
    for bwd in (
        lambda x, g: (lax.cond(x > 0, lambda: 3 * g, lambda: g),),
        lambda x, g: (jnp.where(x > 0, 3 * g, 0.0),),
        lambda x, g: (lax.scan(lambda c, _: (c + g, None), 0.0, None, length=3)[0],),
    ):
        assert float(effax.jvp(with_backward(bwd), (2.0,), (5.0,))[1]) == 15.0


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_cotangents_that_are_zero_may_be_symbolic(transform):
    seen = []

    def forward(x):
        return (x.value, 2 * x.value), x.perturbed

    def backward(perturbed, cts):
        seen.append(tuple(type(ct) is SymbolicZero for ct in cts))
        return (sum(ct for ct in cts if type(ct) is not SymbolicZero),)

    f = with_backward(backward, lambda x: (x, 2 * x), forward, symbolic_zeros=True)
    assert float(transform(effax.grad(lambda x: f(x)[1]))(2.0)) == 1.0
    assert seen[-1] == (True, False)
    mapped = transform(effax.vmap(effax.grad(lambda x: f(x)[0])))(jnp.ones(3))
    assert mapped.tolist() == [1.0] * 3 and seen[-1] == (False, True)
    summed = transform(effax.grad(lambda x: effax.vmap(f)(x)[0].sum()))(jnp.ones(3))
    assert summed.tolist() == [1.0] * 3 and seen[-1] == (False, True)


def test_symbolic_zeros_know_their_type():
    def forward(x):
        return (x.value, jnp.zeros((2, 3), jnp.bfloat16), jnp.arange(2)), None

    def backward(_, cts):
        assert cts[1].shape == (2, 3) and cts[1].dtype == jnp.bfloat16
        assert type(cts[2]) is SymbolicZero and cts[2].dtype == effax.dtypes.float0
        return (cts[0],)

    def f(x):
        return x, jnp.zeros((2, 3), jnp.bfloat16), jnp.arange(2)

    g = with_backward(backward, f, forward, symbolic_zeros=True)
    assert float(effax.grad(lambda x: g(x)[0])(1.0)) == 1.0


def counted(log, tag, function):
    def look(x):
        log.append(tag)
        return np.asarray(function(np.asarray(x)), np.float32)

    def called(x):
        return effax.pure_callback(
            look, effax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
        )

    return called


def twice(f):
    return lambda x: f(f(x))


WAYS = {
    "grad": lambda f: effax.grad(effax.checkpoint(twice(f)))(np.float32(1.0)),
    "grad of jit": lambda f: effax.grad(effax.checkpoint(effax.jit(twice(f))))(np.float32(1.0)),
    "vmap": lambda f: effax.vmap(effax.grad(effax.checkpoint(twice(f))))(jnp.ones(2))[0],
    "of vmap": lambda f: effax.grad(lambda x: effax.vmap(effax.checkpoint(twice(f)))(x).sum())(
        jnp.ones(2)
    )[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("optimize", [False, True])
def test_under_checkpoint_the_function_itself_goes_forward(way, optimize):
    """The counts are JAX's: without `optimize_remat` the forward function is done twice."""
    log = []
    f = with_backward(
        lambda r, g: (r * g,),
        counted(log, "function", np.sin),
        lambda x: (counted(log, "forward", np.sin)(x), counted(log, "residual", np.cos)(x)),
        optimize_remat=optimize,
    )
    wanted = np.cos(np.sin(1.0)) * np.cos(1.0)
    np.testing.assert_allclose(WAYS[way](f), wanted, rtol=1e-6)
    effax.effects_barrier()
    first = {"function": 2} if optimize else {}
    expected = {**first, "forward": 1 if optimize else 3, "residual": 2}
    assert {tag: log.count(tag) for tag in set(log)} == expected


def test_optimize_remat_elsewhere_changes_nothing():
    f = with_backward(
        lambda r, g: (2 * r * g,), jnp.sin, lambda x: (jnp.sin(x), jnp.cos(x)), optimize_remat=True
    )
    np.testing.assert_allclose(effax.grad(f)(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(effax.jvp(f, (1.0,), (1.0,))[1], 2 * np.cos(1.0), rtol=1e-6)
    both = effax.grad(effax.grad(effax.checkpoint(f)))(1.0)
    np.testing.assert_allclose(both, -2 * np.sin(1.0), rtol=1e-6)
    looped = lax.scan(effax.checkpoint(lambda c, _: (f(c), None)), 1.0, None, length=2)[0]
    np.testing.assert_allclose(looped, np.sin(np.sin(1.0)), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="symbolic_zeros"):
        effax.custom_vjp(jnp.sin).defvjp(None, None, symbolic_zeros=True, optimize_remat=True)


def test_cotangents_have_the_types_of_arguments():
    x = jnp.ones(3)
    for wrong in (jnp.ones(4), jnp.ones((1, 3)), jnp.ones(3, int)):
        f = with_backward(lambda r, g, wrong=wrong: (wrong,))
        with pytest.raises(ValueError, match=r"expected f32\[3\]"):
            effax.grad(lambda x, f=f: f(x).sum())(x)
    narrow = with_backward(lambda r, g: (g.astype(jnp.bfloat16),))
    assert effax.grad(lambda x: narrow(x).sum())(x).dtype == np.float32


def test_arguments_that_are_not_differentiated_by_name():
    f = effax.custom_jvp(lambda h, x: h(x), nondiff_argnames=("h",))
    f.defjvp(lambda h, primals, tangents: (h(primals[0]), 7 * tangents[0]))
    assert float(effax.grad(lambda x: f(x=x, h=jnp.sin))(1.0)) == 7.0
    g = effax.custom_vjp(lambda x, h: h(x), nondiff_argnames=("h",))
    g.defvjp(lambda x, h: (h(x), x), lambda h, x, ct: (h(x) * ct,))
    np.testing.assert_allclose(effax.grad(g)(1.0, jnp.sin), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(effax.jvp(lambda x: g(x, h=jnp.sin), (1.0,), (1.0,))[1], np.sin(1.0))


def test_batching_rules_take_keywords():
    @custom_vmap
    def f(x, y):
        return x + y

    @f.def_vmap
    def f_vmap(axis_size, in_batched, x, y):
        assert in_batched == [True, False]
        return 10 * x + y, True

    assert effax.vmap(lambda x: f(x, y=1.0))(jnp.arange(3.0)).tolist() == [1.0, 11.0, 21.0]
