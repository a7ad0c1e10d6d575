"""Random bits under checkify: integers, whatever they are."""

from __future__ import annotations

from effax.effects.random import rng_bit_generator, rng_uniform, threefry2x32, use_key
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(rng_bit_generator, rng_uniform, threefry2x32, use_key)
