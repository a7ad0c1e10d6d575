"""Custom rules under a user's transform: the leaf that is the value follows them."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend, traits
from effax.custom_batching import custom_vmap
from effax.errors import UnsupportedDerivativeError
from tests.examples.samples import load

effects = fx.effects


class Same(fx.Interpreter):
    """The identity: the value, and nothing else."""

    value: fx.Leaf(primal=True)


class Doubled(fx.Interpreter):
    """The value, and twice the value, computed on its own by the same effects on halves."""

    value: fx.Leaf(primal=True)
    other: fx.Leaf


class Pair(fx.Interpreter):
    """Two leaves, neither of which is the value."""

    one: fx.Leaf
    two: fx.Leaf


def _each_leaf(cls):
    names = list(cls._fields.leaves)

    @cls.default
    def on_each_leaf(effect, *operands, **attributes):
        if effect in traits.composite:
            return NotImplemented
        if effect in traits.comparing:
            return effect(*(getattr(x, names[0]) for x in operands), **attributes)
        found = [effect(*(getattr(x, n) for x in operands), **attributes) for n in names]
        return [cls(*ys) for ys in zip(*found, strict=True)] if effect.multiple else cls(*found)


for _cls in (Same, Doubled, Pair):
    _each_leaf(_cls)


class Opened(Pair, open_rules=True):
    """The same as `Pair`, and bodies are opened."""


class Counted(fx.Interpreter, every=True):
    """A float state, on which no value depends."""

    n: fx.State = 0.0


@Counted.default
def count(effect, *operands, state, **attributes):
    state.n = state.n + 1.0
    return effect(*operands, **attributes)


class Mass(fx.Interpreter, every=True):
    """A float state that depends on values: the sum of all sines."""

    total: fx.State = 0.0


@Mass.rule(effects.sin)
def weigh(x, *, state):
    y = effects.sin(x)
    state.total = state.total + jnp.sum(y)
    return y


def _under(cls):
    def transform(f):
        def g(*xs):
            given = [cls(*(jnp.asarray(x),) * len(cls._fields.leaves)) for x in xs]
            y = cls.transform(f)(*given)
            return getattr(y, next(iter(cls._fields.leaves))) if isinstance(y, cls) else y

        return g

    return transform


def _counted(f):
    return lambda *xs: Counted.transform(f)(*xs)[0]


def _traced(f):
    return lambda *xs: load("nan_provenance").provenance(f)(*xs).value


def _measured(f):
    units = load("units")

    def value(*xs):
        y = units.checked(f)(*[units.quantity(x) for x in xs])
        return getattr(y, "value", y)

    return value


def _seeded(f):
    return lambda *xs: load("seed").seed(f)(fx.random.key(0), *xs)


def _cost(f):
    return lambda *xs: load("cost").cost(f)(*xs)[0]


transforms = {
    "same": _under(Same),
    "doubled": _under(Doubled),
    "counted": _counted,
    "twice": lambda f: _under(Same)(_under(Same)(f)),
    "nested": lambda f: _under(Doubled)(_counted(_under(Same)(f))),
    "nan_provenance": _traced,
    "units": _measured,
    "seed": _seeded,
    "cost": _cost,
}


@fx.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))


@fx.custom_jvp
def norm(x):
    return jnp.sqrt(jnp.sum(x * x))


@norm.defjvp
def norm_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    y = norm(x)
    return y, jnp.where(y == 0, 0.0, jnp.sum(x * t) / jnp.where(y == 0, 1.0, y))


def root(a):
    def newton(f, x):
        return lax.fori_loop(0, 9, lambda _, x: lax.stop_gradient((x + a / x) / 2), x)

    return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))


def solved(a):
    """x with a x = 3, by a solver that no derivative goes through."""

    def solve(_, b):
        return b * lax.stop_gradient(1.0 / a)

    return lax.custom_linear_solve(lambda x: a * x, 3.0, solve, solve)


def total(x):
    return jnp.sum(norm(x))


CASES = {
    "clip": (lambda x: 5.0 * clipped(x), 2.0, 1.0),
    "norm at 0": (norm, np.zeros(3, np.float32), np.zeros(3)),
    "relu at 0": (fx.nn.relu, 0.0, 0.0),
    "root": (root, 2.0, 0.35355338),
    "solve": (solved, 2.0, -0.75),
    "relu in a scan": (
        lambda x: lax.scan(lambda c, _: (fx.nn.relu(c), None), x, None, length=3)[0],
        0.0,
        0.0,
    ),
    "clip in a cond": (lambda x: lax.cond(x > 0, lambda x: 5.0 * clipped(x), jnp.sin, x), 2.0, 1.0),
    "clip in a jit": (fx.jit(lambda x: 5.0 * clipped(x)), 2.0, 1.0),
    "clip in a remat": (fx.checkpoint(lambda x: 5.0 * clipped(x)), 2.0, 1.0),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", transforms)
def test_derivatives_follow_the_rule(name, case):
    f, x, expected = CASES[case]
    g = transforms[name](f)
    np.testing.assert_allclose(fx.grad(f)(x), expected, rtol=1e-5)
    np.testing.assert_allclose(g(x), f(x), rtol=1e-6)
    np.testing.assert_allclose(fx.grad(g)(x), expected, rtol=1e-5)
    np.testing.assert_allclose(fx.grad(fx.jit(g))(x), expected, rtol=1e-5)
    if not case.startswith("clip"):  # a clipped cotangent is not linear in it
        moved = fx.jvp(g, (x,), (np.ones_like(x),))[1]
        np.testing.assert_allclose(moved, np.sum(expected), rtol=1e-5)
    xs = np.stack([x, x]).astype(np.float32)
    np.testing.assert_allclose(fx.vmap(fx.grad(g))(xs), np.stack([expected] * 2), rtol=1e-5)


def test_of_other_leaves_the_body_is_differentiated():
    """`clipped` is the identity, so the second leaf moves by 5, where the first moves by 1."""

    def both(x):
        y = Doubled.transform(lambda x: 5.0 * clipped(x))(Doubled(x, x))
        return y.value, y.other

    jacobian = fx.jacrev(both)(2.0)
    np.testing.assert_allclose(jacobian, [1.0, 5.0])
    np.testing.assert_allclose(fx.jacrev(fx.jit(both))(2.0), [1.0, 5.0])


def test_a_state_is_differentiated_through_the_body():
    f = fx.custom_jvp(lambda x: jnp.sin(x) * 2.0)
    f.defjvp(lambda x, t: (f(*x), 100.0 * t[0]))
    found = fx.jacfwd(lambda x: Mass.transform(f)(x))(0.5)
    np.testing.assert_allclose(found[0], 100.0)
    np.testing.assert_allclose(found[1]["total"], np.cos(0.5), rtol=1e-6)
    found = fx.jacrev(lambda x: Mass.transform(f)(x))(0.5)
    np.testing.assert_allclose([found[0], found[1]["total"]], [100.0, np.cos(0.5)], rtol=1e-6)


@custom_vmap
def wave(x):
    return jnp.sin(x)


@wave.def_vmap
def wave_of_all(size, batched, x):
    return jnp.cos(x), batched[0]


@pytest.mark.parametrize("name", transforms)
def test_batching_follows_the_rule(name):
    xs = np.arange(3, dtype=np.float32)
    g = transforms[name](wave)
    np.testing.assert_allclose(g(1.0), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(fx.vmap(g)(xs), np.cos(xs), rtol=1e-6)
    np.testing.assert_allclose(fx.jit(fx.vmap(g))(xs), np.cos(xs), rtol=1e-6)


def test_a_batching_rule_is_lifted_where_no_leaf_is_the_value():
    xs = np.arange(3, dtype=np.float32)
    found = fx.vmap(lambda x: Pair.transform(wave)(Pair(x, 2.0 * x)))(xs)
    np.testing.assert_allclose(found.one, np.cos(xs), rtol=1e-6)
    np.testing.assert_allclose(found.two, np.cos(2 * xs), rtol=1e-6)


def test_without_a_leaf_that_is_the_value_derivatives_are_refused_by_name():
    g = _under(Pair)(lambda x: 5.0 * clipped(x))
    assert float(g(2.0)) == float(fx.jit(g)(2.0)) == 10.0
    np.testing.assert_allclose(fx.vmap(g)(np.ones(2)), [5, 5])
    for ask, x in ((fx.grad(g), 2.0), (fx.grad(fx.jit(g)), 2.0), (fx.vmap(fx.grad(g)), np.ones(2))):
        with pytest.raises(UnsupportedDerivativeError, match="differentiated under Pair") as found:
            ask(x)
        assert "primal=True" in str(found.value)
        assert "open_rules=True" in str(found.value)


def test_a_class_may_open_what_has_a_rule():
    g = _under(Opened)(lambda x: 5.0 * clipped(x))
    assert float(fx.grad(g)(2.0)) == 5.0


tick = extend.Effect(
    "test_rules_tick",
    family="test",
    typing=lambda: extend.ShapedArray((), "float32"),
    row="test_rules_tick",
)


class Clock(fx.Interpreter):
    now: fx.State = 0


@Clock.rule(tick)
def tell(*, state):
    state.now = state.now + 1
    return state.now.astype("float32")


@pytest.mark.parametrize("kind", [fx.custom_jvp, fx.custom_vjp])
def test_what_a_rule_performs_is_answered_from_the_same_state(kind):
    f = kind(lambda x: x * tick())
    if kind is fx.custom_jvp:
        f.defjvp(lambda x, t: (f(*x), 100.0 * tick() * t[0]))
    else:
        f.defvjp(lambda x: (x * tick(), None), lambda _, ct: (100.0 * ct,))
    g = lambda x: Clock.transform(f, now=4)(x)  # noqa: E731
    assert [float(y) for y in fx.tree.leaves(g(3.0))] == [15.0, 5.0]
    value, slope = fx.value_and_grad(lambda x: g(x)[0])(3.0)
    assert float(value) == 15.0
    assert float(slope) == (600.0 if kind is fx.custom_jvp else 100.0)


def test_an_effect_is_not_performed_beside_the_rule_again():
    f = fx.custom_jvp(lambda x: x * tick())
    f.defjvp(lambda x, t: (f(*x), t[0]))

    def g(x):
        return _under(Doubled)(f)(x)

    assert float(Clock.transform(g)(3.0)[0]) == 3.0
    with pytest.raises(UnsupportedDerivativeError, match="performed twice"):
        Clock.transform(fx.grad(g))(3.0)


def test_one_leaf_at_most_is_the_value():
    with pytest.raises(TypeError, match="only one leaf can be primal"):

        class Both(fx.Interpreter):
            one: fx.Leaf(primal=True)
            two: fx.Leaf(primal=True)

    with pytest.raises(TypeError, match="never absent"):
        fx.Leaf(primal=True) | None
    with pytest.raises(TypeError, match="no axes in front"):
        fx.Leaf(primal=True, axes=1)
