"""The errors of effax, with JAX's names where JAX has the error, and where they come from.

A message says what was asked with which types, where in the user's code, why it can't be, and
what to write instead.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from effax.effects.frames import (
    Frame,
    Place,
    TracedFunction,
    boundary,
    describe,
    evaluated,
    filtered,
    full_traceback,
    place,
    source_line,
    strip,
    user_frame,
    user_frames,
)

__all__ = [
    "ConcretizationTypeError",
    "EffaxError",
    "EscapedCarrierError",
    "ExportError",
    "Frame",
    "InconclusiveDimensionOperation",
    "JaxprTypeError",
    "KeyReuseError",
    "LeakedCarrierError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "Place",
    "RefError",
    "ShardingTypeError",
    "SymbolicShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnboundAxisError",
    "UnexpectedTracerError",
    "UnhandledEffectError",
    "UnsupportedDerivativeError",
    "boundary",
    "describe",
    "describe_value",
    "filtered",
    "full_traceback",
    "place",
    "strip",
    "user_frame",
    "user_frames",
]


def origin_of(value: Any, depth: int = 4) -> Any:
    """The frame where a carrier was made, its own or that of a value it is made of; or None."""
    own = getattr(value, "origin", None)
    if isinstance(own, tuple):
        return own
    if depth:
        from effax.effects.dependence import parts

        for part in parts(value):
            found = origin_of(part, depth - 1)
            if found is not None:
                return found
    return None


def describe_value(value: Any, origin: bool = True) -> str:
    """A value in words: its type, its kind, and with `origin` the line that made it if known."""
    typed = f"{value.type!r}, " if hasattr(value, "type") else ""
    frame = origin_of(value) if origin else None
    made = f", made at {describe(frame)}" if frame is not None else ""
    return f"{typed}{kind_of_value(value)}{made}"


def kind_of_value(value: Any) -> str:
    """A carrier in its handler's words, or by the name of the transform."""
    handler = getattr(value, "handler", None)
    if handler is None:
        return f"a {type(value).__name__}"
    owned: str = getattr(handler, "owned", "")
    return owned or f"a value of {getattr(handler, 'transform', '') or type(handler).__name__}"


def why_unknown(value: Any) -> str:
    """Say where a value is used whose elements are not known, and why they are not."""
    why, remedy = _why_and_remedy(value)
    instead = f" {remedy[:1].upper()}{remedy[1:]}." if remedy else ""
    return (
        f"At {describe(user_frame())} there is a value known only by its type: "
        f"{describe_value(value)}. {why}{instead}"
    )


def _has_returned(value: Any) -> bool:
    """Whether the function that a traced value belongs to has returned."""
    return not getattr(getattr(value, "handler", None), "live", True)


def _why_and_remedy(value: Any) -> tuple[str, str]:
    """The reason why elements of a value are not known, and a way to know them, or nothing."""
    handler = getattr(value, "handler", None)
    if _has_returned(value):
        return "The function that it belongs to has returned: let it return the value too.", ""
    from effax.effects.dependence import arguments_of, static_remedy

    around = arguments_of(value)
    why = " ".join(_reason(*found) for found in around) or getattr(handler, "reason", UNKNOWN)
    return why, getattr(handler, "remedy", "") or (static_remedy(*around[0]) if around else "")


def _reason(traced: TracedFunction, arguments: dict[str, Any]) -> str:
    """A sentence for the function whose arguments a value depends on."""
    names = [*arguments]
    many = len(names) > 1
    named = f"{', '.join(names[:-1])} and {names[-1]}" if many else names[0]
    return (
        f"The error occurred while tracing the function {traced}. This concrete value was not "
        "available in Python because it depends on the "
        f"value{'s' if many else ''} of the argument{'s' if many else ''} {named}."
    )


UNKNOWN: Final = "While a function is traced its arguments have types but no elements."
"""The reason why elements are not known, unless the handler of a value has another."""


_PUBLIC: Final = "effax.errors"
_INTERNAL: Final = frozenset(
    {"ClosedOverError", "MatrixShapeError", "RefError", "_UnknownElementsError"}
)
_INSTALLED: Final = Path(__file__).parents[1] / "error_pages"
_GUIDES: Final = f"{_INSTALLED}/" if _INSTALLED.is_dir() else "docs/errors/"


class EffaxError(Exception):
    """The base class of all errors of effax, each of which also derives from a built-in error."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__ == __name__ and cls.__name__ not in _INTERNAL:
            cls.__module__ = _PUBLIC  # where users find it, and what tracebacks show

    @classmethod
    def guide(cls) -> str:
        """Return the path of the page of the documentation on this error, or "" if it has none.

        In a checkout it is relative to that; elsewhere it is where the page was installed.
        """
        own = (_PUBLIC, "effax.effects.")
        kinds = (kind for kind in cls.__mro__ if kind.__module__.startswith(own))
        name = next((k.__name__ for k in kinds if k.__name__ not in _WITHOUT_GUIDE), "")
        return f"{_GUIDES}{name}.md" if name else ""


_WITHOUT_GUIDE: Final = _INTERNAL | {"EffaxError", "JAXTypeError", "JAXIndexError"}
"""Errors of many kinds, whose messages say all that there is to say."""


class JAXTypeError(EffaxError, TypeError):
    """A value, or a kind of value, has a type that can't be used in this way."""


class JAXIndexError(EffaxError, IndexError):
    """A value is used as an index, but can't be one."""


_LOST: Final = (
    "Python numbers would lose the rest, so that a derivative through them would be zero without a "
    "word."
)


class _UnknownElementsError(EffaxError):
    """An error about a value whose elements are not known, or are not all that it carries.

    It is made from that value, or from a message: `Error(value)`, `Error("...")`. For a value,
    `context` is added to the message, and `needs` says in words which static argument the value
    was given for, such as "the axis"; it takes the place of the class's general advice.
    """

    headline = "Elements of a traced array are needed: an array with shape {}."
    asked = "its elements as Python values"
    instead = ""
    for_lines: tuple[tuple[str, str], ...] = ()
    """Advice for what matches a regular expression; it takes the place of the general advice."""

    def __init__(self, subject: Any = "", context: str = "", needs: str = "") -> None:
        if not isinstance(subject, str):
            if _has_returned(subject) or (context and self._fitting(user_frame())):
                context = ""  # nothing helps any more, or the line has better advice
            subject = self.message(subject, needs)
        super().__init__(f"{subject} {context}".rstrip() if context else subject)

    @classmethod
    def message(cls, value: Any, needs: str = "") -> str:
        """Return the message for a `value` that can't give the elements asked for."""
        typed = value.type.str_short() if hasattr(value, "type") else type(value).__name__
        if getattr(value, "concrete", lambda: None)() is None:
            known, (why, remedy) = "known only by its type", _why_and_remedy(value)
        else:
            known, why = "that carries more than its elements", _LOST
            remedy = "take the elements alone by lax.stop_gradient or item()"
        frame = user_frame()
        instead = "" if _has_returned(value) else cls._advice(frame, needs, remedy)
        asked = cls.asked.partition(" (by ")[0] if cls._fitting(frame) else cls.asked
        return (
            f"{cls.headline.format(typed)} At {describe(frame)}, {asked} was asked of a "
            f"value {known}: {describe_value(value)}. {why} {instead}"
        ).rstrip()

    @classmethod
    def _advice(cls, frame: Frame | None, needs: str, remedy: str) -> str:
        """A sentence that says what to write instead, or nothing."""
        if needs:
            ways = f"; {remedy}" if remedy else ""
            start = "T" if needs.startswith("the ") else needs[:1]
            return f"{start}{needs[1:]} must be known while tracing{ways}."
        if not cls.instead:
            return ""
        ways = ". ".join(cls._fitting(frame) or [cls.instead])
        return ways + (f"; or {remedy}." if remedy else ".")

    @classmethod
    def _fitting(cls, frame: Frame | None) -> list[str]:
        """The advice that fits what the user's line says."""
        text = cls._text(frame)
        return [advice for pattern, advice in cls.for_lines if re.search(pattern, text)]

    @classmethod
    def _text(cls, frame: Frame | None) -> str:
        """The code that the advice depends on: the line, without comments and strings."""
        return re.sub(r""""[^"]*"|'[^']*'|#.*""", "", source_line(frame))


class ConcretizationTypeError(_UnknownElementsError, JAXTypeError):
    """A concrete value was needed and there was a traced one.

    >>> raise ConcretizationTypeError("the axis must be known", "(in sum)")
    Traceback (most recent call last):
    effax.errors.ConcretizationTypeError: the axis must be known (in sum)
    """

    headline = (
        "Abstract tracer value encountered where concrete value is expected: traced array with "
        "shape {}."
    )
    asked = "a concrete value"
    instead = "Compute with it by array operations"
    for_lines: tuple[tuple[str, str], ...] = (
        (
            r"(?<![\w.])math\.\w",
            "Write the function of effax.numpy for that of math (jnp.sqrt for math.sqrt)",
        ),
        (r"\bpickle\.dump", "Return it from the function, and pickle the result"),
    )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was asked whether it is true, as `if`, `while`, `and` and `not` do."""

    for_lines = (
        (
            r"\bassert\b",
            "Write checkify.check for `assert`, and checkify.checkify around the whole function",
        ),
        (r"(?<![\w.])max\(", "Write jnp.maximum for max()"),
        (r"(?<![\w.])min\(", "Write jnp.minimum for min()"),
        (r"(?<![\w.])sorted\((?!\s*[\[(])", "Write jnp.sort for sorted()"),
        (r"(?<![\w.])sorted\(\s*[\[(]", "Write jnp.sort(jnp.stack([...])) for sorted([...])"),
        (r"^(?:(?!\bfor\b).)*\bin\b", "Write jnp.isin(x, jnp.array(values)) for `in`"),
        (r"\b(el)?if\b", "Write lax.cond or jnp.where for `if`"),
        (r"\bwhile\b", "Write lax.while_loop for `while`"),
        (
            r"\b(and|or|(?<!\bis )not(?! in\b))\b",
            "Write & | ~ for `and`, `or`, `not`, with comparisons in parentheses",
        ),
    )
    headline = "Attempted boolean conversion of traced array with shape {}."
    asked = "a truth value (by `if`, `while`, `and`, `or`, `not` or bool())"
    instead = (
        "Write lax.cond or jnp.where for `if`, lax.while_loop for `while`, & | ~ for `and`, `or`, "
        "`not`"
    )

    @classmethod
    def _text(cls, frame: Frame | None) -> str:
        """The line, unless it is a part of a longer expression: the rest may ask as well."""
        text = super()._text(frame)
        whole = all(text.count(start) == text.count(end) for start, end in ("()", "[]", "{}"))
        return text if whole else ""


class TracerIntegerConversionError(_UnknownElementsError, JAXTypeError):
    """A traced value was asked for a Python integer, as list indices and `range` do."""

    headline = "The __index__() method was called on traced array with shape {}."
    asked = "a Python integer (by indexing a list, range(), or a length)"
    instead = "Index an array (jnp.asarray of the list) instead of a list, loop by lax.fori_loop"


class TracerArrayConversionError(_UnknownElementsError, JAXTypeError):
    """A traced value was asked for a NumPy array, as functions of `numpy` do."""

    headline = (
        "The numpy.ndarray conversion method __array__() was called on traced array with shape {}."
    )
    asked = "a NumPy array"
    instead = (
        "Call the function of effax.numpy instead of numpy's, index jnp.asarray(table) instead of "
        "a NumPy array, or run NumPy code by effax.pure_callback"
    )
    for_lines = (
        (r"^BINARY.*\]$", "Index jnp.asarray(table) instead of a NumPy array"),
        (r"^STORE.*\]$", "Write array = jnp.asarray(array).at[...].set(x)"),
        (
            r"^\w*CALL\w* (np|numpy)\.random\.",
            "Draw by effax.random instead of numpy.random; it takes a key",
        ),
        (
            r"^\w*CALL\w* (np|numpy)\.(?!random\.)(?!.*\bout\s*=)",
            "Call the function of effax.numpy instead of numpy's",
        ),
        (
            r"^\w*CALL\w* (np|numpy)\.(?!random\.).*\bout\s*=",
            "Call the function of effax.numpy instead of numpy's, without out=",
        ),
    )

    @classmethod
    def _text(cls, frame: Frame | None) -> str:
        """The instruction at the frame, and the expression: `BINARY_SUBSCR table[i]`."""
        return evaluated(frame)


class NonConcreteBooleanIndexError(_UnknownElementsError, JAXIndexError):
    """An array was indexed by a traced Boolean mask, so that its result has no known shape."""

    headline = "Array boolean indices must be concrete; got {}."
    asked = "a selection by mask (its result has as many elements as the mask has Trues)"
    instead = (
        "Write jnp.where(mask, x, fill), x.at[mask].set(...), or jnp.nonzero(mask, size=...) to "
        "fix the number of elements"
    )


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used outside the function that was being traced."""

    @classmethod
    def escaped(cls, value: Any) -> EscapedCarrierError:
        """The error for a carrier that outlived its handler and was used here."""
        origin = origin_of(value)
        created = f" The value was created on line {describe(origin)}." if origin else ""
        error = EscapedCarrierError(
            f"Encountered an unexpected tracer. At {describe(user_frame())}, a value was used "
            f"that escaped its transform: {describe_value(value, origin=False)}. The function that "
            "the value belongs to has returned, so the value has lost its meaning. Return it from "
            "the function instead of keeping it in global state, an attribute or a list; enable "
            "check_tracer_leaks to find where it was "
            f"kept.{created}{getattr(type(value), 'if_escaped', '')}"
        )
        error.value = value
        return error


class EscapedCarrierError(UnexpectedTracerError):
    """A carrier was used after its handler had returned; `value` is the carrier."""

    value: Any = None


class LeakedCarrierError(EffaxError):
    """`check_tracer_leaks` found a carrier that something still holds after its trace ended."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice, under the setting `debug_key_reuse`."""


class ShardingTypeError(JAXTypeError):
    """Operands' shardings do not fit an effect."""


class InconclusiveDimensionOperation(JAXTypeError):  # noqa: N818  (JAX's name)
    """A comparison of symbolic dimensions that is true for some of their values only."""


class RuleResultError(EffaxError, TypeError):
    """A rule of an interpreter returned another type than the effect's signature says."""


class MissingRuleError(EffaxError, NotImplementedError):
    """An interpreter met an effect that it has no rule for."""


class FixpointError(EffaxError, TypeError):
    """The mode of a loop's carry grows in each step, so the loop can't be lifted."""


class UnsupportedDerivativeError(EffaxError, ValueError):
    """A derivative was asked for that does not exist, or that no method here computes."""


class ClosedOverError(UnsupportedDerivativeError, UnexpectedTracerError):
    """A function with its own derivative closes over a value that is differentiated."""

    @classmethod
    def of(cls, name: str, kind: str) -> ClosedOverError:
        """The error for the function of that name, and that kind of rule."""
        return cls(
            f"Detected differentiation of a {kind} function with respect to a closed-over value. "
            f"The function {name} closes over a value that is being differentiated, and its rule "
            "says nothing of that value; pass it to the function as an argument"
        )


class JaxprTypeError(EffaxError, TypeError, ValueError):
    """The text of a program says types that its equations do not have."""


class MatrixShapeError(EffaxError, TypeError, ValueError):
    """A shape that is no matrix's, or no square one's: JAX's class depends on the check met."""


class ExportError(EffaxError, ValueError):
    """A function can't be exported, or a file holds no exported function that can be read."""


class SymbolicShapeError(EffaxError, NotImplementedError):
    """Lengths were asked for that are not known when a function is traced."""


class RefError(EffaxError, ValueError):
    """A reference to mutable state was used in a way that has no meaning."""


class UnhandledEffectError(EffaxError, RuntimeError, ValueError):
    """A program performs an effect that no installed handler, nor the back-end, answers.

    A `ValueError` as well, as JAX's error for a check that no `checkify` answers.
    """

    @classmethod
    def at_lowering(cls, equation: Any) -> UnhandledEffectError:
        """The error for an equation that reached the compiler; its row says what is unanswered."""
        name = str(equation.effect)
        asked = ", ".join(map(repr, sorted(equation.row))) or repr(name)
        return cls(
            f"the effect {name}, performed at {describe(equation.frame)}, can't be compiled: no "
            f"handler answers {asked}, and the compiler has no rule for it. "
            f"@extend.lowering.rule({name}) gives it StableHLO, @extend.expand({name}) a "
            "definition in other effects"
        )


class ForkedProcessError(EffaxError, RuntimeError):
    """A process was forked from one that had computed, and can't compute itself."""


class ArraySizeError(EffaxError, ValueError):
    """An array would have more bytes than any machine can address."""

    @classmethod
    def of(cls, type: Any, size: int) -> ArraySizeError:
        """The error for a type whose arrays have `size` bytes."""
        return cls(
            f"at {describe(user_frame())}, an array of shape {type.shape} and dtype {type.dtype} "
            f"is needed, which has {size:.3g} bytes; the largest that the compiler can address has "
            f"{2**63 - 1:.3g}"
        )


class CollectiveDivergenceError(EffaxError, ValueError):
    """Places along an axis choose different branches, of which some have a collective over it."""

    @classmethod
    def of(cls, equation: Any, axis: Any, group: dict[Any, int]) -> CollectiveDivergenceError:
        """The error for a `cond` or `while` at which places choose these things."""
        (one, i), (other, j), *_ = group.items()
        return cls(
            f"at {equation.place}: place {i} along the axis {axis!r} takes {one} in this "
            f"'{equation.effect.name}', place {j} takes {other}, and the collective over {axis!r} "
            "inside would wait forever for places that never reach it. Perform the collective "
            "outside, at all places, and choose between results (jnp.where)"
        )


class ProcessLostError(EffaxError, RuntimeError):
    """Another process of the job has ended, or can't be reached."""


class ProcessTimeoutError(EffaxError, TimeoutError):
    """Other processes of the job did not come to a meeting in time."""


class ProgramDisagreementError(EffaxError, RuntimeError):
    """The processes of a job are about to run different programs over all of their devices."""


class CheckpointError(EffaxError, RuntimeError):
    """A checkpoint is damaged, incomplete, or holds another tree than was asked for."""


class ResumptionError(EffaxError, TypeError):
    """The rest of a program can't be given to a clause, or was given a value it can't take."""


class UnboundAxisError(UnhandledEffectError, NameError):
    """A collective names an axis that nothing around it binds."""

    @classmethod
    def of(cls, effect: Any, axis: Any) -> UnboundAxisError:
        """The error for a collective over `axis` outside any handler that binds it."""
        return cls(
            f"at {describe(user_frame())}, {effect} names the axis {axis!r}, which nothing around "
            "it binds. vmap(axis_name=...), pmap and shard_map bind axes."
        )
