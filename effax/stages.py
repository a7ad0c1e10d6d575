"""Ahead-of-time compilation: the results of `jit(f).trace`, `lower` and `compile`.

>>> import effax
>>> compiled = effax.jit(lambda x: 2 * x).lower(effax.ShapeDtypeStruct((2,), "float32")).compile()
>>> isinstance(compiled, Compiled)
True
"""

from effax.api.compiling.jitted import Jit as Wrapped
from effax.api.compiling.stages import ArgInfo as ArgInfo
from effax.api.compiling.stages import Compiled as Compiled
from effax.api.compiling.stages import CompilerOptions as CompilerOptions
from effax.api.compiling.stages import Lowered as Lowered
from effax.api.compiling.stages import OutInfo as OutInfo
from effax.api.compiling.stages import Traced as Traced

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "OutInfo", "Traced", "Wrapped"]
__dir__ = __all__.copy
