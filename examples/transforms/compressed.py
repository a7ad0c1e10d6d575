"""Jacobians and Hessians of known sparsity, from a few directional derivatives.

    >>> import effax.numpy as jnp
    >>> f = lambda x: (x[1:] - x[:-1]) ** 2
    >>> plan = jacobian(f, jnp.zeros(50))
    >>> plan.directions, len(plan.rows)
    (2, 98)
    >>> print(sparse_jacobian(f)(jnp.arange(3.0)))
    [[-2.  2.  0.]
     [ 0. -2.  2.]]

Columns of which no two meet in a row are found together, by one derivative in the direction of
their sum (Curtis, Powell & Reid 1974). Such groups are the colors of a graph, given greedily in one
of three orders; a symmetric matrix needs fewer, by a star coloring (Gebremedhin, Manne & Pothen
2005). The pattern is found once (`sparsity.py`); a plan can be used at every point.
"""

import heapq
import math
from collections import Counter
from typing import Any

from sparsity import pattern

import effax as fx
import effax.numpy as jnp


def meeting(pairs, count):
    """The graph of columns that meet in some row, of (row, column) pairs: sets of neighbors."""
    rows, graph = {}, [set() for _ in range(count)]
    for row, column in pairs:
        rows.setdefault(row, []).append(column)
    for columns in rows.values():
        for c in columns:
            graph[c].update(columns)
    return [near - {c} for c, near in enumerate(graph)]


def ordered(graph, order):
    """The vertices in an order that colorings go by."""
    if order == "natural":
        return list(range(len(graph)))
    if order == "largest_first":
        return sorted(range(len(graph)), key=lambda v: -len(graph[v]))
    if order != "smallest_last":
        raise ValueError(f"{order!r} is none of natural, largest_first and smallest_last")
    degree, removed = [len(near) for near in graph], []
    heap, left = [(d, v) for v, d in enumerate(degree)], set(range(len(graph)))
    heapq.heapify(heap)
    while left:
        d, v = heapq.heappop(heap)
        if v in left and d == degree[v]:
            left.remove(v)
            removed.append(v)
            for w in graph[v] & left:
                degree[w] -= 1
                heapq.heappush(heap, (degree[w], w))
    return removed[::-1]


def colored(graph, order="smallest_last", star=False):
    """The colors of the vertices: neighbors differ; with `star`, every path of four has three."""
    colors: list[Any] = [None] * len(graph)
    for v in ordered(graph, order):
        near = [colors[w] for w in graph[v]]
        taken = set(near)
        for w in graph[v] if star else ():
            twice = colors[w] is None or near.count(colors[w]) > 1
            for x in graph[w] - {v}:
                if twice or any(colors[y] == colors[w] for y in graph[x] - {w}):
                    taken.add(colors[x])
        colors[v] = next(c for c in range(len(graph)) if c not in taken)
    return colors


class Plan:
    """A plan that finds the elements at `rows` and `columns` from products with groups of vectors.

    `plan(x)` gives these elements, `plan.dense(x)` the whole matrix.
    """

    def __init__(self, products, colors, pairs, take, shape):
        self.products, self.colors, self.shape = products, colors, shape
        self.directions = max(colors, default=-1) + 1
        self.rows, self.columns = ([p[k] for p in pairs] for k in (0, 1))
        self.take = tuple(jnp.array([t[k] for t in take], int) for k in (0, 1))

    def __call__(self, x):
        seeds = jnp.arange(self.directions)[:, None] == jnp.array(self.colors, int)
        return fx.vmap(self.products(x))(seeds.astype(jnp.result_type(x)))[self.take]

    def dense(self, x):
        values, (m, n) = self(x), self.shape
        places = jnp.array(self.rows, int), jnp.array(self.columns, int)
        zeros = jnp.zeros((math.prod(m), math.prod(n)), values.dtype)
        return zeros.at[places].set(values).reshape(*m, *n)


def entries(f, like, symmetric=False):
    """The places of the Jacobian that may be other than zero, and the shape of the results."""
    with fx.ensure_compile_time_eval():
        mask = pattern(f)(jnp.zeros(jnp.shape(like), jnp.result_type(like)))
        outer = mask.shape[: mask.ndim - jnp.ndim(like)]
        mask = mask.reshape(math.prod(outer), jnp.size(like))
        return jnp.argwhere(mask | mask.T if symmetric else mask).tolist(), outer


def jacobian(f, like, order="smallest_last", mode=None):
    """The plan for the Jacobian of f at arrays like this one.

    With `mode="forward"` columns are grouped, with "reverse" rows; by default what takes less.
    """
    (pairs, outer), shape = entries(f, like), jnp.shape(like)

    def forward(x):
        return lambda v: jnp.ravel(fx.jvp(f, (x,), (v.reshape(shape),))[1])

    def reverse(x):
        y, pull = fx.vjp(f, x)
        return lambda v: jnp.ravel(pull(v.reshape(y.shape).astype(y.dtype))[0])

    ways = {
        "forward": (forward, pairs, jnp.size(like)),
        "reverse": (reverse, [pair[::-1] for pair in pairs], math.prod(outer)),
    }
    found = []
    for products, places, count in ways.values() if mode is None else [ways[mode]]:
        found.append((colored(meeting(places, count), order), products, places))
    colors, products, places = min(found, key=lambda way: max(way[0], default=-1))
    take = [(colors[c], r) for r, c in places]
    return Plan(products, colors, pairs, take, (outer, shape))


def hessian(f, like, order="smallest_last"):
    """The plan for the Hessian of a scalar function, by a star coloring and its symmetry."""
    slope, shape = fx.grad(f), jnp.shape(like)
    pairs, _ = entries(slope, like, symmetric=True)
    graph = [set() for _ in range(jnp.size(like))]
    for i, j in pairs:
        graph[i] |= {j} - {i}
    colors = colored(graph, order, star=True)
    near = [Counter(colors[k] for k in around) for around in graph]
    take = [(colors[j], i) if near[i][colors[j]] <= 1 else (colors[i], j) for i, j in pairs]

    def products(x):
        return lambda v: jnp.ravel(fx.jvp(slope, (x,), (v.reshape(shape),))[1])

    return Plan(products, colors, pairs, take, (shape, shape))


def sparse_jacobian(f, **options):
    """As `jacfwd(f)`, for arrays, with as few directional derivatives as the sparsity allows."""
    return lambda x: jacobian(f, x, **options).dense(x)


def sparse_hessian(f, **options):
    """As `hessian(f)`, for arrays."""
    return lambda x: hessian(f, x, **options).dense(x)
