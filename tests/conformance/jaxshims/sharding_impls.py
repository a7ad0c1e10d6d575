"""jax._src.sharding_impls; most names come from jax.sharding."""

from __future__ import annotations

import jaxshims


def make_single_device_sharding(device, *, memory_kind=None):
    public = jaxshims.target_attr("sharding.make_single_device_sharding", None)
    if public is None:
        public = jaxshims.target_attr("sharding.SingleDeviceSharding")
    if memory_kind is None:
        return public(device)
    return public(device, memory_kind=memory_kind)
