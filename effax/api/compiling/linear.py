"""The least value of a linear expression under linear inequalities, in exact fractions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
Tableau = list[list[Fraction]]


def least(objective: Mapping[Name, int], rows: Sequence[Mapping[Name, int]]) -> Fraction | float:
    """Return the least value of an expression where no row is negative.

    It is minus infinity where there is none, or where none follows from the rows, and infinity
    where the rows contradict each other.

    Args:
      objective: the factor of each unknown; that of `()` is a constant.
      rows: such expressions.

    The dual program is solved: of all sums of rows with factors `f >= 0` that agree with the
    objective in each unknown, the one with the least constant gives the bound. It has an equation
    for each unknown, and rows are its columns, so unknowns need no sign.

    >>> least({"x": 3, (): 1}, [{"x": 1, (): -2}])
    Fraction(7, 1)
    """
    names = {name: None for row in (objective, *rows) for name in row if name != ()}
    table: Tableau = []
    for name in names:
        sign = -1 if objective.get(name, 0) < 0 else 1
        table.append([Fraction(sign * x.get(name, 0)) for x in (*rows, objective)])
    basis = [len(rows) + i for i in range(len(table))]  # artificial columns, which are not stored
    cost = [Fraction(_constant(row)) for row in rows] + [Fraction(0)]
    missing = [-sum(column, Fraction(0)) for column in zip(*table, strict=True)] or cost[:]
    if table:
        _descend(table, basis, missing, [cost])
        if missing[-1]:
            return -inf
        _without_artificial(table, basis, cost, len(rows))
    if not _descend(table, basis, cost, []):
        return inf
    return cost[-1] + _constant(objective)


def _constant(row: Mapping[Name, int]) -> int:
    return next((factor for name, factor in row.items() if name == ()), 0)


def _descend(table: Tableau, basis: list[int], cost: list[Fraction], others: Tableau) -> bool:
    """Pivot until no column lowers the cost, by Bland's rule; False if it has no least value."""
    while True:
        column = next((j for j, x in enumerate(cost[:-1]) if x < 0), None)
        if column is None:
            return True
        ratios = [
            (row[-1] / row[column], basis[i], i) for i, row in enumerate(table) if row[column] > 0
        ]
        if not ratios:
            return False
        _pivot(table, basis, min(ratios)[2], column, [cost, *others])


def _without_artificial(table: Tableau, basis: list[int], cost: list[Fraction], width: int) -> None:
    for i, own in enumerate(basis):
        column = next((j for j in range(width) if table[i][j]), None) if own >= width else None
        if column is not None:
            _pivot(table, basis, i, column, [cost])


def _pivot(table: Tableau, basis: list[int], at: int, column: int, costs: Tableau) -> None:
    own = table[at]
    scale = own[column]
    table[at] = own = [x / scale for x in own]
    basis[at] = column
    for row in (*(r for i, r in enumerate(table) if i != at), *costs):
        factor = row[column]
        if factor:
            row[:] = [x - factor * y if y else x for x, y in zip(row, own, strict=True)]
