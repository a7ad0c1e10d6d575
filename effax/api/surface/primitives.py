"""Effects by the names of JAX's primitives: `add_p` is the effect `add`.

>>> from effax.extend.core.primitives import add_p, jit_p, squeeze_p
>>> add_p, jit_p, squeeze_p
(add, jit, squeeze)

The second is the effect `call`, under JAX's name for it. The last is no effect: a `reshape` does it
here. It is there for programs that walk over programs, whose tables of rules have it as a key.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from effax.effects.effect import find_effect
from effax.effects.jax_primitives import Unperformed, also, named

_OTHERS: Final = {
    "jit_p": "call",
    "sharding_constraint_p": "with_sharding_constraint",
    "get_p": "ref_get",
    "lu_pivots_to_permutation_p": "pivots_to_permutation",
}
"""JAX's names that differ from effax's by more than the ending `_p`."""

_ALSO: Final = {
    "add_any": ("add_any", "add"),
    "add_jaxvals": ("add_any", "add"),
    "call": ("call", "call"),
    "closed_call": ("closed_call", "call"),
    "core_call": ("call", "call"),
}
"""JAX's further primitives for effects that have a name of JAX's already: the name, the effect."""

_UNPERFORMED: Final = frozenset(
    {
        *("after_all", "approx_top_k", "cholesky_update", "create_token", "custom_lin"),
        *("custom_partitioning", "device_put", "empty", "empty2", "fused"),
        *("global_array_to_host_local_array", "host_local_array_to_global_array"),
        *("householder_product", "mulhi", "optimization_barrier", "ormqr", "pallas_call"),
        *("random_bits", "random_fold_in", "random_gamma", "random_seed", "random_split"),
        *("random_unwrap", "random_wrap", "remat_opt", "rnn_bwd", "rnn_fwd", "scatter_sub"),
        *("select_and_scatter", "split", "spsolve", "squeeze", "stack", "stage", "swap"),
        *("symmetric_product", "tile", "todense", "unstack", "xla_metadata_call"),
    }
)
"""JAX's primitives that are no single effect: other effects do what they do."""


_unperformed = cache(Unperformed)


def __getattr__(name: str) -> Any:
    """The effect that does what JAX's primitive of that name does."""
    if name.endswith("_p"):
        own = name.removesuffix("_p")
        if own in _ALSO:
            shown, effect = _ALSO[own]
            return also(shown, find_effect(effect))
        if own in _UNPERFORMED:
            return _unperformed(own)
        try:
            return named(find_effect(_OTHERS.get(name, own)))
        except KeyError:
            raise AttributeError(
                f"no single effect corresponds to JAX's {name}; effax.matrix lists the effects"
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
