"""Rooflines: the operations, bytes and hops of a function, known from types alone.

>>> import effax, effax.numpy as jnp
>>> from effax.experimental import roofline
>>> x = effax.ShapeDtypeStruct((8, 8), "float32")
>>> types, result = roofline.roofline(lambda x: jnp.exp(x @ x))(x)
>>> result.flops, result.unfused_flops  # the exponential is fused into the product
(1024, 1088)

Counts are those of JAX's `jax.experimental.roofline`, with these differences. `scan` counts all of
its steps (JAX: one), `while` one step and `cond` its most expensive branch (JAX: nothing). An
effect counts as its family does, also where JAX has no rule for it, such as `tanh`, `pow` or
`reduce_max`. A user's effect counts as what it is written out as.
"""

from effax.experimental.roofline.calling import roofline as roofline
from effax.experimental.roofline.calling import roofline_and_grad as roofline_and_grad
from effax.experimental.roofline.counting import register_roofline as register_roofline
from effax.experimental.roofline.counting import (
    register_standard_roofline as register_standard_roofline,
)
from effax.experimental.roofline.results import RooflineResult as RooflineResult
from effax.experimental.roofline.results import RooflineRuleContext as RooflineRuleContext
from effax.experimental.roofline.results import RooflineShape as RooflineShape

__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
]
__dir__ = __all__.copy
