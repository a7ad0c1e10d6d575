"""Calls of functions as primitives."""

from __future__ import annotations

from typing import Any

from effax.effects.jax_primitives import Unperformed
from effax.effects.rows.control import call
from effax.effects.types import typeof
from effax.extend.linear_util import WrappedFun
from effax.interpreters.stage import stage


class CallPrimitive(Unperformed):
    """A primitive that calls a function of arrays: programs have a call, of the primitive's name.

    >>> from effax.extend import linear_util
    >>> twice = CallPrimitive("twice")
    >>> twice.bind(linear_util.wrap_init(lambda x: [2.0 * x]), 3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """

    __slots__ = ()

    multiple_results = call_primitive = True

    def bind(self, fun: WrappedFun, *operands: Any) -> list[Any]:
        """Perform the call of a function that returns a flat sequence of values."""
        staged = stage(fun.call_wrapped, [*map(typeof, operands)], self.name)
        return list(call(*staged.captured, *operands, program=staged.program, name=self.name))


def call_impl(f: WrappedFun, *operands: Any, **parameters: Any) -> Any:
    """Call a wrapped function.

    Args:
      f: the function, from `linear_util.wrap_init`.
      *operands: its arguments.
      **parameters: what a primitive says about the call, which is not looked at.

    >>> from effax.extend import linear_util
    >>> call_impl(linear_util.wrap_init(max), 1, 2, name="largest")
    2
    """
    return f.call_wrapped(*operands)
