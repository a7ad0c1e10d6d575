"""The interface for extenders: interpreters, effects, and cells for either, from outside.

A transform is a class of fields and rules (`Interpreter`); an effect is a signature (`Effect`) and
a cell in each column that should know it:

    double = extend.Effect("double", family="mine", typing=lambda x: x)
    extend.jvp.linear(double)
    extend.batch.elementwise(double)
    extend.expand(double)(lambda x: x + x)           # for everyone who has no cell of their own

Nothing is registered elsewhere, and the library's own columns are filled by the same decorators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from effax import effects as effects
from effax import traits as traits
from effax.backends.reference import table as reference
from effax.backends.xla.lowering import writer as lowering
from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.columns import load, ready
from effax.effects.effect import Effect as Effect
from effax.effects.effect import all_effects as all_effects
from effax.effects.effect import find_effect as find_effect
from effax.effects.errors import MissingRuleError as MissingRuleError
from effax.effects.handler import Carrier as Carrier
from effax.effects.handler import Handler as Handler
from effax.effects.program import Equation as Equation
from effax.effects.program import Program as Program
from effax.effects.program import Variable as Variable
from effax.effects.types import ShapedArray as ShapedArray
from effax.effects.types import typeof as typeof
from effax.effects.value import Value as Value
from effax.extend.expansion import expanded, write
from effax.extend.handling import handle as handle
from effax.extend.propagation import Propagation as Propagation
from effax.extend.propagation import UndeterminedError as UndeterminedError
from effax.extend.uncertainty import unsure as unsure
from effax.interpreters.batch import batched as batch
from effax.interpreters.functor.lifting import Lifting as Lifting
from effax.interpreters.functor.meanings import meanings
from effax.interpreters.functor.written_out import expansion
from effax.interpreters.interpreter import Interpreter as Interpreter
from effax.interpreters.interpreter import Leaf as Leaf
from effax.interpreters.interpreter import Log as Log
from effax.interpreters.interpreter import Setting as Setting
from effax.interpreters.interpreter import State as State
from effax.interpreters.interpreter import Static as Static
from effax.interpreters.jvp import dual as jvp
from effax.interpreters.stage import Staged
from effax.interpreters.stage import stage as stage
from effax.interpreters.transpose import linear as transpose
from effax.seeing.parsing import parse as parse
from effax.seeing.python_source import PythonSource as PythonSource
from effax.seeing.python_source import python_source as python_source
from effax.seeing.python_text import program as program

__all__ = [
    "Carrier",
    "Effect",
    "Equation",
    "Handler",
    "Interpreter",
    "Leaf",
    "Lifting",
    "Log",
    "MissingRuleError",
    "Program",
    "Propagation",
    "PythonSource",
    "Setting",
    "ShapedArray",
    "State",
    "Static",
    "UndeterminedError",
    "Value",
    "Variable",
    "all_effects",
    "batch",
    "effects",
    "expand",
    "find_effect",
    "handle",
    "jvp",
    "lowering",
    "parse",
    "program",
    "python_source",
    "reference",
    "stage",
    "traits",
    "transpose",
    "typeof",
    "unsure",
]
__dir__ = __all__.copy

_ON_DEMAND = frozenset({"backend", "core", "linear_util", "random", "source_info_util"})
"""Modules with JAX's names."""


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f"effax.extend.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# The library's own effects and rules are loaded first, so that rules from outside replace them.
ready()
for _column in ("effax.effects", "effax.backends.reference", "effax.backends.xla.lowering"):
    load(_column)


def expand(
    effect: Effect, *, performs: Iterable[Effect] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function that says what an effect means in terms of others.

    Every handler without a rule of its own for the effect, and both backends, take it from there.
    The function is called with the operands and the attributes, for what a handler has to know and
    the effect does not say: `grad` takes the tangent from it, and the value from the effect, which
    a handler further out may have a rule for. Under `vmap`, such a handler is asked in each lane.
    For an effect with `higher_order`, which has programs among its attributes, this is the one
    declaration: each interpreter goes through it.

    Where the function performs effects that a handler answers (a draw, a tick), `performs` lists
    them. Then the row of a program that performs the effect says so, a handler that answers them
    goes through the function, and they are performed once.

    >>> from effax import extend
    >>> thrice = extend.Effect("doctest_thrice", family="mine", typing=lambda x: x)
    >>> @extend.expand(thrice)
    ... def thrice_is_a_product(x, mul=extend.effects.mul):
    ...     return mul(x, 3.0)
    >>> import effax
    >>> float(effax.grad(thrice)(2.0))
    3.0
    """

    rows = frozenset(one.row for one in performs)
    if "" in rows:
        pure = next(one for one in performs if not one.row)
        raise ValueError(
            f"extend.expand: performs must list effects that a handler answers, but '{pure.name}' "
            "is pure: leave it out"
        )

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        if rows:
            effect.performs, effect.answerable = rows, True
        expansion(effect)(function)
        meanings[effect] = function
        if effect.row:
            lowering.answered.add(effect.row)

        def staged(types: Sequence[ShapedArray], attributes: dict[str, Any]) -> Staged:
            return expanded(function, effect, types, attributes, effect.multiple)

        @lowering.rule(effect)
        def lower_expanded(
            w: Writer, types: Sequence[ShapedArray], *operands: Name, **attributes: Any
        ) -> Any:
            results = write(w, staged([x.type for x in operands], attributes), operands)
            return results if effect.multiple else results[0]

        @reference.rule(effect)
        def evaluate_expanded(*operands: Any, **attributes: Any) -> Any:
            from effax.backends.reference.evaluate import run

            found = staged([typeof(x) for x in operands], attributes)
            results = run(found.program, [*map(np.asarray, found.captured), *operands])
            return results if effect.multiple else results[0]

        return function

    return fill
