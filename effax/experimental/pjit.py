"""`pjit`, which is `jit`: shardings of arguments and results are parameters of that.

>>> import effax
>>> from effax.experimental.pjit import pjit
>>> pjit(lambda x: 2 * x)(3.0)
Array(6., dtype=float32, weak_type=True)
"""

from effax.api.compiling.jit import jit as pjit

__all__ = ["pjit"]
