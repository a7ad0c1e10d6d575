"""Transposes of collectives: what was spread is gathered, what was gathered is spread.

A `psum` gives the same sum to every place, so its transpose adds up the cotangents of all, unless
types say that these are one cotangent that all places have (`shard_map` with `check_vma`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.program import Program
from effax.effects.rows import collective, shape
from effax.effects.rows.elementwise import mul, sub
from effax.effects.rows.indexing import dynamic_slice
from effax.effects.rows.reduction import reduce_sum
from effax.effects.rows.selection import select_n
from effax.interpreters.composites.ragged_exchange import arrived, brought_back, exchanged
from effax.interpreters.transpose.control import transpose_program
from effax.interpreters.transpose.linear import is_linear, rule, unary


@unary(collective.psum)
def psum_transpose(ct: Any, x: Any, *, axes: Any, axis_index_groups: Any = None) -> Any:
    """Sum the cotangent over places, unless the types say that it is the same at all of them.

    Groups have sums of their own, so that nothing says so of theirs.
    """
    if axis_index_groups is not None:
        return collective.psum(ct, axes=axes, axis_index_groups=axis_index_groups)
    differs = x.type.varying
    along = tuple(name for name in axes if name in differs)
    rest = tuple(name for name in axes if name not in differs)
    ct = collective.pvary(ct, axes=along) if along else ct
    return collective.psum(ct, axes=rest) if rest else ct


@unary(collective.pvary)
def pvary_transpose(ct: Any, x: Any, *, axes: Any) -> Any:
    """Add up the cotangents along the axes that the value is the same along.

    In branches that not all places take, operands are typed as ones that differ: nothing is added
    up there, but around the branches.
    """
    left = tuple(name for name in axes if name not in x.type.varying)
    return collective.psum(ct, axes=left) if left else ct


@unary(collective.all_gather)
def all_gather_transpose(ct: Any, x: Any, *, shared: bool = False, **where: Any) -> Any:
    """Add up the cotangents of all places, unless types say that these are one, which all have."""
    (name, *_), axis = where["axes"], where["axis"]
    if not shared or name not in x.type.varying:
        return collective.reduce_scatter(ct, **where)
    place = collective.pvary(collective.axis_index(axes=(name,)), axes=(name,))
    zero, length = sub(place, place), x.type.shape[axis]
    starts = [mul(place, length) if i == axis else zero for i in range(len(x.type.shape))]
    return dynamic_slice(collective.pvary(ct, axes=(name,)), *starts, sizes=x.type.shape)


@unary(collective.reduce_scatter)
def reduce_scatter_transpose(ct: Any, x: Any, **where: Any) -> Any:
    return collective.all_gather(ct, **where)


@unary(collective.all_to_all)
def all_to_all_transpose(ct: Any, x: Any, *, split: int, concat: int, **where: Any) -> Any:
    return collective.all_to_all(ct, split=concat, concat=split, **where)


@rule(collective.ragged_all_to_all, fixed=(0, 1, 2, 3))
def ragged_all_to_all_transpose(
    ct: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    operand: Any,
    output: Any,
    **where: Any,
) -> Sequence[Any]:
    """Rows go back to where they came from; the output has the cotangents of those that stay."""
    targets = exchanged(output_offsets, **where)
    shares: list[Any] = [None, None]
    if is_linear(operand):
        slices = targets, recv_sizes, input_offsets, send_sizes
        shares[0] = brought_back(ct, *slices, operand.type, **where)
    if is_linear(output):
        came = arrived(targets, recv_sizes, output.type.shape[0])
        came = shape.broadcast_in_dim(came, shape=output.type.shape, dims=(0,))
        shares[1] = select_n(came, ct, 0)
    return [*(None,) * 4, *shares]


@unary(collective.ppermute)
def ppermute_transpose(ct: Any, x: Any, *, axes: Any, perm: Any, size: int) -> Any:
    back = tuple((d, s) for s, d in perm)
    return collective.ppermute(ct, axes=axes, perm=back, size=size)


@rule(collective.parallel)
def parallel_transpose(
    cts: Sequence[Any],
    *operands: Any,
    program: Program,
    mapped: tuple[bool, ...],
    **attributes: Any,
) -> list[Any]:
    """The transposed program at the same places; what all places share gets the sum of theirs."""
    linear = tuple(map(is_linear, operands))
    done = transpose_program(program, linear, tuple(ct is not None for ct in cts))
    given = [ct for ct in cts if ct is not None]
    known = [(x, m) for x, m in zip(operands, mapped, strict=True) if not is_linear(x)]
    results = iter(
        collective.parallel(
            *done.captured,
            *(x for x, _ in known),
            *given,
            program=done.program,
            mapped=(
                *(False for _ in done.captured),
                *(m for _, m in known),
                *(True for _ in given),
            ),
            **attributes,
        )
    )
    have = iter(done.given)
    found: list[Any] = []
    for x, has_rows in zip(operands, mapped, strict=True):
        if not is_linear(x) or not next(have):
            found.append(None)
        else:
            ct = next(results)
            found.append(ct if has_rows else reduce_sum(ct, axes=(0,)))
    return found
