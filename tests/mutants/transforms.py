"""Mutants of a transform that somebody wrote, and which laws find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import attrs

from effax.effects.control import cond, while_loop
from effax.effects.effect import all_effects
from effax.effects.types import typeof
from effax.interpreters.interpreter import Interpreter
from effax.laws.check import stated_of
from effax.laws.described import Described
from effax.laws.one_step import kinds_of
from effax.laws.rulewise import laws_of_rules
from tests.mutants import changes
from tests.mutants.asking import breaks, of_programs, of_rule
from tests.mutants.changes import Noticed


class Wrong:
    """A rule whose result, operands or states are meddled with; it is asked as the right one is."""

    def __init__(self, rule, result=None, around=None):
        self.rule = rule
        self.result = result
        self.around = around

    def __getattr__(self, name):
        return getattr(self.rule, name)

    def __call__(self, effect, operands, attributes, handler):
        if self.around is not None:
            return self.around(partial(self.rule, effect), operands, attributes, handler)
        found = self.rule(effect, operands, attributes, handler)
        if found is NotImplemented:
            return found
        return [*map(self.result, found)] if effect.multiple else self.result(found)


@attrs.frozen
class Mutant:
    """One mistake: its name, the effects whose rules have it, and what is put in place of what.

    `make(right, noticed)` gives the wrong rule, or the wrong method of the class where `method` is
    its name, or the wrong argument of `unsure`.
    """

    name: str
    effects: tuple[Any, ...]
    make: Callable[[Any, Noticed], Any]
    method: str = ""


def mutants(cls) -> Iterator[Mutant]:
    """All mutants of a class: each function that is a rule, each kind of mistake."""
    handler = cls._handler
    by_function: dict[Any, list[Any]] = {}
    for effect, rule in handler.rules.items():
        by_function.setdefault(getattr(rule, "function", rule), []).append(effect)
    for function, effects in by_function.items():
        if function.__name__ not in UNSURE:
            yield from _of_rule(cls, function.__name__, tuple(effects))
    if handler.catch_all is not None:
        yield from _of_rule(cls, handler.catch_all.function.__name__, ())
    yield from _of_class(cls)


def _of_rule(cls, name, effects):
    def of(kind, result=None, around=None):
        def make(right, noticed):
            return Wrong(right, result and result(noticed), around and partial(around, noticed))

        return Mutant(f"{name}: {kind}", effects, make)

    for leaf in cls._fields.leaves:
        for kind, change in changes.VALUES.items():
            yield of(f"{leaf} {kind}", partial(changes.of_leaf, leaf, change))
        yield of(f"{leaf} forgotten", partial(changes.forgotten, leaf))
    for static in cls._fields.statics:
        yield of(f"{static} forgotten", partial(changes.static_forgotten, static))
    for kind in ("scaled", "slightly", "narrowed"):
        yield of(f"plain result {kind}", partial(changes.of_plain, changes.VALUES[kind]))
    yield of("operands swapped", around=_swapped)
    if cls._fields.states:
        yield of("states dropped", around=_dropped)


UNSURE = {"branches_that_are_possible": cond, "steps_that_are_possible": while_loop}
"""The rules that `extend.unsure` gives to a class, of which three functions are its own."""


def _of_class(cls):
    for leaf in cls._fields.leaves:
        change = partial(changes.of_leaf, leaf, changes.scaled)
        yield Mutant(f"lift: {leaf} scaled", (), partial(_result, change), "lift")
    if "join_static" in cls.__dict__:
        yield Mutant(
            "join_static: the first", (), lambda r, n: changes.seen(n, _first), "join_static"
        )
    rules = {getattr(r, "function", r).__name__ for r in cls._handler.rules.values()}
    if not rules.isdisjoint(UNSURE):
        effects = (cond, while_loop)
        yield Mutant("join: the first", effects, lambda r, n: changes.seen(n, _left), "join")
        yield Mutant("join: the last", effects, lambda r, n: changes.seen(n, _right), "join")
        yield Mutant("may: never", effects, partial(_result, _never), "may")
        yield Mutant("top: a number", effects, partial(_result, _number), "top")


def _result(change, right, noticed):
    apply = change(noticed)
    return lambda *args, **how: apply(right(*args, **how))


def _first(name, one, other):
    return one


def _left(*xs):
    return xs[0]


def _right(*xs):
    return xs[-1]


def _never(noticed):
    def apply(x):
        noticed.between(x, x & False)
        return x & False

    return apply


def _number(noticed):
    def apply(x):
        noticed.between(0, 1)
        return type(x).lift(getattr(x, next(iter(x._fields.leaves))) * 0)

    return apply


def _swapped(noticed, rule, operands, attributes, handler):
    right = rule(operands, attributes, handler)
    if len(operands) < 2 or right is NotImplemented:
        return right
    a, b, *rest = operands
    if _type(a) != _type(b):
        return right
    wrong = rule([b, a, *rest], attributes, handler)
    if wrong is NotImplemented:
        return right
    for x, y in zip(changes.arrays(right), changes.arrays(wrong), strict=False):
        noticed.between(x, y)
    return wrong


def _type(x):
    return x.type if isinstance(x, Interpreter) else typeof(x)


def _dropped(noticed, rule, operands, attributes, handler):
    before = list(handler.states)
    found = rule(operands, attributes, handler)
    noticed.between(0, 1)
    handler.states = before
    return found


@contextmanager
def installed(cls, mutant, noticed):
    """The class with one mistake."""
    handler = cls._handler
    rules, catch_all = dict(handler.rules), handler.catch_all
    restore = []
    if mutant.method in ("join", "may", "top"):
        for name in UNSURE:
            function = next(r.function for r in rules.values() if _name(r) == name)
            names = function.__code__.co_freevars
            cells = [
                c for n, c in zip(names, function.__closure__, strict=True) if n == mutant.method
            ]
            for cell in cells:
                restore.append((cell, cell.cell_contents))
                cell.cell_contents = mutant.make(cell.cell_contents, noticed)
    elif mutant.method:
        own = cls.__dict__.get(mutant.method)
        setattr(cls, mutant.method, staticmethod(mutant.make(getattr(cls, mutant.method), noticed)))
    elif mutant.effects:
        wrong = mutant.make(rules[mutant.effects[0]], noticed)
        handler.rules.update(dict.fromkeys(mutant.effects, wrong))
    else:
        handler.catch_all = mutant.make(catch_all, noticed)
    handler.version += 1
    try:
        yield
    finally:
        handler.rules.clear()
        handler.rules.update(rules)
        handler.catch_all = catch_all
        for cell, content in reversed(restore):
            cell.cell_contents = content
        if mutant.method and not restore:
            delattr(cls, mutant.method)
            if own is not None:
                setattr(cls, mutant.method, own)
        handler.version += 1


def _name(rule):
    return getattr(rule, "function", rule).__name__


def finds(asked, cls, mutant, false=()):
    """The law that finds a mutant: its name; "" for none; None where nothing was changed.

    The laws of rules are asked first, those that a transform traces last: where none of the others
    saw a change, there is none to be found. `false` are pairs of laws and cases that break without
    any mistake; they find nothing.
    """
    t, noticed = Described(asked.transform, **asked.described()), Noticed()
    rulewise, whole = laws_of_rules(t), sorted(stated_of(t), key=lambda x: x not in asked.more)
    traced = [law for law in rulewise if law.name.startswith(TRACED)]
    eager = [law for law in rulewise if law not in traced]
    sampled, others = asked_of(asked, cls, mutant)
    drawn = [case for effect in sampled for case in of_rule(effect, tuple(asked.steps))]
    with installed(cls, mutant, noticed):
        found = first(pairs(eager, drawn), false)
        if found is None and (noticed.changed or mutant.method or not drawn):
            found = first(pairs(traced, drawn), false) or first(in_programs(mutant, whole), false)
        if found is None and mutant.effects:
            drawn = [case for effect in others for case in of_rule(effect, tuple(asked.steps))]
            found = first(pairs(eager, drawn), false)
    if found is not None and breaks(*found):
        print(f"    {found[0].name}: false without a mistake, with seed {found[1].seed}")
        return finds(asked, cls, mutant, (*false, (found[0].name, found[1])))
    if found:
        return found[0].name
    unasked = mutant.method not in ("", "lift") and not noticed.asked
    return "" if noticed.changed or unasked else None


TRACED = "each rule: vmap", "each rule: jit"
SAMPLED = 4
"""Of a rule that many effects share, about so many are asked first."""


def pairs(asked, drawn):
    """Each law with each case, the laws in order."""
    return ((law, case) for law in asked for case in drawn)


def first(asked, false=()):
    """The first law and case that breaks it, or None."""
    known = {(name, id(case)) for name, case in false}
    return next((p for p in asked if (p[0].name, id(p[1])) not in known and breaks(*p)), None)


def in_programs(mutant, asked):
    """Laws of whole programs, and the programs in which an effect of the mutant occurs."""
    for law in asked:
        for case in of_programs(law.needs):
            own = not mutant.effects or "branches" in law.needs or "while" in law.name
            if own or any(f"{e.name}(" in case.text() for e in mutant.effects):
                yield law, case


def asked_of(asked, cls, mutant):
    """The first-order effects that a mutant is asked about: some at first, and the others."""
    effects = mutant.effects or [e for e in all_effects() if e not in cls._handler.rules]
    if mutant.method == "lift":
        effects = [*cls._handler.rules, *effects]
    elif mutant.method:
        effects = ()
    known = [*kinds_of([e for e in effects if not e.higher_order], asked.steps)]
    sampled = known[:: max(1, len(known) // SAMPLED)]
    return sampled, [e for e in known if e not in sampled]
