"""jax._src.array: ArrayImpl is "a concrete array"."""

from __future__ import annotations

import jaxshims


class _ConcreteArray(type):
    def __instancecheck__(cls, x):
        return isinstance(x, jaxshims.target_attr("Array")) and not isinstance(
            x, jaxshims.target_attr("core.Tracer")
        )

    def __subclasscheck__(cls, c):
        return issubclass(c, jaxshims.target_attr("Array"))

    def __eq__(cls, other):
        return cls is other or other is _real_type()

    def __hash__(cls):
        return id(cls)

    def __getattr__(cls, name):
        return getattr(_real_type(), name)


def _real_type():
    return type(jaxshims.target_attr("numpy.zeros")(()))


class _LazyArrayImpl(metaclass=_ConcreteArray):
    """For modules that import ArrayImpl: asking for the real type would start
    the back end before the number of devices is settled."""


class _PrivateConstructor(_ConcreteArray):
    def __call__(cls, *args, **kwargs):
        raise jaxshims.NeedsInternal("ArrayImpl(aval, sharding, arrays, committed)")


class _Constructed(metaclass=_PrivateConstructor):
    """The type, made from shards, which only JAX's own code and its tests do."""


def __getattr__(name):
    if name == "ArrayImpl":
        return _LazyArrayImpl if jaxshims.importing else _Constructed
    raise AttributeError(name)
