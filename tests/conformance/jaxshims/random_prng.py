"""jax._src.random.prng; most names come from jax.extend.random."""

from __future__ import annotations

import functools

import jaxshims


class _KeyArray(type):
    def __instancecheck__(cls, x):
        if not isinstance(x, jaxshims.target_attr("Array")):
            return False
        return jaxshims.target_attr("dtypes.issubdtype")(
            x.dtype, jaxshims.target_attr("dtypes.prng_key")
        )


class PRNGKeyArray(metaclass=_KeyArray):
    """A typed key array."""


_IMPLS = {
    "threefry2x32": "threefry_prng_impl",
    "threefry4x32": "threefry4x32_prng_impl",
    "philox2x32": "philox2x32_prng_impl",
    "philox4x32": "philox4x32_prng_impl",
    "rbg": "rbg_prng_impl",
    "unsafe_rbg": "unsafe_rbg_prng_impl",
}


class _Named(str):
    """Stands for an implementation object where only its name is public."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise jaxshims.NeedsInternal(f"PRNGImpl.{name}")


@functools.cache
def _implementations():
    """The implementation objects that are public, else names; the same ones each time."""
    found = {n: jaxshims.target_attr("extend.random." + attr, None) for n, attr in _IMPLS.items()}
    found = {n: impl for n, impl in found.items() if impl is not None}
    return found or {n: _Named(n) for n in _IMPLS if "4" not in n and "philox" not in n}


def __getattr__(name):
    if name == "prngs":
        return _implementations()
    if name == "KeyTy" and not jaxshims.importing:
        return type(jaxshims.target_attr("random.key")(0).dtype)
    raise AttributeError(name)
