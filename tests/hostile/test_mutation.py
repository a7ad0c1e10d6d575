"""NumPy arrays that are written to while a function runs: derivatives are of what was computed."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

W = np.array([1.0, 2.0, 3.0], np.float32)
LARGE = np.arange(1 << 16, dtype=np.float32)


def mutated(operation):
    """A function that uses a buffer, writes to it, and uses it again; and what it computes."""

    def f(w, buffer):
        first = operation(w, buffer)
        buffer[:] = 7
        second = operation(w, buffer)
        buffer[:] = -1
        return (first * 10 + second).sum()

    return f


OPERATIONS = {
    "mul": (lambda w, b: w * b, lambda b: b),
    "add after mul": (lambda w, b: w * w.sum() * 0 + w * b, lambda b: b),
    "reflected": (lambda w, b: b * w, lambda b: b),
    "asarray": (lambda w, b: w * jnp.asarray(b), lambda b: b),
    "sin": (lambda w, b: jnp.sin(jnp.asarray(b)) * w, np.sin),
    "where": (lambda w, b: jnp.where(b > 0, w * b, 0), lambda b: np.where(b > 0, b, 0)),
    "dot": (lambda w, b: jnp.multiply(w, b), lambda b: b),
    "jitted": (lambda w, b: effax.jit(lambda w, b: w * b)(w, b), lambda b: b),
    "captured": (lambda w, b: effax.jit(lambda w: w * b)(w), lambda b: b),
    "cond": (lambda w, b: effax.lax.cond(True, lambda w: w * b, lambda w: w, w), lambda b: b),
    "scan": (
        lambda w, b: effax.lax.scan(lambda c, _: (c, c * b), w, None, length=1)[1][0],
        lambda b: b,
    ),
    "checkpoint": (lambda w, b: effax.checkpoint(lambda w: w * b)(w), lambda b: b),
}
DERIVATIVES = {
    "grad": lambda f, w: effax.grad(f)(w),
    "vjp": lambda f, w: effax.vjp(f, w)[1](jnp.float32(1))[0],
    "value_and_grad": lambda f, w: effax.value_and_grad(f)(w)[1],
    "linearize": lambda f, w: effax.vmap(effax.linearize(f, w)[1])(jnp.eye(len(w))),
    "jacfwd": lambda f, w: effax.jacfwd(f)(w),
    "grad of jit": lambda f, w: effax.grad(effax.jit(f))(w),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_derivatives_are_of_what_was_computed(operation, derivative):
    f, slope = OPERATIONS[operation]
    buffer = np.array([2.0, 3.0, 4.0], np.float32)
    expected = 10 * slope(buffer) + slope(np.full(3, 7, np.float32))
    for _ in range(3):  # a function met before is differentiated as a whole
        buffer[:] = [2.0, 3.0, 4.0]
        found = DERIVATIVES[derivative](lambda w: mutated(f)(w, buffer), jnp.asarray(W))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("derivative", ["grad", "vjp", "value_and_grad"])
def test_large_buffers_which_might_be_shared(derivative):
    buffer = LARGE.copy()
    found = DERIVATIVES[derivative](
        lambda w: mutated(lambda w, b: w * b)(w, buffer), jnp.ones(len(buffer))
    )
    np.testing.assert_allclose(found, 10 * LARGE + 7)


def test_the_operand_itself_is_written_to():
    """The point at which a gradient is taken is a buffer that the function writes to."""
    point = W.copy()

    def f(w):
        y = w * w
        point[:] = 100
        return (y * w).sum()

    np.testing.assert_allclose(effax.grad(f)(point), 3 * W * W, rtol=1e-6)
    point[:] = W
    _, pull = effax.vjp(f, point)
    point[:] = -1
    np.testing.assert_allclose(pull(jnp.float32(1))[0], 3 * W * W, rtol=1e-6)
