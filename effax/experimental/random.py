"""`stateful_rng`: a generator that keeps its own state, in the manner of `numpy.random`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import effax.numpy as jnp
from effax import random
from effax.api.references.references import new_ref
from effax.effects.handler import bottom, innermost
from effax.effects.rows.state import Ref
from effax.effects.tree import register_pytree_node_class
from effax.effects.value import Array, ArrayLike

__all__ = ["StatefulPRNG", "stateful_rng"]
__dir__ = __all__.copy

Size = int | Sequence[int] | None


@register_pytree_node_class
class StatefulPRNG:
    """A generator: a key, and a reference to the number of draws.

    Each draw folds the count into the key, and counts. It is made by `stateful_rng`.
    """

    __slots__ = ("_base_key", "_counter")

    def __init__(self, _base_key: Array, _counter: Ref) -> None:
        self._base_key = _base_key
        self._counter = _counter

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """The key and the reference."""
        return (self._base_key, self._counter), None

    @classmethod
    def tree_unflatten(cls, metadata: None, children: Sequence[Any]) -> StatefulPRNG:
        """The generator of these parts."""
        return cls(*children)

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key}, _counter={self._counter})"

    def key(self, shape: int | Sequence[int] = ()) -> Array:
        """A new key, or an array of keys, for the functions of `random`."""
        if jnp.ndim(self._base_key):
            raise ValueError(
                f"a generator split into {self._base_key.shape} can only draw inside a vmap over it"
            )
        count = self._counter[...]
        self._counter[...] = count + 1
        found = random.fold_in(self._base_key, count)
        lengths = _shape(shape)
        return random.split(found, lengths) if lengths else found

    def random(self, size: Size = None, dtype: Any = float) -> Array:
        """Numbers from 0 to 1, 1 left out."""
        return random.uniform(self.key(), _shape(size), dtype)

    def uniform(
        self, low: ArrayLike = 0, high: ArrayLike = 1, size: Size = None, *, dtype: Any = float
    ) -> Array:
        """Numbers from `low` to `high`, left out; of the bounds' shape where there is no `size`."""
        lengths = _shape(size, low, high)
        return random.uniform(self.key(), lengths, dtype, minval=low, maxval=high)

    def normal(
        self, loc: ArrayLike = 0, scale: ArrayLike = 1, size: Size = None, *, dtype: Any = float
    ) -> Array:
        """Normal numbers of mean `loc` and standard deviation `scale`."""
        drawn = random.normal(self.key(), _shape(size, loc, scale), dtype)
        return drawn * scale + loc

    def integers(
        self, low: ArrayLike, high: ArrayLike | None = None, size: Size = None, *, dtype: Any = int
    ) -> Array:
        """Integers from `low` to `high`, left out; from 0 to `low` where that is all."""
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), _shape(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Generators in an array, each with a counter of its own, to be mapped over."""
        return StatefulPRNG(self.key(num), new_ref(jnp.zeros(_shape(num), int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Generators in a list, independent of each other and of this one."""
        keys = self.key(n_children)
        return [StatefulPRNG(key, new_ref(0)) for key in keys]


def _shape(size: Size, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return tuple(jnp.broadcast_shapes(*map(jnp.shape, parameters)))
    return (size,) if isinstance(size, int | np.integer) else tuple(size)


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """Return a generator that keeps its own state, in a reference.

    Args:
      seed: an integer; by default one that NumPy draws, outside transformed functions only.
      impl: the kind of keys, as for `random.key`.

    Returns:
      A `StatefulPRNG`. Functions may take it or close over it, but not return it.

    Raises:
      TypeError: without a seed while something is traced.

    >>> import effax
    >>> rng = stateful_rng(7)
    >>> effax.jit(rng.integers, static_argnums=(0, 1, 2))(0, 10, 3)
    Array([..., ..., ...], dtype=int32)
    >>> bool(rng.random() == rng.random())
    False
    """
    if seed is None:
        if innermost() is not bottom:
            raise TypeError(
                "When used within transformed code, stateful_rng requires an explicit seed"
            )
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))
