"""Random bits under checkify: integers, whatever they are."""

from __future__ import annotations

from effax.effects.random import threefry2x32, use_key
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(threefry2x32, use_key)
