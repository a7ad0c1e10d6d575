"""Metadata for XLA, the frontend attributes of its operations.

XLA's passes read such attributes as hints; results are the same with and without. They are part
of the lowered program:

>>> import effax
>>> from effax.experimental.xla_metadata import set_xla_metadata
>>> @effax.jit
... def f(x):
...     with set_xla_metadata(level="1"):
...         return 2.0 * x
>>> 'mhlo.frontend_attributes = {level = "1"}' in f.lower(3.0).as_text()
True
"""

from __future__ import annotations

from typing import Any

from effax.api.calling.tags import Tagging, as_tags
from effax.effects.rows.naming import annotated
from effax.effects.tree import tree_map

__all__ = ["set_xla_metadata"]


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Attach metadata for XLA to operations in a `with` block or a function, or to values.

    Blocks nest, and the innermost value of a key counts; `None` removes a key. Operations keep
    their metadata through every transformation. What a derivative computes of a value that was
    tagged by itself has none.

    Args:
      x: a tree of arrays, each made by one operation, which gets the metadata. Without it the
        result is a context manager and a decorator.
      **kwargs: the metadata: strings, numbers or bools. XLA gets their text.

    Returns:
      The arrays of `x`, or a context manager that is a decorator, too.

    Raises:
      TypeError: for a value without a hash.

    >>> import effax, effax.numpy as jnp
    >>> f = effax.jit(lambda x: set_xla_metadata(jnp.sin(x), a=True))
    >>> 'sine %a0 {mhlo.frontend_attributes = {a = "true"}}' in f.lower(1.0).as_text()
    True
    >>> @set_xla_metadata(a="b")
    ... def double(x):
    ...     return x + x
    >>> print(effax.make_jaxpr(double)(1.0).eqns[0].ctx.xla_metadata)
    {'a': 'b'}
    """
    if x is None:
        return Tagging(kwargs)
    metadata = as_tags(kwargs)
    return tree_map(lambda leaf: annotated(leaf, metadata=metadata), x)
