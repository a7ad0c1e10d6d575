"""Programs of several processes, each with devices of its own, on one machine or many.

`initialize` makes this process one of a job; `python -m effax.distributed run` starts a job on one
machine. docs/processes.md teaches both.
"""

from effax.distributed.joining import initialize as initialize
from effax.distributed.joining import is_initialized as is_initialized
from effax.distributed.joining import shutdown as shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
__dir__ = __all__.copy
