"""`jax.lib` and `jax.lib.xla_bridge`, as far as they were public: what there is of backends."""

from __future__ import annotations

import sys
from importlib.metadata import version

from effax import default_backend as default_backend
from effax import device_count as device_count
from effax import devices as devices
from effax import local_devices as local_devices
from effax import process_count as process_count
from effax import process_index as process_index
from effax.backends.xla.client import backend as get_backend

__version__ = version("jaxlib")
xla_bridge = sys.modules[__name__]

__all__ = [
    "default_backend",
    "device_count",
    "devices",
    "get_backend",
    "local_devices",
    "process_count",
    "process_index",
    "xla_bridge",
]
__dir__ = __all__.copy
