"""`ragged_all_to_all`: rows of different numbers from every place to every place."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from effax.effects.rows.selection import select_n
from effax.effects.types import int32, is_integer, typeof
from effax.effects.value import Array
from effax.lax.control import scan
from effax.lax.filling import iota
from effax.lax.parallel import all_gather, axis_index, axis_size
from effax.lax.place_groups import checked_groups, numbers_within, of_place
from effax.lax.shapes import clamp, repeated


def ragged_all_to_all(
    operand: Array,
    output: Array,
    input_offsets: Array,
    send_sizes: Array,
    output_offsets: Array,
    recv_sizes: Array,
    *,
    axis_name: Hashable,
    axis_index_groups: Any = None,
) -> Array:
    """Send rows of each place's operand to the outputs of all places; a ragged `all_to_all`.

    The j-th slices of the four vectors are about place j: of the operand, `send_sizes[j]` rows
    from `input_offsets[j]` on go to place j, whose output has them from `output_offsets[j]` on.
    Where there are k times as many slices as places, k of them go to each.

    Args:
      operand: (n, ...), the rows to be sent.
      output: (m, ...), of the same dtype and further axes: what rows that no one sends stay.
      input_offsets, send_sizes, output_offsets, recv_sizes: vectors of integers of one length, a
        multiple of the number of places. `recv_sizes[j]`, how many rows come from j, follows from
        what the others send.
      axis_name: the axis over places, which must be bound.
      axis_index_groups: lists of places' indices, of one length: the exchange is within groups, and
        the vectors speak of the places of the group.

    Returns:
      The output, of its shape, with the rows that came. XLA's CPU backend has no such operation:
      every place sees all rows, and takes its own.

    Raises:
      ValueError: for shapes, dtypes and groups that don't fit.

    >>> import effax, effax.numpy as jnp
    >>> def spread(x):
    ...     each = jnp.ones(2, int)
    ...     mine = jnp.full(2, effax.lax.axis_index("i"))
    ...     vectors = jnp.arange(2), each, mine, each
    ...     return ragged_all_to_all(x, jnp.zeros(2), *vectors, axis_name="i")
    >>> effax.vmap(spread, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    x, out = typeof(operand), typeof(output)
    if not x.ndim or x.dtype != out.dtype or x.shape[1:] != out.shape[1:]:
        raise ValueError(
            "ragged_all_to_all input and output must be rows of one dtype and shape, got "
            f"{x.str_short()} and {out.str_short()}"
        )
    places, mine = axis_size(axis_name), axis_index(axis_name)
    groups = checked_groups("ragged_all_to_all", axis_index_groups, places, equal=True)
    if groups is not None:
        places, mine = len(groups[0]), of_place(numbers_within(groups), mine)
    vectors = (input_offsets, send_sizes, output_offsets, recv_sizes)
    types = [typeof(v) for v in vectors]
    for t in types:
        if t.ndim != 1 or not is_integer(t.dtype) or t.shape != types[0].shape:
            raise ValueError(
                "ragged_all_to_all offsets and sizes must be vectors of integers of one length, "
                f"got {', '.join(t.str_short() for t in types)}"
            )
    slices = types[0].shape[0]
    if slices == 0 or slices % places:
        raise ValueError(
            f"ragged_all_to_all: the number of offsets must be a multiple of the {places} places, "
            f"got {slices}"
        )
    rows, *others = (
        all_gather(v, axis_name, axis_index_groups=groups) for v in (operand, *vectors[:3])
    )
    starts, sizes, targets = (_for_me(v, places, mine) for v in others)
    position = iota(int32, out.shape[0])

    def arrive(found: Array, sent: Any) -> tuple[Array, None]:
        sender, start, size, target = sent
        place = position - target
        comes = (place >= 0) & (place < size)
        if not x.shape[0]:
            return found, None
        taken = rows[sender, clamp(0, start + place, x.shape[0] - 1)]
        comes = repeated(comes.reshape(-1, *(1,) * (x.ndim - 1)), out.shape)
        return select_n(comes, found, taken), None

    senders = iota(int32, slices) // (slices // places)
    return scan(arrive, output, (senders, starts, sizes, targets))[0]


def _for_me(vectors: Array, places: int, mine: Array) -> Array:
    """Of all places' vectors, the slices about this one, by sender."""
    return vectors.reshape(places, places, -1)[:, mine].reshape(-1)
