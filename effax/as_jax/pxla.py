"""`jax.interpreters.pxla`: the mesh in context, which programs ask for by its old name."""

from __future__ import annotations

from effax.as_jax.private import thread_resources as thread_resources

__all__ = ["thread_resources"]
__dir__ = __all__.copy
