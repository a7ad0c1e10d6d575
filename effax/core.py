"""Types and traced values, by the names of `jax.core`; `extend.core` has what else it once had.

A traced value is a carrier: `isinstance(x, core.Tracer)` asks whether x is one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from effax.api.calling.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from effax.effects.handler import innermost
from effax.effects.operand_classes import pytype_aval_mappings as pytype_aval_mappings
from effax.effects.program import Atom as Atom
from effax.effects.program import Program
from effax.effects.types import ShapedArray as ShapedArray
from effax.effects.value import Value as Value
from effax.effects.value import greatest, smallest
from effax.extend.tracing import Trace as Trace
from effax.extend.tracing import Tracer as Tracer
from effax.keys.arrays import traced_part
from effax.keys.leaves import run_on_keys

__all__ = [
    "AbstractValue",
    "Atom",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Value",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "max_dim",
    "min_dim",
    "pytype_aval_mappings",
]
__dir__ = __all__.copy

AbstractValue = ShapedArray
eval_context = ensure_compile_time_eval


def eval_jaxpr(jaxpr: Program, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Evaluate a program's equations on these values, under the handlers now installed.

    Args:
      jaxpr: the program, such as `closed.jaxpr` of a closed one.
      consts: the values of its constants.
      *args: the values of its inputs; an array of keys is given as it is, though a program has
        its words.

    Returns:
      The list of its outputs, keys among them where the program is `make_jaxpr`'s own.

    >>> import effax, effax.numpy as jnp
    >>> closed = effax.make_jaxpr(lambda x: x * 2.0 + 1.0)(1.0)
    >>> effax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
    [Array(7., dtype=float32, weak_type=True)]
    """
    return run_on_keys(jaxpr, (*consts, *args))


def max_dim(d1: Any, d2: Any) -> Any:
    """Return the greater of two lengths.

    Of symbolic lengths it is the one that is always the greater, or else an expression of both.

    Args:
      d1, d2: the lengths.

    >>> max_dim(2, 3)
    3
    >>> from effax import export
    >>> b, = export.symbolic_shape("b")
    >>> max_dim(b, 1), max_dim(b, 4)
    (b, max(b, 4))
    """
    return greatest(d1, d2)


def min_dim(d1: Any, d2: Any) -> Any:
    """Return the lesser of two lengths.

    Of symbolic lengths it is the one that is always the lesser, or else an expression of both.

    Args:
      d1, d2: the lengths.

    >>> min_dim(2, 3)
    2
    """
    return smallest(d1, d2)


def is_concrete(x: Any) -> bool:
    """Return whether a value's elements are known: `extend.core.concrete_or_error` raises if not.

    JAX has deprecated the name; PennyLane and others ask by it.

    >>> is_concrete(3)
    True
    """
    return not isinstance(x, Tracer) or traced_part(x).concrete() is not None


def is_constant_dim(d: Any) -> bool:
    """Return whether a length is a known integer, not a symbolic one.

    >>> is_constant_dim(3), is_constant_dim(2.5)
    (True, False)
    """
    try:
        operator.index(d)
    except TypeError:
        return False
    return True


def is_constant_shape(s: Sequence[Any]) -> bool:
    """Return whether all lengths of a shape are known integers.

    >>> is_constant_shape((2, 3))
    True
    """
    return all(map(is_constant_dim, s))


class _TraceContext:
    """The stack of handlers, as `jax.core.trace_ctx` keeps it."""

    @property
    def trace(self) -> Any:
        """The handler on top."""
        return innermost()


trace_ctx = _TraceContext()


def __getattr__(name: str) -> Any:
    """Names that moved to `extend.core` are still found, as in JAX."""
    from effax.api.surface.removed import missing
    from effax.extend import core

    if name in core.__all__:
        return getattr(core, name)
    return missing(__name__, name)
