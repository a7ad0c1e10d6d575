"""jax._src.sharding."""

from __future__ import annotations

# The public API raises this as a ValueError.
IndivisibleError = ValueError
