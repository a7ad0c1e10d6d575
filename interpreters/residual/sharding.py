"""The split of a program over a mesh into a known and a linear half, at the same places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.mesh import PartitionSpec
from effax.effects.program import Program
from effax.effects.rows import shape, sharding
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.partition import SplitPlan, planners, split
from effax.interpreters.stage import stage


def plan_shard_map(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """Each place keeps its own residuals: they are pieces along a first axis of their own.

    Places that have the same operands have the same residuals too, and share them.
    """
    parts = split(attributes["program"], unknown)
    in_specs, out_specs = attributes["in_specs"], attributes["out_specs"]
    known_specs = pick(in_specs, unknown, False)
    own = PartitionSpec(sharding.differing(attributes["program"], known_specs, attributes["binds"]))

    def known(operands: Sequence[Any]) -> list[Any]:
        return pick(operands, unknown, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = known(operands)
        return [
            *(plain[i] for i in parts.forwarded),
            *residuals,
            *pick(operands, unknown, True),
        ]

    first = len(parts.known.out_types) - parts.made
    known_attributes = {
        "program": _rows_given(parts.known, first),
        "in_specs": tuple(known_specs),
        "out_specs": (*pick(out_specs, parts.unknown_outputs, False), *[own] * parts.made),
    }
    linear_attributes = {
        "program": _rows_taken(parts.linear, len(parts.forwarded), parts.made),
        "in_specs": (
            *(known_specs[i] for i in parts.forwarded),
            *[own] * parts.made,
            *pick(in_specs, unknown, True),
        ),
        "out_specs": tuple(pick(out_specs, parts.unknown_outputs, True)),
    }
    return SplitPlan(
        {**attributes, **known_attributes},
        {**attributes, **linear_attributes},
        parts.unknown_outputs,
        known,
        linear,
    )


def _rows_given(program: Program, first: int) -> Program:
    """The program, whose results from position `first` on get an axis in front."""

    def body(*values: Any) -> list[Any]:
        results = program.run(*values)
        return [*results[:first], *(shape.expand_dims(x, (0,)) for x in results[first:])]

    return stage(body, program.in_types, program.name).program


def _rows_taken(program: Program, first: int, count: int) -> Program:
    """The program, of which `count` operands have lost an axis in front."""
    rows = range(first, first + count)
    types = [
        t.update(shape=(1, *t.shape)) if i in rows else t for i, t in enumerate(program.in_types)
    ]

    def body(*values: Any) -> list[Any]:
        taken = [shape.squeeze(x, (0,)) if i in rows else x for i, x in enumerate(values)]
        return program.run(*taken)

    return stage(body, types, program.name).program


planners[sharding.shard_map] = plan_shard_map
