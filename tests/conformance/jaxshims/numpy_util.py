"""jax._src.numpy.util."""

from __future__ import annotations

import jaxshims
from jaxshims import dtypes


def _promote(to, args):
    jnp = jaxshims.target_attr("numpy")
    dtype = to(jnp.result_type(*args))
    out = [jnp.asarray(a, dtype) for a in args]
    return out


def promote_dtypes(*args):
    return _promote(lambda d: d, args)


def promote_dtypes_inexact(*args):
    return _promote(dtypes.to_inexact_dtype, args)


def promote_dtypes_complex(*args):
    return _promote(dtypes.to_complex_dtype, args)
