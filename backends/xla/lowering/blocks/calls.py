"""Calls of kernel compilers, as text, and the parts they are written from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.backends.xla.lowering.blocks.writer import BlockWriter
from effax.backends.xla.lowering.callback import layout
from effax.backends.xla.lowering.foreign import quoted
from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.program import Program
from effax.effects.rows.kernel import Block, scratch_types
from effax.effects.types import ShapedArray
from effax.interpreters.functor.grid_order import first_step


@attrs.frozen
class Kernel:
    """A kernel's attributes, and the types of its scalars."""

    name: str
    program: Program
    maps: tuple[Program, ...]
    blocks: tuple[Block, ...]
    grid: tuple[int, ...]
    scalars: tuple[ShapedArray, ...]
    inputs: int
    aliases: tuple[tuple[int, int], ...]
    parallel: tuple[bool, ...]
    params: Any

    @classmethod
    def of(cls, types: Sequence[ShapedArray], attributes: dict[str, Any]) -> Kernel:
        """The kernel with these attributes, of operands of these types."""
        n = attributes["scalars"]
        return cls(
            attributes["name"],
            attributes["program"],
            attributes["maps"],
            attributes["blocks"],
            attributes["grid"],
            tuple(types[:n]),
            len(types) - n,
            attributes.get("aliases", ()),
            attributes.get("parallel", ()),
            attributes.get("params"),
        )

    @property
    def scratch(self) -> tuple[ShapedArray, ...]:
        """The types of the scratch arrays."""
        return scratch_types(self.program, self.grid, len(self.scalars), self.blocks)

    @property
    def results(self) -> range:
        """The numbers of the results' blocks."""
        return range(self.inputs, len(self.blocks))


def custom_call(
    w: Writer,
    target: str,
    told: str,
    kernel: Kernel,
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
) -> list[Name]:
    """Write a call of a compiler of kernels, whose arrays lie in row-major order."""
    given = [
        told,
        f"operand_layouts = [{', '.join(layout(x.type, None) for x in operands)}]",
        f"result_layouts = [{', '.join(layout(t, None) for t in types)}]",
    ]
    if kernel.aliases:
        pairs = ", ".join(
            "#stablehlo.output_operand_alias<output_tuple_indices = "
            f"{[result] if len(types) > 1 else []}, operand_index = {len(kernel.scalars) + i}, "
            "operand_tuple_indices = []>"
            for i, result in kernel.aliases
        )
        given.append(f"output_operand_aliases = [{pairs}]")
    ins, outs = ", ".join(x.text for x in operands), ", ".join(map(tensor, types))
    return w.ops(
        f"stablehlo.custom_call @{quoted(target)}({', '.join(operands)}) {{{', '.join(given)}}} : "
        f"({ins}) -> {outs if len(types) == 1 else f'({outs})'}",
        types,
    )


def identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name) or "kernel"


def first_of_steps(w: BlockWriter, kernel: Kernel) -> int:
    """The first axis of the grid whose points are steps that write the same blocks of results.

    Refuses a kernel that can't be compiled: one that performs effects, or whose points have no such
    order.
    """
    if kernel.program.row:
        raise w.refuse(f"the effects {sorted(kernel.program.row)} can't be performed in a kernel")
    first, again = first_step(
        [kernel.maps[k] for k in kernel.results], kernel.grid, kernel.parallel
    )
    if again:
        raise w.refuse(
            f"points that differ along axes {list(again)} of the grid write the same blocks, and "
            "others between them write other blocks, which has no meaning: put these axes last,"
        )
    return first
