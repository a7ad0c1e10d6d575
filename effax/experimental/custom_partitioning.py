"""`custom_partitioning`: functions that bring a rule for how devices share their work.

Programs here are partitioned by XLA alone, so that the rule is taken note of and not asked: results
are the function's own, however its operands are sharded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.api.calling.arguments import wearing
from effax.api.compiling.jit import jit

__all__ = ["custom_partitioning"]
__dir__ = __all__.copy


class custom_partitioning:  # noqa: N801
    """A function that is computed as a whole, and partitioned by XLA.

    >>> import effax.numpy as jnp
    >>> @custom_partitioning
    ... def double(x):
    ...     return x * 2
    >>> rule = double.def_partition(lambda mesh, args, result: None, sharding_rule="i -> i")
    >>> double(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        self.fun = fun
        self.static_argnums = static_argnums
        self.partition: Callable[..., Any] | None = None
        self._call = jit(fun, static_argnums=tuple(static_argnums))
        wearing(fun)(self)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        **factors: Any,
    ) -> Callable[..., Any]:
        """Take note of a rule, which is not asked; return it, so that this can be a decorator."""
        self.partition = partition
        return partition

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Compute the function."""
        return self._call(*args, **keywords)
