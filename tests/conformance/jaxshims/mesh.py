"""jax._src.mesh; most names come from jax.sharding."""

from __future__ import annotations

import numpy as np

import jaxshims


def __getattr__(name):
    if name == "empty_concrete_mesh":
        return jaxshims.target_attr("sharding.Mesh")(np.empty((), dtype=object), ())
    if name == "empty_abstract_mesh":
        return jaxshims.target_attr("sharding.AbstractMesh")((), ())
    raise AttributeError(name)
