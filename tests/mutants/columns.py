"""Mutants of the library's columns: its rules for derivatives, batches, transposes and checks.

Nothing says when a rule is wrong but the laws of the library, asked about programs of one effect
by `laws.check(effects=[effect])`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from effax.effects.effect import all_effects
from effax.effects.failures import DivisionByZeroError, NaNError, OOBError
from effax.effects.types import float0, typeof
from effax.interpreters.batch.batched import Batch
from effax.interpreters.checkify.checking import Checkify, arithmetic
from effax.interpreters.jvp.dual import JVP
from effax.interpreters.transpose import linear
from effax.laws.one_effect import laws_of_one_effect
from effax.matrix import library_families
from tests.mutants import changes
from tests.mutants.asking import breaks, of_rule
from tests.mutants.changes import Noticed


def _each(change, found):
    """A change of every array among a rule's results, or of its one result."""
    if isinstance(found, list | tuple):
        return [None if x is None else change(x) for x in found]
    return None if found is None else change(found)


def _noted(noticed, right, wrong):
    rights, wrongs = (x if isinstance(x, list | tuple) else [x] for x in (right, wrong))
    for x, y in zip(rights, wrongs, strict=True):
        if x is not y:
            noticed.between(x, y)
    return wrong


def _moving(change):
    """A change of what can move: integers have no tangents."""

    def apply(x):
        return x if getattr(typeof(x), "dtype", None) == float0 else change(x)

    return apply


def _tangent(change):
    def make(rule, noticed):
        def wrong(primals, tangents, **attributes):
            primal, tangent = rule(primals, tangents, **attributes)
            return primal, _noted(noticed, tangent, _each(_moving(change), tangent))

        return wrong

    return make


def _primal(change):
    def make(rule, noticed):
        def wrong(primals, tangents, **attributes):
            primal, tangent = rule(primals, tangents, **attributes)
            return _noted(noticed, primal, _each(change, primal)), tangent

        return wrong

    return make


def _without_tangent(rule, noticed):
    def wrong(primals, tangents, **attributes):
        primal, tangent = rule(primals, tangents, **attributes)
        many = isinstance(tangent, list | tuple)
        return primal, _noted(noticed, tangent, [None] * len(tangent) if many else None)

    return wrong


def _one_tangent(rule, noticed):
    """The tangent of the first operand that moves is forgotten."""

    def wrong(primals, tangents, **attributes):
        at = next((i for i, t in enumerate(tangents) if t is not None), None)
        others = [None if i == at else t for i, t in enumerate(tangents)]
        right = rule(primals, tangents, **attributes)
        if all(t is None for t in others):
            return right
        found = rule(primals, others, **attributes)
        return right[0], _noted(noticed, right[1], found[1])

    return wrong


def _cotangents(change):
    def make(rule, noticed):
        def wrong(ct, *operands, **attributes):
            right = rule(ct, *operands, **attributes)
            return _noted(noticed, list(right), _each(change, list(right)))

        return wrong

    return make


def _swapped_cotangents(rule, noticed):
    def wrong(ct, *operands, **attributes):
        first, *rest = right = list(rule(ct, *operands, **attributes))
        if not rest or first is None or rest[0] is None or typeof(first) != typeof(rest[0]):
            return right
        return _noted(noticed, right, [rest[0], first, *rest[1:]])

    return wrong


def _dropped_cotangent(rule, noticed):
    def wrong(ct, *operands, **attributes):
        right = list(rule(ct, *operands, **attributes))
        at = next((i for i, x in enumerate(right) if x is not None), None)
        return _noted(noticed, right, [None if i == at else x for i, x in enumerate(right)])

    return wrong


def _batched(change):
    def make(rule, noticed):
        def wrong(handler, values, batched, **attributes):
            out, many = rule(handler, values, batched, **attributes)
            return _noted(noticed, out, _each(change, out)), many

        return wrong

    return make


def _flag(rule, noticed):
    def wrong(handler, values, batched, **attributes):
        out, many = rule(handler, values, batched, **attributes)
        noticed.between(0, 1)
        return out, [not x for x in many] if isinstance(many, list | tuple) else not many

    return wrong


def _check(change):
    def make(rule, noticed):
        def wrong(handler, effect, operands, attributes):
            right = rule(handler, effect, operands, attributes)
            return _noted(noticed, right, _each(change, right))

        return wrong

    return make


def _unchecked(kind):
    """The rule without the checks of one kind of failure, where it makes any."""

    def make(rule, noticed):
        def wrong(handler, effect, operands, attributes):
            if kind not in handler.kinds:
                return rule(handler, effect, operands, attributes)
            other = handler.fresh(handler.outer)
            rule(other, effect, operands, attributes)
            claims = (*other.pending, *other.unseen)
            noticed.between(0, sum(site.kind is kind for site, *_ in claims))
            kinds, handler.kinds = handler.kinds, handler.kinds - {kind}
            try:
                return rule(handler, effect, operands, attributes)
            finally:
                handler.kinds = kinds

        return wrong

    return make


@attrs.frozen
class Column:
    """A column of the library: its rules, and the mistakes that are made in each."""

    rules: dict[Any, Callable[..., Any]]
    mistakes: dict[str, Callable[..., Any]]
    generic: Callable[..., Any] | None = None
    """The rule of first-order effects that have none of their own."""

    def rule(self, effect) -> Callable[..., Any] | None:
        """The rule by which the column answers an effect."""
        return self.rules.get(effect, self.generic if effect.first_order else None)


COLUMNS = {
    "jvp": Column(
        JVP.rules,
        {
            "tangent scaled": _tangent(changes.scaled),
            "tangent slightly": _tangent(changes.slightly),
            "tangent turned": _tangent(changes.turned),
            "tangent forgotten": _without_tangent,
            "one tangent forgotten": _one_tangent,
            "primal scaled": _primal(changes.scaled),
        },
    ),
    "transpose": Column(
        linear.rules,
        {
            "cotangents scaled": _cotangents(changes.scaled),
            "cotangents slightly": _cotangents(changes.slightly),
            "cotangents turned": _cotangents(changes.turned),
            "cotangents swapped": _swapped_cotangents,
            "a cotangent dropped": _dropped_cotangent,
        },
    ),
    "batch": Column(
        Batch.rules,
        {
            "result scaled": _batched(changes.scaled),
            "rows rolled": _batched(changes.turned),
            "flag flipped": _flag,
        },
    ),
    "checkify": Column(
        Checkify.rules,
        {
            "result scaled": _check(changes.scaled),
            "result slightly": _check(changes.slightly),
            "NaN check dropped": _unchecked(NaNError),
            "division check dropped": _unchecked(DivisionByZeroError),
            "bounds check dropped": _unchecked(OOBError),
        },
        arithmetic,
    ),
}


class FalseOfTheRightError(AssertionError):
    """A law breaks without any mutant."""


@attrs.frozen
class Mutant:
    """One mistake in the cell of one effect."""

    name: str
    effect: Any
    make: Callable[[Any, Noticed], Any]


def mutants(column) -> Iterator[Mutant]:
    """Each first-order effect of the library with a rule in the column, each mistake."""
    families = library_families()
    for effect in all_effects():
        ours = effect.family in families and not effect.higher_order
        if ours and COLUMNS[column].rule(effect) and of_rule(effect, floats=True):
            for kind, make in COLUMNS[column].mistakes.items():
                yield Mutant(f"{effect.name}: {kind}", effect, make)


def unasked(column):
    """The effects with a rule that no kind of steps performs: no law is asked of them."""
    families = library_families()
    return [
        e.name
        for e in all_effects()
        if e.family in families
        and not e.higher_order
        and COLUMNS[column].rule(e)
        and not of_rule(e, floats=True)
    ]


FIRST = {
    "jvp": ("primal of jvp", "finite differences", "jvp f is linear", "<w, J u>"),
    "transpose": ("<w, J u>", "<w, f x", "jacfwd f = jacrev f"),
    "batch": ("vmap f = stack", "an argument not mapped", "jvp (vmap"),
    "checkify": ("checkify",),
}
"""Parts of the names of the laws that are asked first."""


def finds(column, mutant):
    """The law that finds a mutant: its name; "" for none; None where nothing was changed."""
    noticed, asked = Noticed(), laws_of_one_effect()
    early = [x for part in FIRST[column] for x in asked if part in x.name]
    # Programs keep what was derived from them, and `jit` what it traced: each mutant has its own.
    drawn = of_rule(mutant.effect, floats=True)
    cases = [attrs.evolve(x, f=attrs.evolve(x.f)) for x in drawn]
    with installed(column, mutant, noticed):
        found = _first(early, cases)
        if found is None and (noticed.changed or noticed.traced):
            found = _first([x for x in asked if x not in early], cases)
    if found is not None:
        law, case = found
        if breaks(law, attrs.evolve(case, f=attrs.evolve(case.f))):
            raise FalseOfTheRightError(f"{law.name} is false without a mistake of\n{case!r}")
    if found or not noticed.reached:
        return found[0].name if found else UNREACHED
    return "" if noticed.changed else None


UNREACHED = "unreached"
"""Of a mutant whose rule no law asks."""


def _first(asked, cases):
    return next(((law, case) for law in asked for case in cases if breaks(law, case)), None)


@contextmanager
def installed(column, mutant, noticed):
    """The library with one wrong rule."""
    rules, right = COLUMNS[column].rules, COLUMNS[column].rule(mutant.effect)
    derived = mutant.effect not in rules

    def reached(*args, **attributes):
        noticed.reached = True
        return right(*args, **attributes)

    rules[mutant.effect] = mutant.make(reached, noticed)
    try:
        yield
    finally:
        rules[mutant.effect] = right
        if derived:
            del rules[mutant.effect]
