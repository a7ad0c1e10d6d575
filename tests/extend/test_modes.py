"""Static knowledge of values: widened in loops; told to `lift`, `top`, `join`; joined if unsure."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import extend, lax
from effax.errors import FixpointError

effects = fx.effects
SMALL = (effects.add, effects.mul, effects.sub, effects.sin, effects.neg)


class Depth(fx.Interpreter):
    """Count the effects between the arguments and a value."""

    x: fx.Leaf
    depth: fx.Static = 0

    @classmethod
    def join_static(cls, name, one, other):
        return max(one, other)


@Depth.default
def deeper(effect, *xs, **how):
    if effect not in (*SMALL, effects.lt):
        return NotImplemented
    result = effect(*(x.x for x in xs), **how)
    return Depth(result, 1 + max(x.depth for x in xs)) if effect in SMALL else result


class Bounded(Depth):
    """The same, and a loop has no depth."""

    @classmethod
    def widen(cls, name, one, other):
        assert other > one
        return float("inf")


class Wrong(Depth):
    @classmethod
    def widen(cls, name, one, other):
        return other + 5


LOOPS = {
    "scan": lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0],
    "while": lambda x: lax.while_loop(lambda c: c < 0.5, lambda c: c + 0.25, x),
    "scan in scan": lambda x: lax.scan(
        lambda c, _: (lax.scan(lambda c, _: (jnp.sin(c), None), c, None, length=3)[0], None),
        x,
        None,
        length=2,
    )[0],
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("outside", [lambda f: f, fx.jit], ids=["alone", "jit"])
def test_a_loop_whose_modes_grow_is_bounded_and_widened(name, outside):
    f, x = LOOPS[name], jnp.float32(0.25)
    with pytest.raises(FixpointError, match=r"Depth\.depth of a loop's carry grows.*Depth\.widen"):
        outside(Depth.transform(f))(Depth(x, 0))
    with pytest.raises(FixpointError, match="no later step changes"):
        outside(Wrong.transform(f))(Wrong(x, 0))
    found = outside(Bounded.transform(f))(Bounded(x, 0))
    assert found.depth == float("inf")
    np.testing.assert_allclose(found.x, f(x), rtol=1e-6)


def test_a_long_chain_of_carries_is_no_growth():
    """Each step moves a tangent on by one carry: 50 rounds, in each of which another mode grows."""

    def f(x):
        def step(c, _):
            return (c[-1], *c[:-1]), None

        return lax.scan(step, (x, *[jnp.float32(0.0)] * 49), None, length=50)[0][0]

    assert float(fx.jvp(f, (2.0,), (3.0,))[1]) == 3.0
    assert Depth.transform(f)(Depth(jnp.float32(2.0), 7)).depth == 7


def test_a_state_that_grows_in_each_step_is_refused():
    class Growing(fx.Interpreter, every=True):
        seen: fx.State = dict

    @Growing.rule(effects.sin)
    def grow(x, *, state):
        state.seen = {**state.seen, f"sin {len(state.seen)}": x}
        return effects.sin(x)

    with pytest.raises(FixpointError, match="structure or the types"):
        Growing.transform(LOOPS["scan"])(jnp.float32(1.0))


# ------------------------------------------------------------ affine forms with K symbols


class Affine(fx.Interpreter):
    """center + sum over symbols of row * symbol, each symbol between -1 and 1."""

    center: fx.Leaf
    rows: fx.Leaf(axes=1)
    symbols: fx.Setting = 2

    @classmethod
    def lift(cls, value, settings):
        return cls(value, jnp.zeros((settings.symbols, *value.shape), value.dtype))


class Alike(fx.Interpreter):
    """The same without a setting: as many symbols as its peers have."""

    center: fx.Leaf
    rows: fx.Leaf(axes=1)

    @classmethod
    def lift(cls, value, mode):
        (k,) = mode.axes["rows"]
        return cls(value, jnp.zeros((k, *value.shape), value.dtype))


for cls in (Affine, Alike):

    @cls.rule(effects.add)
    def add_affine(x, y):
        return type(x)(x.center + y.center, x.rows + y.rows)

    @cls.rule(effects.lt)
    def compare_centers(x, y):
        return x.center < y.center

    cls.leafwise(effects.concatenate, effects.broadcast_in_dim)


def summed(x):
    return lax.scan(lambda c, _: (c + x + 1.0, None), jnp.float32(0.0), None, length=2)[0]


def chosen(x):
    return lax.cond(x < 0.0, lambda x: jnp.float32(5.0), lambda x: x + x + 1.0, x)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("cls", [Affine, Alike])
def test_plain_values_are_lifted_to_as_many_symbols(cls, k):
    rows = jnp.arange(1.0, k + 1)
    settings = {"symbols": k} if cls is Affine else {}
    for f, center in ((summed, 6.0), (chosen, 5.0), (fx.jit(chosen), 5.0)):
        found = cls.transform(f, **settings)(cls(jnp.float32(2.0), rows))
        assert float(found.center) == center
        np.testing.assert_array_equal(found.rows, 2 * rows)


# ------------------------------------------------------------------------ unsure answers


class Range(fx.Interpreter):
    """Between two numbers, and perhaps a note of how often it was made; a count of sums."""

    lo: fx.Leaf
    hi: fx.Leaf
    note: fx.Leaf | None
    sums: fx.State = 0
    most: fx.Setting = 99.0


@Range.rule(effects.add)
def add_ranges(x, y, *, state):
    state.sums = state.sums + 1
    notes = [n for n in (x.note, y.note) if n is not None]
    return Range(x.lo + y.lo, x.hi + y.hi, sum(notes) if notes else None)


@Range.rule(effects.lt)
def less_ranges(x, y):
    return Range(x.hi < y.lo, x.lo < y.hi)


def hull(x, y):
    notes = [jnp.zeros_like(x.lo) if n is None else n for n in (x.note, y.note)]
    note = None if x.note is None and y.note is None else jnp.maximum(*notes)
    return Range(jnp.minimum(x.lo, y.lo), jnp.maximum(x.hi, y.hi), note)


def everything(t, settings, mode):
    assert mode is not None
    return Range(jnp.full(t.shape, -settings.most), jnp.full(t.shape, settings.most))


Range.leafwise(effects.convert_element_type, effects.clamp)
extend.unsure(
    Range,
    may=lambda x, k: (x.lo <= k) & (k <= x.hi),
    join=hull,
    top=everything,
    patience=8,
)


def ends(x):
    return float(x.lo), float(x.hi)


@pytest.mark.parametrize("outside", [lambda f: f, fx.jit], ids=["alone", "jit"])
def test_unsure_branches_with_optional_leaves_and_states(outside):
    def f(x, y):
        return lax.cond(x < 2.0, lambda x, y: x + y, lambda x, y: x + y + 1.0, x, y)

    run = outside(Range.transform(f))
    x, y = (
        Range(jnp.float32(1), jnp.float32(3)),
        Range(jnp.float32(1), jnp.float32(1), jnp.float32(7)),
    )
    found, states = run(x, y)
    assert ends(found) == (2.0, 5.0)
    assert float(found.note) == 7.0
    assert states["sums"] == 3  # both branches may be taken, and states go through both
    sure, states = run(Range(jnp.float32(0), jnp.float32(1)), y)
    assert ends(sure) == (1.0, 2.0)
    assert states["sums"] == 1
    found, _ = outside(Range.transform(lambda x: lax.cond(x < 2.0, lambda x: x, lambda x: y0, x)))(
        x
    )
    assert found.note is None
    assert ends(found) == (0.0, 3.0)


y0 = jnp.float32(0.0)


@pytest.mark.parametrize("outside", [lambda f: f, fx.jit], ids=["alone", "jit"])
def test_unsure_loops_with_optional_leaves_and_states(outside):
    def f(x, y):
        return lax.while_loop(lambda c: c < 4.0, lambda c: c + y, x)

    run = outside(Range.transform(f))
    one = Range(jnp.float32(1), jnp.float32(1), jnp.float32(3))
    found, states = run(Range(jnp.float32(0), jnp.float32(2)), one)
    assert ends(found) == (2.0, 6.0)  # it may end after 2 steps, and has surely after 4
    assert float(found.note) == 12.0
    assert states["sums"] == 4
    forever, _ = run(Range(jnp.float32(0), jnp.float32(2)), Range(jnp.float32(0), jnp.float32(1)))
    assert ends(forever) == (-99.0, 99.0)
    settled = outside(Range.transform(f, most=7.0))
    bounded, _ = settled(
        Range(jnp.float32(0), jnp.float32(2)), Range(jnp.float32(0), jnp.float32(1))
    )
    assert ends(bounded) == (-7.0, 7.0)


def test_unsure_branches_do_not_write_logs():
    class Logged(Range):
        seen: fx.Log

    @Logged.rule(effects.neg)
    def negate(x, *, state):
        state.seen.append("neg", x.lo)
        return Logged(-x.hi, -x.lo)

    Logged.rule(effects.lt)(lambda x, y: Logged(x.hi < y.lo, x.lo < y.hi))
    extend.unsure(Logged, may=lambda x, k: (x.lo <= k) & (k <= x.hi), join=hull, top=everything)
    x = Logged(jnp.float32(1), jnp.float32(3))
    with pytest.raises(TypeError, match="a branch that may be taken or not writes"):
        Logged.transform(lambda x: lax.cond(x < 2.0, lambda x: -x, lambda x: x, x))(x)
