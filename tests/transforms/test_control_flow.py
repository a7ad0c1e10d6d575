"""Control flow and custom rules under every transform, against finite differences and loops."""

from __future__ import annotations

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


@effax.custom_jvp
def custom_forward(x):
    return jnp.sin(x)


@custom_forward.defjvp
def _custom_forward_jvp(primals, tangents):
    return custom_forward(primals[0]), tangents[0] * jnp.cos(primals[0])


@effax.custom_vjp
def custom_reverse(x):
    return jnp.sin(x)


custom_reverse.defvjp(lambda x: (custom_reverse(x), jnp.cos(x)), lambda r, ct: (r * ct,))


def scan(x):
    carry, ys = lax.scan(lambda c, a: (jnp.sin(c) + a, c * a), 0.5, x)
    return carry + ys.sum()


def scan_reversed_unrolled(x):
    carry, ys = lax.scan(lambda c, a: (c * a + 1.0, c), 0.5, x, reverse=True, unroll=2)
    return carry + (ys * x).sum()


def scan_with_matrix(x):
    a = jnp.arange(25.0).reshape(5, 5) / 25
    return lax.scan(lambda c, row: (jnp.tanh(a @ c) * row, ()), x, x)[0].sum()


def cond(x):
    return lax.cond(x.sum() > 1.0, jnp.sin, lambda v: v * v, x).sum()


def switch(x):
    return lax.switch(jnp.int32(x.sum()) % 3, [jnp.sin, jnp.cos, jnp.tanh], x).sum()


def fori(x):
    return lax.fori_loop(0, 3, lambda i, v: jnp.sin(v) * (i + 1.0), x).sum()


def forward_rule(x):
    return custom_forward(x).sum()


def reverse_rule(x):
    return custom_reverse(x * 2.0).sum()


def nested(x):
    def step(c, a):
        c = lax.cond(a > 0.7, custom_forward, lambda q: q * q, c + a)
        return lax.fori_loop(0, 2, lambda i, v: v * a, c), c

    carry, ys = lax.scan(step, 0.1, x)
    return carry + ys.sum()


def closure(x):
    y = jnp.asarray(x) * 2.0
    return lax.scan(lambda c, i: (c + y[i] * x.sum(), None), 0.0, jnp.arange(5))[0]


PROGRAMS = [
    scan,
    scan_reversed_unrolled,
    scan_with_matrix,
    cond,
    switch,
    fori,
    forward_rule,
    reverse_rule,
    nested,
    closure,
]
POINT = np.array([0.1, 0.4, 0.75, 1.0, 0.3])


def differences(f, x, step=1e-6):
    unit = np.eye(len(x)) * step
    return np.array([(float(f(x + d)) - float(f(x - d))) / (2 * step) for d in unit])


@pytest.fixture(autouse=True)
def _double():
    with effax.enable_x64(True):
        yield


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(f):
    want = differences(f, POINT)
    jacobians = {
        "grad": effax.grad(f),
        "jit grad": effax.jit(effax.grad(f)),
        "grad jit": effax.grad(effax.jit(f)),
        "forward": effax.jacfwd(f),
        "forward jit": effax.jacfwd(effax.jit(f)),
        "jit vjp": effax.jit(lambda x: effax.vjp(f, x)[1](jnp.ones(()))[0]),
        "remat": effax.grad(effax.checkpoint(f)),
    }
    for name, of in jacobians.items():
        np.testing.assert_allclose(of(POINT), want, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_linearize_agrees_with_jvp(f):
    direction = np.array([1.0, -0.5, 0.25, 2.0, 0.0])
    value, push = effax.linearize(f, POINT)
    expected, tangent = effax.jvp(f, (POINT,), (direction,))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(push(direction), tangent, rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_batches(f):
    xs = np.stack([POINT, POINT + 1, POINT * 2])
    rows = [f(x) for x in xs]
    np.testing.assert_allclose(effax.vmap(f)(xs), rows, rtol=1e-12)
    np.testing.assert_allclose(effax.jit(effax.vmap(effax.jit(f)))(xs), rows, rtol=1e-12)
    gradients = [effax.grad(f)(x) for x in xs]
    np.testing.assert_allclose(effax.vmap(effax.grad(f))(xs), gradients, rtol=1e-10)
    of_sum = effax.grad(lambda v: effax.vmap(f)(v).sum())(xs)
    np.testing.assert_allclose(of_sum, gradients, rtol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives_agree(f):
    forward_over_reverse = effax.hessian(f)(POINT)
    reverse_over_reverse = effax.jacrev(effax.jacrev(f))(POINT)
    staged = effax.jit(effax.hessian(effax.jit(f)))(POINT)
    np.testing.assert_allclose(forward_over_reverse, np.transpose(forward_over_reverse), atol=1e-9)
    np.testing.assert_allclose(reverse_over_reverse, forward_over_reverse, atol=1e-9)
    np.testing.assert_allclose(staged, forward_over_reverse, atol=1e-9)


def test_while_forward_and_batched():
    def f(x):
        return lax.while_loop(lambda v: (v * v).sum() < 100.0, lambda v: v * 1.5 + 0.1, x).sum()

    np.testing.assert_allclose(effax.jacfwd(f)(POINT), differences(f, POINT), rtol=1e-6)
    xs = np.stack([POINT, POINT * 30, POINT + 3])
    np.testing.assert_allclose(effax.vmap(f)(xs), [f(x) for x in xs], rtol=1e-12)
    pushed = effax.linearize(f, POINT)[1](POINT)
    np.testing.assert_allclose(pushed, effax.jvp(f, (POINT,), (POINT,))[1], rtol=1e-12)


def test_reverse_through_while_says_what_to_do():
    def f(x):
        return lax.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, x)

    with pytest.raises(ValueError, match=r"while_loop.*checkpoints=n.*scan.*fori_loop"):
        effax.grad(f)(1.0)


def test_collatz_lanes_stop_at_different_times():
    def steps(n):
        def body(state):
            n, count = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda s: s[0] != 1, body, (n, 0))[1]

    expected = [steps(n) for n in (1, 6, 7, 27)]
    np.testing.assert_array_equal(effax.vmap(steps)(np.array([1, 6, 7, 27])), expected)
    assert int(expected[-1]) == 111


def test_scan_residuals_that_are_constants_are_not_stacked():
    weights = np.eye(4)

    def loss(w, xs):
        return lax.scan(lambda c, x: (jnp.tanh(w @ c) + x, None), jnp.zeros(4), xs)[0].sum()

    program = effax.make_jaxpr(effax.grad(loss))(weights, np.ones((7, 4)))
    stacked = [
        x.type.shape
        for e in program.equations
        if e.effect.name == "scan"
        for x in e.outputs
        if x.type.shape[:1] == (7,)
    ]
    assert (7, 4, 4) not in stacked


def test_perturbations_are_not_confused():
    """Siskind and Pearlmutter 2008: d/dx (x * d/dy (x + y)) is 1, not 2."""
    inner = lambda x: x * effax.grad(lambda y: x + y)(1.0)  # noqa: E731
    assert float(effax.grad(inner)(3.0)) == 1.0
    assert float(effax.jvp(inner, (3.0,), (1.0,))[1]) == 1.0
    nested = lambda x: x * effax.jvp(lambda y: x * y, (2.0,), (1.0,))[1]  # noqa: E731
    assert float(effax.grad(nested)(3.0)) == 6.0


def stacked_layers(x):
    w = jnp.arange(25.0).reshape(5, 5) / 25
    return jnp.sin(jnp.tanh(w @ jnp.sin(w @ x))).sum()


@pytest.mark.parametrize(
    "policy", [None, "everything_saveable", "nothing_saveable", "dots_saveable"]
)
def test_checkpoint_policies_store_what_they_say(policy):
    chosen = None if policy is None else getattr(effax.checkpoint_policies, policy)
    f = effax.checkpoint(stacked_layers, policy=chosen)
    np.testing.assert_allclose(effax.grad(f)(POINT), effax.grad(stacked_layers)(POINT), rtol=1e-12)
    np.testing.assert_allclose(effax.hessian(f)(POINT), effax.hessian(stacked_layers)(POINT))
    text = str(effax.make_jaxpr(effax.value_and_grad(f))(POINT))
    dots = {None: 6, "nothing_saveable": 6, "everything_saveable": 4, "dots_saveable": 4}
    assert text.count("dot_general") == dots[policy]
