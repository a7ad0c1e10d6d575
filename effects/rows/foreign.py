"""Foreign code: modules made elsewhere, and functions that a library registered with XLA.

What they compute is known to the compiler only, so they have types and nothing else: no derivative,
and for a batch only what is said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.facts import SOUND
from effax.effects.rows.control import match_types
from effax.effects.types import ShapedArray

FAMILY = "foreign"


@attrs.frozen(slots=True, eq=False)
class Module:
    """A module of StableHLO in its portable form, whose function `main` has these types.

    Where there are several `platforms`, `main` takes before its operands an i32 scalar that says
    which of them it runs on, unless only one of them is ever meant.
    """

    name: str
    artifact: bytes
    in_types: tuple[ShapedArray, ...]
    out_types: tuple[ShapedArray, ...]
    platforms: tuple[str, ...]
    any_platform: bool = False
    """Whether it may run where it was not made for: as for the first of its platforms."""
    nr_devices: int = 1
    """The number of devices that it runs on."""
    in_shardings: tuple[Any, ...] = ()
    out_shardings: tuple[Any, ...] = ()
    """Shardings of operands and results over meshes without devices, or None, if there are any."""
    results: Callable[[Sequence[ShapedArray], Sequence[ShapedArray]], Any] | None = None
    """The function of `out_types` and the operands' types that returns those of the results, where
    lengths are symbolic; it raises `ExportError` for operands that do not fit."""

    @property
    def meshes(self) -> tuple[Any, ...]:
        """The meshes of its shardings."""
        told = (*self.in_shardings, *self.out_shardings)
        return tuple(dict.fromkeys(s.mesh for s in told if s is not None))

    def __str__(self) -> str:
        return self.name


def _module_type(*operands: ShapedArray, module: Module) -> Sequence[ShapedArray]:
    if module.results is not None:
        found: Sequence[ShapedArray] = module.results(module.out_types, operands)
        return found
    match_types(
        f"the operands of the exported {module.name}", module.in_types, operands, cuts=False
    )
    return module.out_types


exported_call = Effect(
    "exported_call", family=FAMILY, typing=_module_type, multiple=True, facts=SOUND
)
"""`exported_call(*operands, module)`: what the function `main` of a module gives."""


@attrs.frozen(slots=True)
class Target:
    """A function registered with XLA under a name, and how it is called.

    `attributes` are what it is told besides its operands, in MLIR's syntax; layouts are orders of
    axes, the slowest first, or None for the usual one; `aliases` are pairs of an operand and the
    result that takes its memory.
    """

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    operand_layouts: tuple[tuple[int, ...] | None, ...] | None = None
    result_layouts: tuple[tuple[int, ...] | None, ...] | None = None
    aliases: tuple[tuple[int, int], ...] = ()
    api_version: int = 4
    config: str = ""

    def with_lanes(self, batched: Sequence[bool]) -> Target:
        """The call for arrays with one more axis, the slowest, where operands are batched."""
        operands, results = self.operand_layouts, self.result_layouts
        if operands is not None:
            pairs = zip(operands, batched, strict=True)
            operands = tuple([_with_lanes(x) if b else x for x, b in pairs])
        if results is not None:
            results = tuple(map(_with_lanes, results))
        return attrs.evolve(self, operand_layouts=operands, result_layouts=results)

    def __str__(self) -> str:
        told = ", ".join([f"{name}={text}" for name, text in self.attributes])
        return f"{self.name}({told})" if told else self.name


def _with_lanes(layout: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if layout is None else (0, *(axis + 1 for axis in layout))


def _target_type(
    *operands: ShapedArray, result_types: tuple[ShapedArray, ...], **_: Any
) -> Sequence[ShapedArray]:
    return result_types


foreign_call = Effect(
    "foreign_call", family=FAMILY, typing=_target_type, multiple=True, facts=SOUND
)
"""`foreign_call(*operands, target, result_types, vmap_method)`: what a registered function gives.

It may be dropped, repeated and moved like any pure effect.
"""

acting_foreign_call = Effect(
    "acting_foreign_call",
    family=FAMILY,
    typing=_target_type,
    multiple=True,
    row="callback",
    facts=SOUND,
)
"""`acting_foreign_call(*operands, target, result_types, vmap_method)`: one that also acts."""
