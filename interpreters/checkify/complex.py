"""Parts of complex numbers under checkify: they are taken apart and put together."""

from __future__ import annotations

from effax.effects.complex import complex, conj, imag, real
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(real, imag, conj, complex)
