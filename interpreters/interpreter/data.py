"""The class that a user's interpreter derives from: data outside, rules, and the transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Final, dataclass_transform

from effax.effects.asked import answerers
from effax.effects.effect import Effect
from effax.effects.errors import FixpointError, MissingRuleError
from effax.effects.frames import filtered
from effax.effects.rows import shape
from effax.effects.tree import GetAttrKey, register_pytree_with_keys, tree_map
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.interpreter.fields import Data, Fields
from effax.interpreters.interpreter.handler import EveryEffect, Interpretation
from effax.interpreters.interpreter.rules import CatchAll, Rule
from effax.interpreters.interpreter.states import ready
from effax.interpreters.stage import stage


@dataclass_transform(eq_default=False)
class Interpreter(Data):
    """A transform: fields, rules, `transform`.

    Fields are declared by `Leaf` (an array), `Leaf | None` (one that may be absent), `Static`
    (hashable data), `State` (a value of the handler's), `Log` (what rules write) and `Setting`
    (what is fixed for one installation). The first leaf has the type of the value it stands for,
    unless the class defines `type`. The constructor takes the fields in order, by position or by
    name; instances are pytrees of their leaves.

    A class without leaves owns no values: its rules take and give plain ones. With `every=True`
    among the class's arguments, effects on plain values are answered too, if there is a rule for
    them or a default; else only those are that have an operand of the interpreter's own, or a
    `row` that a rule is for.

    A program may bring rules of its own: `custom_jvp`, `custom_vjp`, `custom_vmap`, `custom_root`,
    `custom_linear_solve`. They are kept for a leaf that is declared `Leaf(primal=True)`, and for
    plain values; other leaves and states are differentiated through what the interpreter makes of
    the program's body. Where no leaf is primal, a derivative of the result is refused, unless
    `open_rules=True` among the class's arguments says that it is that of the body.

    `pure=True` among the class's arguments promises that rules only perform effects, the same ones
    for the same attributes, types and settings: they read nothing that changes, and do nothing each
    time. Un-jitted, what a rule performs is then compiled as one operation, and the rule is called
    once for all operands of the same types. While a program is recorded the rule is called twice
    for the same types; from then on, the equations that it recorded are copied. Rules that ask for
    elements, for a state or for their place are called each time as ever.

    Override `lift(value)` where a plain value is not its own leaf, every time. `lift`,
    `join_static` and `widen` are told more if they have parameters for it: `settings`, those of the
    installation; and `lift` also `mode`, the `Mode` that is wanted.
    """

    _fields: ClassVar[Fields] = Fields({}, (), (), ())
    _forms: ClassVar[dict[Any, Any]] = {}
    _handler: ClassVar[type[Interpretation]] = Interpretation

    def __init_subclass__(
        cls, every: bool = False, open_rules: bool = False, pure: bool = False, **keywords: Any
    ) -> None:
        """Read the fields; make the handler; register the class as a pytree."""
        super().__init_subclass__(**keywords)
        parent = cls._handler
        cls._fields = Fields.of(cls)
        cls._forms = {}
        body = {
            "__slots__": (),
            "interpreter": cls,
            "label": cls.__name__,
            "rules": dict(getattr(parent, "rules", {})),
            "catch_all": parent.catch_all,
            "every": every or parent.every,
            "opens_rules": open_rules or parent.opens_rules,
            "pure": pure or parent.pure,
            "typed": cls.type is not Interpreter.type,
            "__module__": cls.__module__,
        }
        base = EveryEffect if body["every"] else Interpretation
        cls._handler = type(cls.__name__, (base,), body)
        register_pytree_with_keys(cls, _flatten_with_keys, _unflattener(cls), _flatten)

    def __init__(self, *args: Any, **keywords: Any) -> None:
        names = self._fields.order
        if len(args) == len(names) and not keywords:
            self.__dict__.update(zip(names, args, strict=True))
            return
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
        """The type of the value that the data stands for: its first leaf's, less axes in front."""
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
        """The data of a plain value: each leaf is the value, optional ones are absent.

        Without leaves, it is the value. An override may have a parameter `settings`, to read the
        settings by name, and a parameter `mode`: what the others in a rule, a branch or a loop are
        like, a `Mode`; None where nothing is known.
        """
        if not cls._fields.leaves:
            return value
        given: dict[str, Any] = {}
        for name in cls._fields.order:
            leaf = cls._fields.leaves.get(name)
            if leaf is None or leaf.optional:
                given[name] = cls._absent(name)
            elif leaf.axes or leaf.dtype is not None:
                raise MissingRuleError(
                    f"{cls.__name__} can't represent a plain value: its leaf '{name}' is not the "
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
            f"another; define {cls.__name__}.join_static to return a value that holds for both"
        )

    @classmethod
    def widen(cls, name: str, one: Any, other: Any) -> Any:
        """A static field that holds for all later steps of a loop, where joins go on growing.

        It is asked when a static of one carry has grown in 32 steps, with its last two values.
        Raises `FixpointError`: by default there is none.
        """
        raise FixpointError(
            f"{cls.__name__}.{name} of a loop's carry grows in each step, last from {one!r} to "
            f"{other!r}; define {cls.__name__}.widen to return a value that holds for all steps, "
            "or keep it in a leaf"
        )

    @classmethod
    def rule(
        cls, *effects: Effect, lift: bool | None = None, pure: bool | None = None
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Give the rule for some effects.

        The rule is called with the operands' data and the attributes by name, and returns data
        (a sequence of it for effects of several results); a result of another kind is plain, not
        the interpreter's own. It runs outside the interpreter. A parameter named `effect` is
        told which effect it is, `state` gives states, settings and logs, `run(program, *operands)`
        runs a program under the interpreter, and `place` is the user's line that asked. Operands
        that are plain are lifted, unless `lift` is False; the default lifts them except for effects
        that hold programs. `pure` is that of the class, for this rule. A rule that returns
        NotImplemented leaves the effect as if it had none: written out in terms of others where
        there is a definition, lifted where it holds programs.
        """

        known = cls._handler.pure if pure is None else pure

        def fill(function: Callable[..., Any]) -> Callable[..., Any]:
            for effect in effects:
                wanted = not effect.higher_order if lift is None else lift
                cls._handler.rules[effect] = Rule(function, wanted, known)
                if effect.row:
                    answerers.setdefault(effect.row, {})[f"{cls.__name__}.transform"] = None
            cls._handler.version += 1
            return function

        return fill

    @classmethod
    def answered(cls) -> frozenset[str]:
        """The entries of rows that this interpreter answers, owned operand or not.

        `make_program(f)(*args).row - T.answered()` is what `T.transform(f)` leaves to be answered.
        """
        return frozenset(e.row for e in cls._handler.rules if e.row)

    @classmethod
    def default(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule for first-order effects that have none.

        It is called as `rule(effect, *operands, **attributes)`; where it returns NotImplemented,
        the effect is written out in terms of others (`traits.composite`), or refused.
        """
        cls._handler.catch_all = CatchAll(function, True, cls._handler.pure)
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
    def transform(cls, function: Callable[..., Any], /, **given: Any) -> Callable[..., Any]:
        """The function under this interpreter: takes and gives pytrees in which its data stand.

        Data among the arguments are this interpreter's values; all else is plain. A result that
        does not depend on any of them comes back plain. With `State` and `Log` fields, the result
        is a pair of the function's result and a dict of them. What is given by name is a setting,
        or a state at the start.
        """
        if not callable(function):
            raise TypeError(f"Expected a callable value, got {function}")
        fields = cls._fields
        for name in given:
            if name not in (*fields.settings, *fields.states):
                raise TypeError(f"{cls.__name__} declares no state or setting '{name}'")
        settings = tuple(given[n] if n in given else _setting(cls, n) for n in fields.settings)

        @wraps(function, assigned=("__name__", "__doc__", "__module__"), updated=())
        @filtered
        def interpreted(*args: Any, **keywords: Any) -> Any:
            handler = cls._handler(settings=settings)
            handler.states = [
                tree_map(ready, given[n] if n in given else _initial(cls, n)) for n in fields.states
            ]
            args, keywords = tree_map(
                handler.enter, (args, keywords), is_leaf=lambda x: type(x) is cls
            )
            result = tree_map(handler.leave, handler.run(function, *args, **keywords))
            if fields.states or fields.logs:
                return result, handler.threaded()
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
    return found() if callable(found) else found


def _setting(cls: type[Interpreter], name: str) -> Any:
    found = getattr(cls, name, _MISSING)
    if found is _MISSING:
        raise TypeError(f"{cls.__name__}.transform needs the setting '{name}'")
    return found


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


def _over_axes(effect: Effect, operands: Sequence[Any], attributes: Any, axes: int) -> Any:
    """The effect on rows: once per index of the first `axes` axes of every operand."""
    from effax.effects.rows.control import scan

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
