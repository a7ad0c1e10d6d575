"""Functions that outlive the process: exported as StableHLO, written to bytes, called elsewhere.

>>> import effax, effax.numpy as jnp
>>> from effax import export
>>> exported = export.export(effax.jit(jnp.square))(effax.ShapeDtypeStruct((2,), "float32"))
>>> data = exported.serialize(vjp_order=1)
>>> again = export.deserialize(data)  # perhaps in another process, on another day
>>> again.call(jnp.array([1.0, 3.0]))
Array([1., 9.], dtype=float32)
>>> effax.grad(lambda x: again.call(x).sum())(jnp.array([1.0, 3.0]))
Array([2., 6.], dtype=float32)
"""

from effax.export.exported import DisabledSafetyCheck as DisabledSafetyCheck
from effax.export.exported import Exported as Exported
from effax.export.exported import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from effax.export.exported import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from effax.export.exporting import default_export_platform as default_export_platform
from effax.export.exporting import export as export
from effax.export.loading import deserialize as deserialize
from effax.export.symbolic import SymbolicScope as SymbolicScope
from effax.export.symbolic import is_symbolic_dim as is_symbolic_dim
from effax.export.symbolic import symbolic_args_specs as symbolic_args_specs
from effax.export.symbolic import symbolic_shape as symbolic_shape
from effax.export.trees import (
    register_namedtuple_serialization as register_namedtuple_serialization,
)
from effax.export.trees import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]
__dir__ = __all__.copy
