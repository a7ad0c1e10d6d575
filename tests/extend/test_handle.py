"""Clauses that take the resumption: never, once, many times, through calls, branches and loops."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend
from effax.errors import EscapedCarrierError, ResumptionError
from tests.programs.e3 import PROGRAMS, X

choose = extend.Effect(
    "resuming_choose",
    family="tests",
    typing=lambda: extend.ShapedArray((), "float32"),
    row="choice",
)
stop = extend.Effect("resuming_stop", family="tests", typing=lambda x: x, row="stop")
pair = extend.Effect(
    "resuming_pair", family="tests", typing=lambda x: [x, x], multiple=True, row="pair"
)


def both(*, resume):
    return jnp.concatenate([resume(1.0), resume(2.0)])


def one(*, resume):
    return resume(1.0)


def every(f):
    return extend.handle(f, {choose: both}, result=lambda y: y[None])


def early(f):
    return extend.handle(f, {}, final={stop: lambda x: x})


def straight(x):
    return x * choose() + 10 * choose()


def branching(x):
    return lax.cond(x > 0, lambda x: x * choose(), lambda x: x + choose(), x) + choose()


def stepping(x):
    return lax.scan(lambda c, y: (c * choose() + y, c), x, jnp.arange(3.0))[0]


def called(x):
    return fx.jit(lambda x: fx.checkpoint(straight)(x) + 1)(x) * 2


def choices(f, x, n):
    """Return the results of a program for all choices in turn, by an ordinary interpreter."""

    class Given(fx.Interpreter):
        rest: fx.State

    @Given.rule(choose)
    def given(*, state):
        first, state.rest = state.rest[0], state.rest[1:] + state.rest[:1]
        return first

    def shift(bits):
        return Given.transform(f, rest=list(bits))(x)[0]

    return [shift([1.0 + (i >> k & 1) for k in reversed(range(n))]) for i in range(2**n)]


@pytest.mark.parametrize(("f", "n"), [(straight, 2), (branching, 2), (called, 2)])
@pytest.mark.parametrize("x", [1.5, -0.5])
def test_every_choice_is_what_answers_in_place_give(f, n, x):
    np.testing.assert_allclose(every(f)(x), choices(f, x, n), rtol=1e-6)


def test_steps_of_a_scan_each_choose():
    found = []
    for a in (1, 2):
        for b in (1, 2):
            for c in (1, 2):
                found.append(((0.5 * a + 0) * b + 1) * c + 2)
    np.testing.assert_allclose(every(stepping)(0.5), found)


@pytest.mark.parametrize("f", [straight, branching, stepping, called])
def test_handlers_nest_with_transforms(f):
    t, xs = every(f), jnp.array([1.5, -0.5, 2.0])
    rows = [t(x) for x in xs]
    np.testing.assert_allclose(fx.jit(t)(xs[0]), rows[0], rtol=1e-6)
    np.testing.assert_allclose(fx.vmap(t)(xs), rows, rtol=1e-6)
    np.testing.assert_allclose(fx.jit(fx.vmap(t))(xs), rows, rtol=1e-6)
    h = 1e-2
    slope = (t(1.5 + h) - t(1.5 - h)) / (2 * h)
    np.testing.assert_allclose(fx.jacfwd(t)(1.5), slope, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(fx.jacrev(t)(1.5), slope, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        lax.scan(lambda c, x: (c, t(x)), 0.0, xs)[1], np.stack(rows), rtol=1e-6
    )


def test_the_clause_may_resume_under_transforms():
    def mean_and_slope(*, resume):
        values = fx.vmap(resume)(jnp.linspace(0.0, 1.0, 5))
        return values.mean() + 100 * fx.grad(resume)(0.5)

    t = extend.handle(lambda x: (x * choose()) ** 2, {choose: mean_and_slope})
    np.testing.assert_allclose(t(2.0), 4 * 0.375 + 100 * 4.0, rtol=1e-6)
    np.testing.assert_allclose(fx.jit(t)(2.0), t(2.0), rtol=1e-6)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_without_the_effects_it_is_the_identity(name):
    with fx.enable_x64(True):
        f = PROGRAMS[name].make(fx, jnp)
        x = jnp.asarray(X)
        np.testing.assert_allclose(every(f)(x)[0], f(x), rtol=1e-12, atol=1e-12)


def test_an_effect_of_several_results():
    def sum_of_halves(x, *, resume):
        assert [t.shape for t in resume.types] == [(), ()]
        return resume(x, 2.0) + resume(0.0, x)

    t = extend.handle(lambda x: jnp.prod(jnp.stack(pair(x))), {pair: sum_of_halves})
    assert float(t(3.0)) == 6.0


def test_a_resumption_is_a_program():
    seen = []

    def look(*, resume):
        seen.append(resume.program())
        return resume(1.0)

    extend.handle(lambda x: x * choose() + choose(), {choose: look})(3.0)
    # Clauses run while the rest of their own resumption is staged, too: the first is seen last.
    (total,) = seen[-2].run(*seen[-2].consts, 2.0) if seen[-2].consts else seen[-2].run(2.0)
    assert total.shape == ()


@pytest.mark.parametrize(("x", "expected"), [(1.0, 4.0), (0.01, 320.0), (8.0, 8.0)])
def test_a_scan_is_left_early(x, expected):
    def f(x):
        def step(c, _):
            c = lax.cond(c > 3, lambda c: stop(c), lambda c: c * 2, c)
            return c, c

        return lax.scan(step, x, None, length=5)[0] * 1000

    assert float(early(f)(x)) == pytest.approx(expected)
    assert float(fx.jit(early(f))(x)) == pytest.approx(expected)
    assert float(fx.vmap(early(f))(jnp.array([x]))[0]) == pytest.approx(expected)
    assert float(fx.grad(early(f))(x)) == pytest.approx(expected / x)


def test_a_while_loop_is_left_early_and_its_steps_are_not_done():
    done = []

    def f(x):
        def body(c):
            fx.debug.callback(lambda c: done.append(float(c)), c)
            return lax.cond(c > 30, stop, lambda c: c * 2, c)

        return lax.while_loop(lambda c: c < 1000, body, x) + 1000

    assert float(early(f)(1.0)) == 32.0
    fx.effects_barrier()
    assert done == [1, 2, 4, 8, 16, 32]
    assert float(early(f)(2000.0)) == 3000.0


def test_a_loop_inside_a_loop_leaves_both():
    def f(x):
        def inner(c):
            return lax.while_loop(lambda c: c < 100, lambda c: lax.cond(c > 30, stop, twice, c), c)

        return lax.scan(lambda c, y: (inner(c) + y, y), x, jnp.arange(3.0))[0]

    def twice(c):
        return c * 2

    assert float(early(f)(1.0)) == 32.0
    assert float(early(f)(200.0)) == 203.0


def test_long_programs_and_long_scans_do_not_nest_python_frames():
    def long(x):
        for _ in range(600):
            x = x * choose() + 1
        return x

    assert float(fx.jit(extend.handle(long, {choose: one}))(1.0)) == 601.0

    def scanned(x):
        return lax.scan(lambda c, y: (c * choose() + y, c), x, jnp.arange(400.0))[0]

    assert float(extend.handle(scanned, {choose: one})(1.0)) == 1 + 399 * 200


def test_answers_of_another_handler_inside_are_kept_in_each_resumption():
    class Counting(fx.Interpreter):
        count: fx.State = 0

    @Counting.rule(stop)
    def counted(x, *, state):
        state.count = state.count + 1
        return x + state.count

    def f(x):
        return stop(x) + stop(choose())

    inside = every(lambda x: Counting.transform(f)(x)[0])
    np.testing.assert_allclose(inside(1.0), [5.0, 6.0])  # each resumption has a state of its own
    outside = Counting.transform(every(f))(1.0)
    np.testing.assert_allclose(outside[0], [5.0, 7.0])  # the second goes on counting
    assert int(outside[1]["count"]) == 3


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: lax.while_loop(lambda c: c < 3, lambda c: c + choose(), x), "number of steps"),
        (lambda x: lax.while_loop(lambda c: c < choose(), lambda c: c + 1, x), "condition"),
        (lambda x: lax.fori_loop(0, 2000, lambda i, c: c + choose(), x), "limit is 1024"),
    ],
)
def test_where_no_rest_is_to_be_had_it_is_refused(f, why):
    with pytest.raises(ResumptionError, match=why):
        every(f)(1.0)


def _many_type(x, *, n, body):
    return body.out_types[0]


many = extend.Effect("handle_many", family="test", typing=_many_type, higher_order=True)
bare = extend.Effect("handle_bare", family="test", typing=_many_type, higher_order=True)
doubted = extend.Effect("handle_doubted", family="test", typing=lambda x: x)


@extend.expand(many)
def many_is_a_scan(x, *, n, body):
    return lax.scan(lambda c, _: (body.run(c)[0], None), x, None, length=n)[0]


@extend.expand(doubted, performs=[choose])
def doubted_is_a_choice(x):
    return x * choose()


def repeated(effect, n=2):
    def f(x):
        body = extend.stage(lambda x: [x * 2 + choose()], [extend.typeof(x)], "body").program
        return jnp.sin(effect(x, n=n, body=body))

    return f


def written(n=2):
    def f(x):
        for _ in range(n):
            x = x * 2 + choose()
        return jnp.sin(x)

    return f


def summed(f):
    return extend.handle(f, {choose: lambda *, resume: resume(1.0) + resume(2.0)})


AROUND = {
    "nothing": lambda f: f,
    "jit": fx.jit,
    "cond": lambda f: lambda x: lax.cond(x > 0, f, jnp.cos, x),
    "remat": fx.checkpoint,
}


@pytest.mark.parametrize("name", AROUND)
def test_an_effect_with_programs_goes_through_what_it_means(name):
    x = jnp.float32(0.7)
    found, expected = (summed(AROUND[name](f)) for f in (repeated(many), written()))
    np.testing.assert_allclose(found(x), expected(x), rtol=1e-6)
    np.testing.assert_allclose(fx.jit(found)(x), expected(x), rtol=1e-6)
    np.testing.assert_allclose(fx.grad(found)(x), fx.grad(expected)(x), rtol=1e-5)


def test_an_effect_that_says_what_it_performs_goes_through_it():
    def plain(x):
        return x * choose() + x

    x = jnp.float32(0.7)
    found, expected = every(lambda x: doubted(x) + x), every(plain)
    np.testing.assert_allclose(found(x), expected(x), rtol=1e-6)
    np.testing.assert_allclose(fx.jacfwd(found)(x), fx.jacfwd(expected)(x), rtol=1e-6)


def test_an_effect_that_nobody_has_declared_is_refused_with_what_to_write():
    with pytest.raises(ResumptionError, match=r"'resuming_choose'.*@extend.expand\(handle_bare\)"):
        every(repeated(bare))(jnp.float32(0.7))


def test_a_device_map_is_refused_by_name():
    with pytest.raises(ResumptionError, match=r"'parallel', and its clause.*as a whole"):
        every(lambda x: fx.pmap(lambda x: x * choose())(x[None])[0])(jnp.float32(0.7))


def test_custom_rules_are_not_opened_in_silence():
    @fx.custom_jvp
    def f(x):
        return x * choose()

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    with pytest.raises(ResumptionError, match="the user gave it"):
        every(fx.jit(f))(1.0)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ResumptionError, match=r"results in f32\[\]"):
        extend.handle(straight, {choose: lambda *, resume: resume(jnp.ones(3))})(1.0)
    with pytest.raises(ResumptionError, match="takes as many values"):
        extend.handle(straight, {choose: lambda *, resume: resume()})(1.0)
    with pytest.raises(ResumptionError, match="give one"):
        extend.handle(straight, {choose: one}, final={choose: one})


def test_answers_of_different_types_are_refused():
    with pytest.raises(TypeError, match="answers of one type"):
        extend.handle(
            lambda x: lax.cond(x > 0, stop, lambda x: x, x), {}, final={stop: lambda x: jnp.ones(2)}
        )(1.0)
    with pytest.raises(TypeError, match="answers of one structure"):
        extend.handle(
            lambda x: lax.cond(x > 0, stop, lambda x: x, x), {}, final={stop: lambda x: (x, x)}
        )(1.0)


def test_a_resumption_outlives_its_handler_but_not_the_values_it_holds():
    kept = []

    def keep(*, resume):
        kept.append(resume)
        return resume(1.0)

    extend.handle(straight, {choose: keep})(1.0)
    assert float(kept[0](5.0)) == 15.0
    fx.jit(extend.handle(straight, {choose: keep}))(1.0)
    with pytest.raises(EscapedCarrierError):
        kept[-1](5.0)


def test_a_rule_that_asks_for_the_resumption_is_told_where_to_get_it():
    class Any(fx.Interpreter):
        pass

    with pytest.raises(ResumptionError, match=r"extend\.handle"):

        @Any.rule(choose)
        def rule(*, resume):
            return resume(1.0)
