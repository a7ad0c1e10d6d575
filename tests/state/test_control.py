"""References in branches and loops, made inside and outside, against the same in Python."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


def both(function, *args):
    """Return a reference's final content, eagerly and compiled, closed over and given."""
    found = []
    for run in (
        lambda ref: function(ref, *args),
        lambda ref: effax.jit(lambda *xs: function(ref, *xs))(*args),
        lambda ref: effax.jit(function)(ref, *args),
        lambda ref: effax.jit(lambda r, *xs: effax.jit(function)(r, *xs))(ref, *args),
    ):
        ref = effax.new_ref(jnp.arange(1.0, 4.0))
        out = run(ref)
        found.append((np.asarray(ref[...]), [np.asarray(x) for x in effax.tree.leaves(out)]))
    first = found[0]
    for other in found[1:]:
        np.testing.assert_allclose(other[0], first[0], rtol=1e-6)
        for x, y in zip(other[1], first[1], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
    return first


def test_scan_closes_over_it():
    def f(ref, xs):
        def step(total, x):
            ref[0] = ref[0] * x + ref[2]
            return total + ref[0], ref[:2]

        return lax.scan(step, 0.0, xs)

    contents, (total, rows) = both(f, jnp.array([2.0, 3.0]))
    np.testing.assert_array_equal(contents, [18, 2, 3])
    assert total == 5.0 + 18.0
    np.testing.assert_array_equal(rows, [[5, 2], [18, 2]])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2])
def test_scan_over_the_rows_of_it(reverse, unroll):
    def f(ref, xs):
        def step(carry, row):
            r, x = row
            carry = carry + r[...]
            r[...] = carry * x
            return carry, x

        return lax.scan(step, 0.0, (ref, xs), reverse=reverse, unroll=unroll)

    contents, (last, _) = both(f, jnp.array([1.0, 10.0, 100.0]))
    sums = [6, 5, 3] if reverse else [1, 3, 6]
    np.testing.assert_array_equal(contents, np.array(sums) * [1, 10, 100])
    assert last == 6.0


def test_scan_reads_rows_and_constants():
    def f(ref):
        other = effax.new_ref(10.0)
        return lax.scan(lambda c, r: (c + r[...] * other[...], r[...]), 0.0, ref)

    contents, (total, rows) = both(f)
    assert total == 60.0
    np.testing.assert_array_equal(rows, contents)


def test_nested_scans():
    def f(ref):
        def outer(_, i):
            inner = effax.new_ref(0.0)

            def step(_, j):
                inner[...] += 1.0
                ref[i] += inner[...] * (j + 1)
                return None, None

            lax.scan(step, None, jnp.arange(2))
            return None, inner[...]

        return lax.scan(outer, None, jnp.arange(3))[1]

    contents, (inner,) = both(f)
    np.testing.assert_array_equal(contents, [6, 7, 8])
    np.testing.assert_array_equal(inner, [2, 2, 2])


def test_fori_loop_of_both_kinds():
    def f(ref, n):
        lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(i, ref[i] + 1.0), None)
        lax.fori_loop(0, n, lambda i, _: ref.__setitem__(0, ref[0] + 1.0), None)

    contents, _ = both(f, 5)
    np.testing.assert_array_equal(contents, [7, 3, 4])


def test_while_loop():
    def f(ref, n):
        def step(i):
            ref[i] = ref[i] * 2.0
            return i + 1

        return lax.while_loop(lambda i: i < n, step, 0)

    contents, (i,) = both(f, 2)
    np.testing.assert_array_equal(contents, [2, 4, 3])
    assert i == 2
    contents, _ = both(f, 0)
    np.testing.assert_array_equal(contents, [1, 2, 3])


def test_a_condition_reads():
    def f(ref):
        ended = effax.new_ref(100.0)

        def step(i):
            ref[0] += 1.0
            return i + 1

        return lax.while_loop(lambda i: (ref[0] < 5.0) & (i < ended[...]), step, 0)

    contents, (i,) = both(f)
    assert contents[0] == 5.0 and i == 4


def test_a_condition_writes():
    def f(ref):
        def test(i):
            ref[0] += 1.0
            return i < 3

        def step(i):
            ref[1] += ref[0]
            return i + 1

        return lax.while_loop(test, step, 0)

    contents, (i,) = both(f)
    np.testing.assert_array_equal(contents, [5, 2 + 2 + 3 + 4, 3])
    assert i == 3


def test_cond_and_switch():
    def f(ref, p, i):
        lax.cond(p, lambda: ref.__setitem__(0, 10.0), lambda: None)
        out = lax.cond(p, lambda r, x: (r.__setitem__(1, x), r[0])[1], lambda r, x: x, ref, 7.0)
        lax.switch(i, [lambda: None, lambda: ref.__setitem__(2, 0.0), lambda: None])
        return out

    contents, (out,) = both(f, True, 1)
    np.testing.assert_array_equal(contents, [10, 7, 0])
    assert out == 10.0
    contents, (out,) = both(f, False, 2)
    np.testing.assert_array_equal(contents, [1, 2, 3])
    assert out == 7.0


def test_branches_of_different_references():
    one, other = effax.new_ref(0.0), effax.new_ref(0.0)

    @effax.jit
    def f(p):
        lax.cond(p, lambda: one.__setitem__(..., 1.0), lambda: other.__setitem__(..., one[...] + 2))

    f(True)
    f(False)
    assert (float(one[...]), float(other[...])) == (1.0, 3.0)


def test_checkpoint_and_map():
    def f(ref, x):
        def g(x):
            ref[0] += x
            return ref[0] * x

        lax.map(lambda x: ref.__setitem__(1, ref[1] + x), jnp.arange(3.0))
        return effax.checkpoint(g)(x)

    contents, (out,) = both(f, 2.0)
    np.testing.assert_array_equal(contents, [3, 5, 3])
    assert out == 6.0


# ------------------------------------------------------------------------- under transformations


def powers(x):
    """x to the 1, 2, 3, 4: a table filled by a loop, with a branch and a loop of unknown length."""
    table, current = effax.new_ref(jnp.zeros(4)), effax.new_ref(1.0)

    def step(i, _):
        lax.cond(i >= 0, lambda: current.__setitem__(..., current[...] * x), lambda: None)
        table[i] = current[...]

    lax.fori_loop(0, 4, step, None)
    return table[...]


def test_derivatives_through_loops():
    x, n = 1.5, np.arange(1, 5)
    slopes = n * 1.5 ** (n - 1)
    np.testing.assert_allclose(powers(x), 1.5**n, rtol=1e-6)
    np.testing.assert_allclose(effax.jacfwd(powers)(x), slopes, rtol=1e-6)
    np.testing.assert_allclose(effax.jacrev(powers)(x), slopes, rtol=1e-6)
    np.testing.assert_allclose(effax.jacrev(effax.jit(powers))(x), slopes, rtol=1e-6)
    np.testing.assert_allclose(
        effax.jacfwd(effax.jacrev(powers))(x), n * (n - 1) * 1.5 ** (n - 2.0), rtol=1e-5
    )
    xs = jnp.array([0.5, 2.0])
    np.testing.assert_allclose(
        effax.vmap(effax.jacrev(powers))(xs), n * xs[:, None] ** (n - 1), rtol=1e-6
    )


def test_forward_mode_through_a_loop_of_unknown_length():
    def f(x, n):
        ref = effax.new_ref(1.0)
        lax.while_loop(lambda i: i < n, lambda i: (ref.__setitem__(..., ref[...] * x), i + 1)[1], 0)
        return ref[...]

    assert [float(v) for v in effax.jvp(lambda x: f(x, 3), (2.0,), (1.0,))] == [8.0, 12.0]
    lanes = effax.vmap(f, in_axes=(None, 0))(2.0, jnp.array([0, 1, 3]))
    np.testing.assert_array_equal(lanes, [1, 2, 8])


def test_reverse_mode_with_checkpoints():
    def f(x):
        ref = effax.new_ref(1.0)

        def step(i):
            ref[...] = ref[...] * x
            return i + 1

        lax.while_loop(lambda i: i < 5, step, 0, checkpoints=2)
        return ref[...]

    assert float(effax.grad(f)(2.0)) == 80.0


def test_lanes_take_different_branches():
    def f(x):
        ref = effax.new_ref(x)
        lax.cond(x > 0, lambda: ref.__setitem__(..., -ref[...]), lambda: None)
        lax.switch(jnp.int32(x), [lambda: None, lambda: ref.__setitem__(..., 100.0)])
        return ref[...]

    np.testing.assert_array_equal(effax.vmap(f)(jnp.array([-1.0, 0.5, 1.0])), [-1, -0.5, 100])


def test_gradient_descent_in_place():
    """A training loop as it is written with state: parameters and moments are references."""
    data = jnp.linspace(-1.0, 1.0, 16)
    target = 3.0 * data - 0.5
    params = {"w": effax.new_ref(0.0), "b": effax.new_ref(0.0)}
    moments = effax.tree.map(lambda r: effax.new_ref(jnp.zeros_like(r[...])), params)

    def loss(values):
        return jnp.mean((values["w"] * data + values["b"] - target) ** 2)

    @effax.jit
    def train(params, moments):
        def step(_, __):
            grads = effax.grad(loss)(effax.tree.map(lambda r: r[...], params))
            for name in params:
                moments[name][...] = 0.5 * moments[name][...] + grads[name]
                params[name][...] -= 0.3 * moments[name][...]

        lax.fori_loop(0, 100, step, None)

    train(params, moments)
    assert np.allclose((params["w"][...], params["b"][...]), (3.0, -0.5), atol=1e-4)
