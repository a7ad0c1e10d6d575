"""Functions of JAX's private modules `util`, `numpy.util` and `lax.lax` that programs call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import effax.numpy as jnp
from effax import random
from effax.api.placing.global_arrays import process_part
from effax.core import is_constant_dim
from effax.interpreters.batch.batched import Batched
from effax.lax import dot_general, dtype, full_like
from effax.operands import promoting
from effax.operands.arguments import check_arrays


def safe_zip(*columns: Any) -> list[tuple[Any, ...]]:
    """Return the rows of columns, which must be of one length; else raise `ValueError`."""
    return list(zip(*map(list, columns), strict=True))


def safe_map(function: Callable[..., Any], *columns: Any) -> list[Any]:
    """Return a function of each row of columns, which must be of one length."""
    return [function(*row) for row in safe_zip(*columns)]


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the first parts of pairs, and the second ones."""
    rows = list(pairs)
    return tuple(first for first, _ in rows), tuple(second for _, second in rows)


def split_list(sequence: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    """Cut a sequence into lists of these lengths, and one of what is left."""
    found, rest = [], list(sequence)
    for length in lengths:
        found.append(rest[:length])
        rest = rest[length:]
    return [*found, rest]


def partition_list(chosen: Sequence[bool], sequence: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the elements that are not chosen, and those that are."""
    rows = safe_zip(chosen, sequence)
    return [x for yes, x in rows if not yes], [x for yes, x in rows if yes]


def promote_dtypes(*args: Any) -> list[Any]:
    """Return arrays of the dtype that the arguments meet in."""
    return [jnp.asarray(x) for x in promoting.promote_dtypes(*args)]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Return arrays of the dtype that the arguments meet in; of integers, the default float."""
    return list(promoting.promote_dtypes_inexact(*args))


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Return complex arrays, as precise as the dtype that the arguments meet in."""
    (found, *_) = promote_dtypes_inexact(*args)
    return [jnp.asarray(x, to_complex_dtype(found.dtype)) for x in args]


def promote_args(fun_name: str, *args: Any) -> list[Any]:
    """Return `promote_dtypes` of arguments that are checked first."""
    check_arrays(fun_name, *args)
    return promote_dtypes(*args)


def promote_args_inexact(fun_name: str, *args: Any) -> list[Any]:
    """Return `promote_dtypes_inexact` of arguments that are checked first."""
    check_arrays(fun_name, *args)
    return promote_dtypes_inexact(*args)


def dimension_as_value(d: Any) -> Any:
    """Return a length that a program can compute with: a symbolic one as an array."""
    return d if is_constant_dim(d) else jnp.asarray(d)


def get_process_index_and_count(tensor_sharding: Any, dim: int, ndims: int) -> tuple[int, int]:
    """Return which part of an axis this process has, and the number of parts; else `ValueError`."""
    return process_part(tensor_sharding, dim, ndims)


def local_to_global_shape(sharding: Any, local_shape: Sequence[int]) -> tuple[int | None, ...]:
    """Return the shape of an array of which each process gives so much along each axis.

    The length of an axis of which processes have parts of different sizes is None.
    """
    lengths: list[int | None] = []
    for axis, length in enumerate(local_shape):
        try:
            lengths.append(length * process_part(sharding, axis, len(local_shape))[1])
        except ValueError:
            lengths.append(None)
    return tuple(lengths)


def to_complex_dtype(dtype: Any) -> Any:
    """Return the complex dtype whose parts have a dtype, or are at least as precise."""
    return jnp.promote_types(dtype, "complex64")


def constant_like(example: Any, value: Any) -> Any:
    """Return a scalar of the dtype of an example."""
    return full_like(value, value, dtype(example), ())


def _threefry(words: Any) -> Any:
    return random.wrap_key_data(words, impl="threefry2x32")


def threefry_seed(seed: Any) -> Any:
    """Return the words of a key of a seed."""
    return random.key_data(random.key(seed, impl="threefry2x32"))


def threefry_split(key: Any, shape: Sequence[int]) -> Any:
    """Return the words of keys made of one key's words."""
    return random.key_data(random.split(_threefry(key), tuple(shape)))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """Return the words of the key made of one key's words and a number."""
    return random.key_data(random.fold_in(_threefry(key), data))


def threefry_random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Return random integers of so many bits for the words of a key."""
    return random.bits(_threefry(key), tuple(shape), f"uint{bit_width}")


def contracted(
    operands: Sequence[Any],
    contractions: Sequence[tuple[Any, ...]],
    precision: Any,
    preferred_element_type: Any,
    _dot_general: Callable[..., Any] = dot_general,
    out_sharding: Any = None,
) -> Any:
    """Return the einsum of arrays along a path of opt_einsum.

    Args:
      operands: the arrays.
      contractions: for each step the places of its operands, which leave the list, the names that
        are summed over, and the subscripts; the result goes to the end of the list.
      precision: the precision of the products.
      preferred_element_type: the dtype of the results.
      _dot_general: the function in the place of `lax.dot_general`.
      out_sharding: the sharding of the last result.
    """
    left = list(operands)
    for step, (places, _, subscripts, *_) in enumerate(contractions):
        last = step == len(contractions) - 1
        result = jnp.einsum(
            subscripts,
            *map(left.pop, places),
            precision=precision,
            preferred_element_type=preferred_element_type,
            _dot_general=_dot_general,
            out_sharding=out_sharding if last else None,
        )
        left.append(result)
    return left[0]


@runtime_checkable
class SupportsDType(Protocol):
    """Objects that have a dtype."""

    @property
    def dtype(self) -> Any:
        """The dtype of the object's elements."""


def make_iota(size: int) -> Any:
    """Return the numbers of the places along an axis."""
    return jnp.arange(size, dtype="int32")


def to_elt(trace: Any, get_index: Any, x: Any, axis: int | None) -> Any:
    """Return the value under a batch that an array has along one of its axes; without one, itself.

    Args:
      trace: the batch, of which `get_index` would be the index that no array needs.
      get_index: unused.
      x: the array.
      axis: the axis that is the batch's.
    """
    return x if axis is None else Batched(trace, jnp.moveaxis(x, axis, 0))
