"""Facts about the variables of a program, spread by its equations in both directions.

An interpreter goes from operands to results. What is asked here of an effect is a relation: which
facts about operands and results follow from others about them. Facts only grow, so they settle.

What goes through calls, branches and loops is said once, here: a fact that says all there is to say
of a variable is a tuple of arrays, its leaves. The programs that an effect holds are propagated in
at such facts, by `cond`, and by `scan` forward as far as the first carry is known, then backward.
(After oryx's `propagate`, which has rules for one-program calls.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from effax.effects.effect import Effect
from effax.effects.errors import EffaxError, describe
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows import control, custom
from effax.lax import scan, switch

__all__ = ["Propagation", "UndeterminedError"]
__dir__ = __all__.copy

Rule = Callable[..., Iterable[tuple[Any, Any]]]


class UndeterminedError(EffaxError):
    """The known facts do not determine the facts asked of a program."""


class Propagation:
    """A program with facts about its variables; subclasses define the facts.

    >>> from effax import effects, make_program
    >>> class Power(Propagation):
    ...     def merge(self, old, new):
    ...         return new if old is None else old
    >>> @Power.rule(effects.mul)
    ... def powers_of_product(self, e):
    ...     x, y, z = (self.look(v) for v in (*e.inputs, *e.outputs))
    ...     if x is not None and y is not None:
    ...         yield e.outputs[0], x + y
    ...     elif x is not None and z is not None:
    ...         yield e.inputs[1], z - x
    >>> area = make_program(lambda x, y: x * y)(2.0, 3.0)
    >>> Power(area, [1, None], [2]).look(area.inputs[1])
    1
    """

    rules: ClassVar[dict[Effect, Rule]] = {}
    error: ClassVar[type[UndeterminedError]] = UndeterminedError

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Rules are a subclass's own, beside those that it inherits."""
        super().__init_subclass__(**keywords)
        cls.rules = dict(cls.rules)

    def __init__(self, program: Program, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Settle what follows from facts about inputs and results; None says nothing."""
        self.program = program
        self.facts: dict[Variable, Any] = {}
        self.reasons: dict[Equation, UndeterminedError] = {}
        ends = (*program.inputs, *program.outputs)
        for x, fact in zip(ends, (*inputs, *results), strict=True):
            if fact is not None:
                self.learn(x, fact)
        equations = [*program.equations, *reversed(program.equations)]
        while any([self._use(e) for e in equations]):
            pass

    @classmethod
    def rule(cls, *effects: Effect) -> Callable[[Rule], Rule]:
        """Give the rule for some effects: `rule(self, equation)` yields variables and new facts.

        It is called again whenever anything has changed. It may raise `UndeterminedError`, which
        is kept in `reasons`, where too little is known so far.
        """

        def fill(function: Rule) -> Rule:
            for effect in effects:
                cls.rules[effect] = function
            return function

        return fill

    def visit(self, equation: Equation) -> Iterable[tuple[Any, Any]]:
        """The facts that follow by an equation: by the rule of its effect, if there is one."""
        rule = self.rules.get(equation.effect)
        return () if rule is None else rule(self, equation)

    def initial(self, x: Any) -> Any:
        """Return the fact of a variable, or of a literal, about which nothing was said."""
        return None

    def merge(self, old: Any, new: Any) -> Any:
        """Join two facts; the result is `old` itself where the new one adds nothing."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `merge`, which joins two facts"
        )

    def look(self, x: Any) -> Any:
        """Return the fact known of a variable or a literal."""
        return self.facts[x] if x in self.facts else self.initial(x)

    def learn(self, x: Any, fact: Any) -> bool:
        """Merge a fact about a variable with what is known of it; whether that is any news."""
        old = self.look(x)
        new = self.merge(old, fact)
        if new is old or not isinstance(x, Variable):
            return False
        self.facts[x] = new
        return True

    def leaves(self, fact: Any) -> tuple[Any, ...] | None:
        """The arrays of a fact that says all of a variable; None for one that doesn't."""
        return None

    def fact(self, leaves: tuple[Any, ...]) -> Any:
        """The fact of which these are the leaves."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `fact`, which makes a fact from its leaves"
        )

    def whole(self, x: Any) -> tuple[Any, ...] | None:
        """The leaves of what is known of a variable, or None where that is not all."""
        return self.leaves(self.look(x))

    def answer(self) -> list[tuple[Any, ...]]:
        """The leaves of what is known of the inputs.

        Raises the class's `error`, which names an equation whose results are known and whose
        operands are not, where an input is not known as a whole.
        """
        found = [self.whole(x) for x in self.program.inputs]
        if all(f is not None for f in found):
            return found  # type: ignore[return-value]
        for e in self.program.equations:
            if self._known(e.outputs) and not self._known(e.inputs):
                reason = self.reasons.get(e)
                raise reason or self.error(
                    f"the operands of {place(e)} can't be told from its result"
                )
        raise self.error("the program's results do not depend on all of its inputs")

    def _known(self, xs: Iterable[Any]) -> bool:
        return all(self.whole(x) is not None for x in xs)

    def _use(self, equation: Equation) -> bool:
        try:
            return any([self.learn(*found) for found in self.visit(equation)])
        except UndeterminedError as error:
            self.reasons[equation] = error
            return False

    def _inside(self, program: Program, given: Sequence[Any], ends: Sequence[Any]) -> Propagation:
        """The same, of another program, from leaves."""
        facts = ([x if x is None else self.fact(x) for x in xs] for xs in (given, ends))
        return type(self)(program, *facts)

    def _learned(self, xs: Sequence[Any], leaves: Sequence[Any]) -> list[tuple[Any, Any]]:
        return [(x, self.fact(f)) for x, f in zip(xs, leaves, strict=True)]


def place(equation: Equation) -> str:
    """An equation's effect, and the user's line that performs it."""
    return f"'{equation.effect.name}' at {describe(equation.frame)}"


@Propagation.rule(
    control.call,
    control.remat,
    custom.custom_jvp_call,
    custom.custom_vjp_call,
    custom.custom_vmap_call,
    custom.each_lane,
)
def propagate_call(self: Propagation, e: Equation) -> Iterable[tuple[Any, Any]]:
    """The operands, by the program."""
    given, ends = [*map(self.whole, e.inputs)], [*map(self.whole, e.outputs)]
    return self._learned(e.inputs, self._inside(e.attributes["program"], given, ends).answer())


@Propagation.rule(control.cond)
def propagate_cond(self: Propagation, e: Equation) -> Iterable[tuple[Any, Any]]:
    """The operands, by the branch that is taken, where it is known which."""
    (index, *given), ends = [*map(self.whole, e.inputs)], [*map(self.whole, e.outputs)]
    if index is None:
        return []
    branches = [
        partial(lambda p: self._inside(p, given, ends).answer(), p)
        for p in e.attributes["branches"]
    ]
    return self._learned(e.inputs[1:], switch(index[0], branches))


@Propagation.rule(control.scan)
def propagate_scan(self: Propagation, e: Equation) -> Iterable[tuple[Any, Any]]:
    """Ahead with what is known of the first carry; then back from the last one, for the rest."""
    n, m, body = e.attributes["consts"], e.attributes["carry"], e.attributes["body"]
    given, ends = [*map(self.whole, e.inputs)], [*map(self.whole, e.outputs)]
    consts, first, rows = given[:n], given[n : n + m], (given[n + m :], ends[m:])
    last = [y if known is None else None for known, y in zip(first, ends, strict=False)]
    length, reverse = e.attributes["length"], e.attributes["reverse"]

    def ahead(carry: Any, rows: Any) -> Any:
        inner = self._inside(body, [*consts, *carry, *rows[0]], [*[None] * m, *rows[1]])
        known = zip(carry, body.outputs, strict=False)
        ends = [None if c is None else inner.whole(x) for c, x in known]
        return ends, (carry, None if None in carry else inner.answer()[n + m :])

    def back(carry: Any, rows: Any) -> Any:
        given, xs, ys = rows
        found = self._inside(body, [*consts, *given, *xs], [*carry, *ys]).answer()[n:]
        return [f if g is None else None for f, g in zip(found, given, strict=False)], found[m:]

    if None in consts or any(a is b is None for a, b in zip(first, last, strict=True)):
        return []
    _, (steps, found) = scan(ahead, first, rows, length, reverse)
    if None in first:
        start, found = scan(back, last, (steps, *rows), length, not reverse)
        first = [a if b is None else b for a, b in zip(first, start, strict=True)]
    return self._learned(e.inputs[n:], [*first, *found])
