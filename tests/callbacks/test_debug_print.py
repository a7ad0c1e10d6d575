"""`debug.print` and `debug.callback`: what is shown, how often, in which order."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import debug, lax


def lines(capsys):
    effax.effects_barrier()
    return capsys.readouterr().out.splitlines()


def noisy(x):
    debug.print("x={x}", x=x)
    y = jnp.sin(x)
    debug.print("y={:.2f} {what}", y, what="sine")
    return y


X = np.float32(1)
ONE = ["x=1.0", "y=0.84 sine"]


@pytest.mark.parametrize(
    "transformed",
    [
        noisy,
        effax.jit(noisy),
        effax.grad(noisy),
        effax.jit(effax.grad(noisy)),
        effax.grad(effax.jit(noisy)),
        effax.value_and_grad(noisy),
        lambda x: effax.jvp(noisy, (x,), (x,)),
        lambda x: effax.vjp(noisy, x),
    ],
)
def test_prints_once(transformed, capsys):
    transformed(X)
    assert sorted(lines(capsys)) == ONE


def test_each_lane_in_order(capsys):
    xs = np.float32([1, 2, 3])
    for f in (effax.vmap(noisy), effax.jit(effax.vmap(noisy)), effax.vmap(effax.jit(noisy))):
        f(xs)
        shown = lines(capsys)
        assert [s for s in shown if s[0] == "x"] == ["x=1.0", "x=2.0", "x=3.0"]
        assert len(shown) == 6


def test_lanes_of_the_outermost_batch_change_fastest(capsys):
    xs = np.arange(6).reshape(3, 2)
    inner = effax.vmap(lambda x, y: debug.print("{}{}", x, y), (0, None))
    effax.vmap(inner)(xs, np.arange(3))
    assert lines(capsys) == ["00", "21", "42", "10", "31", "52"]
    effax.jit(effax.vmap(inner, (1, None)))(xs, np.int32(7))
    assert lines(capsys) == ["07", "17", "27", "37", "47", "57"]
    effax.vmap(effax.vmap(lambda x: debug.print("{}", x, ordered=True)))(xs)
    assert lines(capsys) == ["0", "2", "4", "1", "3", "5"]


def test_arrays_inside_of_containers(capsys):
    effax.jit(lambda x: debug.print("{} {}", {"a": x, "b": "text"}, x))(np.int32(2))
    assert lines(capsys) == ["{'a': Array(2, dtype=int32), 'b': 'text'} 2"]


def test_unbatched_operands_are_the_same_for_each_lane(capsys):
    def f(x, y):
        debug.print("{} {}", x, y)

    effax.vmap(f, in_axes=(0, None))(np.arange(2), np.float32([5, 6]))
    assert lines(capsys) == ["0 [5. 6.]", "1 [5. 6.]"]


def total(xs):
    def step(c, x):
        debug.print("{c} {x}", c=c, x=x, ordered=True)
        return c + x, c * x

    return lax.scan(step, jnp.float32(0), xs)


def test_each_step_of_a_scan_in_order(capsys):
    xs = np.float32([1, 2, 3])
    steps = ["0.0 1.0", "1.0 2.0", "3.0 3.0"]
    for f in (
        total,
        effax.jit(total),
        effax.grad(lambda xs: total(xs)[1].sum()),
        effax.jit(effax.grad(lambda xs: total(xs)[0])),
        effax.jit(lambda xs: effax.jvp(total, (xs,), (xs,))),
    ):
        f(xs)
        assert lines(capsys) == steps


def test_reverse_and_unrolled_scans(capsys):
    def step(c, x):
        debug.print("{}", x, ordered=True)
        return c, x

    xs = np.arange(4)
    effax.jit(lambda xs: lax.scan(step, 0, xs, reverse=True))(xs)
    assert lines(capsys) == ["3", "2", "1", "0"]
    effax.jit(lambda xs: lax.scan(step, 0, xs, unroll=4))(xs)
    assert lines(capsys) == ["0", "1", "2", "3"]


def count(start, end):
    def test(i):
        debug.print("test {}", i, ordered=True)
        return i < end

    def body(i):
        debug.print("body {}", i, ordered=True)
        return i + 1

    return lax.while_loop(test, body, start)


def test_condition_and_body_of_a_while(capsys):
    assert int(effax.jit(count)(0, 2)) == 2
    assert lines(capsys) == ["test 0", "body 0", "test 1", "body 1", "test 2"]


def test_a_lane_that_is_done_prints_nothing(capsys):
    result = effax.jit(effax.vmap(count, in_axes=(None, 0)))(0, np.array([1, 2]))
    assert result.tolist() == [1, 2]
    assert sorted(lines(capsys)) == sorted(
        ["test 0", "body 0", "test 1"] + ["test 0", "body 0", "test 1", "body 1", "test 2"]
    )


def test_only_the_branch_taken_prints(capsys):
    def f(i, x):
        def yes(x):
            debug.print("yes {}", x)
            return x

        def no(x):
            debug.print("no {}", x)
            return -x

        return lax.cond(i, yes, no, x)

    effax.jit(f)(True, 1)
    assert lines(capsys) == ["yes 1"]
    effax.vmap(f)(np.array([True, False]), np.array([1, 2]))
    assert sorted(lines(capsys)) == ["no 2", "yes 1"]


def test_order_within_and_between_programs(capsys):
    @effax.jit
    def f(x):
        for i in range(5):
            debug.print("{} {}", x, i, ordered=True)
        return x

    for x in range(4):
        f(x)
    debug.print("end", ordered=True)
    assert lines(capsys) == [f"{x} {i}" for x in range(4) for i in range(5)] + ["end"]


def test_formats(capsys):
    debug.print("{x:.3f} {x!r} {{}}", x=np.float32(0.5))
    debug.print("no fields", np.arange(3), skip_format_check=True)
    debug.print(ordered=True)("two calls {}", 1)
    debug.print("{t[0]} {t[1]}", t=(np.int32(1), "text"))
    assert lines(capsys) == [
        "0.500 array(0.5, dtype=float32) {}",
        "no fields [0 1 2]",
        "two calls 1",
        "1 text",
    ]


def test_print_options_are_those_of_the_call(capsys):
    with np.printoptions(precision=2):
        f = effax.jit(lambda x: debug.print("{}", x))
        f(np.float32([1 / 3]))
    f(np.float32([1 / 3]))
    assert lines(capsys) == ["[0.33]", "[0.33]"]


def test_unused_arguments_are_refused():
    with pytest.raises(ValueError, match="Unused keyword arguments"):
        debug.print("x", x=1)
    with pytest.raises(ValueError, match="Unused positional arguments"):
        debug.print("x", 1)
    with pytest.raises(TypeError, match="two-call form"):
        debug.print(x=1)
    with pytest.raises(TypeError, match="must be callable"):
        debug.callback(3)


def test_callback_sees_arrays_and_what_is_none():
    seen = []

    def f(x):
        debug.callback(lambda a, b, *, name: seen.append((a, b, name)), x, [x + 1], name="n")
        return x

    for g in (f, effax.jit(f)):
        g(np.float32([1, 2]))
        effax.effects_barrier()
        a, (b,), name = seen.pop()
        assert isinstance(a, effax.Array) and a.tolist() == [1, 2]
        assert b.tolist() == [2, 3] and name == "n"


def test_the_same_call_does_not_trace_again():
    traces = []

    @effax.jit
    def f(x):
        traces.append(1)
        debug.callback(print_nothing, x)
        return x

    f(1.0)
    f(2.0)
    assert len(traces) == 1


def print_nothing(x):
    """A callback that does nothing."""


def test_a_failure_reaches_the_caller():
    def fails(x):
        raise RuntimeError("the callback's own words")

    with pytest.raises(RuntimeError, match="own words"):
        debug.callback(fails, 1)

    @effax.jit
    def f(x):
        debug.callback(fails, x)
        return x

    with pytest.raises(effax.errors.JaxRuntimeError, match="own words"):
        f(1).block_until_ready()
        effax.effects_barrier()


def test_many_callbacks():
    seen = []

    @effax.jit
    def f(n):
        def body(i, c):
            debug.callback(lambda i: seen.append(int(i)), i, ordered=True)
            return c + i

        return lax.fori_loop(0, n, body, 0)

    for _ in range(3):
        assert int(f(2000)) == 1999000
    effax.effects_barrier()
    assert seen == list(range(2000)) * 3
