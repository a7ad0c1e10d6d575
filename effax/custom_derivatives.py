"""Functions that bring their own derivative."""

from effax.api.custom.calls import SymbolicZero as SymbolicZero
from effax.api.custom.calls import zero_from_primal as zero_from_primal
from effax.api.custom.closure import closure_convert as closure_convert
from effax.api.custom.closure import custom_gradient as custom_gradient
from effax.api.custom.jvp import custom_jvp as custom_jvp
from effax.api.custom.linear import linear_call as linear_call
from effax.api.custom.vjp import CustomVJPPrimal as CustomVJPPrimal
from effax.api.custom.vjp import custom_vjp as custom_vjp
from effax.api.custom.vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from effax.api.surface import primitives
from effax.effects.effect import Effect

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Effect:
    """`custom_jvp_call_p` and `custom_vjp_call_p`: the effects."""
    return getattr(primitives, name)
