"""Functions beside devices elsewhere: there are none."""

__all__: list[str] = []
__dir__ = __all__.copy
