"""Mutants of a transform that somebody wrote, and which laws find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import attrs

from effax.effects.effect import all_effects
from effax.effects.rows.control import cond, while_loop
from effax.effects.tree import tree_map
from effax.effects.types import typeof
from effax.interpreters.interpreter import Interpreter
from effax.laws.check import stated_of
from effax.laws.described import Described
from effax.laws.one_step import kinds_of
from effax.laws.rulewise import laws_of_rules
from tests.mutants import changes
from tests.mutants.asking import WHOLE, breaks, of_programs, of_rule
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
    its name, or the wrong argument of `unsure`. A rule is wrong where it gives, or takes, one of `gives`; by default
    anywhere.
    """

    name: str
    effects: tuple[Any, ...]
    make: Callable[[Any, Noticed], Any]
    method: str = ""
    gives: tuple[str, ...] = ()

    @property
    def met(self) -> set[tuple[str, str]]:
        """The name of the rule's function, with what it gives, or takes, where it is wrong."""
        return {(self.name.split(":")[0], what) for what in self.gives}


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
    def of(kind, result=None, around=None, gives=()):
        def make(right, noticed):
            return Wrong(right, result and result(noticed), around and partial(around, noticed))

        return Mutant(f"{name}: {kind}", effects, make, gives=gives)

    for leaf in cls._fields.leaves:
        for kind, change in changes.VALUES.items():
            yield of(f"{leaf} {kind}", partial(changes.of_leaf, leaf, change), gives=(DATA,))
        yield of(f"{leaf} forgotten", partial(changes.forgotten, leaf), gives=(DATA,))
    for static in cls._fields.statics:
        change = partial(changes.static_forgotten, static)
        yield of(f"{static} forgotten", change, gives=(DATA,))
    for kind in ("scaled", "slightly", "narrowed"):
        change = partial(changes.of_plain, changes.VALUES[kind])
        yield of(f"plain result {kind}", change, gives=(PLAIN,))
    yield of("operands swapped", around=_swapped, gives=(SWAPPABLE,))
    if cls._fields.states:
        yield of("states dropped", around=_dropped)


DATA, PLAIN, SWAPPABLE = "data", "plain", "swappable"
"""Kinds of operands that rules take or results that they give, one by one."""


def _kind(x):
    return DATA if isinstance(x, Interpreter) else PLAIN


RUN = "run"
"""The method of the handler, not of the class, that a mutant may change."""

UNSURE = {"branches_that_are_possible": cond, "steps_that_are_possible": while_loop}
"""The rules that `extend.unsure` gives to a class, of which three functions are its own."""


def _of_class(cls):
    for leaf in cls._fields.leaves:
        change = partial(changes.of_leaf, leaf, changes.scaled)
        yield Mutant(f"lift: {leaf} scaled", (), partial(_result, change), "lift", (DATA,))
    for method in sorted({"join_static", "widen"} & cls.__dict__.keys()):
        yield Mutant(f"{method}: the first", (), lambda r, n: changes.seen(n, _first), method)
    for at, state in enumerate(cls._fields.states):
        yield Mutant(f"{state} begins elsewhere", (), partial(_begun, at), RUN)
    rules = {getattr(r, "function", r).__name__ for r in cls._handler.rules.values()}
    if not rules.isdisjoint(UNSURE):
        effects = (cond, while_loop)
        yield Mutant("join: the first", effects, lambda r, n: changes.seen(n, _left), "join")
        yield Mutant("join: the last", effects, lambda r, n: changes.seen(n, _right), "join")
        yield Mutant("may: never", effects, partial(_result, _never), "may")
        yield Mutant("top: a number", effects, partial(_result, _number), "top")


def _begun(at, right, noticed):
    """The handler's run, from another initial value of a state."""

    def elsewhere(x):
        noticed.between(0, 1)
        return changes.shifted(x)

    def run(self, function, *args, **keywords):
        self.states[at] = tree_map(elsewhere, self.states[at])
        return right(self, function, *args, **keywords)

    return run


def _result(change, right, noticed):
    apply = change(noticed)
    return wraps(right)(lambda *args, **how: apply(right(*args, **how)))


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
    if right is NotImplemented or not _swappable(operands):
        return right
    a, b, *rest = operands
    wrong = rule([b, a, *rest], attributes, handler)
    if wrong is NotImplemented:
        return right
    for x, y in zip(changes.arrays(right), changes.arrays(wrong), strict=False):
        noticed.between(x, y)
    return wrong


def _swappable(operands):
    return len(operands) > 1 and _type(operands[0]) == _type(operands[1])


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
        owner, bind = (handler, _itself) if mutant.method == RUN else (cls, staticmethod)
        own = owner.__dict__.get(mutant.method)
        wrong = mutant.make(getattr(owner, mutant.method), noticed)
        setattr(owner, mutant.method, bind(wrong))
    elif mutant.effects:
        wrong = mutant.make(rules[mutant.effects[0]], noticed)
        handler.rules.update(dict.fromkeys(mutant.effects, wrong))
    elif catch_all is not None:
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
            delattr(owner, mutant.method)
            if own is not None:
                setattr(owner, mutant.method, own)
        handler.version += 1


def _itself(x):
    return x


def _name(rule):
    return getattr(rule, "function", rule).__name__


def finds(asked, cls, mutant):
    """The law that finds a mutant: its name; "" for none; None where nothing was changed.

    The laws of rules are asked first, those that a transform traces last: where none of the others
    saw a change, there is none to be found. Cases in which the right rules meet nothing of what the
    mutant changes are left out.
    """
    seen = _OBSERVED.setdefault(cls, Observed(asked, cls))
    noticed = Noticed()

    def found_by(met):
        cases = [(law, case) for law, case, what in met if not mutant.gives or mutant.met & what]
        with installed(cls, mutant, noticed):
            return next((law.name for law, case in cases if breaks(law, case)), None)

    sampled, others = asked_of(asked, cls, mutant)
    found = found_by(seen.of_rules(sampled, traced=False))
    if found is None and (noticed.changed or mutant.method or not sampled):
        found = found_by(seen.of_rules(sampled, traced=True)) or found_by(seen.of_programs())
    if found is None and mutant.effects:
        found = found_by(seen.of_rules(others, traced=False))
    if found:
        return found
    unasked = mutant.method not in ("", "lift", RUN) and not noticed.asked
    return "" if noticed.changed or unasked else None


SAMPLED = 4
"""Of a rule that many effects share, about so many are asked first."""


def asked_of(asked, cls, mutant):
    """The first-order effects that a mutant is asked about: some at first, and the others."""
    effects = mutant.effects or [e for e in all_effects() if e not in cls._handler.rules]
    if mutant.method in ("lift", RUN):
        effects = [*cls._handler.rules, *effects]
    elif mutant.method:
        effects = ()
    known = [*kinds_of([e for e in effects if not e.higher_order], asked.steps)]
    sampled = known[:: max(1, len(known) // SAMPLED)]
    return sampled, [e for e in known if e not in sampled]


class FalseOfTheRightError(AssertionError):
    """A law breaks without any mistake."""


class Observed:
    """The cases that laws are asked about, each with the rules that it meets and what they give.

    They are found without a mistake, when first needed. A case that breaks its law then is left out
    where that law is not claimed, and an error elsewhere.
    """

    def __init__(self, asked, cls):
        self.asked, self.cls = asked, cls
        described = Described(asked.transform, **asked.described())
        self.rulewise, self.stated = laws_of_rules(described), stated_of(described)
        self.known = {}

    def of_rules(self, effects, traced):
        """Meet the laws with programs of one effect: laws that need a trace, or the others."""
        laws = [law for law in self.rulewise if law.name.startswith(TRACED) == traced]
        return [met for law in laws for effect in effects for met in self._once(law, effect)]

    def of_programs(self):
        """Meet the laws with whole programs, the transform's own laws first."""
        laws = sorted(self.stated, key=lambda x: x not in self.asked.more)
        return [met for law in laws for met in self._once(law, None)]

    def _once(self, law, effect):
        key = law.name, effect
        if key not in self.known:
            self.known[key] = [*self._met(law, effect)]
        return self.known[key]

    def _met(self, law, effect):
        if effect is None:
            cases = of_programs(law.needs, self.asked.max_examples or WHOLE)
        else:
            cases = of_rule(effect, tuple(self.asked.steps))
        for case in cases:
            met = set()
            with spied(self.cls, met):
                broken = breaks(law, case)
            if not broken:
                yield law, case, frozenset(met)
            elif law.name.removeprefix("each rule: ") not in self.asked.apart:
                raise FalseOfTheRightError(f"{law.name} is false without a mistake of {case!r}")


_OBSERVED: dict[Any, Observed] = {}
TRACED = "each rule: vmap", "each rule: jit"


@contextmanager
def spied(cls, met):
    """The class, which notes of its rules what they give and could swap, and whether it lifts."""
    handler = cls._handler
    rules, catch_all = dict(handler.rules), handler.catch_all

    def spy(right):
        def note(rule, operands, attributes, handler):
            found = rule(operands, attributes, handler)
            kinds = {_kind(x) for x in (found if isinstance(found, list | tuple) else [found])}
            kinds |= {SWAPPABLE} if _swappable(operands) else set()
            met.update((_name(right), kind) for kind in kinds)
            return found

        return Wrong(right, around=note)

    def lifting(right, noticed):
        @wraps(right)
        def lift(*args, **how):
            met.add(("lift", DATA))
            return right(*args, **how)

        return lift

    handler.rules.update({e: spy(r) for e, r in rules.items()})
    handler.catch_all = catch_all and spy(catch_all)
    try:
        with installed(cls, Mutant("", (), lifting, "lift"), Noticed()):
            yield
    finally:
        handler.rules.clear()
        handler.rules.update(rules)
        handler.catch_all = catch_all
        handler.version += 1
