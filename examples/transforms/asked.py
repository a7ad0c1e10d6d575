"""Questions of the laws of transformations to the transforms of this folder.

    python -m effax.laws --markdown examples/transforms/asked.py --into docs/transforms.md

A transform is asked with plain data made of the programs' arguments, and by the values of what it
returns; what it tells beside them has tests of its own.
"""

import importlib
import sys
from pathlib import Path

import attrs
import numpy as np

import effax as fx
import effax.numpy as jnp
from effax.laws import Asked, Law

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


def values(cls, of=None):
    """The projection that replaces data of a class by the value it stands for, its first leaf."""
    first = of or (lambda x: getattr(x, next(iter(cls._fields.leaves))))

    def project(found):
        return fx.tree.map(
            lambda x: first(x) if isinstance(x, cls) else x,
            found,
            is_leaf=lambda x: isinstance(x, cls),
        )

    return project


def is_float(x):
    return x.dtype.kind == "f"


def cost(m):
    def counted(c):
        total = m.cost(c.f)(*c.args)[1]["total"]
        return total, c.lift(np.array(m.estimate(c.f)(*c.args), "int64"))

    return Asked(
        lambda f: lambda *args: m.cost(f)(*args)[0],
        interpreter=m.Cost,
        more=[Law("each rule: it counts what the program says", counted)],
    )


def nan_provenance(m):
    def origins(c):
        generator = np.random.default_rng(c.seed)

        def poisoned(x):
            lost = generator.random(x.shape) < 0.4
            return c.lift(np.where(lost, x.dtype.type(np.nan), x)) if is_float(x) else c.lift(x)

        xs = [*map(poisoned, c.arrays(c.f))]
        found = m.Traced.transform(c.f)(*(m.Traced.lift(x, "an argument") for x in xs))
        is_traced = lambda y: isinstance(y, m.Traced)  # noqa: E731
        found = fx.tree.leaves(found, is_leaf=is_traced)
        lhs, rhs = [], []
        for y, value in zip(found, c.f(*xs), strict=True):
            origin = jnp.where(value == value, m.NONE, 0).astype("int32")
            lhs += [y.value, y.origin] if is_traced(y) else [y]
            rhs += [value, origin] if value.dtype.kind in "fc" else [value]
        return lhs, rhs

    return Asked(
        m.Traced.transform,
        embed=lambda *xs: tuple(m.Traced.lift(x, "an argument") for x in xs),
        project=values(m.Traced),
        more=[Law("each rule: a NaN began where an argument is one", origins)],
    )


def harvest(m):
    def sows(b):
        x = b.a_float()
        if x is not None:
            b.perform(m.sow_effect, x, bound=x.bound, tag="t", name="a", mode="clobber")

    def f(x):
        y = m.sow(x, tag="t", name="a") * 2
        first = m.sow(y, tag="t", name="b", mode="append")
        second = m.sow(y + 1, tag="t", name="b", mode="append")
        return m.sow(first + second, tag="other", name="c")

    def reaped(c):
        x = c.args[0]
        states = {"a": x, "b": jnp.stack([2 * x, 2 * x + 1])}
        return m.harvest(f, tag="t")({}, x), (4 * x + 1, states)

    def planted(c):
        x = c.args[0]
        plants = {"a": 3 * x, "b": jnp.stack([x, 5 * x])}
        one = m.harvest(f, tag="t")({"a": 3 * x}, x)
        rows = jnp.stack([6 * x, 6 * x + 1])
        return (one, m.harvest(f, tag="t")(plants, x)), ((12 * x + 1, {"b": rows}), (6 * x, {}))

    return Asked(
        lambda f: lambda *args: m.harvest(f, tag="any")({}, *args)[0],
        interpreter=m.Harvest,
        steps=[sows],
        more=[Law("each rule: what is sown is reaped", reaped), Law("each rule: planted", planted)],
    )


def key_reuse(m):
    return Asked(m.check)


def seed(m):
    key = fx.random.key(0)

    class Splitting(fx.Interpreter):
        """The keys that `seed` should give: one for the future first, then one for each draw."""

        key: fx.State

    @Splitting.rule(m.draw)
    def split_off(*, shape, state):
        first, *others = fx.random.split(state.key, 1 + int(np.prod(shape)))
        state.key = first
        return jnp.stack(others).reshape(*shape, 2)

    def draws(b):
        b.perform(m.draw, shape=(2,) * len(b.known[0].shape))

    def oracle(f):
        words = fx.random.key_data(key)
        return lambda *xs: Splitting.transform(lambda *xs: f(*xs), key=words)(*xs)[0]

    return Asked(
        lambda f: lambda *args: m.seed(lambda *xs: f(*xs))(key, *args),
        interpreter=m.Seed,
        oracle=oracle,
        steps=[draws],
    )


def units(m):
    def scale(c):
        bases = ("m", "m", "m") if c.seed % 2 else ("m", "s", "m")

        def run(k):
            def embedded(x, base):
                factor = c.lift(np.asarray(k if base == "m" else 1, x.dtype))
                return m.Quantity(x * factor, ((base, 1),)) if is_float(x) else m.Quantity(x, ())

            found = m.checked(c.f)(*map(embedded, c.args, (*bases, *bases)))
            return fx.tree.leaves(found, is_leaf=lambda y: isinstance(y, m.Quantity))

        def expected(y):
            power = float(dict(getattr(y, "unit", ())).get("m", 0))
            y = getattr(y, "value", y)
            return y * jnp.asarray(4.0**power, y.dtype) if power else y

        one, four = run(1.0), run(4.0)
        known = [getattr(y, "value", y) for y in one]
        return (known, [getattr(y, "value", y) for y in four]), (
            [*c.f(*c.args)],
            [*map(expected, one)],
        )

    def meet(c):
        x = m.Quantity(c.args[0], (("m", 1),))
        try:
            m.checked(lambda x: fx.lax.cond(c.seed % 2 == 0, jnp.copy, jnp.square, x))(x)
        except m.UnitError:
            return "refused", "refused"
        return "a unit", "refused"

    return Asked(
        m.checked,
        embed=lambda *xs: tuple(m.Quantity(x, ()) for x in xs),
        project=values(m.Quantity),
        more=[
            Law("each rule: values scale by their units", scale, exact=True),
            Law("branches of different units are refused", meet, needs=frozenset({"loop"})),
        ],
    )


def twice(f):
    """Compute both bounds at points: the value twice."""
    return lambda *xs: fx.tree.map(lambda y: (y, y), f(*xs))


def ends(cls):
    """The projection to both bounds; a plain value is both."""

    def project(found):
        def both(x):
            return (x.lo, x.hi) if isinstance(x, cls) else (x, x)

        return fx.tree.map(both, found, is_leaf=lambda x: isinstance(x, cls))

    return project


def boxes(cls):
    """Boxes around arguments, of widths at random; what is no float stays a point."""

    def around(generator, *xs):
        def box(x):
            if not is_float(x):
                return cls(x, x)
            low, high = (jnp.asarray(generator.uniform(0, 0.2, x.shape), x.dtype) for _ in "lh")
            return cls(x - low, x + high)

        return [box(x) for x in xs]

    return around


def inside(box, x):
    """Whether a value lies in a box, up to rounding; NaN is no number, and as a bound no claim."""
    if not is_float(x):
        return (box.lo <= x) & (x <= box.hi)
    slack = (1e-3 if x.dtype.itemsize < 8 else 1e-9) * (1 + jnp.abs(x))
    return jnp.isnan(x) | ~((box.lo > x + slack) | (x > box.hi + slack))


def interval(m):
    return Asked(
        m.bounds,
        embed=lambda *xs: tuple(m.Interval(x, x) for x in xs),
        project=ends(m.Interval),
        oracle=twice,
        around=boxes(m.Interval),
        sound=inside,
    )


def crown(m):
    points = interval(importlib.import_module("interval"))
    return attrs.evolve(points, transform=m.crown, interpreter=m.Linear, max_examples=12)


def depends(cls):
    """The laws that a pattern has each place where a Jacobian is not zero."""

    def covers(f, x, *rest):
        def floats(x):
            return [y for y in f(x, *rest) if is_float(y)]

        start = cls(x, jnp.eye(x.size, dtype=bool).reshape(x.size, *x.shape))
        found = fx.tree.leaves(cls.transform(floats)(start), is_leaf=lambda y: isinstance(y, cls))
        lost = []
        for y, slopes in zip(found, fx.jacfwd(floats)(x), strict=True):
            sets = getattr(y, "sets", None)
            moves = jnp.moveaxis(slopes.reshape(*y.shape, x.size), -1, 0) != 0
            lost.append(moves if sets is None else moves & ~sets)
        return lost, [jnp.zeros_like(x) for x in lost]

    def of_rules(c):
        return covers(c.f, *c.args)

    def of_branches(c):
        def f(*xs):
            one, other = (lambda *ys, g=g: tuple(g(*ys)) for g in (c.loop, c.g))
            return fx.lax.cond(jnp.sum(xs[0]) < 0.1, one, other, *xs)

        return covers(f, *c.values(c.loop))

    def of_loops(c):
        def f(*xs):
            def on(state):
                return (state[0] < 3) & (jnp.sum(state[1][0]) < 1.7)

            steps = lambda s: (s[0] + 1, tuple(c.loop(*s[1])))  # noqa: E731
            return fx.lax.while_loop(on, steps, (0, xs))[1]

        return covers(f, *c.values(c.loop))

    name = "a pattern has what the Jacobian has"
    needs = frozenset({"loop", "branches"})
    return [
        Law(f"each rule: {name}", of_rules),
        Law(f"{name}, of cond p f g", of_branches, needs=needs),
        Law(f"{name}, of while p f", of_loops, needs=frozenset({"loop"})),
    ]


def sparsity(m):
    return Asked(
        m.Sparsity.transform,
        embed=lambda *xs: tuple(m.Sparsity(x, jnp.ones((1, *x.shape), bool)) for x in xs),
        project=values(m.Sparsity),
        apart={"T f = f": UNKNOWN, "T (g . f) = T g . T f": UNKNOWN},
        more=depends(m.Sparsity),
    )


def local_sparsity(m):
    return Asked(
        m.Local.transform,
        embed=lambda *xs: tuple(m.Local(x, jnp.ones((1, *x.shape), bool)) for x in xs),
        project=values(m.Sparsity),
        more=depends(m.Local),
    )


def moved(f, xs, direction):
    """A function's results, and their first and second derivatives along a curve's direction."""
    at = [i for i, x in enumerate(xs) if is_float(x)]
    along = tuple(direction(xs[i]) for i in at)

    def of(*moving):
        given = dict(enumerate(xs)) | dict(zip(at, moving, strict=True))
        return [
            y if is_float(y) else jnp.zeros(y.shape) for y in fx.tree.leaves(f(*given.values()))
        ]

    def slope(*moving):
        return fx.jvp(of, moving, along)[1]

    return fx.jvp(slope, tuple(xs[i] for i in at), along)


def dual(m):
    def project(ys):
        found = fx.tree.leaves(ys, is_leaf=lambda y: isinstance(y, m.Dual))
        return [(m.value(y), m.moving(y)) if m.inexact(m.value(y)) else y for y in found]

    def oracle(f):
        def both(*xs):
            at = [i for i, x in enumerate(xs) if is_float(x)]

            def of(*moving):
                given = dict(enumerate(xs)) | dict(zip(at, moving, strict=True))
                return fx.tree.leaves(f(*given.values()))

            start = tuple(xs[i] for i in at)
            found = zip(*fx.jvp(of, start, tuple(0.1 * x for x in start)), strict=True)
            return [(y, t) if m.inexact(y) else y for y, t in found]

        return both

    return Asked(
        m.Dual.transform,
        embed=lambda *xs: tuple(m.Dual(x, 0.1 * x) if is_float(x) else x for x in xs),
        project=project,
        oracle=oracle,
        max_examples=80,
    )


def batched(m):
    def other(x):
        return 0.9 * x if is_float(x) else jnp.zeros_like(x)

    def oracle(f):
        def rows(*xs):
            one, two = f(*xs), f(*map(other, xs))
            return fx.tree.map(lambda *ys: jnp.stack(ys), one, two)

        return rows

    return Asked(
        m.Batched.transform,
        embed=lambda *xs: tuple(m.Batched(jnp.stack([x, other(x)])) for x in xs),
        project=lambda ys: fx.tree.map(lambda y: m.full(y, 2), ys, is_leaf=m.batched),
        oracle=oracle,
        max_examples=60,
    )


def taylor(m):
    cls = m.series(2)

    def project(ys):
        def all_(y):
            if not isinstance(y, cls):
                return (y, jnp.zeros_like(y), jnp.zeros_like(y)) if is_float(y) else y
            later = (y[k] for k in (1, 2))
            return y[0], *(jnp.zeros_like(y[0]) if c is None else c for c in later)

        return tuple(map(all_, fx.tree.leaves(ys, is_leaf=lambda y: isinstance(y, cls))))

    def oracle(f):
        def series(*xs):
            first, second = moved(f, xs, lambda x: 0.1 * x)
            terms = zip(fx.tree.leaves(f(*xs)), first, second, strict=True)
            return tuple((y, a, b / 2) if is_float(y) else y for y, a, b in terms)

        return series

    return Asked(
        cls.transform,
        embed=lambda *xs: tuple(cls(x, 0.1 * x) if is_float(x) else x for x in xs),
        project=project,
        oracle=oracle,
        max_examples=80,
    )


def laplacian(m):
    def embed(*xs):
        return tuple(m.Laplacian(x, 0.1 * jnp.stack([x, x * x])) if is_float(x) else x for x in xs)

    def project(ys):
        def all_(y):
            if not isinstance(y, m.Laplacian):
                zeros = jnp.zeros((2, *y.shape), y.dtype)
                return (y, zeros, jnp.zeros_like(y)) if is_float(y) else y
            return y.value, y.rows, jnp.zeros_like(y.value) if y.sum is None else y.sum

        return tuple(map(all_, fx.tree.leaves(ys, is_leaf=lambda y: isinstance(y, m.Laplacian))))

    def oracle(f):
        def moments(*xs):
            pairs = [moved(f, xs, d) for d in (lambda x: 0.1 * x, lambda x: 0.1 * (x * x))]
            (rows, others), (sums, more) = zip(*pairs, strict=True)
            found = fx.tree.leaves(f(*xs))
            parts = zip(found, rows, others, sums, more, strict=True)
            return tuple(
                (y, jnp.stack([a, b]), s + t) if is_float(y) else y for y, a, b, s, t in parts
            )

        return moments

    return Asked(
        m.Laplacian.transform, embed=embed, project=project, oracle=oracle, max_examples=80
    )


def adev(m):
    start = {"key": fx.random.key_data(fx.random.key(0)), "digits": 0, "weight": 1.0}

    def chooses(b):
        x = b.a_float(1)
        if x is not None:
            p = b.within(x, "inner")
            b.perform(m.choose, p, bound=3.0, name="categorical", by="enum")

    def f(x):
        p = jnp.stack([x, 0.6 * (1 - x), 0.4 * (1 - x)])
        i, j = m.categorical(p), m.categorical(p)
        return 3.0 * i * i + i * j + j + 2.0

    def averages(c):
        x = jnp.asarray(0.2 + 0.1 * (c.seed % 5))
        p = jnp.stack([x, 0.6 * (1 - x), 0.4 * (1 - x)])
        i = jnp.arange(3.0)[:, None]
        table = 3.0 * i * i + i * i.T + i.T + 2.0
        mean = p @ table @ p
        slope = fx.jvp(lambda x: p_of(x) @ table @ p_of(x), (x,), (jnp.ones_like(x),))[1]
        found = m.expectation(f).jvp_estimate(fx.random.key(c.seed), (x,), (jnp.ones_like(x),))
        return found, (mean, slope)

    def p_of(x):
        return jnp.stack([x, 0.6 * (1 - x), 0.4 * (1 - x)])

    return Asked(
        lambda f: lambda *args: m.Choices.transform(f, **start)(*args)[0],
        interpreter=m.Choices,
        steps=[chooses],
        more=[Law("each rule: the average over all choices is the expectation", averages)],
    )


def amb(m):
    return Asked(lambda f: lambda *args: m.every(f)(*args)[0])


def early_exit(m):
    return Asked(m.leaving)


UNKNOWN = (
    "a pattern that holds everywhere knows no predicate: where branches meet, the value beside it is "
    "that of the first branch, and the pattern that of all; tests/examples/test_sparsity.py asks the "
    "patterns of random programs"
)
NOT_ASKED = {  # transforms that are no functions of functions, and what is asked of them instead
    "compressed": "gives a Jacobian: that it is `jacfwd`'s is asked of random programs",
    "backpropagation": "takes programs of its own numbers: gradients are compared in its tests",
    "nested_sampling": "integrates a program: evidence is compared with integrals in its tests",
    "inverse": "turns a program round: round trips and densities are asked in its tests",
}
ENTRIES = {
    **{f.__name__: f for f in (cost, nan_provenance, harvest, key_reuse, seed, units, interval)},
    **{f.__name__: f for f in (crown, sparsity, local_sparsity, taylor, laplacian, adev)},
    **{f.__name__: f for f in (amb, early_exit, dual, batched)},
}
MODULES = {"local_sparsity": "sparsity", "batched": "batch"}
ASKED = {
    name: entry(importlib.import_module(MODULES.get(name, name))) for name, entry in ENTRIES.items()
}
