"""What `effax.as_jax` puts on the path: this folder, not this package."""
