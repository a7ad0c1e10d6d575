"""Generators of random numbers, by the names of `jax.extend.random`."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from effax.random.keys import key

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]
__dir__ = __all__.copy

threefry_prng_impl: Final = "threefry2x32"
rbg_prng_impl: Final = "rbg"
unsafe_rbg_prng_impl: Final = "unsafe_rbg"


def seed_with_impl(impl: str, seed: Any) -> Any:
    """Return the key of a seed for one of the generators above.

    >>> seed_with_impl(rbg_prng_impl, 0).dtype
    key<rbg>
    """
    return key(seed, impl=impl)


def random_seed(seeds: Any, impl: str) -> Any:
    """Return the keys of seeds for one of the generators above.

    >>> random_seed(3, threefry_prng_impl).dtype
    key<fry>
    """
    return key(seeds, impl=impl)


def define_prng_impl(**definition: Any) -> NoReturn:
    """Raise `NotImplementedError`: the generators of effax are those above."""
    raise NotImplementedError(
        f"define_prng_impl(name={definition.get('name', '<unnamed>')!r}): effax has the generators "
        "threefry2x32, rbg and unsafe_rbg, and takes no others"
    )
