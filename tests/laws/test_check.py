"""`laws.check` of a transform: each rule by itself, what data stand for, and mistakes it must find."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import effects, laws
from effax.laws.check import judge, rule_cases
from effax.laws.one_step import kinds_of


def pair(**mistakes):
    """A transform that keeps each value twice, but for the rules that are given."""

    class Pair(fx.Interpreter):
        one: fx.Leaf
        two: fx.Leaf

    @Pair.default
    def each(effect, *operands, **attributes):
        return Pair.map(effect, *operands, **attributes)

    for name, mistake in mistakes.items():
        Pair.rule(getattr(effects, name))(mistake(Pair))
    return Pair


def asked(cls, **options):
    def project(found):
        def leaves(x):
            return (x.one, x.two) if isinstance(x, cls) else (x, x)

        return fx.tree.map(leaves, found, is_leaf=lambda x: isinstance(x, cls))

    options.setdefault("oracle", lambda f: lambda *xs: tuple((y, y) for y in f(*xs)))
    return laws.check(
        cls.transform, embed=lambda *xs: [cls(x, x) for x in xs], project=project, **options
    )


RULES = [
    "each rule: T f = f",
    "each rule: vmap (T f) = stack . map (T f)",
    "each rule: jit (T f) = T f",
]


def test_a_right_transform_keeps_all_laws_of_its_rules():
    report = asked(pair(), laws=RULES, max_examples=4)
    assert [v.verdict for v in report] == ["true"] * 3, str(report)
    assert report["each rule: T f = f"].examples > 300  # three of each effect


def slightly_off(cls):
    return lambda x: cls(jnp.tanh(x.one), jnp.tanh(x.two) * 1.001)


def swapped(cls):
    return lambda x, y: cls(x.one - y.one, y.two - x.two)


def narrow(cls):
    return lambda x: cls(jnp.sin(x.one), jnp.sin(x.two).astype("float16").astype(x.dtype))


def mixing(cls):
    return lambda x: cls(
        jnp.exp(x.one), jnp.exp(x.two) + 0 * jnp.sum(x.two) + jnp.mean(x.two) * 0.1
    )


def branching(cls):
    return lambda x: cls(jnp.abs(x.one), jnp.abs(x.two) if bool(jnp.all(x.one > -9)) else x.two)


def wrong_axis(cls):
    def rule(x, *, axes):
        total = effects.reduce_sum
        return cls(total(x.one, axes=axes), total(jnp.flip(x.two) * 1.5, axes=axes))

    return rule


@pytest.mark.parametrize(
    ("name", "mistake", "law"),
    [
        ("tanh", slightly_off, "each rule: T f = f"),
        ("sub", swapped, "each rule: T f = f"),
        ("sin", narrow, "each rule: T f = f"),
        ("exp", mixing, "each rule: T f = f"),
        ("abs", branching, "each rule: jit (T f) = T f"),
        ("reduce_sum", wrong_axis, "each rule: T f = f"),
    ],
)
def test_a_wrong_rule_is_found_at_the_default(name, mistake, law):
    cls = pair(**{name: mistake})
    report = asked(cls, laws=[law], effects=[getattr(effects, name)])
    assert report[law].verdict == "false", str(report)
    assert f"'{name}'" in report[law].detail
    assert "def f(" in report[law].detail


def test_a_rule_that_mixes_the_lanes_of_a_batch_is_found():
    class Centered(fx.Interpreter):
        value: fx.Leaf

    @Centered.default
    def each(effect, *operands, **attributes):
        return Centered.map(effect, *operands, **attributes)

    @Centered.rule(effects.sin)
    def mixes(x):  # by shape: what it does depends on the rank, which a batch does not change
        return Centered(jnp.sin(x.value) if x.ndim else jnp.sin(x.value) * 2)

    report = laws.check(
        Centered.transform,
        embed=lambda *xs: [Centered(x) for x in xs],
        project=lambda found: fx.tree.map(
            lambda x: x.value if isinstance(x, Centered) else x,
            found,
            is_leaf=lambda x: isinstance(x, Centered),
        ),
        laws=["each rule: T f = f"],
        effects=[effects.sin],
    )
    assert not report.holds


def test_a_refusal_where_the_table_has_a_rule_is_false():
    cls = pair(cos=lambda cls: lambda x: NotImplemented)
    cls._handler.catch_all = None
    report = asked(cls, laws=["each rule: T f = f"], effects=[effects.cos])
    assert report["each rule: T f = f"].verdict == "false"
    assert "refuses all operands" in report["each rule: T f = f"].detail


def bounds_of(join):
    class Above(fx.Interpreter):
        """An upper bound of every element, as a static number: branches must join it."""

        value: fx.Leaf
        top: fx.Static

        @classmethod
        def lift(cls, value):
            return cls(value, 99.0)

        @classmethod
        def join_static(cls, name, one, other):
            return join(one, other)

    @Above.default
    def unknown(effect, *operands, **attributes):
        result = effect(*[x.value for x in operands], **attributes)
        made = [Above(y, 99.0) for y in (result if effect.multiple else [result])]
        return made if effect.multiple else made[0]

    @Above.rule(effects.sin)
    def sine(x):
        return Above(jnp.sin(x.value), 1.0)

    return Above


@pytest.mark.parametrize(("join", "verdict"), [(max, "true"), (min, "false")])
def test_a_wrong_join_is_found_by_what_data_stand_for(join, verdict):
    cls = bounds_of(join)

    def choosing(c):
        index = fx.lax.convert_element_type(c.args[0].ravel()[0] > 0, "int32")
        f = cls.transform(lambda x: fx.lax.switch(index, [jnp.sin, lambda x: x * 3.0], x))
        found = f(cls(c.args[0], 99.0))
        return jnp.all(found.value <= found.top), jnp.array(True)

    report = laws.check(
        cls.transform,
        laws=[laws.Law("a bound holds in either branch", choosing)],
        programs=laws.cases(control=frozenset()).filter(lambda c: c.f.types[0].size > 0),
    )
    assert report["a bound holds in either branch"].verdict == verdict, str(report)


def test_results_stand_for_those_of_the_function():
    class Around(fx.Interpreter):
        low: fx.Leaf
        high: fx.Leaf

    @Around.rule(effects.add)
    def add(x, y):
        return Around(x.low + y.low, x.high + y.high)

    @Around.rule(effects.neg)
    def neg(x):
        return Around(-x.low, -x.high)  # should be the other way round

    report = laws.check(
        Around.transform,
        embed=lambda *xs: [Around(x, x) for x in xs],
        around=lambda g, *xs: [Around(x - 0.5, x + 0.25) for x in xs],
        sound=lambda b, x: (b.low <= x + 1e-3) & (x <= b.high + 1e-3),
        laws=["each rule: T f stands for f"],
        effects=[effects.add, effects.neg],
    )
    (found,) = report
    assert found.verdict == "false"
    assert "'neg'" in found.detail


def test_names_that_no_law_has_are_errors():
    with pytest.raises(ValueError, match=r"no law named 'T f = g'; did you mean 'T f = f'"):
        laws.check(lambda f: f, laws=["T f = g"])
    with pytest.raises(ValueError, match="no law named 'jit_is_identiy'"):
        laws.check(laws=["jit_is_identiy"])


def test_laws_of_ones_own_are_asked_with_a_transform():
    def twice(c):
        return tuple(2.0 * y for y in c.f(*c.args)), c.f(*c.args)

    report = laws.check(lambda f: f, laws=[laws.Law("2 f = f", twice), "T f = f"], max_examples=3)
    assert [(v.law, v.verdict) for v in report] == [("2 f = f", "false"), ("T f = f", "true")]


def test_exceptions_of_python_are_no_refusals():
    def breaks(f):
        def g(*xs):
            return [1][len(xs)]

        return g

    report = laws.check(breaks, laws=["T f = f"], max_examples=3)
    assert report["T f = f"].verdict == "false"
    assert "IndexError" in report["T f = f"].detail


def test_most_effects_of_the_library_have_steps_of_their_own():
    from effax.effects.effect import all_effects
    from effax.matrix import library_families

    families = library_families()
    first_order = [
        e for e in all_effects() if e.family in families and not (e.higher_order or e.answerable)
    ]
    kinds = kinds_of(first_order)
    assert np.mean([e in kinds for e in first_order]) > 0.65


def test_every_program_drawn_for_an_effect_performs_it():
    drawn = []
    kinds = kinds_of([effects.sub])[effects.sub]
    keep = laws.Law("keep", lambda c: (drawn.append(c.f), ((), ()))[1])
    judge(keep, rule_cases(effects.sub, kinds), max_examples=8)
    assert drawn
    assert all(effects.sub in f.effects() for f in drawn)


def test_a_law_of_no_programs_is_undefined():
    nothing = rule_cases(effects.sub, kinds_of([effects.sub])[effects.sub]).filter(lambda c: False)
    found = judge(laws.Law("same", lambda c: ((), ())), nothing)
    assert found.verdict == "undefined"
    assert "drawn" in found.detail


def wrong_spectrum(cls):
    return lambda x, **how: cls(effects.fft(x.one, **how), effects.fft(x.two, **how) * 1.5)


def half(cls):
    return lambda x: cls(jnp.sin(x.one).astype("float16"), jnp.sin(x.two).astype("float16"))


@pytest.mark.parametrize(("name", "mistake"), [("fft", wrong_spectrum), ("sin", half)])
def test_complex_results_and_wrong_dtypes_are_no_excuse(name, mistake):
    law = "each rule: T f = f"
    report = asked(pair(**{name: mistake}), laws=[law], effects=[getattr(effects, name)])
    assert report[law].verdict == "false", str(report)
