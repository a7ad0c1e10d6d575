"""The class that a user's interpreter derives from: data outside, rules, and the transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Final, dataclass_transform

from effax.effects.asked import answerers
from effax.effects.effect import Effect, only_effects
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
    """The base class of transforms: a subclass declares fields, and gives rules for effects.

    A field is a `Leaf` (an array), a `Leaf | None` (an array that may be absent), a `Static`
    (hashable data), a `State` (arrays that rules read and assign), a `Log` (arrays that rules
    append) or a `Setting` (hashable data that the caller fixes). The first leaf has the type of the
    value that the data stands for, unless the class defines `type`. The constructor takes the
    fields in order, by position or by name. Instances are pytrees of their leaves.

    A class without leaves owns no values: its rules take and return plain ones. The interpreter
    answers an effect if it owns an operand, or has a rule for an effect with a `row`.

    A program may contain custom rules (`custom_jvp`, `custom_vjp`, `custom_vmap`, `custom_root`,
    `custom_linear_solve`). They apply to plain values, and to a leaf that is declared
    `Leaf(primal=True)`. Other leaves and states are differentiated through the program's body under
    the interpreter. If no leaf is primal, a derivative of the result is refused.

    Override `lift(value)` if the leaf of a plain value is not the value itself. `lift`,
    `join_static` and `widen` may have a parameter `settings`, the settings of the installation, and
    `lift` a parameter `mode`, the requested `Mode`.

    Arguments of the class statement, as in `class Cost(Interpreter, every=True)`:

    - `every`: answer effects on plain values too, if there is a rule for them or a default.
    - `open_rules`: where no leaf is primal, the derivative of a custom rule is that of its body.
    - `pure`: a promise that rules only perform effects, the same ones for the same attributes,
      types and settings. Outside of `jit`, a rule is called once for operands of the same types,
      and its effects are compiled as one operation. While a program is recorded, a rule is called
      twice for the same types; later its equations are copied. A rule that reads elements, a state
      or its place is called each time nevertheless.

    >>> from effax import Interpreter, Leaf, effects
    >>> class Doubled(Interpreter):
    ...     value: Leaf
    ...     twice: Leaf
    >>> @Doubled.rule(effects.neg)
    ... def negated(x):
    ...     return Doubled(-x.value, -x.twice)
    >>> found = Doubled.transform(lambda x: -x)(Doubled(1.0, 2.0))
    >>> float(found.value), float(found.twice)
    (-1.0, -2.0)
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
        settings by name, and a parameter `mode`: the `Mode` of the other operands of a rule, or of
        the other branch or step; None if nothing is known.

        Args:
          value: a plain value.
        """
        if not cls._fields.leaves:
            return value
        given: dict[str, Any] = {}
        for name in cls._fields.order:
            leaf = cls._fields.leaves.get(name)
            if leaf is None and not hasattr(cls, name):
                raise cls._unlifted(f"its static field '{name}' has no default")
            if leaf is None or leaf.optional:
                given[name] = cls._absent(name)
            elif leaf.axes or leaf.dtype is not None:
                raise cls._unlifted(f"its leaf '{name}' is not the value itself")
            else:
                given[name] = value
        return cls._made(given)

    @classmethod
    def _unlifted(cls, reason: str) -> MissingRuleError:
        name = cls.__name__
        return MissingRuleError(
            f"{name} can't represent a plain value: {reason}. Define the classmethod "
            f"{name}.lift(value)"
        )

    @classmethod
    def join_static(cls, name: str, one: Any, other: Any) -> Any:
        """The least value of a static field above those of two branches, or two steps of a loop.

        Override it where statics are ordered. By default they must agree.

        Args:
          name: the name of the field.
          one: its value in one branch or step.
          other: its value in the other.

        Raises:
          TypeError: by default, always; it is not called for equal values.
        """
        raise TypeError(
            f"{cls.__name__}.{name} is {one!r} in one branch or step of a loop and {other!r} in "
            f"another; define {cls.__name__}.join_static to return a value that holds for both"
        )

    @classmethod
    def widen(cls, name: str, one: Any, other: Any) -> Any:
        """A value of a static field that holds for all later steps of a loop.

        It is called when the field of one carry has grown in 32 steps, with its last two values.

        Args:
          name: the name of the field.
          one: its value in the last step but one.
          other: its value in the last step.

        Raises:
          FixpointError: by default, always.
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
        """Decorate the rule for some effects.

        The rule is called with the operands' data and the attributes by name. It returns data, or a
        sequence of data for an effect of several results. A result of another kind is plain: not
        the interpreter's own. The rule runs outside the interpreter. A rule that returns
        NotImplemented leaves the effect as if it had no rule: it is written out in terms of others
        if there is a definition, and lifted if it holds programs.

        A rule may have further parameters, by name: `effect` is the effect, `state` gives access to
        states, settings and logs, `run(program, *operands)` runs a program under the interpreter,
        and `place` is the user's line.

        Args:
          effects: the effects to which the rule applies.
          lift: whether operands that are plain are lifted; by default they are, except for effects
            that hold programs. One that is not lifted may be a Python number, which has the type of
            the operands around it.
          pure: the promise `pure` of the class, for this rule alone.
        """

        only_effects(f"{cls.__name__}.rule", effects)
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
        """The entries of rows that this interpreter answers, also if it owns no operand.

        `make_program(f)(*args).row - T.answered()` is what `T.transform(f)` leaves to be answered.
        """
        return frozenset(e.row for e in cls._handler.rules if e.row)

    @classmethod
    def default(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate the rule for first-order effects that have none.

        Args:
          function: called as `function(effect, *operands, **attributes)`. If it returns
            NotImplemented, the effect is written out in terms of others (`traits.composite`), or
            refused.
        """
        cls._handler.catch_all = CatchAll(function, True, cls._handler.pure)
        cls._handler.version += 1
        return function

    @classmethod
    def leafwise(cls, *effects: Effect) -> None:
        """Give a rule that performs an effect on each leaf on its own, as for reshaping.

        Args:
          effects: the effects to which it applies.
        """

        def leafwise_rule(*operands: Any, effect: Effect, **attributes: Any) -> Any:
            return cls.map(effect, *operands, **attributes)

        cls.rule(*effects)(leafwise_rule)

    @classmethod
    def map(cls, effect: Effect, *operands: Any, **attributes: Any) -> Any:
        """Perform an effect on each leaf on its own, and return the data.

        Args:
          effect: the effect.
          operands: data. An optional leaf that some operands lack is filled there.
          attributes: the attributes of the effect.
        """
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
        """Perform an effect on the values that the operands stand for: the first leaf of each.

        Args:
          effect: the effect.
          operands: data, or plain values.
          attributes: the attributes of the effect.
        """
        return effect(*map(cls._plain, operands), **attributes)

    @classmethod
    def _plain(cls, x: Any) -> Any:
        return getattr(x, next(iter(cls._fields.leaves))) if isinstance(x, cls) else x

    @classmethod
    def transform(cls, function: Callable[..., Any], /, **given: Any) -> Callable[..., Any]:
        """The function under this interpreter, which takes and returns pytrees with data in them.

        Data among the arguments are this interpreter's values, and all else is plain. A result that
        does not depend on data is plain too. With `State` and `Log` fields, the result is a pair:
        the function's result, and a dict of the final states and logs.

        Args:
          function: a function of pytrees.
          given: settings, and states at the start, by name.
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
