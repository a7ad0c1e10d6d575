"""Checkpointing: functions computed again in the backward pass, and names for what is kept."""

from effax.api.derivatives.checkpoint import checkpoint as checkpoint
from effax.api.derivatives.checkpoint import checkpoint_name as checkpoint_name
from effax.api.derivatives.checkpoint import checkpoint_policies as checkpoint_policies
from effax.api.derivatives.checkpoint import remat as remat
from effax.api.derivatives.residuals import print_saved_residuals as print_saved_residuals
from effax.interpreters.residual.verdicts import Offloadable as Offloadable
from effax.interpreters.residual.verdicts import Recompute as Recompute
from effax.interpreters.residual.verdicts import Saveable as Saveable

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]
__dir__ = __all__.copy
