"""Taylor mode: values are truncated power series, and derivatives are the only rules.

Along a curve x(t), a result y = f(x) moves by y' = df(x; x'), and `jvp` knows df, from the table of
derivatives that everything takes them from. Now (k + 1) y[k + 1] = y'[k], and y'[k] takes only
earlier coefficients of y: df is run on series that compute a coefficient when it is asked for.
`sin` asks `cos` for its first k, and `cos` asks the same `sin`; `exp` asks itself. (McIlroy, "Power
series, power serious", J. Funct. Program. 9, 1999; Griewank & Walther, "Evaluating Derivatives",
2008, chapter 13.) So whatever has a derivative has a Taylor series: `cholesky`, `sort`, a
`custom_jvp`. Calls, branches and loops are the functor's, as for any interpreter.

Where df does not mention x, f is linear and goes coefficient by coefficient; products and quotients
have a shorter rule, Leibniz's.

Sums over directions are collapsed (Dangel et al., "Collapsing Taylor Mode Automatic
Differentiation", 2025): coefficients between the first and the last have an axis of directions in
front, and the last, which only linear maps ever meet, is summed as soon as it arises.

`effax.experimental.jet` has JAX's function, on top of this file.

>>> y = series(3).transform(jnp.exp)(series(3)(0.0, 1.0))  # exp(0 + t)
>>> print(*(y[k] for k in range(4)))
1.0 1.0 0.5 0.16666667
"""

import functools
from typing import Any

import effax as fx
import effax.numpy as jnp
from effax import effects, extend, traits, tree
from effax.effects.types import is_inexact

OWN = effects.custom_jvp_call, effects.custom_vjp_call, effects.custom_linear, effects.linear_solve


class Series(fx.Interpreter):
    """c0 + c1 t + c2 t² + ...: a leaf for each coefficient, absent where it is zero."""

    def __getitem__(self, k: int) -> Any:
        return getattr(self, f"c{k}", None)


@functools.cache
def series(order: int, collapsed: bool = False) -> Any:
    """The class of series up to an order; `collapsed`: of a sum of series over directions."""
    inner, later = range(1, order if collapsed else 1), range(1, order + 1)
    leaves = {f"c{k}": fx.Leaf(axes=int(k in inner)) | None for k in later}  # pyright: ignore[reportCallIssue]
    body = {"__module__": __name__, "order": order, "inner": inner}
    body["__annotations__"] = {"c0": fx.Leaf(primal=True)} | leaves  # pyright: ignore[reportCallIssue]
    return type("Series", (Series,), body)


class Stream:
    """Coefficients computed when asked for, once. `low` is the degree of the first: 1 in x'."""

    def __init__(self, at: Any, type: Any, low: int = 0, moves: bool = True) -> None:
        self.at, self.type, self.low, self.moves = functools.cache(at), type, low, moves

    def __getitem__(self, k: int) -> Any:
        return self.at(k) if self.moves or k == 0 else None

    def part(self, k: int) -> Any:
        """A coefficient and its degree; zero has none, and is there where an effect needs it."""
        if k == 0 and self[0] is None:
            return jnp.zeros(self.type.shape, self.type.dtype), 0
        return self[k], k + self.low

    @functools.cached_property
    def derivative(self) -> Any:
        """The stream of x'."""
        return Stream(lambda k: scaled(self[k + 1], k + 1), self.type, self.low + 1)


@functools.lru_cache(4096)
def slope(effect: Any, types: Any, attributes: Any, moving: Any) -> Any:
    """`jvp` of an effect some of whose operands move: the program, what it captures, is it linear.

    The program's inputs are what it captures, the operands, and the tangents.
    """

    def tangents(*values: Any) -> Any:
        def f(*moved: Any) -> Any:
            xs = dict(enumerate(values[: len(types)])) | dict(zip(moving, moved, strict=True))
            return effect(*xs.values(), **dict(attributes))

        found = fx.jvp(f, [values[i] for i in moving], values[len(types) :])[1]
        return [t if is_inexact(t.dtype) else 0.0 for t in tree.leaves(found)]

    staged = extend.stage(tangents, [*types, *(types[i] for i in moving)], effect.name)
    program, operands = staged.program, staged.program.inputs[len(staged.captured) :]
    mentioned = {x for e in program.equations for x in e.inputs}.union(program.outputs)
    return program, staged.captured, mentioned.isdisjoint(operands[i] for i in moving)


class Flow:
    """Effects on streams, each performed once: so the derivative of `exp` finds `exp` itself."""

    def __init__(self, cls: Any) -> None:
        self.cls, self.perform = cls, functools.cache(self.begin)

    def run(self, program: Any, *xs: Any) -> list[Stream]:
        """The streams of a program's results."""
        found = dict(zip(program.inputs, xs, strict=True))
        for e in program.equations:
            operands = (found.get(x) or constant(x) for x in e.inputs)
            results = self.perform(e.effect, tuple(e.attributes.items()), *operands)
            found.update(zip(e.outputs, results, strict=True))
        return [found.get(x) or constant(x) for x in program.outputs]

    def begin(self, effect: Any, attributes: Any, *xs: Stream) -> list[Stream]:
        """The streams of an effect's results."""
        if effect in (effects.call, effects.remat):
            return self.run(dict(attributes)["program"], *xs)
        low = (sum if effect in traits.bilinear else max)([0, *(x.low for x in xs)])
        row = functools.cache(self.rule(effect, attributes, xs, low))
        types = tree.leaves(effect.infer(tuple(x.type for x in xs), dict(attributes)))
        moves = [any(x.moves for x in xs) and is_inexact(t.dtype) for t in types]
        return [Stream(lambda k, i=i: row(k)[i], t, low, moves[i]) for i, t in enumerate(types)]

    def each(self, f: Any, degree: int, *parts: Any) -> Any:
        """f of coefficients: for each direction that they have, and summed at the last degree."""
        axes = tuple(0 if d in self.cls.inner else None for _, d in parts)
        ys = (fx.vmap(f, in_axes=axes) if 0 in axes else f)(*(x for x, _ in parts))
        return [jnp.sum(y, 0) for y in ys] if 0 in axes and degree == self.cls.order else ys

    def convolve(self, f: Any, degree: int, pairs: Any) -> Any:
        """The sum of f, which is bilinear, over pairs of coefficients that are there."""
        there = (p for p in pairs if p[0][0] is not None and p[1][0] is not None)
        return total([self.each(f, degree, *p)[0] for p in there])

    def rule(self, effect: Any, attributes: Any, xs: Any, low: int) -> Any:
        """The function of k that gives the coefficients k of an effect's results."""
        moving = tuple(i for i, x in enumerate(xs) if x.moves)
        slope_at = functools.partial(slope, effect, tuple(x.type for x in xs), attributes)

        def perform(*values: Any) -> Any:
            return tree.leaves(effect(*values, **dict(attributes)))

        def product(k: int) -> Any:
            pairs = ((xs[0].part(j), xs[1].part(k - j)) for j in range(k + 1))
            return [self.convolve(perform, k + low, pairs)]

        @functools.cache
        def quotient(k: int) -> Any:
            pairs = ((xs[1].part(j), (quotient(k - j)[0], k - j + low)) for j in range(1, k + 1))
            taken = self.convolve(lambda *p: [effects.mul(*p)], k + low, pairs)
            rest = total([xs[0][k], scaled(taken, -1)]), k + low
            return [None] if rest[0] is None else self.each(perform, k + low, rest, xs[1].part(0))

        def carried(k: int) -> Any:
            if self.cls.inner and low:
                raise extend.MissingRuleError(f"no sums over directions through {effect} here")
            cut = [self.cls(*(x.part(j)[0] for j in range(k + 1))) if x.moves else x[0] for x in xs]
            ys = self.cls.transform(perform)(*cut)
            return [y[k] if isinstance(y, Series) else None if k else y for y in ys]

        @functools.cache
        def change() -> Any:
            program, captured, _ = slope_at(moving)
            given = [Stream(lambda _, x=x: x, extend.typeof(x), 0, False) for x in captured]
            return self.run(program, *given, *xs, *(xs[i].derivative for i in moving))

        def derived(k: int) -> Any:
            if k == 0:
                return self.each(perform, low, *(x.part(0) for x in xs))
            if not slope_at(moving)[2]:
                return [scaled(y[k - 1], 1 / k) if y.low > low else None for y in change()]
            now = tuple(i for i in moving if xs[i][k] is not None)
            program, captured, _ = slope_at(now or moving)
            fixed = [(x, 0) for x in captured] + [(None, 0) if x.moves else x.part(0) for x in xs]
            run = program.run if now else lambda *_: [None] * len(program.outputs)
            return self.each(run, k + low, *fixed, *(xs[i].part(k) for i in now))

        other = carried if effect.higher_order and effect not in OWN else derived
        return {effects.div: quotient, **dict.fromkeys(traits.bilinear, product)}.get(effect, other)


@Series.default
def follow(effect: Any, *xs: Any, **attributes: Any) -> Any:
    """The series of an effect's results."""
    cls = type(xs[0])
    streams = [Stream(x.__getitem__, x.type, 0, len(tree.leaves(x)) > 1) for x in xs]
    rows = Flow(cls).perform(effect, tuple(attributes.items()), *streams)
    found = [cls(*(y[k] for k in range(cls.order + 1))) if y.moves else y[0] for y in rows]
    return found if effect.multiple else found[0]


@Series.rule(*OWN, lift=True)
def follow_own(*xs: Any, effect: Any, **attributes: Any) -> Any:
    """Give an effect with a derivative rule of its own the series that follows from the rule."""
    return follow(effect, *xs, **attributes)


def constant(x: Any) -> Stream:
    """The stream of a number written into a program."""
    return Stream(lambda _: jnp.full(x.type.shape, x.value, x.type.dtype), x.type, 0, False)


def scaled(x: Any, n: float) -> Any:
    """x times n; absent if x is."""
    return x if x is None or n == 1 else effects.mul(x, n)


def total(terms: Any) -> Any:
    """The sum of what is there."""
    there = [x for x in terms if x is not None]
    return functools.reduce(effects.add, there) if there else None
