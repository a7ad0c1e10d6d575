"""Lowerings of effects, as programs written for JAX give them.

    register_lowering(effect, lower_fun(function, multiple_results=False))
    register_lowering(effect, rule)      # rule(ctx, *ir_values, **attributes) -> ir_values

A rule writes operations of jaxlib's MLIR dialects where the context says.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.jax_primitives import unnamed
from effax.effects.types import ShapedArray

__all__ = ["LoweringRuleContext", "lower_fun", "register_lowering"]

lowerings: Final[dict[Effect, dict[str | None, Callable[..., Any]]]] = {}
"""The registered lowerings of an effect, by platform; None stands for all other platforms."""


@attrs.frozen(slots=True)
class Expansion:
    """A lowering that says the effect by others: a function of the operands."""

    function: Callable[..., Any]
    multiple_results: bool


class ModuleContext:
    """The module that a rule writes a part of."""

    def add_keepalive(self, keepalive: Any) -> None:
        """Accept an object; an executable keeps its callbacks alive by itself."""


@attrs.frozen(slots=True)
class LoweringRuleContext:
    """The context of a lowering rule: the effect, its types, and the target platform."""

    primitive: Effect
    avals_in: tuple[ShapedArray, ...]
    avals_out: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    callbacks: list[Any] = attrs.field(factory=list)
    """The host's functions that the module calls, by number."""
    module_context: ModuleContext = attrs.field(factory=ModuleContext)


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Any:
    """The lowering of an effect that does what a function of its operands does."""
    return Expansion(fun, multiple_results)


def register_lowering(
    prim: Effect, rule: Callable[..., Any], platform: str | None = None, inline: bool = True
) -> Any:
    """Give what an effect is lowered to, on one platform or on all."""
    lowerings.setdefault(unnamed(prim), {})[platform] = rule


def __getattr__(name: str) -> Any:
    """Find functions that write MLIR in the back-end, a higher layer, when they are named."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("effax.backends.xla.ir"), name)
