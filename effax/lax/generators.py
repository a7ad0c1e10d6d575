"""The generators of random bits that XLA has itself."""

from __future__ import annotations

from typing import Any

from effax.api.placing.resharding import reshard
from effax.api.placing.shardings import canonical
from effax.eager.whole import whole
from effax.effects.rows import random
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.random import RandomAlgorithm as RandomAlgorithm
from effax.effects.types import canonical_shape, typeof, uint32, user_dtype
from effax.effects.value import OutSharding, Value


def _operand(x: Any) -> Any:
    if isinstance(x, Value):
        return x
    type = typeof(x)
    return convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: OutSharding = None,
) -> tuple[Any, Any]:
    """Return the state of a generator after it has made random bits, and the bits.

    The bits are XLA's: the same for the same state on one kind of device, and not promised to be so
    between kinds with the default. Under `vmap` the first state makes the bits of all lanes. Raises
    `TypeError` for other states and dtypes, `ValueError` for what is no algorithm.

    Args:
      key: the state, of shape u32[4] (or u64[2], u64[3]).
      shape: the shape of the bits.
      dtype: the dtype of the bits, an unsigned integer.
      algorithm: a `RandomAlgorithm`.
      out_sharding: the sharding of the bits, on a mesh with explicit axes.

    >>> import effax.numpy as jnp
    >>> state, bits = rng_bit_generator(jnp.zeros(4, jnp.uint32), (2,))
    >>> state.tolist(), bits.tolist()
    ([0, 0, 1, 0], [1713891541, 3781805453])
    """
    where = canonical(out_sharding, "rng_bit_generator")
    state, bits = random.rng_bit_generator(
        _operand(key),
        shape=canonical_shape(shape),
        dtype=user_dtype(dtype, "rng_bit_generator"),
        algorithm=RandomAlgorithm(algorithm),
    )
    return state, bits if where is None else reshard(bits, where)


@whole("shape")
def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """Return numbers in [a, b) from the device's own generator, whose state no one sees.

    The dtype is that of the bounds. Not to be relied on where a computation is to be repeated:
    `random.uniform` is. Raises `ValueError` for bounds that are not scalars or differ in dtype,
    `TypeError` for other dtypes.

    Args:
      a, b: the bounds, scalars of one dtype: floats, or integers of 32 or 64 bits.
      shape: the shape of the result.

    >>> rng_uniform(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    return random.rng_uniform(_operand(a), _operand(b), shape=canonical_shape(shape))
