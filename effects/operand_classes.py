"""Classes of values that are operands, by the tables of `jax.interpreters.xla`.

Libraries enter classes of their own beside NumPy's. What makes their objects operands here is
`__jax_array__`; the tables only keep the entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from effax.effects.types import typeof

canonicalize_dtype_handlers: Final[dict[type, Callable[..., Any]]] = {np.ndarray: np.asarray}
pytype_aval_mappings: Final[dict[type, Callable[..., Any]]] = {np.ndarray: typeof}
