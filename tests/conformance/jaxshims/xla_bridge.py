"""jax._src.xla_bridge."""

from __future__ import annotations

import types

import jaxshims


def get_backend(platform=None):
    public = jaxshims.target_attr("extend.backend.get_backend", None)
    if public is not None:
        return public(platform)
    return types.SimpleNamespace(
        platform=jaxshims.target_attr("default_backend")(),
        platform_version="",
        devices=jaxshims.target_attr("devices"),
    )


def backends():
    """The backends by the names of their platforms."""
    platforms = {device.platform for device in jaxshims.target_attr("devices")()}
    return {platform: get_backend(platform) for platform in platforms}


def backend_xla_version():
    public = jaxshims.target_attr("extend.backend.backend_xla_version", None)
    return public() if public is not None else None


def using_pjrt_c_api(backend=None):
    return False


def canonicalize_platform(platform):
    return {"gpu": "cuda"}.get(platform, platform)
