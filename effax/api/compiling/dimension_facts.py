"""Facts about symbolic lengths, and the bounds that follow from them.

A fact is a row: integer factors of terms, whose sum with the constant (the factor of the empty
term) is not negative. Each term counts as one unknown of a linear program. The facts are the
constraints of a scope, and those that the terms themselves imply: an unknown is 1 or more,
`mod(a, 4)` is from 0 to 3, `4*floordiv(a, 4) + mod(a, 4)` is `a`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, gcd, inf
from typing import Final

from effax.api.compiling.dimensions import (
    Atom,
    Dimension,
    Length,
    Term,
    Terms,
    ordered,
    term_key,
)
from effax.api.compiling.linear import least

Row = Terms
Bounds = tuple[float, float]

_ROUNDS: Final = 64
"""Rewriting ends after this many steps, also where equations lead back to each other."""
_SPLITS: Final = 4
"""Bounds are found case by case for this many `max` and `min`: 16 linear programs at most."""


class Facts:
    """The constraints of a scope: equations that rewrite terms, and rows that bound them."""

    def __init__(self, scope: object) -> None:
        self._scope = scope
        self._texts: list[str] = []
        self._rules: list[tuple[Term, int, Terms]] = []
        self._rows: list[Row] = []
        self._implied: dict[Term, list[Row]] = {}
        self._bounds: dict[Dimension, Bounds] = {}

    def assume(self, left: Length, right: Length, equal: bool, text: str) -> None:
        """Add the fact that `left >= right`, or that both are equal.

        Raises `ValueError` where this contradicts what is known; `text` says it in the message.
        """
        self._texts.append(text)
        difference = left - right
        if not isinstance(difference, Dimension):
            if difference < 0 or (equal and difference):
                raise ValueError(f"Unsatisfiable explicit constraint: {text}")
            return
        if equal:
            self._add_rule(difference, _single(left) or _single(right))
        self._rows.append(_tightened(difference.terms))
        if equal:
            self._rows.append(_tightened(_scaled(difference.terms, -1)))
        self._implied.clear()
        self._bounds.clear()
        if least({}, self._relevant(self._rows)) == inf:
            raise ValueError(
                f"Unsatisfiable constraint: {text}, with lengths of 1 or more and the constraints "
                "before it"
            )

    def described(self) -> str:
        """The constraints as the end of a sentence; empty where there are none."""
        return f" with constraints {', '.join(self._texts)}" if self._texts else ""

    def settle(self) -> None:
        """Round the bounds of each term in the constraints to integers, once all are known."""
        # What the terms of the constraints imply also bounds the lengths that are inside them.
        self._rows = self._relevant(self._rows)
        for term in dict.fromkeys(t for row in self._rows for t in row if t):
            low, high = self.bounds(Dimension({term: 1}, self._scope))
            if low > -inf:
                self._rows.append({term: 1, (): -int(low)})
            if high < inf:
                self._rows.append({term: -1, (): int(high)})
        self._implied.clear()
        self._bounds.clear()

    def normal(self, terms: Terms) -> Terms:
        """Return terms with the left-hand sides of equations replaced by the right-hand ones."""
        for _ in range(_ROUNDS if self._rules else 0):
            for term, factor in terms.items():
                found = self._rewritten(term, factor)
                if found is not None:
                    terms = _sum({k: v for k, v in terms.items() if k != term}, found)
                    break
            else:
                break
        return terms

    def _rewritten(self, term: Term, factor: int) -> Terms | None:
        for before, k, after in self._rules:
            rest = _quotient(term, before)
            if rest is not None and factor % k == 0:
                # Distinct terms stay distinct when they are multiplied by the same rest.
                return {ordered((*rest, *t)): factor // k * v for t, v in after.items()}
        return None

    def _add_rule(self, difference: Dimension, term: Term | None) -> None:
        terms = difference.terms
        if term is None or term not in terms:
            term = max((t for t in terms if t), key=term_key)
        k = terms[term]
        sign = 1 if k > 0 else -1
        after = {t: -sign * v for t, v in terms.items() if t != term}
        self._rules.append((term, abs(k), after))
        match term:
            case (Atom(name="mod", operands=(dividend, int() as divisor)),) if not after:
                # Equality is of normal forms, so 4*floordiv(a, 4) must become `a` as well.
                quotient = (Atom("floordiv", (dividend, divisor)),)
                rest = _scaled(_terms(dividend), 1 if divisor > 0 else -1)
                self._rules.append((quotient, abs(divisor), rest))

    def bounds(self, length: Length) -> Bounds:
        """Return the least and the greatest value of a length, as far as they are known.

        They are integers, or infinite.
        """
        if not isinstance(length, Dimension):
            return int(length), int(length)
        found = self._bounds.get(length)
        if found is None:
            terms = length.terms
            rows = self._relevant([terms])
            cases = list(self._cases(terms, rows))
            low = min(_integer(terms, least(terms, case)) for case in cases)
            high = -min(_integer(_scaled(terms, -1), least(_scaled(terms, -1), c)) for c in cases)
            found = (low, high) if low <= high else (-inf, inf)
            self._bounds[length] = found
        return found

    def _cases(self, terms: Terms, rows: list[Row]) -> Iterable[list[Row]]:
        """Yield the facts of each case: which operand the `max` and `min` of a length equal."""
        choices = [a for a in _atoms(terms) if a.name in ("max", "min")][:_SPLITS]
        for picks in product((0, 1), repeat=len(choices)):
            more = []
            for atom, pick in zip(choices, picks, strict=True):
                sign = 1 if atom.name == "max" else -1
                own, other = _terms(atom.operands[pick]), _terms(atom.operands[1 - pick])
                more.append(_scaled(_sum(own, {(atom,): -1}), sign))
                more.append(_scaled(_sum(own, _scaled(other, -1)), sign))
            yield self._relevant([terms, *more], rows, more) if more else rows

    def _relevant(
        self, start: Iterable[Row], rows: Sequence[Row] = (), more: Sequence[Row] = ()
    ) -> list[Row]:
        """Return the facts that speak of the terms of rows, or of others that these lead to."""
        found = [*rows, *more]
        waiting = {i: row for i, row in enumerate([] if rows else self._rows)}
        seen: set[Term] = {()}
        todo = [t for row in start for t in row]
        while todo:
            term = todo.pop()
            if term in seen:
                continue
            seen.add(term)
            taken = [i for i, row in waiting.items() if term in row]
            for row in (*map(waiting.pop, taken), *self._implied_by(term)):
                for form in (row, self.normal(row)):
                    if form not in found and any(form):
                        found.append(form)
                        todo.extend(form)
        return found

    def _implied_by(self, term: Term) -> list[Row]:
        known = self._implied.get(term)
        if known is None:
            # The bounds of an operand may ask for this term again: meanwhile nothing is known.
            self._implied[term] = []
            rows = self._of_atom(term[0]) if len(term) == 1 else self._of_product(term)
            known = self._implied[term] = [_tightened(row) for row in rows]
        return known

    def _of_product(self, term: Term) -> list[Row]:
        low: float = 1
        high: float = 1
        for atom, power in Counter(term).items():
            least_one, most = self.bounds(Dimension({(atom,): 1}, self._scope))
            ends = [least_one**power, most**power]
            if power % 2 == 0 and least_one < 0 < most:
                ends.append(0)
            corners = [_times(x, y) for x in (low, high) for y in ends]
            low, high = min(corners), max(corners)
        return _between(term, low, high)

    def _of_atom(self, atom: Atom) -> list[Row]:
        term: Term = (atom,)
        if not atom.operands:
            return [{term: 1, (): -1}]
        if atom.name in ("floordiv", "mod"):
            return self._of_division(*atom.operands)
        if atom.name not in ("max", "min"):
            return [{term: 1}]
        sign, pick = (1, max) if atom.name == "max" else (-1, min)
        lows, highs = zip(*map(self.bounds, atom.operands), strict=True)
        rows = [_scaled(_sum({term: 1}, _scaled(_terms(x), -1)), sign) for x in atom.operands]
        return [*rows, *_between(term, pick(lows), pick(highs))]

    def _of_division(self, dividend: Length, divisor: Length) -> list[Row]:
        """Facts of a quotient and its remainder: `dividend == divisor * quotient + remainder`."""
        low, high = self.bounds(divisor)
        if low <= 0 <= high:
            return []
        if high < 0:  # a // b == -a // -b, and a % b == -(-a % -b)
            sign, top, bottom = -1, _opposite(self.bounds(dividend)), (-high, -low)
        else:
            sign, top, bottom = 1, self.bounds(dividend), (low, high)
        quotient, remainder = (Atom(x, (dividend, divisor)) for x in ("floordiv", "mod"))
        m: Terms = {(remainder,): 1}
        by = _terms(divisor)
        # No equation of the scope may rewrite this product: it links a quotient to its bounds.
        multiple = {ordered((*term, quotient)): factor for term, factor in by.items()}
        equation = _sum(_terms(dividend), _scaled(multiple, -1), _scaled(m, -1))
        return [
            equation,
            _scaled(equation, -1),
            _scaled(m, sign),
            _scaled(_sum(by, _scaled(m, -1), {(): -sign}), sign),
            *_between(
                (quotient,),
                _floor(top[0], bottom[top[0] >= 0]),
                _floor(top[1], bottom[top[1] < 0]),
            ),
        ]


def _single(length: Length) -> Term | None:
    """The term of a length that is a multiple of one."""
    if isinstance(length, Dimension) and len(length.terms) == 1:
        return next(iter(length.terms))
    return None


def _terms(length: Length) -> Terms:
    if isinstance(length, Dimension):
        return length.terms
    return {(): int(length)} if length else {}


def _sum(*rows: Terms) -> Terms:
    found: Counter[Term] = Counter()
    for row in rows:
        for term, factor in row.items():
            found[term] += factor
    return {term: factor for term, factor in found.items() if factor}


def _scaled(row: Terms, by: int) -> Terms:
    return {term: factor * by for term, factor in row.items()}


def _tightened(row: Row) -> Row:
    """Divide a row by what its factors share; the constant is rounded, as lengths are integers."""
    shared = gcd(*(factor for term, factor in row.items() if term)) or 1
    return {term: factor // shared for term, factor in row.items()}


def _integer(terms: Terms, low: float | Fraction) -> float:
    """Raise a lower bound of a length to an integer that the length can be."""
    if isinstance(low, float):
        return low
    constant = terms.get((), 0)
    shared = gcd(*(factor for term, factor in terms.items() if term)) or 1
    return constant + shared * ceil((low - constant) / shared)


def _between(term: Term, low: float, high: float) -> list[Row]:
    rows = [{term: 1, (): -int(low)}] if low > -inf else []
    return [*rows, {term: -1, (): int(high)}] if high < inf else rows


def _quotient(term: Term, by: Term) -> Term | None:
    """The term that is left without the atoms of another, or None where it lacks one of them."""
    left = list(term)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _atoms(terms: Terms) -> list[Atom]:
    """The atoms of terms that are a single one, and those of their operands."""
    found: dict[Atom, None] = {}
    for term in terms:
        if len(term) == 1:
            found[term[0]] = None
            for operand in term[0].operands:
                found.update(dict.fromkeys(_atoms(_terms(operand))) if _is_length(operand) else {})
    return list(found)


def _is_length(x: object) -> bool:
    return isinstance(x, int | Dimension)


def _opposite(bounds: Bounds) -> Bounds:
    return -bounds[1], -bounds[0]


def _times(x: float, y: float) -> float:
    return 0 if 0 in (x, y) else x * y


def _floor(top: float, bottom: float) -> float:
    """`top // bottom`, or its limit where one is infinite; the bottom is positive."""
    if abs(top) == inf:
        return top
    return top // bottom if bottom < inf else (0 if top >= 0 else -1)
