"""Clauses that take the resumption, and the walk through a program that gives it to them.

The walk is in continuation-passing style. `Context` says what happens at both ends of the part that
is being walked: `then` takes the results, `exits` the answer of a clause that never resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.errors import ResumptionError
from effax.effects.program import Equation, Program
from effax.effects.rows import control, custom
from effax.effects.tree import tree_unflatten
from effax.effects.types import ShapedArray
from effax.interpreters.functor.lifting import functor
from effax.interpreters.functor.meanings import undeclared
from effax.interpreters.resuming.answers import as_types, staged_answer, staged_branches
from effax.interpreters.resuming.flattening import REST, flattened
from effax.interpreters.resuming.segments import Segment, meant, mentioned, segments
from effax.interpreters.stage import Staged

Rest = Callable[[list[Any]], Any]
STRETCH: Final = 16
"""The number of handled effects in a row that are resumed as nested calls of Python."""


@attrs.frozen(slots=True)
class Context:
    """The surroundings of a part of a program: what takes its results, and a final clause's answer.

    `answer` is the types and the tree of the answer of the whole, where a loop around knows them.
    """

    then: Rest
    exits: Callable[[Any], Any]
    answer: tuple[Sequence[ShapedArray], Any] | None = None


class Resumption:
    """The rest of the handled computation, as a function of what the effect answers.

    It may be called any number of times, under any transform that the clause installs. What it
    returns is the answer of the rest, with the same clauses around it (handlers are deep).
    """

    __slots__ = ("_effect", "_rest", "types")

    types: tuple[ShapedArray, ...]
    """The types of what the effect answers."""

    def __init__(self, effect: Effect, rest: Rest, types: tuple[ShapedArray, ...]) -> None:
        self._effect = effect
        self._rest = rest
        self.types = types

    def __call__(self, *answers: Any) -> Any:
        """The answer of the rest, where the effect answers this; one value for each result."""
        if len(answers) != len(self.types):
            raise ResumptionError(
                f"resume: '{self._effect.name}' has {len(self.types)} results, so its resumption "
                f"takes as many values, but was given {len(answers)}"
            )
        values = [self._checked(x, t) for x, t in zip(answers, self.types, strict=True)]
        return self._rest(values)

    def _checked(self, x: Any, type: ShapedArray) -> Any:
        try:
            (value,) = as_types([x], [type])
        except TypeError as error:
            raise ResumptionError(
                f"resume: '{self._effect.name}' results in {type.str_short()}, but was given "
                f"{x!r}; convert the value to that shape and dtype"
            ) from error
        return value

    def program(self) -> Program:
        """The rest as a program: of the captured values (`consts`), then of what is answered."""
        staged, _ = staged_answer(lambda *xs: self._rest(list(xs)), self.types, "resumption")
        staged.program.consts = staged.captured
        return staged.program

    def __repr__(self) -> str:
        return f"<resumption of {self._effect.name}>"


class Clauses:
    """The clauses of one `handle`: `resuming` ones take the resumption, `final` ones never do."""

    def __init__(
        self,
        resuming: Mapping[Effect, Callable[..., Any]],
        final: Mapping[Effect, Callable[..., Any]],
    ) -> None:
        both = resuming.keys() & final.keys()
        if both:
            names = ", ".join(sorted(e.name for e in both))
            raise ResumptionError(
                f"handle: {names} has both a clause and a final clause; give one of the two"
            )
        self.resuming = dict(resuming)
        self.final = dict(final)
        self.effects = frozenset((*resuming, *final))

    def run(self, program: Program, values: Sequence[Any], context: Context) -> Any:
        """The answer of a program on values, its results handed to the context.

        A long program is staged from its end, a stretch at a time: else each cut would be one more
        level of Python's stack, of which there are a thousand.
        """
        rest: Any = None
        for j, part in reversed([*enumerate(segments(program, self.effects))]):
            rest = partial(self._part, part, context, rest)
            if j and j % STRETCH == 0:
                rest = self.joined(rest, part.program.in_types)
        return rest(values)

    def _part(self, part: Segment, context: Context, rest: Any, values: Sequence[Any]) -> Any:
        results = part.program.run(*values)
        e = part.equation
        if e is None:
            return context.then(results)
        n = len(e.inputs)
        live = results[n:]
        after = attrs.evolve(context, then=lambda answered: rest([*answered, *live]))
        return self.answer(e, results[:n], after)

    def answer(self, e: Equation, operands: Sequence[Any], context: Context) -> Any:
        """The answer of the computation from an equation on, whose results go to the context."""
        final = self.final.get(e.effect)
        if final is not None:
            return context.exits(final(*operands, **e.attributes))
        clause = self.resuming.get(e.effect)
        if clause is not None:
            resume = Resumption(e.effect, context.then, tuple(x.type for x in e.outputs))
            return clause(*operands, resume=resume, **e.attributes)
        through = _through.get(e.effect)
        if through is not None:
            return through(self, e, operands, context)
        written = meant(e)
        if written is not None:
            return self.run(written.program, [*written.captured, *operands], context)
        if e.effect in functor:
            raise self.refused(e, "it runs its programs as a whole")
        raise self.refused(e, undeclared(e.effect))

    def refused(self, e: Equation, why: str) -> ResumptionError:
        """The error for an equation that performs handled effects where no rest is to be had."""
        names = ", ".join(sorted(x.name for x in mentioned(e, self.effects)))
        return ResumptionError(
            f"at {e.place}: '{names}' is performed inside of '{e.effect.name}', and its clause "
            f"can't be given the rest of the program there: {why}. Perform it outside of "
            f"'{e.effect.name}', or answer it in place by a rule of an effax.Interpreter"
        )

    def joined(self, rest: Rest, types: Sequence[ShapedArray]) -> Joined:
        """A rest that is reached from several places, as one program that all of them call."""
        return Joined(*staged_answer(lambda *xs: rest(list(xs)), types, REST))


@attrs.frozen(slots=True, eq=False)
class Joined:
    """The rest of a computation as a program, and the tree of its answer."""

    staged: Staged
    tree: Any

    @property
    def types(self) -> Sequence[ShapedArray]:
        """The types of the leaves of the answer."""
        return self.staged.program.out_types

    def __call__(self, results: Sequence[Any]) -> Any:
        """Call the program with what the rest takes; the answer."""
        program, captured = self.staged.program, self.staged.captured
        values = as_types(results, program.in_types[len(captured) :])
        leaves = control.call(*captured, *values, program=program, name=REST)
        return tree_unflatten(self.tree, leaves)

    def flattened(self) -> Joined:
        """The same with the rests that follow written out, where one place calls them."""
        staged = Staged(flattened(self.staged.program), self.staged.captured)
        return Joined(staged, self.tree)


def through_call(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    """A called program is walked as if it stood in the place of its call."""
    return clauses.run(e.attributes["program"], operands, context)


def through_cond(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    """Each branch goes on with the rest, which is one program that the branches share."""
    index, *values = operands
    joined = clauses.joined(context.then, [x.type for x in e.outputs])
    inside = attrs.evolve(context, then=joined)
    branches = [partial(_branch, clauses, program, inside) for program in e.attributes["branches"]]
    return staged_branches(index, branches, values, e.place)


def _branch(clauses: Clauses, program: Program, context: Context, *values: Any) -> Any:
    return clauses.run(program, values, context)


def _refuse_rules(clauses: Clauses, e: Equation, operands: Sequence[Any], context: Context) -> Any:
    raise clauses.refused(e, "the user gave it a derivative or batching rule as a whole")


_through: dict[Effect, Callable[..., Any]] = {
    control.call: through_call,
    control.remat: through_call,
    control.cond: through_cond,
    custom.custom_jvp_call: _refuse_rules,
    custom.custom_vjp_call: _refuse_rules,
    custom.custom_vjp_forward: _refuse_rules,
    custom.custom_vmap_call: _refuse_rules,
}


def through(effect: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate what is done at an equation of this effect that performs handled ones inside."""

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        _through[effect] = function
        return function

    return fill
