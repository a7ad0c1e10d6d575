"""Reverse mode through loops of unknown length: values, counts, memory, and under every transform."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects.program import Program

X = np.array([0.1, 0.2, 0.3], np.float32)
A = np.array([0.3, 0.2, -0.1], np.float32)
STEPS = (0, 1, 2, 5, 17, 100)


def step(y, z, a):
    return jnp.sin(y * a) + 0.5 * z, jnp.cos(z) * 0.9 + y * a.sum()


def loop(x, a, n, slots):
    """A tree is carried, and the body closes over what is differentiated."""

    def body(state):
        i, pair = state
        y, z = step(pair["y"], pair["z"], a)
        return i + 1, {"y": y, "z": z}

    init = 0, {"y": x, "z": 2 * x}
    pair = lax.while_loop(lambda s: s[0] < n, body, init, checkpoints=slots)[1]
    return pair["y"].sum() + (pair["z"] ** 2).sum()


def unrolled(x, a, n):
    y, z = x, 2 * x
    for _ in range(n):
        y, z = step(y, z, a)
    return y.sum() + (z**2).sum()


def scanned(x, a, n):
    """As `unrolled`, for lengths at which that takes long to compile."""

    def body(pair, _):
        return step(*pair, a), None

    y, z = lax.scan(body, (x, 2 * x), None, length=n)[0]
    return y.sum() + (z**2).sum()


def close(found, wanted, rtol=2e-5):
    for a, b in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


@pytest.fixture(scope="module")
def wanted():
    return {n: effax.grad(unrolled if n <= 17 else scanned, (0, 1))(X, A, n) for n in STEPS}


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
def test_gradients_are_those_of_the_unrolled_loop(slots, wanted):
    gradient = effax.jit(effax.grad(lambda x, a, n: loop(x, a, n, slots), (0, 1)))
    for n in STEPS:
        close(gradient(X, A, n), wanted[n])


def test_without_jit_and_around_jit(wanted):
    def f(x, a, n):
        return loop(x, a, n, 3)

    close(effax.grad(f, (0, 1))(X, A, 17), wanted[17])
    close(effax.grad(effax.jit(f), (0, 1))(X, A, 17), wanted[17])
    value, gradient = effax.value_and_grad(f, (0, 1))(X, A, 17)
    close(gradient, wanted[17])
    close(value, unrolled(X, A, 17))


@pytest.mark.parametrize("slots", [None, 2])
def test_forward_mode_is_that_of_the_plain_loop(slots):
    def f(x):
        return loop(x, A, 5, slots)

    found = effax.jvp(f, (X,), (A,))
    close(found, effax.jvp(lambda x: unrolled(x, A, 5), (X,), (A,)))
    close(effax.linearize(f, X)[1](A), found[1])


def test_linear_functions_are_transposed_with_their_checkpoints_and_without():
    """A lifted linear loop has another carry: what was stored on the way is of no use to it."""
    pushed = effax.linearize(lambda x: loop(x, A, 5, 4), X)[1]
    wanted = effax.grad(unrolled)(X, A, 5)
    close(effax.grad(pushed)(A), wanted)
    close(effax.grad(lambda t: effax.jvp(pushed, (t,), (t,))[1])(A), wanted)
    lanes = np.stack([A, X, -A, -X])
    close(effax.grad(lambda ts: effax.vmap(pushed)(ts).sum())(lanes), np.stack([wanted] * 4))


def test_a_linear_loop_of_which_less_is_linear_than_was():
    """The stored part leaves out the part that is known now: the loop is done again."""

    def f(x, y):
        def body(_, s):
            return jnp.sin(s[0] * 1.1), jnp.cos(s[1]) * s[1]

        x, y = lax.fori_loop(0, 5, body, (x, y), checkpoints=2)
        return x + y

    pushed = effax.linearize(f, 0.3, 0.4)[1]
    gradient = effax.grad(f, (0, 1))(0.3, 0.4)
    close(effax.linear_transpose(lambda t: pushed(t, 1.0), 1.0)(1.0)[0], gradient[0])
    close(effax.linear_transpose(lambda t: pushed(1.0, t), 1.0)(1.0)[0], gradient[1])


def test_carries_that_are_no_numbers():
    """Keys, flags and counters are kept in the slots as they are."""

    def f(x, n, slots):
        def body(s):
            i, key, flag, y = s
            key, one = effax.random.split(key)
            noise = effax.random.normal(one, (3,))
            return i + 1, key, ~flag, jnp.where(flag, y * noise, jnp.sin(y))

        key = effax.random.key(0)
        return lax.fori_loop(0, n, lambda _, s: body(s), (0, key, True, x), checkpoints=slots)[
            3
        ].sum()

    close(
        effax.jit(effax.grad(lambda x, n: f(x, n, 2)))(X, 6), effax.grad(lambda x: f(x, 6, None))(X)
    )


def test_lanes_of_other_lengths():
    counts = np.array([0, 1, 5, 17])
    points = np.stack([X, 2 * X, -X, 3 * X])
    each = [effax.grad(unrolled)(x, A, int(n)) for x, n in zip(points, counts, strict=True)]

    def f(x, n):
        return loop(x, A, n, 4)  # as many slots as lanes: no axis may be taken for another

    close(effax.vmap(effax.grad(f))(points, counts), np.stack(each))
    close(effax.jit(effax.vmap(effax.grad(f)))(points, counts), np.stack(each))
    close(effax.grad(lambda xs: effax.vmap(f)(xs, counts).sum())(points), np.stack(each))
    close(
        effax.vmap(effax.vjp(lambda x: f(x, 5), X)[1])(np.ones(4, np.float32))[0][0],
        effax.grad(unrolled)(X, A, 5),
    )


def test_derivatives_of_the_derivative():
    def f(x):
        return loop(x, A, 5, 2)

    def g(x):
        return unrolled(x, A, 5)

    close(effax.jvp(effax.grad(f), (X,), (A,)), effax.jvp(effax.grad(g), (X,), (A,)))
    close(effax.hessian(f)(X), effax.hessian(g)(X), rtol=1e-4)
    twice = effax.grad(lambda x: effax.grad(f)(x) @ A)(X)
    close(twice, effax.grad(lambda x: effax.grad(g)(x) @ A)(X), rtol=1e-4)


def test_inside_other_loops_branches_and_checkpoints():
    def f(x, n):
        return loop(x, A, n, 2)

    def outer(x, n):
        def body(c, _):
            return c + 0.1 * f(x * c, n), None

        return lax.scan(body, jnp.float32(1.0), None, length=3)[0]

    def outer_plain(x, n):
        c = 1.0
        for _ in range(3):
            c = c + 0.1 * unrolled(x * c, A, n)
        return c

    def branch(x, n):
        return lax.cond(n > 2, lambda x: f(x, n), lambda x: x.sum(), x)

    def both(x, n):
        def body(s):
            return s[0] + 1, s[1] * 0.5 + 0.1 * f(s[1], n)

        return lax.while_loop(lambda s: s[0] < n, body, (0, x), checkpoints=2)[1].sum()

    def both_plain(x, n):
        for _ in range(n):
            x = x * 0.5 + 0.1 * unrolled(x, A, n)
        return x.sum()

    close(effax.jit(effax.grad(outer))(X, 4), effax.grad(outer_plain)(X, 4))
    close(effax.jit(effax.grad(branch))(X, 4), effax.grad(unrolled)(X, A, 4))
    close(effax.jit(effax.grad(branch))(X, 1), np.ones(3))
    close(effax.grad(effax.checkpoint(f))(X, 4), effax.grad(unrolled)(X, A, 4))
    close(effax.jit(effax.grad(both))(X, 3), effax.grad(both_plain)(X, 3))


@pytest.mark.parametrize("n", [0, 1, 6])
def test_fori_loop_with_a_traced_bound(n):
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, y: jnp.sin(y) * x + i, x, checkpoints=2)

    def g(x):
        y = x
        for i in range(n):
            y = jnp.sin(y) * x + i
        return y

    close(effax.jit(effax.grad(f))(0.7, n), effax.grad(g)(0.7))
    close(effax.grad(lambda x: f(x, n))(0.7), effax.grad(g)(0.7))


def test_the_length_may_depend_on_what_is_differentiated():
    def f(x):
        return lax.while_loop(lambda y: y < 100.0, lambda y: y * x, x, checkpoints=2)

    close(effax.jit(effax.grad(f))(3.0), 5 * 3.0**4)


def test_a_tangent_that_starts_at_zero_and_one_that_ends():
    """The carry moves only after a step, or a step makes it a constant."""

    def begins(a, n):
        return lax.fori_loop(0, n, lambda i, y: y * 0.5 + a, 0.0, checkpoints=2)

    def ends(x, n):
        state = lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0, 1.0), (0, x, x), checkpoints=2
        )
        return state[1] + state[2]

    close(effax.grad(begins)(1.0, 3), 1.75)
    close([effax.grad(ends)(1.0, n) for n in (0, 1, 3)], [2.0, 2.0, 8.0])


def advances(slots: int):
    """A function of a length: how often each step is advanced in a gradient of that many."""
    seen: list[int] = []

    def f(x, n):
        def body(s):
            effax.debug.callback(lambda i: seen.append(int(i)), s[0])
            return s[0] + 1, jnp.sin(s[1])

        return lax.while_loop(lambda s: s[0] < n, body, (0, x), checkpoints=slots)[1]

    gradient = effax.jit(effax.grad(f))

    def counted(n: int) -> Counter[int]:
        seen.clear()
        effax.block_until_ready(gradient(0.5, n))
        effax.effects_barrier()
        counts = Counter(seen)
        return Counter({i: k - 1 for i, k in counts.items()})  # once to pull it back

    return counted


def repetitions(n: int, slots: int) -> int:
    t = 1
    while comb(slots + t, t) < n:
        t += 1
    return t


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
def test_the_binomial_bound(slots):
    """No step is advanced more than t times; the total is the best possible for short loops.

    The best of schedules that know the length (Griewank & Walther 2000) stops before the last
    step; one that does not has to do it, to learn that it is the last.
    """
    counted = advances(slots)
    for n in (1, 2, 5, 6, 10, 17, 21, 60):
        counts = counted(n)
        t = repetitions(n, slots)
        assert set(counts) == set(range(n))
        assert max(counts.values()) <= t
        if 1 < n <= (slots + 1) * (slots + 2) // 2:
            assert counts.total() == t * n - comb(slots + t, t - 1) + 1


def sizes(program: Program) -> set[int]:
    """The sizes of all values in a program and the programs in it."""
    found = {x.type.size for x in program.inputs}
    for e in program.equations:
        found |= {x.type.size for x in e.outputs}
        for attribute in e.attributes.values():
            for inner in attribute if isinstance(attribute, tuple) else (attribute,):
                if isinstance(inner, Program):
                    found |= sizes(inner)
    return found


def test_memory_is_that_of_the_slots():
    """Nothing in the program is larger than all checkpoints of one value, whatever the length."""

    def f(x, n):
        return lax.fori_loop(0, n, lambda i, y: jnp.sin(y) + i, x, checkpoints=3).sum()

    x = np.zeros(1000, np.float32)
    assert max(sizes(effax.make_jaxpr(effax.grad(f))(x, 10**6))) == 3000


def test_what_is_refused():
    def f(x, **keywords):
        return lax.while_loop(lambda v: v < 9.0, lambda v: v * 2.0, x, **keywords)

    with pytest.raises(ValueError, match=r"while_loop\(\.\.\., checkpoints=n\)"):
        effax.grad(f)(1.0)
    for slots in (0, -1):
        with pytest.raises(ValueError, match=r"must be at least 1"):
            f(1.0, checkpoints=slots)
