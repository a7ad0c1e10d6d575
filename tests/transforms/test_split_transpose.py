"""`scan(..., _split_transpose=True)`: the same cotangents, most of them found for all steps at once."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects.rows import contraction, control

generator = np.random.default_rng(0)
T, N = 6, 3
ARGS = tuple(
    0.3 * generator.normal(size=shape).astype(np.float32)
    for shape in ((N, N), (N, N), (N,), (T, N), (N,))
)
ALL = tuple(range(len(ARGS)))


def network(w, u, b, xs, h, split=True, reverse=False, checked=False):
    def step(h, x):
        h = jnp.tanh(w @ h + u @ x + b) * jnp.sin(b)
        h = lax.cond(x[0] > 0, lambda h: h, lambda h: h * x, h)
        return h, h * x[::-1]

    if checked:
        step = effax.checkpoint(step)
    h, ys = lax.scan(step, h, xs, reverse=reverse, _split_transpose=split)
    return h.sum() + (ys**2).sum()


def of(**options):
    return lambda *args: network(*args, **options)


def agree(one, other, tolerance=1e-5):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checked", [False, True])
def test_gradients(reverse, checked):
    found, wanted = (
        effax.grad(of(split=split, reverse=reverse, checked=checked), argnums=ALL)(*ARGS)
        for split in (True, False)
    )
    agree(found, wanted)


def second(split):
    return effax.jvp(effax.grad(of(split=split), argnums=ALL), ARGS, ARGS)[1]


def batched(split):
    gradient = effax.grad(of(split=split), argnums=ALL)
    rows = np.stack([ARGS[3], -ARGS[3]])
    return effax.jit(effax.vmap(gradient, in_axes=(None, None, None, 0, None)))(
        *ARGS[:3], rows, ARGS[4]
    )


def backwards_twice(split):
    def norm(*args):
        return sum((g**2).sum() for g in effax.grad(of(split=split), argnums=ALL)(*args))

    return effax.grad(norm, argnums=ALL)(*ARGS)


def some_arguments(split):
    return effax.grad(of(split=split), argnums=(1, 3))(*ARGS)


@pytest.mark.parametrize(
    "transform",
    [
        batched,
        some_arguments,
        pytest.param(second, marks=pytest.mark.slow),
        pytest.param(backwards_twice, marks=pytest.mark.slow),
    ],
)
def test_under_transforms(transform):
    agree(transform(True), transform(False), 1e-4)


def test_steps_that_leave_nothing_behind():
    def f(w, split):
        return lax.scan(lambda c, _: (c * w, None), 1.0, None, length=3, _split_transpose=split)[0]

    assert float(effax.grad(f)(2.0, True)) == 12.0
    empty = lax.scan(lambda c, x: (c * x, c), 2.0, jnp.zeros(0), _split_transpose=True)
    assert float(empty[0]) == 2.0


def equations(program, inside=""):
    for e in program.equations:
        yield inside, e
        for p in e.programs():
            yield from equations(p, inside + e.effect.name + " ")


def test_cotangents_of_weights_are_one_product():
    """Not one a step: the loop that goes back holds the carry's product alone."""

    def simple(w, u, xs, h, split):
        step = lambda h, x: (jnp.tanh(w @ h + u @ x), None)  # noqa: E731
        return lax.scan(step, h, xs, _split_transpose=split)[0].sum()

    counts = {}
    for split in (True, False):
        gradient = effax.grad(lambda *args, s=split: simple(*args, s), argnums=(0, 1))
        program = effax.make_program(gradient)(*ARGS[:2], *ARGS[3:])
        scans = [e for _, e in equations(program) if e.effect is control.scan]
        back = scans[-1].attributes["body"]
        counts[split] = sum(e.effect is contraction.dot_general for _, e in equations(back))
        if split:
            outside = [
                e
                for path, e in equations(program)
                if e.effect is contraction.dot_general and "scan" not in path
            ]
            contracted = [e.attributes["dimension_numbers"][0][0] for e in outside]
            assert contracted == [(0,), (0,)]  # over the steps
            assert [e.outputs[0].type.shape for e in outside] == [(N, N), (N, N)]
    assert counts == {True: 1, False: 3}
