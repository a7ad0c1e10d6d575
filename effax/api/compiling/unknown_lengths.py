"""`eval_shape` of shapes with unknown lengths: the function is traced for several known ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, count, islice
from typing import Any, Final

from effax.api.compiling.dimensions import Atom, Dimension, Length, length_of, value_of
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.errors import SymbolicShapeError
from effax.effects.tree import tree_flatten, tree_unflatten

# Primes, for which no function has a special case; then some with many divisors; then small ones.
_PRIMES: Final = (83, 89, 97, 101, 103, 107, 109, 113, 127, 131)
_POOL: Final = (*_PRIMES, 96, 144, 192, 240, 480, *range(1, 80))


def are_unknown(leaves: Sequence[Any]) -> bool:
    """Whether one of the leaves stands for an array with an unknown length."""
    for x in leaves:
        if type(x) is ShapeDtypeStruct and any([type(d) is Dimension for d in _lengths(x)]):
            return True
    return False


def eval_shape_of_unknown(evaluate: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """Return what `eval_shape` returns, with lengths that are expressions of the unknowns.

    `evaluate` does so for known lengths; it is called for two or more of them. A length of a result
    that is no polynomial of degree two or less is an unknown of its own.
    """
    leaves, tree = tree_flatten((args, keywords))
    given = [
        d
        for x in leaves
        if type(x) is ShapeDtypeStruct
        for d in _lengths(x)
        if isinstance(d, Dimension)
    ]
    names = sorted(set().union(*(d.unknowns() for d in given)))
    samples: list[dict[str, int]] = []
    found: list[tuple[list[Any], Any]] = []
    more = lengths_allowed(names, given[0].scope)

    def result(i: int) -> tuple[dict[str, int], list[Any]]:
        while len(found) <= i:
            lengths = next(more, None)
            if lengths is None:
                raise SymbolicShapeError(
                    f"eval_shape: too few lengths of {names} among those tried satisfy the "
                    f"constraints {given[0].scope}"
                )
            a, k = tree_unflatten(tree, [_known(x, lengths) for x in leaves])
            samples.append(lengths)
            found.append(tree_flatten(evaluate(*a, **k)))
            if found[-1][1] != found[0][1]:
                raise SymbolicShapeError(
                    f"eval_shape: the tree of the results is {found[0][1]} for the lengths "
                    f"{samples[0]} and {found[-1][1]} for {lengths}"
                )
        return samples[i], found[i][0]

    first, second = result(0)[1], result(1)[1]
    merged = []
    for place, (x, y) in enumerate(zip(first, second, strict=True)):
        if (x.dtype, len(x.shape)) != (y.dtype, len(y.shape)):
            raise SymbolicShapeError(
                f"eval_shape: a result is {x} for the lengths {samples[0]} and {y} for {samples[1]}"
            )

        def lengths(axis: int, place: int = place) -> Iterator[tuple[dict[str, int], int]]:
            return ((s, leaves[place].shape[axis]) for s, leaves in map(result, count()))

        shape = [_length(lengths(i), given, names) for i in range(len(x.shape))]
        merged.append(x.update(shape=shape))
    return tree_unflatten(found[0][1], merged)


def _lengths(x: ShapeDtypeStruct) -> tuple[Length, ...]:
    return x.shape


def _known(x: Any, lengths: dict[str, int]) -> Any:
    if type(x) is not ShapeDtypeStruct:
        return x
    return x.update(shape=tuple(value_of(d, lengths) for d in x.shape))


def lengths_allowed(names: Sequence[str], scope: Any) -> Iterator[dict[str, int]]:
    """Yield numbers for unknowns that satisfy a scope's constraints; first unusual ones."""
    tries = 0
    pools = [_numbers(name, scope) for name in names]
    for step in range(max(map(len, pools), default=1)):
        for other in range(len(_POOL)):
            picked = [p[(step + i * (other + 1)) % len(p)] for i, p in enumerate(pools)]
            lengths = dict(zip(names, picked, strict=True))
            tries += 1
            if scope.allows(lengths):
                yield lengths
                break
            if len(names) < 2 or tries > 20_000:
                break


def _numbers(name: str, scope: Any) -> Sequence[int]:
    """The numbers to try for an unknown, within its bounds."""
    low, high = scope.facts.bounds(Dimension({(Atom(name),): 1}, scope))
    start = max(int(low), 1)
    inside = [n for n in _POOL if start <= n <= high]
    if start > 1:
        inside += [n for n in (start - 1 + n for n in _POOL) if n <= high]
    return list(dict.fromkeys(inside)) or [start]


def _length(
    values: Iterator[tuple[dict[str, int], int]], given: Sequence[Dimension], names: Sequence[str]
) -> Length:
    """Return the length that takes these values for these lengths of the unknowns."""
    two = list(islice(values, 2))
    if two[0][1] == two[1][1]:
        return two[0][1]
    for dimension in given:
        if all(dimension.value(s) == v for s, v in two):
            return dimension
    unknown = [Atom(name) for name in names]
    monomials = [m for n in range(3) for m in combinations_with_replacement(unknown, n)]
    rows = [*two, *islice(values, len(monomials))]
    factors = _solved([[_product(m, s) for m in monomials] for s, _ in rows], [v for _, v in rows])
    scope = given[0].scope
    if factors is None:
        own = tuple(Dimension({(a,): 1}, scope) for a in unknown)
        return Dimension({(Atom("length", (*own, _Unique())),): 1}, scope)
    return length_of({m: f for m, f in zip(monomials, factors, strict=True) if f}, scope)


class _Unique:
    """An operand that makes a length equal to itself only."""

    def __str__(self) -> str:
        return "..."


def _product(monomial: Sequence[Atom], lengths: dict[str, int]) -> int:
    product = 1
    for atom in monomial:
        product *= atom.value(lengths)
    return product


def _solved(matrix: list[list[int]], right: list[int]) -> list[int] | None:
    """Return the integers that solve more equations than there are unknowns, or None."""
    rows = [[Fraction(x) for x in (*row, b)] for row, b in zip(matrix, right, strict=True)]
    width = len(matrix[0])
    for column in range(width):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = [x / rows[column][column] for x in rows[column]]
        rows[column] = top
        for r, row in enumerate(rows):
            if r != column and row[column]:
                rows[r] = [x - row[column] * y for x, y in zip(row, top, strict=True)]
    solution = [row[-1] for row in rows[:width]]
    if any(row[-1] for row in rows[width:]) or any(x.denominator != 1 for x in solution):
        return None
    return [int(x) for x in solution]
