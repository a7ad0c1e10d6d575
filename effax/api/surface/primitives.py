"""Effects by the names of JAX's primitives: `add_p` is the effect `add`.

>>> from effax.extend.core.primitives import add_p, jit_p
>>> add_p, jit_p
(add, call)
"""

from __future__ import annotations

from typing import Final

from effax.effects.effect import Effect, find_effect

_OTHERS: Final = {
    "jit_p": "call",
    "call_p": "call",
    "closed_call_p": "call",
    "core_call_p": "call",
    "name_p": "named",
    "sharding_constraint_p": "with_sharding_constraint",
    "get_p": "ref_get",
    "swap_p": "ref_swap",
    "pmax_p": "pmax",
}
"""JAX's names that differ from effax's by more than the ending `_p`."""


def __getattr__(name: str) -> Effect:
    """The effect that does what JAX's primitive of that name does."""
    if name.endswith("_p"):
        try:
            return find_effect(_OTHERS.get(name, name.removesuffix("_p")))
        except KeyError:
            raise AttributeError(
                f"no single effect corresponds to JAX's {name}; effax.matrix lists the effects"
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
