"""Forward mode of random bits: bits do not move."""

from effax.effects import random
from effax.interpreters.jvp.dual import fixed

fixed(random.threefry2x32, random.use_key)
