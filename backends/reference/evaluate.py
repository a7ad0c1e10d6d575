"""Evaluating by the reference: programs one equation at a time, and functions effect by effect.

`evaluate_program` runs a staged program on NumPy arrays. `Reference` is a handler to put under
all others: with it installed, the same functions, transformations and loops as ever run in NumPy,
without a compiler, and each value can be looked at, printed and branched on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from effax.backends.reference.table import rules
from effax.effects.columns import load
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import MissingRuleError, UnexpectedTracerError
from effax.effects.handler import Carrier, Handler
from effax.effects.program import Literal, Program, Variable
from effax.effects.tree import tree_map
from effax.effects.types import (
    ShapedArray,
    float0,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    typeof,
)

Array = np.ndarray[Any, Any]
Watch = Callable[[Effect, Sequence[Array], dict[str, Any], Sequence[Array]], None]

_KINDS = (is_bool, is_integer, is_float, is_complex)


def evaluate_effect(
    effect: Effect,
    operands: Sequence[Array],
    types: Sequence[ShapedArray],
    attributes: dict[str, Any],
) -> list[Array]:
    """Compute the results of one effect in NumPy; `types` are the result types that typing gives.

    Raises `MissingRuleError` where the reference has no rule for the effect, and `TypeError` where
    the rule gives something of another type than typing says.
    """
    rule = _rule(effect)
    with np.errstate(all="ignore"):  # infinities and NaN are valid values here, and integers wrap
        result = rule(*operands, **attributes)
    results = result if effect.multiple else (result,)
    if len(results) != len(types):
        raise TypeError(
            f"the reference's rule for '{effect}' gives {len(results)} results, not {len(types)}"
        )
    return [_checked(effect, x, t) for x, t in zip(results, types, strict=True)]


def _rule(effect: Effect) -> Callable[..., Any]:
    found = rules.get(effect)
    if found is None:
        load("effax.backends.reference")
        found = rules.get(effect)
    if found is None:
        raise MissingRuleError(
            f"the reference has no rule for the effect '{effect}'; "
            f"@extend.reference.rule({effect}) gives it one in NumPy, @extend.expand({effect}) "
            "a definition in other effects"
        )
    return found


def _checked(effect: Effect, result: Any, type: ShapedArray) -> Array:
    """The result with the dtype of typing, to which low-precision floats are rounded here."""
    array = np.asarray(result)
    if type.dtype == float0:
        return np.zeros(type.shape, float0)
    same_kind = array.dtype == type.dtype or any(k(array.dtype) and k(type.dtype) for k in _KINDS)
    if array.shape != type.shape or not same_kind:
        raise TypeError(
            f"the reference's rule for '{effect}' gives {array.dtype}{list(array.shape)}, where "
            f"typing says {type.str_short()}"
        )
    if array.dtype != type.dtype:
        with np.errstate(all="ignore"):
            array = array.astype(type.dtype)
    return array


def evaluate_program(program: Program, *values: Any) -> list[Array]:
    """The results of a program on NumPy arrays (or what converts to them), one for each input."""
    return run(program, values)


def run(program: Program, values: Sequence[Any], watch: Watch | None = None) -> list[Array]:
    """`evaluate_program` of a sequence; `watch` is shown every equation after it was evaluated."""
    environment: dict[Variable, Array] = {}
    for variable, value in zip(program.inputs, values, strict=True):
        environment[variable] = _input(value, variable.type)
    for e in program.equations:
        operands = [_atom(environment, x) for x in e.inputs]
        results = evaluate_effect(e.effect, operands, [x.type for x in e.outputs], e.attributes)
        if watch is not None:
            watch(e.effect, operands, e.attributes, results)
        environment.update(zip(e.outputs, results, strict=True))
    return [_atom(environment, x) for x in program.outputs]


def _atom(environment: dict[Variable, Array], x: Any) -> Array:
    if type(x) is Variable:
        return environment[x]
    return literal_array(x)


def literal_array(x: Literal) -> Array:
    """The array that a number in a program stands for."""
    return np.broadcast_to(np.asarray(x.value).astype(x.type.dtype), x.type.shape)


def _input(value: Any, type: ShapedArray) -> Array:
    array = np.asarray(value)
    if array.shape != type.shape:
        raise TypeError(f"expected an input of type {type.str_short()}, got shape {array.shape}")
    return array if array.dtype == type.dtype else array.astype(type.dtype)


class Concrete(Carrier):
    """A NumPy array as a value of the reference; unlike other carriers it knows its elements."""

    __slots__ = ("array", "type")

    def __init__(self, handler: Reference, array: Array, type: ShapedArray) -> None:
        self.handler = handler
        self.array = array
        self.type = type

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __float__(self) -> float:
        return float(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def item(self, *index: Any) -> Any:
        """An element as a Python number."""
        return self.array.item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.array.tolist()

    def block_until_ready(self) -> Concrete:
        """Nothing to wait for: NumPy has computed it."""
        return self

    def __repr__(self) -> str:
        return repr(self.array)


class Reference(Handler):
    """NumPy as the meaning of every effect; stands under all other handlers.

    `watch(effect, operands, attributes, results)`, when given, is called after every effect.

    >>> from effax.effects.rows.elementwise import mul
    >>> with Reference().installed():
    ...     mul(np.float32(3), 2.0)
    array(6., dtype=float32)
    """

    __slots__ = ("watch",)

    carrier = Concrete

    def __init__(self, outer: Any = None, watch: Watch | None = None) -> None:
        super().__init__(outer)
        self.watch = watch

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Evaluate the effect, whatever its operands are made of."""
        types = tuple(effect.operand_type(x) for x in operands)
        found = effect.infer(types, attributes)
        results = found if effect.multiple else (found,)
        arrays = [
            self._array(x, effect.literal_type(x, types) if t is None else t)
            for x, t in zip(operands, types, strict=True)
        ]
        values = evaluate_effect(effect, arrays, results, attributes)
        if self.watch is not None:
            self.watch(effect, arrays, attributes, values)
        made = [Concrete(self, x, t) for x, t in zip(values, results, strict=True)]
        return made if effect.multiple else made[0]

    def _array(self, x: Any, type: ShapedArray) -> Array:
        if isinstance(x, Concrete):
            return x.array
        if isinstance(x, Carrier):
            raise UnexpectedTracerError.escaped(x)
        array = np.asarray(x)
        if array.dtype != type.dtype:
            array = array.astype(type.dtype)
        literal = x.__class__ in LITERALS
        return np.broadcast_to(array, type.shape) if literal else array

    def value(self, x: Any) -> Concrete:
        """An array-like as a value of the reference."""
        type = typeof(x)
        return Concrete(self, self._array(x, type), type)


def interpret(function: Callable[..., Any], watch: Watch | None = None) -> Callable[..., Any]:
    """The function evaluated by the reference: takes and gives pytrees of NumPy arrays.

    >>> from effax.effects.rows.elementwise import add
    >>> interpret(lambda x: {"twice": add(x, x)})(np.float32(4))
    {'twice': array(8., dtype=float32)}
    """

    @wraps(function)
    def interpreted(*args: Any, **keywords: Any) -> Any:
        handler = Reference(watch=watch)
        with handler.installed():
            args, keywords = tree_map(handler.value, (args, keywords))
            results = function(*args, **keywords)
            return tree_map(lambda x: np.asarray(handler.value(x).array), results)

    return interpreted
