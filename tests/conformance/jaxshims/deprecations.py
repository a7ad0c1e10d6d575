"""jax._src.deprecations."""


def is_accelerated(deprecation_id):
    return False
