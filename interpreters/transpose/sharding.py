"""Shardings under transposition: a cotangent is cut up as its value is."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from effax.effects.handler import Carrier
from effax.effects.mesh import PartitionSpec
from effax.effects.program import Program
from effax.effects.rows import collective, sharding
from effax.effects.rows.elementwise import div
from effax.interpreters.functor.masks import pick
from effax.interpreters.functor.replication import without_known_sums
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import Transposed, transpose_program
from effax.interpreters.transpose.linear import is_linear, rule, unary

_constrained = sharding.with_sharding_constraint
_put = sharding.put


@unary(_constrained)
def constraint_transpose(ct: Any, x: Any, *, sharding: Any) -> Any:
    return _constrained(ct, sharding=sharding)


@unary(sharding.reshard, sharding.opened)
def moved_transpose(ct: Any, x: Any, **_: Any) -> Any:
    """The cotangent goes back to where the value was, by its type."""
    return ct


@unary(sharding.put)
def put_transpose(ct: Any, x: Any, *, sharding: Any, back: Any) -> Any:
    """The cotangent goes back, if anybody knows whence the value came.

    Within a program it is constrained as the value is. An array stays where it is.
    """
    if back is not None:
        return _put(ct, sharding=back, back=sharding)
    return _put(ct, sharding=sharding, back=None) if isinstance(ct, Carrier) else ct


@rule(sharding.grouped)
def grouped_transpose(
    cts: Sequence[Any], *operands: Any, group: tuple[int, ...]
) -> Sequence[Any | None]:
    given = [is_linear(x) and ct is not None for x, ct in zip(operands, cts, strict=True)]
    alike = iter(sharding.grouped(*pick(cts, given, True), group=(*group, -1)))
    return [next(alike) if g else None for g in given]


@rule(sharding.shard_map)
def shard_map_transpose(
    cts: Sequence[Any],
    *operands: Any,
    program: Program,
    mesh: Any,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
    binds: tuple[Any, ...],
    name: str,
) -> list[Any]:
    """The transposed program at the same places.

    Places that gave the same result share its cotangent; an operand that they share gets the sum of
    theirs.
    """
    linear = tuple(map(is_linear, operands))
    have = tuple(ct is not None for ct in cts)
    done = transpose_program(program, linear, have)
    known_specs = pick(in_specs, linear, False)
    ct_specs = tuple(pick(out_specs, have, True))
    linear_specs = pick(in_specs, linear, True)
    given_specs = tuple(pick(linear_specs, done.given, True))
    in_specs = (*[PartitionSpec()] * len(done.captured), *known_specs, *ct_specs)
    results = iter(
        sharding.shard_map(
            *done.captured,
            *(x for x in operands if not is_linear(x)),
            *(ct for ct in cts if ct is not None),
            program=_shared(done, in_specs, len(ct_specs), given_specs, mesh, binds),
            mesh=mesh,
            in_specs=in_specs,
            out_specs=given_specs,
            binds=binds,
            name=name,
        )
    )
    given = iter(done.given)
    return [next(results) if is_linear(x) and next(given) else None for x in operands]


def _shared(
    done: Transposed,
    in_specs: tuple[PartitionSpec, ...],
    count: int,
    given_specs: tuple[PartitionSpec, ...],
    mesh: Any,
    binds: tuple[Any, ...],
) -> Program:
    key = "shared", in_specs, count, given_specs, mesh, binds
    found: Program | None = done.program.memo.get(key)
    if found is None:
        found = done.program.memo[key] = _share(
            done.program, in_specs, count, given_specs, mesh, binds
        )
    return found


def _share(
    program: Program,
    in_specs: tuple[PartitionSpec, ...],
    count: int,
    given_specs: tuple[PartitionSpec, ...],
    mesh: Any,
    binds: tuple[Any, ...],
) -> Program:
    sizes = mesh.shape
    first = len(in_specs) - count
    ct_specs = in_specs[first:]
    apart = sharding.differing(program, (*in_specs, *given_specs), binds)

    def unused(spec: PartitionSpec) -> tuple[Any, ...]:
        return tuple(name for name in apart if name not in spec.used)

    def body(*values: Any) -> list[Any]:
        shares = [prod(sizes[name] for name in unused(spec)) for spec in ct_specs]
        cts = [
            ct if n == 1 else div(ct, float(n))
            for ct, n in zip(values[first:], shares, strict=True)
        ]
        results = program.run(*values[:first], *cts)
        return [
            collective.psum(ct, axes=unused(spec)) if unused(spec) else ct
            for ct, spec in zip(results, given_specs, strict=True)
        ]

    staged = stage(body, program.in_types, program.name).program
    shared = [frozenset(unused(spec)) for spec in in_specs]
    return without_known_sums(staged, shared, {name: sizes[name] for name in binds})
