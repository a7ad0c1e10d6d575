"""Pure rules where a program is recorded: called twice, then copied, and the program is the same."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.extend import effects

TABLE = jnp.arange(3.0)
asked = []


def pair(pure):
    """An interpreter of two leaves whose rules say when they are asked."""

    class Pair(fx.Interpreter, pure=pure):
        value: fx.Leaf(primal=True)
        other: fx.Leaf | None
        unit: fx.Setting = 1

    @Pair.rule(effects.mul, lift=False)
    def product(x, y):
        asked.append("mul")
        (a, s), (b, t) = ((z.value, z.other) if type(z) is Pair else (z, None) for z in (x, y))
        terms = [p * q for p, q in ((s, b), (t, a)) if p is not None]
        return Pair(a * b, sum(terms[1:], terms[0]) if terms else None)

    @Pair.rule(effects.sin)
    def sine(x):
        asked.append("sin")
        unused = jnp.exp(x.value)  # noqa: F841
        return Pair(jnp.sin(x.value), None)

    @Pair.rule(effects.cos)
    def scoped(x):
        with fx.named_scope("inside"):
            return Pair(jnp.cos(x.value), None)

    @Pair.rule(effects.tanh)
    def with_an_array(x):
        return Pair(x.value * TABLE, None)

    @Pair.rule(effects.neg)
    def passed_on(x):
        return Pair(x.value, x.value)

    @Pair.rule(effects.log)
    def asks_for_elements(x):
        return Pair(-x.value if x.value[0] > 0 else x.value, None)

    @Pair.rule(effects.sort)
    def several(*xs, **how):
        first, second = effects.sort(*(x.value for x in xs), **how)
        return [Pair(first, second), second]

    @Pair.rule(effects.exp)
    def a_call(x):
        return Pair(fx.jit(lambda z: z + 1.0)(x.value), 0.0)

    @Pair.rule(effects.sqrt)
    def refuses(x):
        return NotImplemented

    @Pair.default
    def others(effect, *xs, **how):
        return Pair(effect(*(x.value for x in xs), **how), None)

    return Pair


PURE, PLAIN = pair(True), pair(False)
X, Y = np.float32([1, 2, 3]), np.float32([4, 5, 6])
FUNCTIONS = {
    "one operand twice, then two": lambda x, y: (x * x) * (x * y) * (y * y),
    "numbers": lambda x, y: [x * n for n in (1, True, 1.0, 0.0, -0.0, 2, 2.0, 2.0)],
    "plain arrays": lambda x, y: x * jnp.asarray(Y) * np.float32(2) * Y,
    "what is not used": lambda x, y: jnp.sin(jnp.sin(jnp.sin(x))),
    "a scope of the rule's": lambda x, y: jnp.cos(jnp.cos(jnp.cos(x))),
    "a scope of the user's": lambda x, y: [fx.named_scope("a")(jnp.sin)(x) for _ in range(3)],
    "an array of the rule's": lambda x, y: jnp.tanh(jnp.tanh(jnp.tanh(x))),
    "leaves passed on": lambda x, y: [-z for z in (x, y, x)],
    "several results": lambda x, y: [fx.lax.sort((x, y), num_keys=1) for _ in range(3)],
    "programs": lambda x, y: jnp.exp(jnp.exp(jnp.exp(x))),
    "a rule that refuses": lambda x, y: [z**2 for z in (x, x, x)],
    "a loop": lambda x, y: fx.lax.fori_loop(0, 3, lambda i, c: c * x * 2.0, y),
    "a branch": lambda x, y: fx.lax.cond(TABLE[0] > 1, lambda z: z * 2.0, lambda z: z * z, y),
}


def programs_of(program):
    yield program
    for e in program.equations:
        for inner in e.programs():
            yield from programs_of(inner)


def recorded(cls, f, xs, captured):
    """The program of a function under an interpreter: its text, and the line of each equation."""
    run = lambda *xs: fx.tree.leaves(cls.transform(f)(*xs))  # noqa: E731
    program = fx.make_program(lambda: run(*xs))() if captured else fx.make_program(run)(*xs)
    return program.pretty_print(name_stack=True), [
        [(e.effect.name, e.place) for e in p.equations] for p in programs_of(program)
    ]


def given(cls, other):
    return [cls(jnp.asarray(x), other if other is None else jnp.full(3, other)) for x in (X, Y)]


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("other", [None, 1.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_copied_program_is_that_of_the_rule(name, other, captured):
    """Asked, staged and copied, a rule records the same, on the same lines of the user's."""
    f = FUNCTIONS[name]
    fx.clear_caches()

    text, lines = recorded(PLAIN, f, given(PLAIN, other), captured)
    for _ in range(3):
        copied = recorded(PURE, f, given(PURE, other), captured)
        if name == "programs":  # all calls are of one program, on the lines of the rule
            assert copied[0].count("call") == text.count("call")
            assert copied[1][0] == lines[0]
        else:
            assert copied == (text, lines)


def test_elements_are_asked_for_where_they_are_known():
    """A rule that asks for elements is asked each time; what a rule passes on keeps its elements."""
    x, seen = PURE(jnp.asarray(X[:1])), []
    for _ in range(4):
        with pytest.raises(fx.errors.TracerBoolConversionError):
            fx.jit(PURE.transform(jnp.log))(x)
        fx.make_program(lambda: PURE.transform(lambda y: seen.append((-y).item()))(x))()
    assert seen == [X[0]] * 4


def test_a_rule_is_asked_twice_and_lines_are_those_that_asked():
    fx.clear_caches()

    def f(x):
        y = jnp.sin(x)
        y = jnp.sin(y)
        for _ in range(5):
            y = jnp.sin(y)
        return y

    asked.clear()
    program = fx.make_program(lambda x: PURE.transform(f)(x))(PURE(jnp.asarray(X)))
    assert asked == ["sin"] * 2
    first = f.__code__.co_firstlineno
    lines = [int(e.place.split(":")[1].split()[0]) - first for e in program.equations]
    assert lines == [1, 2, 4, 4, 4, 4, 4]
    fx.make_program(lambda x: PURE.transform(f)(x))(PURE(jnp.asarray(X)))
    assert asked == ["sin"] * 2
    with fx.enable_x64(True):
        fx.make_program(lambda x: PURE.transform(f)(x))(PURE(jnp.asarray(X)))
    assert asked == ["sin"] * 4
    fx.make_program(lambda x: PURE.transform(f, unit=2)(x))(PURE(jnp.asarray(X)))
    assert asked == ["sin"] * 6
    fx.clear_caches()
    fx.make_program(lambda x: PURE.transform(f)(x))(PURE(jnp.asarray(X)))
    assert asked == ["sin"] * 8


def test_who_explains_sees_what_a_copied_rule_performs():
    f = lambda x: PURE.transform(jnp.sin)(x).value  # noqa: E731
    for _ in range(3):
        fx.make_program(f)(PURE(jnp.asarray(X)))
    with fx.explain(file=None) as log:
        fx.make_program(f)(PURE(jnp.asarray(X)))
    assert [e.effect.name for e in log if e.depth] == ["exp", "sin"]


@pytest.mark.parametrize("jit", [fx.jit, lambda f: f])
def test_a_subclass_lifts_in_its_own_way(jit):
    """It has the rules of its parent, but what they make of plain values is its own."""

    class Times(fx.Interpreter, pure=True):
        value: fx.Leaf
        factor: fx.Leaf

        @classmethod
        def lift(cls, value):
            return cls(value, jnp.ones_like(value))

    @Times.rule(effects.add)
    def times_add(x, y):
        return Times(x.value + y.value, x.factor * y.factor)

    class Threefold(Times):
        @classmethod
        def lift(cls, value):
            return cls(value, jnp.full_like(value, 3))

    for cls, factor in ((Times, 1), (Threefold, 3)):
        for _ in range(3):
            run = jit(lambda x, cls=cls: cls.transform(lambda y: y + TABLE)(x))
            found = run(cls(jnp.zeros(3), jnp.ones(3)))
            assert found.factor.tolist() == [factor] * 3


def test_a_rule_over_a_traced_value_has_that_of_each_trace():
    def scaled(x, factor):
        class Scaled(fx.Interpreter, pure=True):
            value: fx.Leaf

        @Scaled.rule(effects.sin)
        def sine(x):
            return Scaled(jnp.sin(x.value) * factor)

        return Scaled.transform(lambda y: jnp.sin(jnp.sin(jnp.sin(y))))(Scaled(x)).value

    for n in (1.0, 2.0):
        expected = scaled(jnp.asarray(X), n)
        np.testing.assert_allclose(fx.jit(scaled)(X, n), expected, rtol=1e-6)
        np.testing.assert_allclose(fx.jit(lambda x, n=n: scaled(x, n))(X), expected, rtol=1e-6)


def test_a_rule_replaced_is_another():
    class Twice(fx.Interpreter, pure=True):
        value: fx.Leaf

    for n in (2.0, 3.0):
        Twice.rule(effects.sin)(lambda x, n=n: Twice(x.value * n))
        for _ in range(3):
            run = fx.make_program(lambda x: Twice.transform(jnp.sin)(x).value)(Twice(jnp.ones(3)))
            assert str(n) in str(run)


def test_a_step_between_two_transforms_is_recorded_by_each():
    f = lambda x: jnp.sin(x * x) * x  # noqa: E731
    x = jnp.asarray(X)
    for _ in range(3):
        inner = lambda y: fx.jvp(lambda z: PURE.transform(f)(PURE(z)).value, (y,), (y,))  # noqa: E731
        np.testing.assert_allclose(fx.jit(inner)(x)[1], fx.jvp(f, (x,), (x,))[1], rtol=1e-5)
        np.testing.assert_allclose(
            fx.jit(PURE.transform(lambda y: fx.jvp(f, (y,), (y,))[1]))(PURE(x)).value,
            fx.jvp(f, (x,), (x,))[1],
            rtol=1e-5,
        )
