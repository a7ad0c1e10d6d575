"""Shardings of arrays over many devices: meshes, and specs over their axes."""

from effax.api.mapping.shard_map import Infer as Infer
from effax.api.placing.meshes import get_abstract_mesh as get_abstract_mesh
from effax.api.placing.meshes import get_mesh as get_mesh
from effax.api.placing.meshes import make_single_device_sharding as make_single_device_sharding
from effax.api.placing.meshes import set_mesh as set_mesh
from effax.api.placing.meshes import use_abstract_mesh as use_abstract_mesh
from effax.api.placing.resharding import auto_axes as auto_axes
from effax.api.placing.resharding import explicit_axes as explicit_axes
from effax.api.placing.resharding import reshard as reshard
from effax.backends.xla.mesh import Mesh as Mesh
from effax.backends.xla.mesh import NamedSharding as NamedSharding
from effax.backends.xla.placement import IndivisibleError as IndivisibleError
from effax.backends.xla.placement import Sharding as Sharding
from effax.backends.xla.placement import SingleDeviceSharding as SingleDeviceSharding
from effax.effects.mesh import AbstractDevice as AbstractDevice
from effax.effects.mesh import AbstractMesh as AbstractMesh
from effax.effects.mesh import AxisType as AxisType
from effax.effects.mesh import ManualAxisType as ManualAxisType
from effax.effects.mesh import PartitionSpec as PartitionSpec

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "IndivisibleError",
    "Infer",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]
__dir__ = __all__.copy
