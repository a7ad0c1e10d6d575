"""Minima of functions, as `scipy.optimize` has them."""

from effax.scipy.optimize.minimize import OptimizeResults as OptimizeResults
from effax.scipy.optimize.minimize import minimize as minimize

__all__ = [
    "OptimizeResults",
    "minimize",
]
__dir__ = __all__.copy
