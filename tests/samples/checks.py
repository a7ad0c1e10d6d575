"""Checks for every effect: XLA agrees with the reference, and the columns agree with each other."""

import numpy as np

import effax
from effax.backends.reference.evaluate import evaluate_program
from effax.effects.dtypes import is_inexact
from effax.effects.types import typeof
from effax.interpreters.stage import stage


def performing(effect, attributes):
    """The effect as a function that gives a list."""

    def function(*operands):
        result = effect(*operands, **attributes)
        return list(result) if effect.multiple else [result]

    return function


def close(found, wanted, tolerance=1e-4):
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        assert x.dtype == y.dtype
        if x.dtype.itemsize < 4 and is_inexact(x.dtype):
            tolerance = 5e-2
        if is_inexact(x.dtype) and x.dtype.kind != "c":
            x, y = x.astype(np.float64), y.astype(np.float64)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def check_reference(effect, operands, attributes):
    """XLA gives what the definition says, of the type that typing says."""
    function = performing(effect, attributes)
    program = stage(function, [typeof(x) for x in operands]).program
    found = effax.jit(function)(*operands)
    assert [typeof(x) for x in found] == [t.strong() for t in program.out_types]
    close(found, evaluate_program(program, *operands))


def check_batch(effect, operands, attributes):
    """A batch gives what its members give, whichever of the operands are batched."""
    function = performing(effect, attributes)
    n = len(operands)
    for batched in {(True,) * n, (True,) + (False,) * (n - 1), (False,) * (n - 1) + (True,)}:
        many = [
            np.stack([x, x[::-1] if np.ndim(x) else x, x]) if b else x
            for x, b in zip(operands, batched, strict=True)
        ]
        axes = tuple(0 if b else None for b in batched)
        found = effax.vmap(function, in_axes=axes)(*many)
        each = [
            function(*(x[i] if b else x for x, b in zip(many, batched, strict=True)))
            for i in range(3)
        ]
        close(found, [np.stack(list(map(np.asarray, ys))) for ys in zip(*each, strict=True)])


def check_derivative(effect, operands, attributes, step=1e-3, tolerance=2e-2):
    """Forward mode agrees with differences, reverse mode with forward mode, once and twice."""
    # How often the initial value of a fold takes part is open, so it stays where it is.
    moving = [
        i
        for i, x in enumerate(operands)
        if is_inexact(np.asarray(x).dtype) and not (effect.higher_order and np.ndim(x) == 0)
    ]
    random = np.random.default_rng(0)

    def total(*xs):
        values = list(operands)
        for i, x in zip(moving, xs, strict=True):
            values[i] = x
        terms = [y for y in performing(effect, attributes)(*values) if is_inexact(y.dtype)]
        return [weighted(y) for y in terms]

    xs = [np.asarray(operands[i]) for i in moving]
    ts = [random.normal(size=x.shape).astype(x.dtype) for x in xs]
    primal, tangent = effax.jvp(total, tuple(xs), tuple(ts))
    close(primal, total(*xs))
    ahead = total(*(x + step * t for x, t in zip(xs, ts, strict=True)))
    behind = total(*(x - step * t for x, t in zip(xs, ts, strict=True)))
    slope = [
        (np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(ahead, behind, strict=True)
    ]
    close(
        tangent,
        [s.astype(np.asarray(t).dtype) for s, t in zip(slope, tangent, strict=True)],
        tolerance,
    )
    _, back = effax.vjp(total, *xs)
    given = [np.ones_like(np.asarray(y)) for y in primal]
    gradients = back(given)
    one = sum(
        np.vdot(np.asarray(t), np.asarray(g).conj()) for t, g in zip(ts, gradients, strict=True)
    )
    other = sum(np.sum(np.asarray(t)) for t in tangent)
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)

    def slope_along(*xs):
        return effax.jvp(total, xs, tuple(ts))[1]

    second = effax.jvp(slope_along, tuple(xs), tuple(ts))[1]
    _, back = effax.vjp(slope_along, *xs)
    gradients = back(given)
    one = sum(
        np.vdot(np.asarray(t), np.asarray(g).conj()) for t, g in zip(ts, gradients, strict=True)
    )
    np.testing.assert_allclose(
        one, sum(np.sum(np.asarray(t)) for t in second), rtol=1e-2, atol=1e-2
    )


def weighted(y):
    """A nonlinear function of the result, so that second derivatives are not all zero."""
    from effax.effects.rows import elementwise, shape

    weights = shape.full(y.shape, 0.5, y.dtype)
    return elementwise.mul(elementwise.mul(y, y), weights)
