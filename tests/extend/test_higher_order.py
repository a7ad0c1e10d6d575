"""An effect of one's own that holds a program: `repeat`, declared once, in all interpreters."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend, laws
from effax.backends.reference.evaluate import interpret
from effax.errors import MissingRuleError
from effax.experimental import checkify
from effax.laws.loops import pairs
from effax.laws.loops import repeated as by_python

# ------------------------------------------------------------------------- the declaration


def repeat_type(*carry, n, body):
    found = [t.str_short() for t in body.out_types]
    if found != [t.str_short() for t in carry]:
        raise TypeError(f"repeat: the body gives {found} of {[t.str_short() for t in carry]}")
    return body.out_types


repeat = extend.Effect(
    "test_repeat", family="test", typing=repeat_type, multiple=True, higher_order=True
)


@extend.expand(repeat)
def repeat_is_a_scan(*carry, n, body):
    return lax.scan(lambda c, _: (tuple(body.run(*c)), None), carry, None, length=n)[0]


def repeated(f, n):
    """The function of one array, done n times; what it closes over is carried along."""

    def run(x):
        staged = extend.stage(lambda x: [f(x)], [extend.typeof(x)])
        held, program = staged.captured, staged.program
        k = len(held)
        if k:

            def body(*xs):
                return [*xs[:k], *staged.program.run(*xs)]

            program = extend.stage(body, program.in_types).program
        return repeat(*held, x, n=n, body=program)[k]

    return run


# -------------------------------------------------------------------------- and everything


X = jnp.float32(0.5)


def thrice(f):
    return lambda x: f(f(f(x)))


AROUND = {
    "alone": lambda f: f(X),
    "jit": lambda f: fx.jit(f)(X),
    "vmap": lambda f: fx.vmap(f)(jnp.stack([X, 2 * X])),
    "jvp": lambda f: fx.jvp(f, (X,), (X,)),
    "grad": lambda f: fx.grad(f)(X),
    "grad of jit": lambda f: fx.grad(fx.jit(f))(X),
    "jit of grad": lambda f: fx.jit(fx.grad(f))(X),
    "vmap of grad": lambda f: fx.vmap(fx.grad(f))(jnp.stack([X, 2 * X])),
    "linearize": lambda f: fx.linearize(f, X)[1](X),
    "hessian": lambda f: fx.hessian(f)(X),
    "remat": lambda f: fx.grad(fx.checkpoint(f))(X),
    "checkify": lambda f: checkify.checkify(f, checkify.all_checks)(X)[1],
    "scan": lambda f: fx.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0])(X),
    "cond": lambda f: fx.grad(lambda x: lax.cond(x > 0, f, jnp.cos, x))(X),
    "while": lambda f: fx.grad(
        lambda x: lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x), checkpoints=2
        )[1]
    )(X),
    "repeat": lambda f: fx.grad(thrice(f))(X),
    "pmap": lambda f: fx.pmap(f)(X[None]),
    "reference": lambda f: interpret(f)(0.5),
}


@pytest.mark.parametrize("name", AROUND)
def test_repeat_goes_through(name):
    around = AROUND[name]

    def step(x):
        return jnp.sin(x) * X + x * x

    found = around(repeated(step, 3))
    expected = around(thrice(step))
    for a, b in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_it_stays_one_effect_until_it_is_asked():
    program = fx.make_program(fx.jit(repeated(jnp.sin, 3)))(X)
    assert "test_repeat[n=3 body={ lambda" in str(program)


def test_a_linear_repeat_is_transposed_alone_and_split():
    f = repeated(lambda x: 2.0 * x, 3)
    (ct,) = fx.linear_transpose(f, X)(X)
    assert float(ct) == 4.0
    (ct,) = fx.linear_transpose(fx.jit(lambda x: f(x) + repeated(jnp.sin, 2)(X) * x), X)(X)
    np.testing.assert_allclose(ct, 4.0 + np.sin(np.sin(0.5)) * 0.5, rtol=1e-6)


def test_a_transform_from_outside_goes_through():
    class Bounds(fx.Interpreter):
        lo: fx.Leaf
        hi: fx.Leaf

    Bounds.leafwise(fx.effects.sin)
    for f in (repeated(jnp.sin, 3), fx.jit(repeated(jnp.sin, 3))):
        found = fx.jit(Bounds.transform(f))(Bounds(jnp.float32(0.25), X))
        np.testing.assert_allclose(found.lo, thrice(np.sin)(0.25), rtol=1e-6)
        np.testing.assert_allclose(found.hi, thrice(np.sin)(0.5), rtol=1e-6)

    @Bounds.rule(repeat)
    def told(*xs, n, body, run):
        return [Bounds(x.lo - n, x.hi + n) for x in xs]

    assert float(Bounds.transform(repeated(jnp.sin, 3))(Bounds(X, X)).lo) == -2.5


tick = extend.Effect(
    "repeat_tick",
    family="test",
    typing=lambda: extend.ShapedArray((), "float32"),
    row="repeat_tick",
)


class Clock(fx.Interpreter):
    now: fx.State = 0.0


@Clock.rule(tick)
def tell(*, state):
    state.now = state.now + 1
    return state.now


def test_effects_in_the_body_are_performed_once_and_checks_are_found():
    f = repeated(lambda x: jnp.sin(x) * tick(), 3)
    assert fx.make_program(f)(X).row == {"repeat_tick"}
    for derivative in (fx.grad, fx.jacfwd, lambda f: fx.grad(fx.checkpoint(f))):
        slope, states = Clock.transform(derivative(f))(X)
        assert states["now"] == 3
        np.testing.assert_allclose(
            slope, derivative(lambda x: Clock.transform(f)(x)[0])(X), rtol=1e-6
        )

    def checked(x):
        checkify.check(x < 0.4, "large")
        return jnp.sin(x)

    assert "large" in checkify.checkify(repeated(checked, 2))(X)[0].get()


def test_references_are_passed_on():
    @extend.expand(twice)
    def run_twice(*operands, body):
        body.run(*operands)
        return body.run(*operands)

    def body(ref):
        ref[...] = jnp.sin(ref[...])
        return [ref[...] * 1.0]

    ref = fx.new_ref(X)
    program = extend.stage(body, [ref.type]).program
    (last,) = fx.jit(lambda: twice(ref, body=program))()
    np.testing.assert_allclose([ref[...], last], [np.sin(np.sin(0.5))] * 2, rtol=1e-6)


twice = extend.Effect(
    "test_twice",
    family="test",
    typing=lambda *_, body: body.out_types,
    multiple=True,
    higher_order=True,
)
silent = extend.Effect(
    "test_silent",
    family="test",
    typing=lambda *_, body: body.out_types,
    multiple=True,
    higher_order=True,
)


def test_an_effect_that_nobody_explained_is_refused_with_what_to_write():
    body = extend.stage(lambda x: [jnp.sin(x)], [extend.typeof(X)]).program

    class Bounds(fx.Interpreter):
        lo: fx.Leaf

    with pytest.raises(MissingRuleError, match=r"@extend\.expand\(test_silent\)"):
        fx.jvp(lambda x: silent(x, body=body)[0], (X,), (X,))
    with pytest.raises(MissingRuleError, match=r"@extend\.expand\(test_silent\)"):
        Bounds.transform(lambda x: silent(x, body=body)[0])(Bounds(X))


LAWS = {
    "repeat 3 f = f . f . f": lambda c, g, h: (g(*c.values(c.loop)), h(*c.values(c.loop))),
    "jvp (repeat f)": lambda c, g, h: tuple(
        fx.jvp(k, tuple(c.values(c.loop)), tuple(c.values(c.loop, 1))) for k in (g, h)
    ),
    "vjp (repeat f)": lambda c, g, h: tuple(
        fx.vjp(k, *c.values(c.loop))[1](tuple(c.values(c.loop, 2))) for k in (g, h)
    ),
    "vmap (repeat f)": lambda c, g, h: tuple(fx.vmap(k)(*pairs(c)) for k in (g, h)),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_repeat_on_random_programs(name):
    def sides(c):
        body = c.loop.program()

        def effect(*xs):
            return tuple(repeat(*xs, n=3, body=body))

        return LAWS[name](c, effect, by_python(c, 3))

    needs = {"loop", "no while"} if name.startswith("vjp") else {"loop"}
    verdict = laws.judge(laws.Law(name, sides, needs=frozenset(needs)), max_examples=10)
    assert verdict.verdict == "true", verdict.detail
