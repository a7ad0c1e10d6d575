"""Complex parts by NumPy."""

from __future__ import annotations

import numpy as np

from effax.backends.reference.elementwise import Array
from effax.backends.reference.table import rule
from effax.effects.rows import complex

rule(complex.real)(np.real)
rule(complex.imag)(np.imag)
rule(complex.conj)(np.conj)


@rule(complex.complex)
def reference_complex(re: Array, im: Array) -> Array:
    result = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    result.real, result.imag = re, im
    return result
