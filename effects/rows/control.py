"""Control: effects whose attributes are programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from effax.effects.effect import Effect
from effax.effects.errors import ShardingTypeError
from effax.effects.types import ShapedArray

if TYPE_CHECKING:
    from effax.effects.program import Program


def match_types(
    what: str, expected: Sequence[ShapedArray], found: Sequence[ShapedArray], cuts: bool = True
) -> None:
    """Raise `TypeError` unless values have the shapes and dtypes that are expected of them.

    And `ShardingTypeError` where `cuts` are compared, and they are cut otherwise along explicit
    axes of a mesh.
    """
    if len(expected) != len(found):
        raise TypeError(f"{what}: {len(expected)} values expected, {len(found)} given")
    for i, (e, f) in enumerate(zip(expected, found, strict=True)):
        if cuts and e.cut is not f.cut:
            raise ShardingTypeError(
                f"{what}: value {i} should be {e.str_short()}, but it is {f.str_short()}; reshard "
                "it (effax.sharding.reshard)"
            )
        if e.shape != f.shape or e.dtype != f.dtype:
            raise TypeError(
                f"{what}: value {i} should be {e.str_short()}, but it is {f.str_short()}"
            )


def _call_type(*operands: ShapedArray, program: Program, **_: Any) -> Sequence[ShapedArray]:
    match_types("the operands of a call", program.in_types, operands)
    return program.out_types


def _cond_type(
    index: ShapedArray, *operands: ShapedArray, branches: tuple[Program, ...]
) -> Sequence[ShapedArray]:
    if index.shape or index.dtype.kind not in "iu":
        raise TypeError(f"cond: the index must be an integer scalar, not {index.str_short()}")
    for branch in branches:
        match_types("the operands of a branch", branch.in_types, operands)
        match_types("the results of a branch", branches[0].out_types, branch.out_types)
    along = [index.varying.union(*[t.varying for t in ts]) for ts in _results(branches)]
    return [t.vary(axes) for t, axes in zip(branches[0].out_types, along, strict=True)]


def _results(branches: tuple[Program, ...]) -> Iterator[tuple[ShapedArray, ...]]:
    return zip(*[branch.out_types for branch in branches], strict=True)


def _while_type(
    *operands: ShapedArray,
    cond: Program,
    body: Program,
    cond_consts: int,
    body_consts: int,
    checkpoints: int = 0,
    trail: tuple[int, tuple[bool, ...]] | None = None,
) -> Sequence[ShapedArray]:
    carry = operands[cond_consts + body_consts :]
    match_types(
        "the operands of a loop's condition", cond.in_types, [*operands[:cond_consts], *carry]
    )
    match_types("the operands of a loop's body", body.in_types, operands[cond_consts:])
    match_types("the results of a loop's body", carry, body.out_types)
    along = cond.out_types[0].varying  # places may leave the loop after different numbers of steps
    return [t.vary(t.varying | along) for t in body.out_types] if along else body.out_types


def row_type(x: ShapedArray) -> ShapedArray:
    """The type of what one step of a scan gets of an operand of that type.

    Raises `ValueError` where the axis that is scanned is cut.
    """
    if x.cut is not None and x.cut.entries[0] is not None:
        raise ValueError(
            f"scan: 0th dimension of all xs should be replicated, and one is {x.str_short()}; "
            "reshard it (effax.sharding.reshard), or scan under auto_axes"
        )
    return x.row()


def _scan_type(
    *operands: ShapedArray,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    split_transpose: bool = False,
) -> Sequence[ShapedArray]:
    before, xs = operands[: consts + carry], operands[consts + carry :]
    for x in xs:
        if not x.shape or x.shape[0] != length:
            raise TypeError(f"scan: {length} steps, but a scanned operand is {x.str_short()}")
    rows = [row_type(x) for x in xs]
    match_types("the operands of a scan's body", body.in_types, [*before, *rows])
    match_types("the carry of a scan", operands[consts : consts + carry], body.out_types[:carry])
    ys = [y.stacked(length) for y in body.out_types[carry:]]
    return [*body.out_types[:carry], *ys]


call = Effect("call", family="control", typing=_call_type, multiple=True, higher_order=True)
"""`call(*operands, program, name)`: a program as one operation; what `jit` performs.

With the attribute `metadata` XLA gets the call with these frontend attributes. With `mesh`, a call
that no other program holds is computed on the devices of that mesh, as `pjit` does.
"""

remat = Effect("remat", family="control", typing=_call_type, multiple=True, higher_order=True)
"""`remat(*operands, program, policy, name, prevent_cse)`: a call done again backwards.

The half that is done again has the attribute `again=True`.
"""

cond = Effect("cond", family="control", typing=_cond_type, multiple=True, higher_order=True)
"""`cond(index, *operands, branches)`: the branch of that number, clamped to those there are."""

while_loop = Effect("while", family="control", typing=_while_type, multiple=True, higher_order=True)
"""`while(*cond_consts, *body_consts, *carry, cond, body, cond_consts, body_consts, checkpoints)`.

With `checkpoints` (0 where it is left out) reverse mode goes through, and keeps that many carries.
Where it has, the attribute `trail` says how many of the last `body_consts` they are, and which of
the carry was not known then.
"""

scan = Effect("scan", family="control", typing=_scan_type, multiple=True, higher_order=True)
"""`scan(*consts, *carry, *xs, body, consts, carry, length, reverse, unroll)`.

Results are the last carry, then what each step gave, stacked along a new leading axis. With
`split_transpose` (False where it is left out) what its transpose does apart from the cotangents of
the carry is done for all steps at once.
"""
