"""`todense`: an effect, so that a transform inside of `sparsify` keeps the request."""

from __future__ import annotations

from typing import Any, Final

import effax.numpy as jnp
from effax.backends.reference import table as reference
from effax.backends.xla.lowering import writer as lowering
from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND
from effax.effects.handler import Carrier
from effax.effects.types import ShapedArray
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import JAXSparse
from effax.interpreters.functor.written_out import expansion
from effax.interpreters.transpose import linear as transpose


def _same_type(x: ShapedArray) -> ShapedArray:
    return x


densify: Final = Effect(
    "densify", family="sparse", typing=_same_type, facts=POINTWISE | LINEAR | SOUND
)
"""x itself; under `sparsify`, the dense array of a sparse one."""


# These are the cells that facts do not give. `extend.expand` would fill them too, but importing
# `effax.extend` loads every column, which takes 0.7 s.
@expansion(densify)
def _densify_of_dense(x: Any) -> Any:
    return x


@transpose.unary(densify)
def _densify_transpose(ct: Any, x: Any) -> Any:
    return ct


@lowering.rule(densify)
def _lower_densify(w: lowering.Writer, types: Any, x: lowering.Name) -> lowering.Name:
    return x


@reference.rule(densify)
def _reference_densify(x: Any) -> Any:
    return x


def todense(arr: Any) -> Array:
    """Return a dense array: that of a sparse one, or the array as it is.

    A function under `sparsify` calls it where a result should be dense.

    Args:
      arr: a sparse array, or array_like.

    Returns:
      A dense array of the same shape and dtype.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.eye(2))
    >>> todense(m)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> sparse.sparsify(lambda m: jnp.cos(todense(m)))(m).shape
    (2, 2)
    """
    if isinstance(arr, JAXSparse):
        return arr.todense()
    arr = jnp.asarray(arr)
    found: Array = densify(arr) if isinstance(arr, Carrier) else arr
    return found
