"""Foreign code under checkify: what it gives is taken as it is."""

from __future__ import annotations

from effax.effects.foreign import acting_foreign_call, exported_call, foreign_call
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(exported_call, foreign_call, acting_foreign_call)
