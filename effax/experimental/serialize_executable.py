"""Compiled functions as bytes, for processes with the same jaxlib and the same hardware.

`effax.export` writes programs instead, which later versions and other machines can read.

>>> import effax, effax.numpy as jnp
>>> compiled = effax.jit(lambda x: 2 * x).lower(jnp.ones(2)).compile()
>>> data, in_tree, out_tree = serialize(compiled)
>>> deserialize_and_load(data, in_tree, out_tree)(jnp.arange(2.0))
Array([0., 2.], dtype=float32)
"""

from effax.api.compiling.executables import deserialize_and_load as deserialize_and_load
from effax.api.compiling.executables import serialize as serialize

__all__ = ["deserialize_and_load", "serialize"]
__dir__ = __all__.copy
