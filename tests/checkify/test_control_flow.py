"""Checks inside branches, loops and calls, in any order with jit, vmap and grad."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import checkify
from effax.experimental.checkify import all_checks, check, user_checks


def everywhere(f, *args, errors=user_checks):
    """Return the errors of a function, which are the same in any order of checkify and jit."""
    found = [
        checked(*args)[0].get_all()
        for checked in (
            checkify.checkify(f, errors),
            effax.jit(checkify.checkify(f, errors)),
            checkify.checkify(effax.jit(f), errors),
        )
    ]
    assert found[0] == found[1] == found[2]
    return found[0]


def branches(i, x):
    def yes(x):
        check(x > 0, "yes {}", x)
        return x

    def no(x):
        check(x < 0, "no {}", x)
        return jnp.log(x)

    return lax.cond(i, yes, no, x)


@pytest.mark.parametrize(
    ("i", "x", "wanted"),
    [(True, 1, []), (True, -1, ["yes -1.0"]), (False, 1, ["no 1.0"]), (False, -1, [])],
)
def test_cond(i, x, wanted):
    wanted = [f"{text} (`check` failed)" for text in wanted]
    assert everywhere(branches, np.bool_(i), np.float32(x)) == wanted
    error, _ = checkify.checkify(effax.grad(branches, 1))(np.bool_(i), np.float32(x))
    assert error.get_all() == wanted


def test_switch():
    def f(i, x):
        return lax.switch(
            i, [lambda x, k=k: (check(x != k, f"branch {k}"), x)[1] for k in range(3)], x
        )

    for k in range(3):
        assert everywhere(f, np.int32(k), np.float32(k)) == [f"branch {k} (`check` failed)"]
        assert everywhere(f, np.int32(k), np.float32(7)) == []


def lanes(text):
    return sorted(text.splitlines()) if text else []


def test_batched_cond_checks_each_lane_in_its_own_branch():
    i, x = np.array([True, True, False, False]), np.float32([1, -1, 1, -1])
    wanted = [
        "at mapped index 1: yes -1.0 (`check` failed)",
        "at mapped index 2: no 1.0 (`check` failed)",
    ]
    error, _ = effax.vmap(checkify.checkify(branches))(i, x)
    assert lanes(error.get()) == wanted
    for checked in (
        checkify.checkify(effax.vmap(branches)),
        effax.jit(checkify.checkify(effax.vmap(effax.jit(branches)))),
    ):
        error, _ = checked(i, x)
        assert sorted("\n".join(error.get_all()).splitlines()) == wanted


def total(xs):
    def step(c, x):
        check(x < 2, "step {} {}", x, c)
        return c + x, 1 / (x + 1)

    return lax.scan(step, jnp.float32(0), xs)


def test_scan():
    xs = np.arange(5, dtype=np.float32)
    first = ["step 2.0 1.0 (`check` failed)"]
    assert everywhere(total, xs) == first
    assert everywhere(total, xs[:2]) == []
    assert everywhere(lambda xs: effax.grad(lambda xs: total(xs)[1].sum())(xs), xs) == first
    assert everywhere(total, -xs, errors=all_checks)[0].startswith("division by zero")


def test_batched_scan():
    xs = np.arange(8, dtype=np.float32).reshape(4, 2)
    wanted = [f"at mapped index {k}: step {2.0 * k} 0.0 (`check` failed)" for k in (1, 2, 3)]
    assert lanes(effax.vmap(checkify.checkify(total))(xs)[0].get()) == wanted
    assert lanes(checkify.checkify(effax.vmap(total))(xs)[0].get()) == wanted


def test_lanes_that_fail_at_different_steps_are_all_kept():
    xs = np.float32([[0, 2], [3, 0], [0, 0]])
    wanted = [
        "at mapped index 0: step 2.0 0.0 (`check` failed)",
        "at mapped index 1: step 3.0 0.0 (`check` failed)",
    ]
    assert lanes(checkify.checkify(effax.vmap(total))(xs)[0].get()) == wanted
    assert lanes(effax.vmap(checkify.checkify(total))(xs)[0].get()) == wanted


def count(end, start):
    def test(c):
        check(c < 3.5, "test {}", c)
        return c < end

    def body(c):
        check(c < 2.5, "body {}", c)
        return c + 1

    return lax.while_loop(test, body, start)


def test_while():
    f = np.float32
    assert everywhere(count, f(2), f(0)) == []
    assert everywhere(count, f(4), f(0)) == [
        "body 3.0 (`check` failed)",
        "test 4.0 (`check` failed)",
    ]
    assert everywhere(count, f(0), f(9)) == ["test 9.0 (`check` failed)"]
    error, (_, tangent) = checkify.checkify(
        lambda x: effax.jvp(lambda c: count(f(4), c), (x,), (f(1),))
    )(f(0))
    assert error.get() == "body 3.0 (`check` failed)" and float(tangent) == 1


@pytest.mark.parametrize(
    "checked",
    [
        effax.vmap(checkify.checkify(count), in_axes=(0, None)),
        checkify.checkify(effax.vmap(count, in_axes=(0, None))),
        effax.jit(checkify.checkify(effax.vmap(count, in_axes=(0, None)))),
        effax.jit(effax.vmap(checkify.checkify(count), in_axes=(0, None))),
    ],
)
def test_batched_while_checks_only_lanes_that_go_on(checked):
    error, out = checked(np.float32([1, 3, 4]), np.float32(0))
    assert out.tolist() == [1, 3, 4]
    text = "\n".join(error.get_all())
    assert "at mapped index 2: body 3.0" in text and "at mapped index 2: test 4.0" in text
    assert "index 0" not in text and "index 1" not in text


def test_nan_in_a_condition():
    def f(x):
        return lax.while_loop(lambda c: jnp.sqrt(c) > 1, lambda c: c - 3, x)

    found = everywhere(f, np.float32(5), errors=all_checks)
    assert found[0].startswith("nan generated by primitive: sqrt")
    assert everywhere(f, np.float32(4), errors=all_checks) == []


def test_fori_loops():
    def f(n, x):
        return lax.fori_loop(0, n, lambda i, c: c + x[i], jnp.float32(0))

    x = np.ones(3, np.float32)
    assert everywhere(f, 3, x, errors=all_checks) == []
    assert "index 3 is out of bounds" in everywhere(f, 5, x, errors=all_checks)[0]


def test_nested_loops():
    def f(xs):
        def outer(c, row):
            return lax.scan(inner, c, row)

        def inner(c, x):
            c = lax.cond(x > 0, lambda c: c / x, lambda c: c, c)
            check(c < 5, "large {}", c)
            return c, c

        return lax.scan(outer, jnp.float32(1), xs)

    xs = np.float32([[1, 0.5], [0, 0.25]])
    assert everywhere(f, xs, errors=all_checks) == ["large 8.0 (`check` failed)"]
    assert everywhere(effax.grad(lambda xs: f(xs)[0]), xs) == ["large 8.0 (`check` failed)"]
    error, _ = effax.vmap(checkify.checkify(f, all_checks))(np.stack([xs, xs * 0 + 1]))
    assert error.get() == "at mapped index 0: large 8.0 (`check` failed)"


def test_error_carried_by_a_loop_of_the_users_own():
    def f(x):
        check(x < 3, "at {}", x)
        return x + 1

    def loop(x):
        error, _ = checkify.checkify(f)(x)

        def step(carry, _):
            x, error = carry
            new, x = checkify.checkify(f)(x)
            pick = effax.tree_util.tree_map(
                lambda a, b: jnp.where(new._leaves[0] == 0, a, b), error, new
            )
            return (x, pick), None

        return lax.scan(step, (x, error), None, length=5)[0]

    x, error = effax.jit(loop)(np.float32(0))
    assert float(x) == 5 and error.get() == "at 4.0 (`check` failed)"


def test_places_of_a_pmap():
    def f(x):
        check(x > 0, "x={}", x)
        return jnp.log(x)

    xs = np.float32([-1])
    error, _ = checkify.checkify(effax.pmap(f))(xs)
    assert error.get() == "at mapped index 0: x=-1.0 (`check` failed)"
    error, _ = checkify.checkify(effax.pmap(f), all_checks)(xs)
    assert len(error.get_all()) == 2
    error, _ = effax.pmap(checkify.checkify(f))(xs)
    assert error.get() == "at mapped index 0: x=-1.0 (`check` failed)"


def test_a_place_stays_the_same_when_python_has_specialised_its_instruction():
    """CPython tells another offset of `table[i]` from some call on: branches of both are alike."""

    def read(x):
        table = jnp.arange(4.0)
        return table[x.astype(int)]

    structures = set()
    for _ in range(40):
        checked = checkify.checkify(effax.jit(lambda x: read(x)), errors=checkify.index_checks)
        structures.add(effax.tree.structure(checked(1.5)[0]))
    assert len(structures) == 1
