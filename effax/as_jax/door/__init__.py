"""A folder that `effax.as_jax` puts on the path, as a folder and not as this package."""
