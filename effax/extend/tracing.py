"""Traces and tracers by the names of `jax.core`: interpreters that programs derive from them.

    class Counting(core.Trace):
        def process_primitive(self, primitive, tracers, params): ...

A trace is a handler, and its tracers are carriers. While one is set, it is asked each effect under
JAX's names, whether or not an operand is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import Any, Final

import numpy as np

from effax.api.custom.calls import directions, is_symbolic
from effax.backends.xla.array import asarray
from effax.effects.contexts import put
from effax.effects.effect import LITERALS
from effax.effects.handler import Bottom, Carrier, Handler, current, innermost
from effax.effects.jax_primitives import named, params_of
from effax.effects.rows import custom
from effax.effects.rows.shape import broadcast_in_dim
from effax.effects.tree import tree_structure
from effax.effects.types import float0, tangent_dtype
from effax.extend.linear_util import wrap_init
from effax.extend.typed_numbers import typed
from effax.keys.arrays import traced_part


class _Family(type):
    """The metaclass of `Trace` and `Tracer`, of which all handlers and carriers are instances."""

    _base: tuple[type, ...]

    def __instancecheck__(cls, value: object) -> bool:
        if "_base" not in cls.__dict__:
            return type.__instancecheck__(cls, value)
        return isinstance(traced_part(value), cls._base)


class Tracer(Carrier, metaclass=_Family):
    """A traced value. A program derives its own class of them, which its `Trace` makes.

    Args:
      trace: the trace that it is of.
      aval: its type; a subclass may define `aval` instead.

    >>> import effax
    >>> effax.jit(lambda x: x * isinstance(x, Tracer))(2.0)
    Array(2., dtype=float32, weak_type=True)
    """

    __slots__ = ("_aval",)
    _base = (Carrier,)

    def __init__(self, trace: Any, aval: Any = None) -> None:
        self.handler = trace
        self._aval = aval

    @property
    def _trace(self) -> Any:
        """The trace that it is of."""
        return self.handler

    @_trace.setter
    def _trace(self, trace: Any) -> None:
        self.handler = trace

    @property
    def aval(self) -> Any:
        """The value's type."""
        return self._aval

    @property
    def type(self) -> Any:  # type: ignore[override]
        """The same, by effax's name."""
        return self.aval

    def full_lower(self) -> Any:
        """Return a value outside the trace that is the same; by default there is none but it."""
        return self


class Trace(Handler, metaclass=_Family):
    """An interpreter by JAX's protocol: a subclass defines `process_primitive`.

    `set_current_trace` of `extend.core` installs one. Each effect that is performed then is given
    to it under JAX's names; what it does itself is performed by the handlers around it. Functions
    with rules of their own are given to `process_custom_jvp_call` and `process_custom_vjp_call`.

    >>> import effax
    >>> from effax.extend import core
    >>> class Counting(Trace):
    ...     seen = []
    ...     def process_primitive(self, primitive, tracers, params):
    ...         self.seen.append(primitive.name)
    ...         return primitive.bind(*tracers, **params)
    >>> with core.set_current_trace(Counting()):
    ...     y = effax.lax.sin(effax.lax.exp(0.0))
    >>> Counting.seen
    ['exp', 'sin']
    """

    __slots__ = ("__dict__", "requires_low")
    _base = (Handler, Bottom)
    carrier = Tracer
    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self) -> None:
        super().__init__(innermost())
        self.requires_low = True

    def owns(self, value: Any) -> bool:
        """Whether the value is a tracer of this very trace."""
        return type.__instancecheck__(Tracer, value) and value.handler is self

    def perform(self, effect: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Give the effect to the program's method, under JAX's names."""
        process = _PROCESSES.get(effect, _primitive)
        token = put(current, self.outer)
        try:
            return process(self, effect, operands, attributes)
        finally:
            current.reset(token)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any) -> Any:
        """Return the meaning of an effect: a tracer, or a list if it has several results.

        Args:
          primitive: the effect, by JAX's name; `primitive.bind` performs it.
          tracers: the operands, some of which may be no tracers of this trace.
          params: the attributes, by JAX's names.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_primitive")

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], *, symbolic_zeros: bool
    ) -> Any:
        """Return the list of results of a function that has a forward rule.

        Args:
          primitive: the effect `custom_jvp_call`.
          fun: the function, of flat values, as a `linear_util.WrappedFun`.
          jvp: its rule, of primals and tangents in one list, which returns both likewise.
          tracers: the operands.
          symbolic_zeros: whether the rule takes `SymbolicZero` for tangents that are zero.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define process_custom_jvp_call to be given functions with "
            "custom_jvp rules"
        )

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        tracers: Sequence[Any],
        *,
        out_trees: Callable[[], Any],
        symbolic_zeros: bool,
    ) -> Any:
        """Return the list of results of a function that has a reverse rule.

        Args:
          primitive: the effect `custom_vjp_call`.
          fun: the function, of flat values, as a `linear_util.WrappedFun`.
          fwd: its forward rule, which returns residuals and results in one list.
          bwd: its backward rule, of residuals and cotangents in one list.
          tracers: the operands.
          out_trees: a function that returns the trees of results and residuals once `fwd` ran.
          symbolic_zeros: whether the rule takes `SymbolicZero` for cotangents that are zero.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define process_custom_vjp_call to be given functions with "
            "custom_vjp rules"
        )

    def stage_value(self, val: Any) -> Any:
        """Return a value as a tracer of this trace."""
        raise NotImplementedError(f"{type(self).__name__} must define stage_value")

    def full_raise(self, x: Any) -> Any:
        """Return the value itself: values are not raised to levels."""
        return x

    def invalidate(self) -> None:
        """End the trace: its tracers can't be used any more."""
        self.live = False

    def is_valid(self) -> bool:
        """Whether the trace has not been ended."""
        return self.live

    def __repr__(self) -> str:
        return type(self).__name__


def full_lower(val: Any) -> Any:
    """Return what a tracer stands for outside its trace, as far as it says so.

    Args:
      val: any value.

    >>> full_lower(3)
    3
    """
    return val.full_lower() if type.__instancecheck__(Tracer, val) else val


class TraceTag:
    """A tag of a transform; all tags are equal, as in JAX."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTag)

    def __hash__(self) -> int:
        return hash(TraceTag)


def _primitive(trace: Trace, effect: Any, operands: Any, attributes: dict[str, Any]) -> Any:
    params = params_of(effect.name, attributes)
    if effect.literals and any(type(x) in LITERALS for x in operands):
        types = tuple([effect.operand_type(x) for x in operands])
        operands = tuple([_typed(effect, x, types) for x in operands])
    return trace.process_primitive(named(effect), operands, params)


def _typed(effect: Any, x: Any, types: Any) -> Any:
    """An operand as JAX has it: a Python number has the dtype of the others.

    Where elements are chosen between, it has their shape, too.
    """
    if type(x) not in LITERALS:
        return x
    wanted = effect.literal_type(x, types)
    if effect.peers and wanted.shape:
        return broadcast_in_dim(asarray(np.asarray(x, wanted.dtype)), shape=wanted.shape, dims=())
    return typed(x, wanted.dtype)


def _custom_jvp(trace: Trace, effect: Any, operands: Any, attributes: dict[str, Any]) -> Any:
    rule, program = attributes["rule"], attributes["program"]
    held, tracers = _parts(rule, operands)
    symbolic = bool(getattr(rule, "symbolic", False))

    def jvp(*values: Any) -> list[Any]:
        primals, given = values[: len(tracers)], values[len(tracers) :]
        moving = [None if is_symbolic(t) else t for t in given]
        results, tangents = rule([*held, *primals], [None] * len(held) + moving)
        return [*results, *directions(results, tangents, symbolic)]

    return trace.process_custom_jvp_call(
        effect,
        wrap_init(lambda *values: program.run(*held, *values)),
        wrap_init(jvp),
        tracers,
        symbolic_zeros=symbolic,
    )


def _custom_vjp(trace: Trace, effect: Any, operands: Any, attributes: dict[str, Any]) -> Any:
    rule, program = attributes["rule"], attributes["program"]
    held, tracers = _parts(rule, operands)
    types = program.in_types[len(held) :]
    moving = (False,) * len(held) + tuple([tangent_dtype(t.dtype) != float0 for t in types])
    count = len(program.outputs)
    sizes: list[int] = []

    def fwd(*values: Any) -> list[Any]:
        results, residuals = rule.forward([*held, *values], moving)
        sizes[:] = [len(residuals)]
        return [*residuals, *results]

    def bwd(*values: Any) -> list[Any]:
        found: list[Any] = backward(values[:-count], values[-count:])
        return found

    def out_trees() -> Any:
        (residuals,) = sizes
        return tree_structure([0] * count), tree_structure([0] * residuals), [None] * residuals

    backward = rule.backward_of(tuple(range(count)), moving)
    return trace.process_custom_vjp_call(
        effect,
        wrap_init(lambda *values: program.run(*held, *values)),
        wrap_init(fwd),
        wrap_init(bwd),
        tracers,
        out_trees=out_trees,
        symbolic_zeros=bool(backward.symbolic),
    )


def _parts(rule: Any, operands: Any) -> tuple[Any, Any]:
    """The values that a function with a rule closes over, and its arguments, which a trace sees."""
    count = getattr(rule, "captured", 0)
    return operands[:count], operands[count:]


_PROCESSES: Final = {custom.custom_jvp_call: _custom_jvp, custom.custom_vjp_call: _custom_vjp}
