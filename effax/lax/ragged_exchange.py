"""`ragged_all_to_all`: rows of different numbers from every place to every place."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from typing import Any

from effax.effects.rows import collective
from effax.effects.value import Array
from effax.lax.parallel import axis_names, axis_size, varied
from effax.lax.place_groups import checked_groups, option
from effax.operands.promoting import asarray


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
      The output, of its shape, with the rows that came. On GPUs and TPUs the rows alone travel; on
      CPUs, where XLA has no such operation, every place sees all rows, and takes its own.

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
    names = axis_names(axis_name)
    sizes = tuple(map(axis_size, names))
    groups = checked_groups("ragged_all_to_all", axis_index_groups, prod(sizes), equal=True)
    operands = (input_offsets, send_sizes, output_offsets, recv_sizes, operand, output)
    return collective.ragged_all_to_all(
        *(varied(asarray(x), names) for x in operands), axes=names, sizes=sizes, **option(groups)
    )
