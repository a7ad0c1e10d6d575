"""Programs, their parts and the state of tracing, by the names of `jax.extend.core`.

Programs are closed, so `Jaxpr` and `ClosedJaxpr` are both `Program`; primitives are effects.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from effax.effects.checking import check_jaxpr as check_jaxpr
from effax.effects.contexts import put, put_back
from effax.effects.errors import ConcretizationTypeError, InconclusiveDimensionOperation
from effax.effects.errors import JaxprTypeError as JaxprTypeError
from effax.effects.handler import Carrier, current, innermost, stack
from effax.effects.jax_primitives import attributes_of, unnamed
from effax.effects.jaxpr import DebugInfo as DebugInfo
from effax.effects.program import Equation, Literal, Program, Variable, programs_in
from effax.effects.types import ShapedArray, tangent_type, typeof
from effax.effects.value import Value
from effax.extend.calls import CallPrimitive as CallPrimitive
from effax.extend.calls import call_impl as call_impl
from effax.extend.core import primitives as primitives
from effax.extend.primitive import Primitive as Primitive
from effax.extend.tracing import TraceTag as TraceTag
from effax.interpreters.batch.batched import Batch
from effax.interpreters.stage import Stage
from effax.keys.leaves import run_on_keys

__all__ = [
    "CallPrimitive",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "TraceTag",
    "Var",
    "array_types",
    "call_impl",
    "check_jaxpr",
    "concrete_or_error",
    "find_top_trace",
    "gensym",
    "get_aval",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "new_jaxpr_eqn",
    "no_effects",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
__dir__ = __all__.copy

get_aval = typeof
no_effects: frozenset[str] = frozenset()


class _StandsFor(type):
    """The metaclass of JAX's names for classes of ours, `own`, whose instances are theirs."""

    own: type

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.own)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.own)


class JaxprEqn(metaclass=_StandsFor):
    """An equation of these parts, by JAX's name: `new_jaxpr_eqn` says which.

    >>> import effax
    >>> (sine,) = effax.make_jaxpr(effax.lax.sin)(0.0).eqns
    >>> same = JaxprEqn(
    ...     sine.invars, sine.outvars, sine.primitive, sine.params, sine.effects, sine.source_info)
    >>> isinstance(same, JaxprEqn), same.primitive.name
    (True, 'sin')
    """

    own = Equation

    def __new__(cls, *parts: Any, **named: Any) -> Equation:  # type: ignore[misc]
        """Make the equation."""
        return new_jaxpr_eqn(*parts, **named)


class Var(metaclass=_StandsFor):
    """A variable, by JAX's name: `Var(aval)` is one that no equation makes yet.

    >>> from effax.core import ShapedArray
    >>> isinstance(Var(ShapedArray((2,), "float32")), Var)
    True
    """

    own = Variable

    def __new__(cls, aval: ShapedArray) -> Variable:  # type: ignore[misc]
        """Make a variable of a type."""
        return Variable(None, aval)


class Jaxpr(metaclass=_StandsFor):
    """A program of these parts, by JAX's name: `Jaxpr(constvars, invars, outvars, eqns)`.

    >>> import effax
    >>> program = effax.make_jaxpr(lambda x: x + 1.0)(0.0)
    >>> same = Jaxpr(program.constvars, program.invars, program.outvars, program.eqns)
    >>> isinstance(same, Jaxpr), type(same).__name__
    (True, 'Program')
    """

    own = Program

    def __new__(  # type: ignore[misc]
        cls,
        constvars: Sequence[Variable],
        invars: Sequence[Variable],
        outvars: Sequence[Any],
        eqns: Sequence[Equation],
        effects: Any = None,
        debug_info: Any = None,
        is_high: bool = False,
    ) -> Program:
        """Make the program; the last three parts follow from the others."""
        program = Program((*constvars, *invars), list(eqns), outvars)
        program.consts = (None,) * len(constvars)
        return program


class ClosedJaxpr(metaclass=_StandsFor):
    """A program with the values of its first inputs: `ClosedJaxpr(jaxpr, consts)`.

    >>> import effax
    >>> program = effax.make_jaxpr(lambda x: x + 1.0)(0.0)
    >>> ClosedJaxpr(program.jaxpr, program.consts).in_avals
    [f32[]~weak]
    """

    own = Program

    def __new__(cls, jaxpr: Program, consts: Sequence[Any]) -> Program:  # type: ignore[misc]
        """Return the program with these constants."""
        return jaxpr.replace(consts=consts)


def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[Variable],
    primitive: Any,
    params: dict[str, Any],
    effects: Any = None,
    source_info: Any = None,
    ctx: Any = None,
) -> Equation:
    """Return an equation of these parts, with parameters by JAX's names or by effax's.

    Args:
      invars: the operands, variables or literals.
      outvars: the results, variables.
      primitive: the effect.
      params: its attributes, by name.
      effects: accepted for JAX's sake.
      source_info: a pair of a frame and the names of the scopes around; by default neither is
        known.
      ctx: accepted for JAX's sake.

    >>> import effax
    >>> (sine,) = effax.make_jaxpr(effax.lax.sin)(0.0).eqns
    >>> new_jaxpr_eqn(sine.invars, sine.outvars, effax.lax.cos_p, {}).primitive.name
    'cos'
    """
    where = (None, "") if source_info is None else source_info
    effect = unnamed(primitive)
    return Equation(effect, invars, attributes_of(effect.name, params), outvars, *where)


def gensym(suffix: str = "") -> Callable[[ShapedArray], Variable]:
    """Return a function that makes a new variable of a type.

    Args:
      suffix: accepted for JAX's sake; variables have no names.

    >>> from effax.core import ShapedArray
    >>> new = gensym()
    >>> new(ShapedArray((2,), "float32")).aval
    f32[2]
    """
    return lambda aval: Variable(None, aval)


class Effect:
    """The base of a user's classes of effects. Rows here hold strings: none is an instance."""


Effects = frozenset


class DropVar(Variable):
    """JAX's class of unused results. Programs here name every result, so no variable is one."""

    __slots__ = ()


def array_types() -> set[type]:
    """Return the classes of values that are arrays: of the host, of a device, traced.

    >>> import numpy as np
    >>> np.ndarray in array_types()
    True
    """
    import numpy as np

    return {np.ndarray, np.generic, Value}


def valid_jaxtype(x: Any) -> bool:
    """Return whether x is an array, a number or a traced value: what functions can be applied to.

    >>> valid_jaxtype(1.0), valid_jaxtype("one")
    (True, False)
    """
    try:
        typeof(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """Return `force(val)` (or val, where force is None), for a value that is known.

    Raises `ConcretizationTypeError`, saying the context, for a traced value that is not.

    >>> concrete_or_error(int, 3, "the length of the loop")
    3
    """
    if isinstance(val, Carrier):
        known = val.concrete()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


class OpaqueTraceState:
    """A token for the active transforms; it equals another token as long as they are the same."""

    def __init__(self, handler: Any) -> None:
        self._handler = weakref.ref(handler)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueTraceState):
            return NotImplemented
        mine = self._handler()
        return mine is not None and mine is other._handler()

    __hash__ = None  # type: ignore[assignment]


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Return a token of the active transforms, to be compared for equality.

    Args:
      convention: accepted for JAX's sake.

    >>> import effax
    >>> outside = get_opaque_trace_state()
    >>> outside == get_opaque_trace_state()
    True
    >>> effax.jit(lambda x: x * (outside == get_opaque_trace_state()))(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return OpaqueTraceState(innermost())


def find_top_trace(xs: Sequence[Any]) -> Any:
    """Return the innermost handler that one of the values belongs to; else the topmost one.

    Args:
      xs: values, traced or not.

    >>> import effax
    >>> effax.vmap(lambda x: x * (find_top_trace([x]) is find_top_trace([])))(effax.numpy.ones(2))
    Array([1., 1.], dtype=float32)
    """
    owners = {id(x.handler) for x in xs if isinstance(x, Carrier)}
    return next((h for h in stack() if id(h) in owners), innermost())


@contextmanager
def take_current_trace() -> Iterator[Any]:
    """Give the handler on top of the stack to the body of a `with` block.

    >>> with take_current_trace() as trace:
    ...     trace is find_top_trace([])
    True
    """
    yield innermost()


class set_current_trace:  # noqa: N801  (JAX's name)
    """Perform the body of a `with` block with a handler on top of the stack.

    A block that is abandoned, as by a generator that nobody ends, restores nothing later.

    Args:
      trace: the handler.

    >>> with take_current_trace() as trace, set_current_trace(trace):
    ...     pass
    """

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.tokens: list[Any] = []

    def __enter__(self) -> None:
        """Put the handler on top of the stack."""
        self.tokens.append(put(current, self.trace))

    def __exit__(self, *exception: object) -> None:
        """Restore the handler from before."""
        put_back(self.tokens.pop())


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # noqa: N802
    """Return whether some handler around writes a program.

    >>> unsafe_am_i_under_a_jit_DO_NOT_USE()
    False
    """
    return any(isinstance(h, Stage) for h in stack())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:  # noqa: N802
    """Return whether some handler around batches.

    >>> unsafe_am_i_under_a_vmap_DO_NOT_USE()
    False
    """
    return any(isinstance(h, Batch) for h in stack())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:  # noqa: N802
    """Return the names of the axes that handlers around bind, innermost first.

    >>> unsafe_get_axis_names_DO_NOT_USE()
    []
    """
    named = [getattr(h, "axis_name", None) for h in stack()]
    return [name for name in named if name is not None]


def jaxpr_as_fun(closed_jaxpr: Program) -> Callable[..., list[Any]]:
    """Return the program as a function of its arguments, which returns the list of its results.

    Args:
      closed_jaxpr: the program.

    >>> import effax
    >>> jaxpr_as_fun(effax.make_jaxpr(lambda x: x + 1.0)(1.0))(2.0)
    [Array(3., dtype=float32, weak_type=True)]
    """
    return lambda *args: run_on_keys(closed_jaxpr, (*closed_jaxpr.consts, *args))


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Program]:
    """Iterate over the programs among an equation's attributes.

    Args:
      params: the attributes, by name.

    >>> list(jaxprs_in_params({"axis": 0}))
    []
    """
    return programs_in(params)


def subjaxprs(jaxpr: Program) -> Iterator[Program]:
    """Iterate over the programs in the equations of a program.

    Args:
      jaxpr: the program.

    >>> import effax
    >>> closed = effax.make_jaxpr(effax.jit(lambda x: x + 1.0))(1.0)
    >>> len(list(subjaxprs(closed.jaxpr)))
    1
    """
    for equation in jaxpr.equations:
        yield from equation.programs()


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of one of `size` values that lie along an axis of a value of type `aval`.

    Args:
      size: the length of the axis.
      axis: the axis; None for a value that is not mapped.
      aval: the type of the value with the axis.

    >>> mapped_aval(3, 0, ShapedArray((3, 2), "float32"))
    f32[2]
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"axis {axis} of {aval} must have the length {size}")
    rest = [n for i, n in enumerate(aval.shape) if i != axis % aval.ndim]
    return aval.update(shape=tuple(rest))


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of `size` values of type `aval`, stacked along an axis.

    Args:
      size: the length of the new axis.
      axis: the place of the new axis; None for no axis.
      aval: the type of one value.

    >>> unmapped_aval(3, 1, ShapedArray((2,), "float32"))
    f32[2,3]
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of the tangents of values of a dtype: itself for floats, else float0.

    Args:
      primal_dtype: the dtype of the values.

    >>> import numpy as np
    >>> primal_dtype_to_tangent_dtype(np.dtype("float32"))
    dtype('float32')
    """
    return tangent_type(ShapedArray((), primal_dtype)).dtype
