"""jax._src.random; most names come from jax.random."""

from __future__ import annotations

import jaxshims
from jaxshims import config, random_prng


def default_prng_impl():
    impls = random_prng.prngs
    name = config.read("jax_default_prng_impl")
    if name not in impls:
        raise jaxshims.NeedsInternal(f"PRNG implementation {name}")
    return impls[name]
