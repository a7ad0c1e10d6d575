"""jax._src.lax.lax; most names come from jax.lax."""

from __future__ import annotations

import numpy as np

import jaxshims
from jaxshims import _numerics as num


def _convert_element_type(operand, new_dtype=None, weak_type=False, sharding=None):
    """convert_element_type that can also set the weak-type bit."""
    if sharding is not None:
        raise jaxshims.NeedsInternal("jax._src.lax.lax._convert_element_type (sharding)")
    lax = jaxshims.target_attr("lax")
    if new_dtype is None:
        new_dtype = num.dtype_of(operand)
        if getattr(operand, "dtype", None) is None:
            new_dtype = num.canonical(new_dtype)
    if isinstance(new_dtype, type) and new_dtype in (bool, int, float, complex):
        new_dtype = num.dtype_of(new_dtype(0))
    strong = lax.convert_element_type(operand, num.canonical(new_dtype))
    if not weak_type:
        return strong
    bind = jaxshims.target_attr("extend.core.primitives.convert_element_type_p", None)
    if bind is not None:
        try:
            return bind.bind(
                strong, new_dtype=np.dtype(strong.dtype), weak_type=True, sharding=None
            )
        except (TypeError, AttributeError):
            pass
    return _weak_by_concatenation(strong)


def _weak_by_concatenation(x):
    """A weakly typed copy, out of Python scalars (weak by definition)."""
    lax = jaxshims.target_attr("lax")
    jnp = jaxshims.target_attr("numpy")
    x = np.asarray(x)
    items = [lax.broadcast(jnp.asarray(v), (1,)) for v in x.ravel().tolist()]
    if not items:
        raise jaxshims.NeedsInternal("weakly typed array without elements")
    flat = lax.concatenate(items, 0) if len(items) > 1 else items[0]
    out = lax.reshape(flat, x.shape)
    if np.dtype(out.dtype) != x.dtype or not getattr(out, "weak_type", False):
        raise jaxshims.NeedsInternal(f"weakly typed {x.dtype} array")
    return out


def _const(example, val):
    dtype = num.dtype_of(example)
    return np.asarray(val, num.canonical(dtype))
