"""Arrays whose types are not to say how they are cut; loaded with the first that does."""

from __future__ import annotations

from typing import Any

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.dispatch import host_rules
from effax.backends.xla.mesh import NamedSharding
from effax.backends.xla.placement import Spec
from effax.effects.mesh import AxisType
from effax.effects.rows.sharding import opened


def open_at_once(x: Any, *, axes: tuple[Any, ...]) -> Any:
    """The same buffer, on the mesh whose axes of these names are `Auto`."""
    array = asarray(x) if type(x) is not Array else x
    spec = array.spec
    if not isinstance(spec.named, NamedSharding) or spec.type.cut is None:
        return array
    mesh = spec.named.mesh
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    types = tuple(AxisType.Auto if n in axes else k for n, k in pairs)
    named = spec.named.update(mesh=mesh.update(axis_types=types))
    return Array(array.buffer, Spec(spec.type, spec.placement, spec.committed, named))


host_rules[opened] = open_at_once
