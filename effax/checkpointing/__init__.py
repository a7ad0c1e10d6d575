"""Checkpoints of trees of arrays, cut up among devices and processes, on a shared disk.

docs/processes.md teaches them. The files are of the format of safetensors, with a manifest.
"""

from effax.checkpointing.checkpointer import Checkpointer as Checkpointer
from effax.effects.errors import CheckpointError as CheckpointError

__all__ = ["CheckpointError", "Checkpointer"]
__dir__ = __all__.copy
