"""Programs of functions some of whose arguments are known, by the names of `jax.interpreters`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.program import Program, Variable, used_inputs, without_dead_code
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.stage import stage
from effax.keys.arrays import KeyType, is_keys

__all__ = [
    "DynamicJaxprTracer",
    "PartialVal",
    "dce_jaxpr",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]

DynamicJaxprTracer = Variable
"""The class of values that are staged: programs ask whether a value is one (PennyLane)."""


@attrs.frozen(slots=True)
class PartialVal:
    """A value that is known, or of which only the type is."""

    aval: ShapedArray | None
    const: Any

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A known value."""
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """A value of that type."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.aval is None

    def get_known(self) -> Any:
        """The value; None where only the type is known."""
        return self.const if self.aval is None else None

    def get_aval(self) -> ShapedArray:
        """The type."""
        return typeof(self.const) if self.aval is None else self.aval

    def __iter__(self) -> Any:
        return iter((self.aval, self.const))


def dce_jaxpr(
    jaxpr: Program, used_outputs: bool | Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Program, list[bool]]:
    """Leave out what the results that are used do not need.

    Programs inside equations stay whole.

    Args:
      jaxpr: the program.
      used_outputs: for each result, or for all of them, whether it is used.
      instantiate: for each argument, or for all of them, whether it stays though nothing needs it.

    Returns:
      The program of the used results and the arguments that they need, and which these are.

    >>> import effax
    >>> program = effax.make_jaxpr(lambda x, y: (effax.lax.sin(x), effax.lax.cos(y)))(0.0, 1.0)
    >>> dce_jaxpr(program, [False, True])
    ({ lambda a:f32[] .
      b:f32[] = cos a
      in (b) }, [False, True])
    """
    outputs = _each(used_outputs, len(jaxpr.outvars))
    lean = without_dead_code(jaxpr, outputs)
    needed = used_inputs(lean)[len(jaxpr.constvars) :]
    kept = [n or k for n, k in zip(needed, _each(instantiate, len(needed)), strict=True)]
    arguments = [x for x, k in zip(jaxpr.invars, kept, strict=True) if k]
    return jaxpr.replace(invars=arguments, outvars=lean.outvars, eqns=lean.equations), kept


def _each(chosen: bool | Sequence[bool], count: int) -> list[bool]:
    return [chosen] * count if isinstance(chosen, bool) else list(chosen)


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Program, list[PartialVal], list[Any]]:
    """Stage what depends on the unknown arguments, and compute the rest.

    `fun` is a wrapped function of flat arguments to a list. The result: the program of the unknown
    results, each result known or by its type, and what the program closes over (its first inputs).

    >>> import effax.numpy as jnp
    >>> from effax.extend.linear_util import wrap_init
    >>> f = wrap_init(lambda x, y: [x + y, jnp.sin(y)])
    >>> unknown = PartialVal.unknown(ShapedArray((), "float32"))
    >>> program, (a, b), consts = trace_to_jaxpr_nounits(f, [unknown, PartialVal.known(0.0)])
    >>> a.is_known(), b.get_known()
    (False, Array(0., dtype=float32, weak_type=True))
    """
    results: list[Any] = []

    def of_unknown(*unknown: Any) -> list[Any]:
        given = iter(unknown)
        args = [p.const if p.is_known() else _entered(next(given), p.aval) for p in pvals]
        results[:] = fun.call_wrapped(*args)
        return [x.words if is_keys(x) else x for x in results]

    types = [_words_of(p.aval) for p in pvals if p.aval is not None]
    found = stage(of_unknown, types, getattr(fun, "__name__", "program"))
    program, captured = found.program, list(found.captured)
    moving = _moving(program, program.inputs[len(captured) :])
    asked = zip(_each(instantiate, len(program.outputs)), program.outputs, strict=True)
    unknown = [a or x in moving for a, x in asked]
    still = [e for e in program.equations if moving.isdisjoint(e.inputs)]
    known = Program(
        program.inputs[: len(captured)],
        still,
        [x for x, u in zip(program.outputs, unknown, strict=True) if not u],
        program.name,
    )
    values = iter(without_dead_code(known).run(*captured))
    outs = [
        PartialVal.unknown(typeof(x)) if u else PartialVal.known(_like(x, next(values)))
        for x, u in zip(results, unknown, strict=True)
    ]
    return without_dead_code(program, unknown), outs, captured


def _words_of(type: ShapedArray) -> ShapedArray:
    """The type that stands for a type in programs: that of the words, for keys."""
    dtype: Any = type.dtype
    if isinstance(dtype, KeyType):
        return ShapedArray(*dtype.inside(type.shape))
    return type


def _entered(value: Any, type: Any) -> Any:
    """A value of a program as one of this type: keys over their words."""
    if isinstance(type.dtype, KeyType):
        return type.dtype.around(value)
    return value


def _like(result: Any, value: Any) -> Any:
    return result.like(value) if is_keys(result) else value


def _moving(program: Program, inputs: Sequence[Variable]) -> set[Any]:
    """Return the variables that depend on one of the inputs."""
    moving: set[Any] = set(inputs)
    for e in program.equations:
        if not moving.isdisjoint(e.inputs):
            moving.update(e.outputs)
    return moving


def trace_to_jaxpr_dynamic(
    fun: Any, in_avals: Sequence[ShapedArray], **_: Any
) -> tuple[Program, list[ShapedArray], list[Any]]:
    """Stage a wrapped function of arguments of these types: program, result types, and consts.

    >>> from effax.extend.linear_util import wrap_init
    >>> f = wrap_init(lambda x: [x * 2.0])
    >>> trace_to_jaxpr_dynamic(f, [ShapedArray((), "float32")])[1]
    [f32[]]
    """
    call: Callable[..., Any] = fun.call_wrapped
    found = stage(lambda *args: list(call(*args)), in_avals, getattr(fun, "__name__", "program"))
    found.program.consts = tuple(found.captured)
    return found.program, list(found.program.out_types), list(found.captured)
