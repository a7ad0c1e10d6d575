"""The handler of a user's interpreter: what the functor asks of it is read off the fields."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from effax.effects.contexts import put
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import (
    MissingRuleError,
    RefError,
    RuleResultError,
    describe,
    user_frame,
)
from effax.effects.handler import current, innermost
from effax.effects.program import Program, row_of
from effax.effects.promotion import promote_types
from effax.effects.provenance import Origin, source
from effax.effects.rows import control, conversion, shape
from effax.effects.tree import tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import Value
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode, functor, reopen
from effax.interpreters.functor.meanings import undeclared
from effax.interpreters.functor.rotation import rotated_while
from effax.interpreters.interpreter import states
from effax.interpreters.interpreter.carried import Carried, CarriedForm
from effax.interpreters.interpreter.fields import Data
from effax.interpreters.interpreter.fused import fused
from effax.interpreters.interpreter.rules import Rule
from effax.interpreters.interpreter.states import converted, ready
from effax.interpreters.interpreter.telling import tell, wants

if TYPE_CHECKING:
    from effax.interpreters.interpreter.data import Interpreter


class Interpretation(Lifting):
    """The handler of a user's interpreter; one subclass is made for each."""

    __slots__ = ("logs", "settings", "states")

    carrier = Carried
    interpreter: ClassVar[type[Interpreter]]
    catch_all: ClassVar[Rule | None] = None
    every: ClassVar[bool] = False
    pure: ClassVar[bool] = False
    typed: ClassVar[bool] = False
    """Whether the class says itself what type its data stand for."""
    version: ClassVar[int] = 0

    def __init__(self, outer: Any = None, settings: tuple[Hashable, ...] = ()) -> None:
        super().__init__(outer)
        self.settings = settings
        self.states: list[Any] = []
        self.logs: states.Logs = {name: {} for name in self.interpreter._fields.logs}

    # ------------------------------------------------------------------ what the functor asks

    @property
    def static(self) -> tuple[Hashable, ...]:
        """Return a version number of the rules, since lifted programs depend on them, and the
        settings.
        """
        return (type(self).version, *self.settings)

    def fresh(self, outer: Any) -> Interpretation:
        """Another installation, with the same settings."""
        return type(self)(outer, self.settings)

    def mode(self, value: Any) -> Mode:
        """Return the leaves' mode: leading axes and own dtypes of each; statics."""
        if not self.owns(value):
            return PLAIN
        form, own = value.form, value.type
        parts = dict(zip(form.names, value.parts, strict=True))
        found: list[Any] = []
        for name, leaf in self.interpreter._fields.leaves.items():
            x = parts.get(name)
            if x is None:
                found.append(None)
            else:
                t = typeof(x)
                found.append((t.shape[: leaf.axes], None if t.dtype == own.dtype else t.dtype))
        return tuple(found), tuple([form.fixed[name] for name in self.interpreter._fields.statics])

    def join(self, one: Any, other: Any) -> Mode:
        """A leaf is there if it is in either; statics as the interpreter says."""
        if one is PLAIN or other is PLAIN or one == other:
            return other if one is PLAIN else one
        cls = self.interpreter
        names = cls._fields.leaves
        leaves = tuple(
            _join_leaf(cls, name, a, b) for name, a, b in zip(names, one[0], other[0], strict=True)
        )
        statics = tuple(
            a if a == b else tell(self, cls.join_static, name, a, b)
            for name, a, b in zip(cls._fields.statics, one[1], other[1], strict=True)
        )
        return leaves, statics

    def widen(self, one: Any, other: Any) -> Mode:
        """Statics as the interpreter widens them; leaves can't grow without end."""
        if one is PLAIN:
            return other
        cls = self.interpreter
        return other[0], tuple(
            b if a == b else tell(self, cls.widen, name, a, b)
            for name, a, b in zip(cls._fields.statics, one[1], other[1], strict=True)
        )

    def lifted(self, x: Any, mode: Any = PLAIN) -> Any:
        """The data of a plain value, as a value of that mode where the class asks for it."""
        return tell(self, self.interpreter.lift, ready(x), mode=mode)

    def leaves(self, value: Any, mode: Any) -> Sequence[Any]:
        """The leaves that the mode has, in order; absent ones filled in."""
        if self.mode(value) == mode:
            return value.parts
        cls, type = self.interpreter, typeof(value)
        data = value.data if self.owns(value) else self.lifted(value, mode)
        for name, wanted in zip(cls._fields.statics, mode[1], strict=True):
            found = getattr(data, name)
            if found != wanted and tell(self, cls.join_static, name, found, wanted) != wanted:
                raise TypeError(f"{cls.__name__}.{name}: {found!r} can't stand for {wanted!r}")
        found = []
        for (name, t), leaf in zip(
            self._types(mode, type).items(), cls._fields.leaves.values(), strict=True
        ):
            x = getattr(data, name)
            if t is not None:
                found.append(_raised(cls, name, x, t, leaf.fill))
            elif x is not None:
                raise TypeError(
                    f"{cls.__name__}.lift gives the optional leaf '{name}', which a loop or a "
                    "branch does not have; give it None in lift"
                )
        return found

    def value(self, mode: Any, leaves: Sequence[Any]) -> Any:
        """The data made of these leaves, carried."""
        form = CarriedForm.of(self.interpreter, tuple([m is not None for m in mode[0]]), mode[1])
        return Carried(self, form, leaves)

    def leaf_types(self, mode: Any, type: ShapedArray) -> Sequence[ShapedArray]:
        """The value's type, with the mode's axes in front and its dtype."""
        return [t for t in self._types(mode, type).values() if t is not None]

    def leaf_count(self, mode: Any, type: ShapedArray) -> int:
        """Count the leaves that the mode has."""
        return sum([x is not None for x in mode[0]])

    def leaf_axes(self, mode: Any) -> Sequence[int]:
        """The axes that fields declare."""
        declared = self.interpreter._fields.leaves.values()
        return [x.axes for x, m in zip(declared, mode[0], strict=True) if m is not None]

    def value_leaf(self, mode: Any) -> int | None:
        """The place of the leaf that is declared primal, among those there are."""
        fields = self.interpreter._fields
        if fields.primal is None:
            return None
        at = list(fields.leaves).index(fields.primal)
        return sum(m is not None for m in mode[0][:at])

    def _types(self, mode: Any, type: ShapedArray) -> dict[str, ShapedArray | None]:
        fields = self.interpreter._fields.leaves
        found: dict[str, ShapedArray | None] = {}
        for (name, leaf), m in zip(fields.items(), mode[0], strict=True):
            if m is None:
                found[name] = None
            else:
                dtype = m[1] or (leaf.dtype and ShapedArray((), leaf.dtype).dtype) or type.dtype
                found[name] = type.update(shape=(*m[0], *type.shape), dtype=dtype)
        return found

    def state_mode(self) -> Mode:
        """The structure of the states, and the types of their leaves."""
        return states.mode_of(self.states)

    def state_join(self, one: Any, other: Any) -> Mode:
        """The promoted types; dicts have the entries of both."""
        return states.join_modes(one, other, f"a state of {self.interpreter.__name__}")

    def state_leaves(self, mode: Any) -> Sequence[Any]:
        """The leaves of the states, converted to those types; none if the mode is empty."""
        if not mode:
            return ()
        return states.leaves_at(self.states, mode, f"a state of {self.interpreter.__name__}")

    def state_types(self, mode: Any) -> Sequence[ShapedArray]:
        """The mode says them."""
        return tuple(mode[1]) if mode else ()

    def state_set(self, mode: Any, leaves: Sequence[Any]) -> None:
        """The states are made of these leaves."""
        if mode:
            self.states = tree_unflatten(mode[0], leaves)

    def logged(self) -> tuple[tuple[Any, ...], Sequence[Any]]:
        """Return the entries that rules wrote, by log and key."""
        return states.written(self.logs)

    def log(self, entries: tuple[Hashable, ...], leaves: Sequence[Any], steps: bool) -> None:
        """Write it to the logs, step after step."""
        states.write(self.logs, entries, leaves, steps)

    # --------------------------------------------------------------------------- answering

    def answers(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Effects of a row that there is a rule for are answered, owned operand or not."""
        return self._has_rule_for(row_of(effect, attributes))

    def concerns(self, program: Program) -> bool:
        """Whether a program of plain values may mean something else under this handler."""
        return type(self).every or self._has_rule_for(program.row)

    def _has_rule_for(self, row: frozenset[str]) -> bool:
        return not self.interpreter.answered().isdisjoint(row)

    def interprets(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Whether plain values may come out otherwise: an answer is asked for, or all are."""
        own = type(self).every and not self.interpreter._fields.leaves
        return own or self.answers(effect, attributes)

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """A rule; else the catch-all, for effects of first order; else what the functor has.

        A rule that returns NotImplemented leaves the effect to the functor.
        """
        rule = self.rules.get(effect)
        if rule is None and effect.first_order:
            rule = self.catch_all
        if rule is not None:
            result = self.apply(rule, effect, operands, attributes)
            if result is not NotImplemented:
                return result
        whole = effect.higher_order or effect.functions or effect.performs
        if not whole and not any(map(self.owns, operands)):
            return effect(*operands, **attributes)
        threads = effect is control.while_loop and (self.states or self.logs)
        if threads and self.concerns(attributes["cond"]):
            return rotated_while(self, operands, attributes)
        lifting = functor.get(effect)
        if lifting is not None:
            return lifting(self, effect, operands, attributes)
        if effect is conversion.convert_element_type and operands[0].dtype == attributes["dtype"]:
            return self._renamed(operands[0], attributes)
        if effect.references:
            raise RefError(
                f"{self.interpreter.__name__}: a value of the interpreter's own was written to a "
                f"reference of type {operands[0].type!r}, which was made outside of the function "
                "that it interprets; make it inside"
            )
        if effect.row and not effect.result_type(*operands, **attributes):
            return effect(*map(self._observed, operands), **attributes)
        return self.missing(effect, operands, attributes)

    def _observed(self, x: Any) -> Any:
        """Return the first leaf, which is shown to effects that only observe a value (printing)."""
        return self.interpreter._plain(x.data) if self.owns(x) else x

    def _renamed(self, x: Any, attributes: dict[str, Any]) -> Any:
        """A conversion that changes nothing but whether the dtype is weak needs no rule."""
        parts = [
            conversion.convert_element_type(part, **attributes)
            if typeof(part).dtype == x.dtype
            else part
            for part in x.parts
        ]
        return Carried(self, x.form, parts)

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """Ask a rule; what a pure one performs is one step where what is outside can say so."""
        if rule.pure and effect.first_order and not effect.answerable:  # type: ignore[attr-defined]
            found = fused(self, rule, effect, operands, attributes)  # type: ignore[arg-type]
            if found is not NotImplemented:
                return found
        if self.outer.records and source.at is None and effect.first_order:
            # Find the user's line once per rule, not once per effect the rule performs.
            source.at = Origin(user_frame(), "", None)
            try:
                return self.ask(rule, effect, operands, attributes)
            finally:
                source.at = None
        return self.ask(rule, effect, operands, attributes)

    def ask(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: Sequence[Any],
        attributes: dict[str, Any],
    ) -> Any:
        """Call a rule with the data of the operands; carry the data that it returns."""
        types_ = tuple([x.type if type(x) is Carried else effect.operand_type(x) for x in operands])
        expected = effect.infer(types_, attributes)
        lifts = getattr(rule, "lift", True)
        given = [
            x.data
            if type(x) is Carried and x.handler is self
            else self._lifted(x, effect, types_, operands)
            if lifts
            else x
            for x in operands
        ]
        result = rule(effect, given, attributes, self)
        if result is NotImplemented:
            return result
        if not effect.multiple:
            return self.adopt(result, expected, effect, rule)
        if not isinstance(result, Sequence) or len(result) != len(expected):
            raise self._mistyped(rule, effect, f"{len(expected)} results", self._shown(result))
        return [self.adopt(x, t, effect, rule) for x, t in zip(result, expected, strict=True)]

    def _lifted(self, x: Any, effect: Effect, types: Any, peers: Sequence[Any]) -> Any:
        if not self.interpreter._fields.leaves:
            return x
        if type(x) in LITERALS and effect.literals:
            t = effect.literal_type(x, types)
            x = shape.full(t.shape, x, t.dtype)
        if wants(self.interpreter.lift, "mode"):
            return self.lifted(x, functools.reduce(self.join, map(self.mode, peers), PLAIN))
        return self.lifted(x)

    def adopt(self, result: Any, expected: ShapedArray, effect: Effect, rule: Any) -> Any:
        """Wrap a rule's result as a value of this handler; anything but data of its class is plain.

        Raises `RuleResultError` where the result stands for another type than the effect's.
        """
        if not isinstance(result, Data):
            if type(result) in LITERALS:
                return shape.full(expected.shape, result, expected.dtype)
            if not _stands_for(_type_of(result), expected):
                raise self._mistyped(rule, effect, expected.str_short(), self._shown(result))
            return result
        carried = self._carried(result)
        parts: list[Any] = carried.parts  # type: ignore[assignment]
        fields, names = self.interpreter._fields.leaves, carried.form.names
        for i, x in enumerate(parts):
            leaf = fields[names[i]]
            if type(x) in LITERALS:
                x = parts[i] = shape.full(expected.shape, x, leaf.dtype or expected.dtype)
                carried._data = None
            type_ = typeof(x)
            lengths = type_.shape[leaf.axes :] if leaf.axes else type_.shape
            if lengths != expected.shape:
                found = f"a leaf '{names[i]}' of type {type_.str_short()}"
                raise self._mistyped(rule, effect, expected.str_short(), found)
            if i == 0 and not self.typed:
                carried._type = type_.update(shape=lengths) if leaf.axes else type_
        if not _stands_for(carried.type, expected):
            found = f"data of a value of type {carried.type.str_short()}"
            raise self._mistyped(rule, effect, expected.str_short(), found)
        return carried

    def _mistyped(self, rule: Any, effect: Effect, expected: str, found: str) -> RuleResultError:
        function = getattr(rule, "function", rule)
        return RuleResultError(
            f"at {describe(user_frame())}: {getattr(function, '__name__', function)}, the rule of "
            f"{self.interpreter.__name__} for '{effect.name}', must return {expected}, as the "
            f"effect's signature says; it returned {found}"
        )

    def _shown(self, result: Any) -> str:
        """Describe what a rule returned instead."""
        type_ = _type_of(result)
        if type_ is not None:
            return type_.str_short()
        if isinstance(result, Sequence):
            return f"{len(result)} results"
        return f"a {type(result).__name__}"

    def _carried(self, x: Data) -> Carried:
        """Data of the interpreter, or of one that it extends, as a value of this handler."""
        cls = self.interpreter
        if type(x) is not cls and not isinstance(x, cls) and not issubclass(cls, type(x)):
            raise TypeError(f"a rule of {cls.__name__} returned a {type(x).__name__}")
        fields = cls._fields
        found: list[Any] = [getattr(x, name, None) for name in fields.leaves]
        present = tuple([part is not None for part in found])
        parts = found if all(present) else [part for part in found if part is not None]
        statics = tuple([getattr(x, name, None) for name in fields.statics])
        form = CarriedForm.of(cls, present, statics)
        return Carried(self, form, parts, None, x if type(x) is cls else None)

    def missing(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Refuse, and say what to write."""
        name = self.interpreter.__name__
        if effect.higher_order:
            raise MissingRuleError(f"at {describe(user_frame())}, {name}: {undeclared(effect)}")
        types_ = ", ".join(repr(effect.operand_type(x)) for x in operands)
        raise MissingRuleError(
            f"at {describe(user_frame())}, {name} has no rule for the effect "
            f"{effect.name}({types_}). Write one, @{name}.rule(effects.{effect.name}), or one for "
            f"all that have none, @{name}.default; where the leaves go the same way each on its "
            f"own, {name}.leafwise(effects.{effect.name}) is the rule"
        )

    # ------------------------------------------------------------------------- at the borders

    def enter(self, x: Any) -> Any:
        """An argument of the transformed function: data becomes a carrier.

        Where every effect is answered, arrays of others' making become values, so that none of
        their arithmetic is done behind the handler's back.
        """
        cls = self.interpreter
        if type(x) is not cls:
            foreign = cls._handler.every and not isinstance(x, Value) and hasattr(x, "__array__")
            return ready(x) if foreign else x
        carried = self._carried(x)
        carried.parts, carried._data = [ready(part) for part in carried.parts], None
        found = carried.type.shape
        for name, part in zip(carried.form.names, carried.parts, strict=True):
            if typeof(part).shape[cls._fields.leaves[name].axes :] != found:
                raise TypeError(
                    f"{cls.__name__}: the leaf '{name}' is {typeof(part).str_short()}, and the "
                    f"value has shape {found}"
                )
        return carried

    def leave(self, x: Any) -> Any:
        """A result of the function: a carrier becomes data."""
        return x.data if self.owns(x) else x

    def threaded(self) -> dict[str, Any]:
        """The states and logs by name, when the function has returned."""
        fields = self.interpreter._fields
        found: dict[str, Any] = dict(zip(fields.states, self.states, strict=True))
        logs: dict[str, dict[Any, Any]] = {name: {} for name in fields.logs}
        for (name, key, _), x in zip(*self.logged(), strict=True):
            logs[name][key] = x
        return found | logs

    def run_program(self, program: Program, *operands: Any) -> list[Any]:
        """A program under this handler: data and plain values in, data and plain values out.

        A rule may ask for it inside of what it stages, a branch or a loop of its own: then another
        handler of the same interpreter is installed there, which has no way to hand out states.
        """
        inner = self if innermost() is self.outer else self.fresh(innermost())
        if inner is not self and (self.states or self.logs):
            raise MissingRuleError(
                f"{self.interpreter.__name__} has states or logs, so a rule of it can't run a "
                "program inside of a branch or loop that it stages; run it outside of that"
            )
        values = [inner._carried(x) if isinstance(x, Data) else x for x in operands]
        return [inner.leave(x) for x in reopen(inner, program, values)]


class EveryEffect(Interpretation):
    """The handler of an interpreter that answers effects on plain values, too."""

    __slots__ = ()

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Answer the effect, whoever owns its operands."""
        token = put(current, self.outer)
        try:
            return self.handle(effect, operands, attributes)
        finally:
            current.reset(token)


def _type_of(x: Any) -> Any:
    """The type of a value, or None of what is no value."""
    return typeof(x) if isinstance(x, Value) or hasattr(x, "dtype") else None


def _stands_for(found: Any, expected: Any) -> bool:
    """Whether a result has the shape and dtype that the signature says; both may be weak."""
    if not isinstance(expected, ShapedArray) or found is expected:
        return True
    return found is not None and found.shape == expected.shape and found.dtype == expected.dtype


def _join_leaf(cls: type[Interpreter], name: str, one: Any, other: Any) -> Any:
    if one is None or other is None or one == other:
        return other if one is None else one
    if one[0] != other[0]:
        raise TypeError(
            f"{cls.__name__}: the leaf '{name}' has axes {one[0]} in front in one branch or step "
            f"of a loop, and {other[0]} in another"
        )
    a, b = one[1], other[1]
    return one[0], (b if a is None else a if b is None else promote_types(a, b))


def _raised(cls: type[Interpreter], name: str, x: Any, type: ShapedArray, fill: Any) -> Any:
    if x is None:
        return shape.full(type.shape, fill, type.dtype)
    return converted(f"{cls.__name__}.{name}", x, type)
