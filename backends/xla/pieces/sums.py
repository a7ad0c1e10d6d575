"""Sums of many small products as few products of what is put together along the contracted axis.

The gradient by a weight that an unrolled loop uses at each step is such a sum, of a product for
each step: `Σ aᵢᵀ bᵢ` is `aᵀ b`, where a and b are the aᵢ and the bᵢ one below the other. XLA
compiles a kernel for each small product. A sum of sums along an axis is the sum along it of a sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

from effax.backends.xla.fast.path import taken
from effax.backends.xla.pieces.keeping import size_of
from effax.backends.xla.pieces.letters import exact
from effax.backends.xla.pieces.renaming import renamed
from effax.effects.effect import Effect
from effax.effects.program import Atom, Equation, Program, Variable
from effax.effects.rows.contraction import dot_general
from effax.effects.rows.elementwise import add
from effax.effects.rows.reduction import reduce_sum
from effax.effects.rows.shape import concatenate, transpose

LEAST: Final = 16
"""So many terms are put together; sums of fewer stay as they are."""
SMALL: Final = 1 << 16
"""Bytes of an operand above which a product is worth a call of its own."""


class Term(NamedTuple):
    """A product or a sum along an axis, `folded`, and its transposition, if it has one: `last`."""

    last: Equation
    folded: Equation
    key: Any
    """Equal for terms that can be put together."""
    place: int


def together(program: Program) -> Program:
    """The program with sums of many small products as sums of few."""
    if not taken("pieces"):
        return program
    flow, made = _Flow(program), _Made()
    gone: set[Equation] = set()
    values: dict[Any, Atom] = {}
    for root in flow.roots():
        terms, others, sums = flow.terms(root)
        if terms:
            gone |= {e for t in terms for e in (t.last, t.folded)} | sums
            values[root.outputs[0]] = _put_together(terms, others, root, made)
    if not gone:
        return program
    equations: list[Equation] = []
    for e in program.equations:
        equations += [*([] if e in gone else [e]), *made.written.get(e, [])]
    return renamed(program, equations, values)


class _Flow:
    """The equation that makes each value, the place of each, and how often a value is used."""

    def __init__(self, program: Program) -> None:
        self.equations = program.equations
        self.made: dict[Any, Equation] = {x: e for e in program.equations for x in e.outputs}
        self.places: dict[Equation, int] = {e: i for i, e in enumerate(program.equations)}
        self.uses: Counter[Any] = Counter(x for e in program.equations for x in e.inputs)
        self.uses.update(program.outputs)

    def alone(self, x: Atom) -> Equation | None:
        """The equation that makes a value which is used once."""
        return self.made.get(x) if type(x) is Variable and self.uses[x] == 1 else None

    def roots(self) -> Iterator[Equation]:
        """The additions that are no term of another."""
        inner = {self.alone(x) for e in self.equations if e.effect is add for x in e.inputs}
        return (e for e in self.equations if e.effect is add and e not in inner)

    def terms(self, root: Equation) -> tuple[list[Term], list[Atom], set[Equation]]:
        """The terms of a sum to put together, its other terms, and the additions of it."""
        found: dict[Any, list[Term]] = defaultdict(list)
        others: list[Atom] = []
        sums: set[Equation] = set()
        open_: list[Equation] = [root]
        while open_:
            e = open_.pop()
            sums.add(e)
            for x in e.inputs:
                inner = self.alone(x)
                term = inner and self.term(inner)
                if inner is not None and inner.effect is add:
                    open_.append(inner)
                elif term:
                    found[term.key].append(term)
                else:
                    others.append(x)
        many: list[Term] = []
        for same in found.values():
            if len(same) < LEAST:
                others += [t.last.outputs[0] for t in same]
            else:
                many += same
        return many, others, sums

    def term(self, last: Equation) -> Term | None:
        """An equation as a term, if it is one."""
        folded = self.alone(last.inputs[0]) if last.effect is transpose else last
        if folded is None or not _folds(folded) or any(size_of(x) > SMALL for x in folded.inputs):
            return None
        key = (
            folded.effect,
            tuple(x.type for x in folded.inputs),
            tuple((k, exact(v)) for k, v in folded.attributes.items()),
            last.attributes["permutation"] if last is not folded else None,
        )
        return Term(last, folded, key, self.places[last])


def _folds(e: Equation) -> bool:
    return e.effect is reduce_sum or (e.effect is dot_general and bool(_contracted(e)))


def _contracted(e: Equation) -> tuple[int, ...]:
    """The first contracted axis of each operand of a product, if there is one."""
    (left, right), _ = e.attributes["dimension_numbers"]
    return (left[0], right[0]) if left else ()


def _put_together(
    terms: Sequence[Term], others: Sequence[Atom], root: Equation, made: _Made
) -> Atom:
    """The sum written anew: some terms at a time, where the last is there, the rest at its end."""
    by_key: dict[Any, list[Term]] = defaultdict(list)
    for term in sorted(terms, key=lambda t: t.place):
        by_key[term.key].append(term)
    parts = [same[i : i + LEAST] for same in by_key.values() for i in range(0, len(same), LEAST)]
    total: Atom | None = None
    for part in sorted(parts, key=lambda part: part[-1].place):
        end = part[-1].last
        found = _product(part, made, end)
        total = found if total is None else made.after(end, add, [total, found], {}, root)
    assert total is not None
    for x in others:
        total = made.after(root, add, [total, x], {}, root)
    return total


def _product(part: Sequence[Term], made: _Made, end: Equation) -> Atom:
    """The sum of some terms of one key, written after the last of them."""
    last, folded = part[0].last, part[0].folded
    columns = zip(*(t.folded.inputs for t in part), strict=True)
    if folded.effect is reduce_sum:
        (xs,) = columns
        operands = [reduce(lambda x, y: made.after(end, add, [x, y], {}, folded), xs)]
    else:
        operands = [
            made.after(end, concatenate, xs, {"axis": axis}, folded)
            for xs, axis in zip(columns, _contracted(folded), strict=True)
        ]
    found = made.after(end, folded.effect, operands, folded.attributes, folded)
    return found if last is folded else made.after(end, transpose, [found], last.attributes, last)


class _Made:
    """Equations to be written after others."""

    def __init__(self) -> None:
        self.written: dict[Equation, list[Equation]] = defaultdict(list)

    def after(
        self,
        place: Equation,
        effect: Effect,
        inputs: Sequence[Atom],
        attributes: Any,
        like: Equation,
    ) -> Variable:
        """The result of an effect that is performed after an equation, for the sake of another."""
        out = Variable(None, effect.infer(tuple([x.type for x in inputs]), attributes))
        e = Equation(effect, [*inputs], attributes, [out], like.frame, like.scope)
        self.written[place].append(e)
        return out
