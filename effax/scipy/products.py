"""Products in the operands' own precision, whatever `default_matmul_precision` says.

Iterations on vectors need it: by default GPUs and TPUs round the operands of a product to fewer
bits, with which conjugate gradients, Krylov spaces and quasi-Newton steps do not converge as far.
"""

from __future__ import annotations

import functools

import effax.numpy as jnp

product = functools.partial(jnp.matmul, precision="highest")
vdot = functools.partial(jnp.vdot, precision="highest")
