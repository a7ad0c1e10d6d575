"""Custom: programs that bring their own derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows.control import _call_type
from effax.effects.types import ShapedArray

custom_jvp_call = Effect(
    "custom_jvp_call", family="custom", typing=_call_type, multiple=True, higher_order=True
)
"""`custom_jvp_call(*operands, program, rule, name)`: a call whose derivative is `rule`'s.

`rule(primals, tangents)`, of flat values with None for zero tangents, gives results and tangents.
"""

custom_vjp_call = Effect(
    "custom_vjp_call", family="custom", typing=_call_type, multiple=True, higher_order=True
)
"""`custom_vjp_call(*operands, program, rule, name)`: a call whose transpose is `rule`'s.

`rule.forward(primals)` gives results and residuals, `rule.backward(residuals, cotangents)` the
cotangents of the operands; all flat.
"""


custom_vmap_call = Effect(
    "custom_vmap_call", family="custom", typing=_call_type, multiple=True, higher_order=True
)
"""`custom_vmap_call(*operands, program, rule, name)`: a call whose batching is `rule`'s.

`rule(size, batched, operands)`, of flat values some of which have the batch axis in front, gives
results and which of them have it.
"""


def _forward_type(
    *operands: ShapedArray, program: Program, forward: Program, **_: Any
) -> Sequence[ShapedArray]:
    return _call_type(*operands, program=forward)


custom_vjp_forward = Effect(
    "custom_vjp_forward", family="custom", typing=_forward_type, multiple=True, higher_order=True
)
"""`custom_vjp_forward(*operands, program, forward, name)`: the results of `program`, and residuals.

It is a call of `forward`. Where no residual is wanted, a call of `program` will do.
"""


each_lane = Effect(
    "each_lane", family="custom", typing=_call_type, multiple=True, higher_order=True
)
"""`each_lane(*operands, program, lane, of, name)`: the effect `of` in each lane of a batch.

`program` is the effect written out for the whole batch, and what is computed. `lane` performs the
effect itself, lane by lane: what it means to a handler that has a rule for it.
"""

RULED: Final = (custom_jvp_call, custom_vjp_call, custom_vmap_call, each_lane)
"""Calls whose rules speak of transforms alone: to compute one is to call its `program`."""


def _linear_type(
    *operands: ShapedArray, out_types: tuple[ShapedArray, ...], **_: Any
) -> Sequence[ShapedArray]:
    return out_types


custom_linear = Effect(
    "custom_linear", family="custom", typing=_linear_type, multiple=True, functions=True
)
"""`custom_linear(*residuals, *tangents, residuals, out_types, backward)`.

The linear map from tangents whose transpose is `backward(residuals, cotangents)`: what remains of
a `custom_vjp_call` in forward mode. Where no one transposes it, it is computed by transposing
`backward`, which is linear in the cotangents.
"""
