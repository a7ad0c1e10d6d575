"""Lowerings that were registered for effects in `effax.interpreters.mlir`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.reference import table as reference
from effax.backends.xla.ir import function_text
from effax.backends.xla.lowering import writer as lowering
from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.effect import Effect
from effax.effects.types import ShapedArray
from effax.extend.expansion import expanded, write
from effax.interpreters.mlir import (
    Expansion,
    LoweringRuleContext,
    lowerings,
)


def lower_by_table(effect: Effect) -> None:
    """Have both backends take the effect from what is registered for it."""

    @lowering.rule(effect)
    def lower_as_registered(
        w: Writer, types: Sequence[ShapedArray], *operands: Name, **attributes: Any
    ) -> Any:
        found = lowerings.get(effect, {})
        rule = found.get(w.platform) or found.get(None)
        if rule is None:
            raise NotImplementedError(
                f"MLIR translation rule for primitive '{effect}' not found for platform "
                f"{w.platform}: give one by mlir.register_lowering({effect}, "
                "mlir.lower_fun(function, multiple_results=...))"
            )
        if isinstance(rule, Expansion):
            types_in = [x.type for x in operands]
            several = rule.multiple_results
            staged = expanded(rule.function, effect, types_in, attributes, several)
            results = write(w, staged, operands)
        else:
            results = _written(w, effect, rule, types, operands, attributes)
        return results if effect.multiple else results[0]

    @reference.rule(effect)
    def evaluate_impl(*operands: Any, **attributes: Any) -> Any:
        return effect._evaluate(*operands, **attributes)  # type: ignore[attr-defined]


def _written(
    w: Writer,
    effect: Effect,
    rule: Callable[..., Any],
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
    attributes: dict[str, Any],
) -> list[Name]:
    """A function of the module, whose body the rule writes by MLIR's Python bindings."""
    ins = tuple(x.type for x in operands)
    told = LoweringRuleContext(effect, ins, tuple(types), (w.platform,), w.callbacks)
    name = w._name(effect.name)
    text = function_text(name, ins, types, lambda *xs: rule(told, *xs, **attributes))
    w.functions.append(text)
    return w.call(name, operands, types)
