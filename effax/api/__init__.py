"""The transforms as users call them; `effax` re-exports them by JAX's names."""
