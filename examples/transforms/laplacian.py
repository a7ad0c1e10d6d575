"""The forward Laplacian: value, Jacobian and Laplacian of everything, in one pass forward.

A value carries its derivatives along the inputs, in rows, and the sum of its second derivatives
along them. For y = f(x),

    dy = df(x; dx)                         along each input
    Δy = df(x; Δx) + Σ d²f(x; dx, dx)      over the inputs

(Li et al., "Forward Laplacian", arXiv 2307.08214, 2023; Nature Machine Intelligence, 2024). What
df is comes from the library's table of derivatives, by `jvp`: along each row, and once, times the
rows, where f acts on each element. What is absent is zero. It is Taylor mode of order 2, collapsed
(taylor.py), written out.

>>> potential = forward_laplacian(lambda x: 1 / jnp.sqrt(jnp.sum(x * x)))
>>> y = potential(jnp.array([1.0, 2.0, 2.0]))  # harmonic, so its Laplacian is zero
>>> print(y.value, y.rows.round(4), abs(y.sum) < 1e-6)
0.33333334 [-0.037  -0.0741 -0.0741] True
"""

from functools import reduce

import effax as fx
import effax.numpy as jnp
from effax import tree
from effax.effects.types import is_inexact
from effax.extend import effects, traits
from effax.interpreters.composites.calculus import partials

OWN = effects.custom_jvp_call, effects.custom_vjp_call, effects.custom_linear, effects.linear_solve


class Laplacian(fx.Interpreter):
    """A value; its derivatives along each input; the sum of its second ones."""

    value: fx.Leaf(primal=True)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    rows: fx.Leaf(axes=1) | None  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    sum: fx.Leaf | None


@Laplacian.default
def push(effect, *operands, **attributes):
    """The one rule: how an effect's results move."""
    values = {i: x.value for i, x in enumerate(operands)}
    moving = {i: x for i, x in enumerate(operands) if x.rows is not None}

    def f(*moved):
        given = values | dict(zip(moving, moved, strict=True))
        return tree.leaves(effect(*given.values(), **attributes))

    def smooth(*moved):
        return [y if is_inexact(y.dtype) else 0.0 for y in f(*moved)]

    xs = [x.value for x in moving.values()]
    ys = f(*xs)
    if moving and any(is_inexact(y.dtype) for y in ys):
        push_rows = by_element if effect in partials else by_row
        linear = effect in traits.linear or (effect in traits.bilinear and len(moving) == 1)
        moved = push_rows(smooth, xs, [*moving.values()], linear)
        ys = [
            Laplacian(y, *m) if is_inexact(y.dtype) else y for y, m in zip(ys, moved, strict=True)
        ]
    return ys if effect.multiple else ys[0]


@Laplacian.rule(*OWN, lift=True)
def push_own(*operands, effect, **attributes):
    """Push by the effect's own derivative."""
    return push(effect, *operands, **attributes)


def by_row(f, xs, operands, linear):
    """Rows and sums of f's results: `jvp` along each row, and once more."""

    def along(xs, row):
        return fx.jvp(f, xs, row)[1]

    def twice(*row):
        return fx.jvp(lambda *xs: along(xs, row), xs, row)

    first, second = fx.vmap(twice)(*(x.rows for x in operands))
    given = [jnp.zeros_like(x.value) if x.sum is None else x.sum for x in operands]
    last = [None] * len(first) if all(x.sum is None for x in operands) else along(xs, given)
    sums = [total(s, None if linear else y.sum(0)) for s, y in zip(last, second, strict=True)]
    return zip(first, sums, strict=True)


def by_element(f, xs, operands, linear):
    """Rows and sums of f's result, where f acts on elements: the same slopes for every row."""
    one = slopes(lambda *xs: f(*xs)[0])
    rows = total(*(s * x.rows for s, x in zip(one(*xs), operands, strict=True)))
    sums = [s * x.sum for s, x in zip(one(*xs), operands, strict=True) if x.sum is not None]
    for i, x in enumerate(operands if not linear else ()):
        two = slopes(lambda *xs, i=i: one(*xs)[i])(*xs)
        sums += [s * (x.rows * y.rows).sum(0) for s, y in zip(two, operands, strict=True)]
    return [(rows, total(*sums))]


def slopes(f):
    """The derivatives of a function of elements with respect to each argument."""

    def slope(i, xs):
        one = (jnp.ones_like(xs[i]),)
        return fx.jvp(lambda x: f(*xs[:i], x, *xs[i + 1 :]), (xs[i],), one)[1]

    return lambda *xs: [slope(i, xs) for i in range(len(xs))]


def total(*terms):
    """The sum of what is there."""
    there = [t for t in terms if t is not None]
    return reduce(jnp.add, there) if there else None


def forward_laplacian(f):
    """A function of x that gives f's value, Jacobian (x's axes first, as one) and Laplacian."""

    def derivatives(x):
        axes = jnp.reshape(jnp.eye(x.size, dtype=x.dtype), (x.size, *x.shape))

        def filled(y):
            y = y if isinstance(y, Laplacian) else Laplacian(y)  # pyright: ignore[reportCallIssue]
            zeros = jnp.zeros((x.size, *y.shape), y.dtype)
            return Laplacian(y.value, total(y.rows, zeros), total(y.sum, zeros[0]))

        ys = Laplacian.transform(f)(Laplacian(x, axes))  # pyright: ignore[reportCallIssue]
        return tree.map(filled, ys, is_leaf=lambda y: isinstance(y, Laplacian))

    return derivatives
