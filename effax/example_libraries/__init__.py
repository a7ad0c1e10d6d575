"""Small libraries on top of the rest, as examples of its use."""

from effax.example_libraries import optimizers as optimizers
from effax.example_libraries import stax as stax

__all__ = [
    "optimizers",
    "stax",
]
__dir__ = __all__.copy
