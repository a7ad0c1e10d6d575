"""Interpreters written by users: a class of fields, rules beside it, and nothing else.

    class Interval(fx.Interpreter):
        lo: fx.Leaf
        hi: fx.Leaf

    @Interval.rule(effects.add)
    def add_bounds(x, y):
        return Interval(x.lo + y.lo, x.hi + y.hi)

An `Interval` is data: a pytree of its leaves, which any other transform may carry. While a
function runs under `Interval.transform`, values hold such data in a `Carried`, the handler's own.
What the functor asks of a handler (modes, joins, leaves) is read off the fields.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from typing import Any, ClassVar, Final, Union, dataclass_transform, get_args, get_origin

import attrs

from effax.effects import conversion, shape
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import MissingRuleError, describe, user_frame
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.program import Program, row_of
from effax.effects.tree import GetAttrKey, register_pytree_with_keys, tree_map
from effax.effects.promotion import promote_types
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import Value
from effax.interpreters.lifting import PLAIN, Lifting, Mode, functor, reopen
from effax.interpreters.stage import stage

__all__ = ["Carried", "Interpretation", "Interpreter", "Leaf", "State", "Static"]


@attrs.frozen
class Leaf:
    """In a class body, declares a field that holds an array: `lo: Leaf`.

    `Leaf | None` may be absent; which fields are absent is part of a value's mode. `axes` is how
    many axes the leaf has before the value's own, `dtype` and `fill` say what stands in for an
    absent leaf where a loop or a branch needs one: by default zeros of the value's dtype.
    """

    axes: int = 0
    dtype: Any = None
    fill: Any = 0
    optional: bool = False

    def __or__(self, other: None) -> Leaf:
        return attrs.evolve(self, optional=True)


class Static:
    """In a class body, declares a field of hashable data, part of a value's mode: `unit: Static`."""


class State:
    """In a class body, declares a value that the handler itself threads: `count: State = 0`.

    Rules with a parameter `state` read and assign `state.count`; the transform's result is then a
    pair of the function's result and a dict of the final states.
    """


@attrs.frozen
class _Fields:
    """What a class body declares."""

    leaves: dict[str, Leaf]
    statics: tuple[str, ...]
    states: tuple[str, ...]
    order: tuple[str, ...]

    @classmethod
    def of(cls, owner: type) -> _Fields:
        """Read the annotations of a class and of those it inherits from."""
        leaves: dict[str, Leaf] = {}
        statics: list[str] = []
        states: list[str] = []
        order: list[str] = []
        for base in reversed(owner.__mro__):
            if not issubclass(base, Interpreter) or base is Interpreter:
                continue
            for name, annotation in inspect.get_annotations(base).items():
                declared = _declared(annotation, base)
                if isinstance(declared, Leaf):
                    leaves[name] = declared
                elif declared is Static:
                    statics.append(name)
                elif declared is State:
                    states.append(name)
                    continue
                else:
                    continue
                if name not in order:
                    order.append(name)
        return cls(leaves, tuple(statics), tuple(states), tuple(order))


def _declared(annotation: Any, owner: type) -> Any:
    if isinstance(annotation, str):
        scope = vars(sys.modules[owner.__module__])
        try:
            annotation = eval(annotation, dict(scope), dict(vars(owner)))  # noqa: S307
        except NameError:  # names of a function's scope, or of type checkers only
            last = annotation.replace(" ", "").removesuffix("|None").rpartition(".")[2]
            found = {"Leaf": Leaf(), "Static": Static, "State": State}.get(last)
            optional = isinstance(found, Leaf) and "None" in annotation
            return found | None if optional else found  # type: ignore[operator]
    if annotation is Leaf:
        return Leaf()
    if get_origin(annotation) in (types.UnionType, Union) and Leaf in get_args(annotation):
        return Leaf(optional=True)
    return annotation


class Carried(Carrier):
    """A value under a user's interpreter: the handler, and the data of the interpreter's class."""

    __slots__ = ("data",)

    def __init__(self, handler: Any, data: Any) -> None:
        self.handler = handler
        self.data = data

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """The type that the data says it stands for."""
        found: ShapedArray = self.data.type
        return found

    def __repr__(self) -> str:
        return f"Carried({self.data!r})"


class Interpretation(Lifting):
    """The handler of a user's interpreter; one subclass is made for each."""

    __slots__ = ("states",)

    carrier = Carried
    interpreter: ClassVar[type[Interpreter]]
    catch_all: ClassVar[_Rule | None] = None
    version: ClassVar[int] = 0

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.states: list[Any] = []

    # ------------------------------------------------------------------ what the functor asks

    @property
    def static(self) -> tuple[Hashable, ...]:
        """How many times a rule was added: a lifted program depends on the rules."""
        return (type(self).version,)

    def mode(self, value: Any) -> Mode:
        """Which leaves there are, with their axes in front and dtypes of their own; statics."""
        if not self.owns(value):
            return PLAIN
        data, own = value.data, value.type
        fields = self.interpreter._fields
        found: list[Any] = []
        for name, leaf in fields.leaves.items():
            x = getattr(data, name)
            if x is None:
                found.append(None)
            else:
                t = typeof(x)
                found.append((t.shape[: leaf.axes], None if t.dtype == own.dtype else t.dtype))
        return tuple(found), tuple(getattr(data, name) for name in fields.statics)

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
            a if a == b else cls.join_static(name, a, b)
            for name, a, b in zip(cls._fields.statics, one[1], other[1], strict=True)
        )
        return leaves, statics

    def leaves(self, value: Any, mode: Any) -> Sequence[Any]:
        """The leaves that the mode has, in order; absent ones filled in."""
        cls, type = self.interpreter, typeof(value)
        data = value.data if self.owns(value) else cls.lift(value)
        for name, wanted in zip(cls._fields.statics, mode[1], strict=True):
            found = getattr(data, name)
            if found != wanted and cls.join_static(name, found, wanted) != wanted:
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
        fields, rest = self.interpreter._fields, iter(leaves)
        given: dict[str, Any] = {
            name: None if m is None else next(rest)
            for name, m in zip(fields.leaves, mode[0], strict=True)
        }
        given.update(zip(fields.statics, mode[1], strict=True))
        return Carried(self, self.interpreter._made(given))

    def leaf_types(self, mode: Any, type: ShapedArray) -> Sequence[ShapedArray]:
        """The value's type, with the mode's axes in front and its dtype."""
        return [t for t in self._types(mode, type).values() if t is not None]

    def leaf_axes(self, mode: Any) -> Sequence[int]:
        """The axes that fields declare."""
        declared = self.interpreter._fields.leaves.values()
        return [x.axes for x, m in zip(declared, mode[0], strict=True) if m is not None]

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
        """The types of the states."""
        return tuple(map(typeof, self.states))

    def state_join(self, one: Any, other: Any) -> Mode:
        """The promoted types; shapes may not change."""
        return tuple(_joined_type(a, b) for a, b in zip(one, other, strict=True))

    def state_leaves(self, mode: Any) -> Sequence[Any]:
        """The states, converted to those types."""
        name = self.interpreter.__name__
        return [_converted(name, x, t) for x, t in zip(self.states, mode, strict=False)]

    def state_types(self, mode: Any) -> Sequence[ShapedArray]:
        """The mode is the types."""
        return tuple(mode)

    def state_set(self, mode: Mode, leaves: Sequence[Any]) -> None:
        """The states are their own leaves."""
        self.states = list(leaves)

    # --------------------------------------------------------------------------- answering

    def answers(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Effects of a row that there is a rule for are answered, owned operand or not."""
        rows = {e.row for e in self.rules if e.row}
        return bool(rows) and not rows.isdisjoint(row_of(effect, attributes))

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """A rule; else the catch-all, if the effect is of first order; else what the functor has."""
        rule = self.rules.get(effect)
        if rule is None and not effect.higher_order and effect.family != "custom":
            rule = type(self).catch_all
        if rule is not None:
            return self.apply(rule, effect, operands, attributes)
        lifting = functor.get(effect)
        if lifting is not None:
            return lifting(self, effect, operands, attributes)
        return self.missing(effect, operands, attributes)

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """Call a rule with the data of the operands; carry the data that it returns."""
        expected = effect.result_type(*operands, **attributes)
        if getattr(rule, "lift", True):
            types_ = tuple(map(effect.operand_type, operands))
            given = [self._lifted(x, effect, types_) for x in operands]
        else:
            given = [x.data if self.owns(x) else x for x in operands]
        result = rule(effect, given, attributes, self)
        if not effect.multiple:
            return self.adopt(result, expected, effect)
        return [self.adopt(x, t, effect) for x, t in zip(result, expected, strict=True)]

    def _lifted(self, x: Any, effect: Effect, types: Any) -> Any:
        if self.owns(x):
            return x.data
        if type(x) in LITERALS and effect.literals:
            t = effect.literal_type(x, types)
            x = shape.full(t.shape, x, t.dtype)
        return self.interpreter.lift(x)

    def adopt(self, result: Any, expected: ShapedArray, effect: Effect) -> Any:
        """What a rule returned as a value of this handler; what is no data of its class is plain.

        Raises `TypeError` where a leaf has not the shape that the effect's result has.
        """
        cls = self.interpreter
        if not isinstance(result, Interpreter):
            return result
        if not isinstance(result, cls) and not issubclass(cls, type(result)):
            raise TypeError(f"a rule of {cls.__name__} returned a {type(result).__name__}")
        given = {name: getattr(result, name, None) for name in cls._fields.order}
        for name, leaf in cls._fields.leaves.items():
            x = given[name]
            if type(x) in LITERALS:
                given[name] = shape.full(expected.shape, x, leaf.dtype or expected.dtype)
            elif x is not None and typeof(x).shape[leaf.axes :] != expected.shape:
                raise TypeError(
                    f"the rule of {cls.__name__} for '{effect.name}' gives a leaf '{name}' of type "
                    f"{typeof(x).str_short()}, where the result is {expected.str_short()}"
                )
        return Carried(self, cls._made(given))

    def missing(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Refuse, and say what to write."""
        name = self.interpreter.__name__
        types_ = ", ".join(repr(effect.operand_type(x)) for x in operands)
        raise MissingRuleError(
            f"at {describe(user_frame())}, {name} has no rule for the effect "
            f"{effect.name}({types_}). Write one, @{name}.rule(effects.{effect.name}), or one for "
            f"all that have none, @{name}.default; where the leaves go the same way each on its "
            f"own, {name}.leafwise(effects.{effect.name}) is the rule"
        )

    # ------------------------------------------------------------------------- at the borders

    def enter(self, x: Any) -> Any:
        """An argument of the transformed function: data becomes a carrier."""
        cls = self.interpreter
        if type(x) is not cls:
            return x
        leaves = {name: _ready(getattr(x, name)) for name in cls._fields.leaves}
        statics = {name: getattr(x, name) for name in cls._fields.statics}
        data = cls._made(leaves | statics)
        found = data.type.shape
        for name, leaf in cls._fields.leaves.items():
            part = leaves[name]
            if part is not None and typeof(part).shape[leaf.axes :] != found:
                raise TypeError(
                    f"{cls.__name__}: the leaf '{name}' is {typeof(part).str_short()}, and the "
                    f"value has shape {found}"
                )
        return Carried(self, data)

    def leave(self, x: Any) -> Any:
        """A result of the function: a carrier becomes data."""
        return x.data if self.owns(x) else x

    def run_program(self, program: Program, *operands: Any) -> list[Any]:
        """A program under this handler: data and plain values in, data and plain values out."""
        values = [Carried(self, x) if type(x) is self.interpreter else x for x in operands]
        return [self.leave(x) for x in reopen(self, program, values)]


class _Rule:
    """A user's rule, and which of `effect`, `state` and `run` it wants to be told."""

    __slots__ = ("function", "lift", "wants")

    def __init__(self, function: Callable[..., Any], lift: bool) -> None:
        self.function = function
        self.lift = lift
        self.wants = {"effect", "state", "run"} & inspect.signature(function).parameters.keys()

    def __call__(
        self, effect: Effect, operands: Sequence[Any], attributes: Any, handler: Interpretation
    ) -> Any:
        told: dict[str, Any] = {}
        if "effect" in self.wants:
            told["effect"] = effect
        if "state" in self.wants:
            told["state"] = _States(handler)
        if "run" in self.wants:
            told["run"] = handler.run_program
        return self.function(*operands, **told, **attributes)


class _CatchAll(_Rule):
    """A rule for any effect: the effect is its first argument."""

    __slots__ = ()

    def __call__(
        self, effect: Effect, operands: Sequence[Any], attributes: Any, handler: Interpretation
    ) -> Any:
        told = {"state": _States(handler)} if "state" in self.wants else {}
        return self.function(effect, *operands, **told, **attributes)


class _States:
    """A handler's states by name, to read and to assign."""

    __slots__ = ("_handler",)

    def __init__(self, handler: Interpretation) -> None:
        object.__setattr__(self, "_handler", handler)

    def _place(self, name: str) -> int:
        names = self._handler.interpreter._fields.states
        if name not in names:
            raise AttributeError(f"{self._handler.interpreter.__name__} declares no state '{name}'")
        return names.index(name)

    def __getattr__(self, name: str) -> Any:
        return self._handler.states[self._place(name)]

    def __setattr__(self, name: str, value: Any) -> None:
        self._handler.states[self._place(name)] = value


@dataclass_transform(eq_default=False)
class Interpreter:
    """A transform: fields, rules, `transform`.

    Fields are declared by `Leaf` (an array), `Leaf | None` (one that may be absent), `Static`
    (hashable data) and `State` (a value of the handler's). The first leaf has the type of the
    value it stands for, unless the class defines `type`. The constructor takes the fields in
    order, by position or by name; instances are pytrees of their leaves.

    Override `lift(value)` where a plain value is not its own leaf, every time.
    """

    _fields: ClassVar[_Fields] = _Fields({}, (), (), ())
    _handler: ClassVar[type[Interpretation]] = Interpretation

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Read the fields; make the handler; register the class as a pytree."""
        super().__init_subclass__(**keywords)
        parent = cls._handler
        cls._fields = _Fields.of(cls)
        body = {
            "__slots__": (),
            "interpreter": cls,
            "rules": dict(getattr(parent, "rules", {})),
            "catch_all": parent.catch_all,
            "__module__": cls.__module__,
        }
        cls._handler = type(cls.__name__, (Interpretation,), body)
        register_pytree_with_keys(cls, _flatten_with_keys, _unflattener(cls), _flatten)

    def __init__(self, *args: Any, **keywords: Any) -> None:
        names = self._fields.order
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} has the fields {names}, and was given {len(args)} values"
            )
        given = dict(zip(names, args, strict=False))
        for name, x in keywords.items():
            if name in given or name not in names:
                raise TypeError(f"{type(self).__name__} got an unexpected or repeated '{name}'")
            given[name] = x
        for name in names:
            if name not in given:
                given[name] = self._absent(name)
            setattr(self, name, given[name])

    @classmethod
    def _absent(cls, name: str) -> Any:
        found = getattr(cls, name, _MISSING)
        if found is not _MISSING:
            return found
        leaf = cls._fields.leaves.get(name)
        if leaf is not None and leaf.optional:
            return None
        raise TypeError(f"{cls.__name__} needs a value for '{name}'")

    @classmethod
    def _made(cls, given: dict[str, Any]) -> Any:
        data = object.__new__(cls)
        for name, x in given.items():
            setattr(data, name, x)
        return data

    @property
    def type(self) -> ShapedArray:
        """The type of the value that the data stands for: its first leaf's, without axes in front."""
        for name, leaf in self._fields.leaves.items():
            x = getattr(self, name)
            if x is not None:
                found = typeof(x)
                return found.update(shape=found.shape[leaf.axes :]) if leaf.axes else found
        raise TypeError(f"a {type(self).__name__} without leaves has no type; define `type`")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.type.dtype

    @classmethod
    def lift(cls, value: Any) -> Any:
        """The data of a plain value: each leaf is the value, optional ones are absent."""
        given: dict[str, Any] = {}
        for name in cls._fields.order:
            leaf = cls._fields.leaves.get(name)
            if leaf is None or leaf.optional:
                given[name] = cls._absent(name)
            elif leaf.axes or leaf.dtype is not None:
                raise MissingRuleError(
                    f"{cls.__name__} can't say what a plain value is: its leaf '{name}' is not the "
                    f"value itself. Define the classmethod {cls.__name__}.lift(value)"
                )
            else:
                given[name] = value
        return cls._made(given)

    @classmethod
    def join_static(cls, name: str, one: Any, other: Any) -> Any:
        """The least of what two branches, or two steps of a loop, know of a static field.

        Override it where statics are ordered. Raises `TypeError`: by default they must agree.
        """
        raise TypeError(
            f"{cls.__name__}.{name} is {one!r} in one branch or step of a loop and {other!r} in "
            f"another; define {cls.__name__}.join_static to say what holds for both"
        )

    @classmethod
    def rule(
        cls, *effects: Effect, lift: bool | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Give the rule for some effects.

        The rule is called with the operands' data and the attributes by name, and returns data
        (a sequence of it for effects of several results); a result of another kind is plain, not
        the interpreter's own. It runs outside the interpreter. A parameter named `effect` is
        told which effect it is, `state` gives the states, and `run(program, *operands)` runs a
        program under the interpreter. Operands that are plain are lifted, unless `lift` is False;
        the default lifts them except for effects that hold programs.
        """

        def fill(function: Callable[..., Any]) -> Callable[..., Any]:
            for effect in effects:
                wanted = not effect.higher_order if lift is None else lift
                cls._handler.rules[effect] = _Rule(function, wanted)
            cls._handler.version += 1
            return function

        return fill

    @classmethod
    def default(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule for first-order effects that have none.

        It is called as `rule(effect, *operands, **attributes)`.
        """
        cls._handler.catch_all = _CatchAll(function, True)
        cls._handler.version += 1
        return function

    @classmethod
    def leafwise(cls, *effects: Effect) -> None:
        """Some effects happen to each leaf on its own, as reshaping does."""

        def leafwise_rule(*operands: Any, effect: Effect, **attributes: Any) -> Any:
            return cls.map(effect, *operands, **attributes)

        cls.rule(*effects)(leafwise_rule)

    @classmethod
    def map(cls, effect: Effect, *operands: Any, **attributes: Any) -> Any:
        """The effect on each leaf on its own; optional leaves where any operand has them."""
        columns: dict[str, Sequence[Any]] = {}
        for name, leaf in cls._fields.leaves.items():
            parts = [getattr(x, name) for x in operands]
            prefix = next((typeof(p).shape[: leaf.axes] for p in parts if p is not None), None)
            if prefix is not None:
                full = [
                    shape.full((*prefix, *x.shape), leaf.fill, leaf.dtype or x.dtype)
                    if p is None
                    else p
                    for p, x in zip(parts, operands, strict=True)
                ]
                result = _over_axes(effect, full, attributes, leaf.axes)
                columns[name] = result if effect.multiple else [result]
        statics = {name: getattr(operands[0], name) for name in cls._fields.statics}
        absent = dict.fromkeys(cls._fields.leaves)
        made = [
            cls._made(absent | dict(zip(columns, row, strict=True)) | statics)
            for row in zip(*columns.values(), strict=True)
        ]
        return made if effect.multiple else made[0]

    @classmethod
    def forward(cls, effect: Effect, *operands: Any, **attributes: Any) -> Any:
        """Perform an effect on what the operands stand for: the first leaf of each."""
        return effect(*map(cls._plain, operands), **attributes)

    @classmethod
    def _plain(cls, x: Any) -> Any:
        return getattr(x, next(iter(cls._fields.leaves))) if isinstance(x, cls) else x

    @classmethod
    def transform(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function under this interpreter: takes and gives pytrees in which its data stand.

        Data among the arguments are this interpreter's values; all else is plain. A result that
        does not depend on any of them comes back plain. With `State` fields, the result is a pair
        of the function's result and a dict of the states.
        """
        if not callable(function):
            raise TypeError(f"Expected a callable value, got {function}")

        @wraps(function, assigned=("__name__", "__doc__", "__module__"), updated=())
        @filtered
        def interpreted(*args: Any, **keywords: Any) -> Any:
            handler = cls._handler()
            handler.states = [_initial(cls, name) for name in cls._fields.states]
            args, keywords = tree_map(
                handler.enter, (args, keywords), is_leaf=lambda x: type(x) is cls
            )
            result = tree_map(handler.leave, handler.run(function, *args, **keywords))
            if cls._fields.states:
                return result, dict(zip(cls._fields.states, handler.states, strict=True))
            return result

        return interpreted

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name, None)!r}" for name in self._fields.order)
        return f"{type(self).__name__}({fields})"


class _Missing:
    """Stands for a default that is not given."""


_MISSING: Final = _Missing()


def _initial(cls: type[Interpreter], name: str) -> Any:
    found = getattr(cls, name, 0)
    return _ready(found() if callable(found) else found)


def _ready(x: Any) -> Any:
    """A leaf as a value: Python numbers and NumPy arrays become arrays of their type."""
    if x is None or isinstance(x, Value):
        return x
    t = typeof(x)
    return conversion.convert_element_type(x, dtype=t.dtype, weak_type=t.weak_type)


def _present(data: Any) -> tuple[tuple[bool, ...], tuple[Any, ...], list[str]]:
    fields = data._fields
    names = [name for name in fields.leaves if getattr(data, name) is not None]
    mask = tuple(getattr(data, name) is not None for name in fields.leaves)
    return mask, tuple(getattr(data, name) for name in fields.statics), names


def _flatten_with_keys(data: Any) -> tuple[list[tuple[Any, Any]], Any]:
    mask, statics, names = _present(data)
    return [(GetAttrKey(name), getattr(data, name)) for name in names], (mask, statics)


def _flatten(data: Any) -> tuple[list[Any], Any]:
    mask, statics, names = _present(data)
    return [getattr(data, name) for name in names], (mask, statics)


def _unflattener(cls: type[Interpreter]) -> Callable[[Any, Any], Any]:
    def unflatten(known: Any, children: Any) -> Any:
        mask, statics = known
        rest, fields = iter(children), cls._fields
        given = {n: next(rest) if m else None for n, m in zip(fields.leaves, mask, strict=True)}
        return cls._made(given | dict(zip(fields.statics, statics, strict=True)))

    return unflatten


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
    return _converted(f"{cls.__name__}.{name}", x, type)


def _converted(name: str, x: Any, type: ShapedArray) -> Any:
    found = typeof(x)
    if found.shape != type.shape:
        raise TypeError(
            f"{name} is {found.str_short()} in one branch or step of a loop, and "
            f"{type.str_short()} in another: shapes may not change"
        )
    if found.dtype == type.dtype:
        return x
    return conversion.convert_element_type(x, dtype=type.dtype, weak_type=False)


def _joined_type(one: ShapedArray, other: ShapedArray) -> ShapedArray:
    if one is other:
        return one
    return one.update(
        dtype=promote_types(one.dtype, other.dtype),
        weak_type=one.weak_type and other.weak_type,
    )


def _over_axes(effect: Effect, operands: Sequence[Any], attributes: Any, axes: int) -> Any:
    """The effect on rows: once per index of the first `axes` axes of every operand."""
    from effax.effects.control import scan

    if not axes:
        return effect(*operands, **attributes)

    def row(*rows: Any) -> Sequence[Any]:
        result = _over_axes(effect, rows, attributes, axes - 1)
        return result if effect.multiple else [result]

    ts = [typeof(x) for x in operands]
    staged = stage(row, [t.update(shape=t.shape[1:]) for t in ts], effect.name)
    results = scan(
        *staged.captured,
        *operands,
        body=staged.program,
        consts=len(staged.captured),
        carry=0,
        length=ts[0].shape[0],
        reverse=False,
        unroll=1,
    )
    return results if effect.multiple else results[0]
