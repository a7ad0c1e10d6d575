"""Effects by the names of JAX's primitives: `add_p` is the effect `add`.

>>> from effax.extend.core.primitives import add_p, jit_p, squeeze_p
>>> add_p, jit_p, squeeze_p
(add, jit, squeeze)

The second is the effect `call`, under JAX's name for it. The last is no effect: a `reshape` does it
here. It is there for programs that walk over programs, whose tables of rules have it as a key.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NoReturn

from effax.effects.effect import find_effect
from effax.effects.jaxpr import named

_OTHERS: Final = {
    "add_any_p": "add",
    "add_jaxvals_p": "add",
    "jit_p": "call",
    "call_p": "call",
    "closed_call_p": "call",
    "core_call_p": "call",
    "sharding_constraint_p": "with_sharding_constraint",
    "get_p": "ref_get",
    "lu_pivots_to_permutation_p": "pivots_to_permutation",
}
"""JAX's names that differ from effax's by more than the ending `_p`."""

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


class Unperformed:
    """A primitive of JAX's that no program has: a key for tables of rules, which nothing asks."""

    __slots__ = ("name",)

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def bind(self, *operands: Any, **attributes: Any) -> NoReturn:
        """Raise NotImplementedError: there is nothing to perform."""
        raise NotImplementedError(
            f"no effect does what JAX's primitive {self.name} does: programs of effax have others "
            f"in its place, as effax.make_jaxpr shows. Call the public function of that name"
        )


_unperformed = cache(Unperformed)


def __getattr__(name: str) -> Any:
    """The effect that does what JAX's primitive of that name does."""
    if name.endswith("_p"):
        own = name.removesuffix("_p")
        if own in _UNPERFORMED:
            return _unperformed(own)
        try:
            return named(find_effect(_OTHERS.get(name, own)))
        except KeyError:
            raise AttributeError(
                f"no single effect corresponds to JAX's {name}; effax.matrix lists the effects"
            ) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
