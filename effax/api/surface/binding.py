"""`Primitive.bind`: effects performed as programs written for JAX perform its primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.api.custom.calls import directions, is_symbolic, refuse_captured
from effax.backends.xla.array import asarray
from effax.effects.effect import Effect
from effax.effects.jax_primitives import attributes_of
from effax.effects.jaxpr import Subfunction
from effax.effects.program import Program, Variable
from effax.effects.rows import custom
from effax.effects.rows.shape import broadcast_in_dim
from effax.effects.types import float0, tangent_dtype, typeof
from effax.interpreters.stage import stage
from effax.keys.arrays import traced_part

_NUMBERS: Final = (int, float, complex)


def bind(effect: Effect, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Perform an effect with parameters by effax's names, by JAX's, or both.

    Where all operands are Python numbers, they are taken for arrays first, and keys for their
    words. Scalars among arrays are broadcast, programs may have constants, and functions of
    `get_bind_params` may be wrapped.

    Args:
      effect: the effect.
      operands: its operands.
      params: its parameters.

    >>> import effax.numpy as jnp
    >>> from effax.lax import mul_p
    >>> bind(mul_p, (jnp.ones(2), jnp.float32(3.0)), {})
    Array([3., 3.], dtype=float32)
    """
    params = dict(params)
    functions = params.pop("subfuns", ())
    if not all(type(part) is Subfunction for part in functions):
        return _bind_functions(effect, functions, operands, **params)
    for part in functions:
        params |= part.attributes
    attributes = attributes_of(effect.name, params)
    operands = tuple(map(traced_part, operands))
    numbers = [isinstance(x, _NUMBERS) for x in operands]
    if operands and all(numbers):
        operands = tuple(map(asarray, operands))
    elif any(numbers):
        operands = tuple([_plain(effect, x) for x in operands])
    if effect.literals:
        operands = _of_one_shape(operands, effect.peers)
    elif effect.higher_order:
        operands, attributes = with_constants(effect.name, operands, attributes)
    return effect(*operands, **attributes)


def _plain(effect: Effect, x: Any) -> Any:
    """An operand: of a number with a dtype the number, or an array where none is taken."""
    kind: Any
    for kind in _NUMBERS:
        if isinstance(x, kind) and hasattr(x, "__jax_array__"):
            return kind(x) if effect.literals else asarray(x.__jax_array__())
    return x


def _of_one_shape(operands: tuple[Any, ...], peers: int) -> tuple[Any, ...]:
    """Operands whose scalar arrays have the shape of the others, from the position `peers` on."""
    shapes = [getattr(x, "shape", None) for x in operands[peers:]]
    longest = max((s for s in shapes if s is not None), key=len, default=())
    if not longest or () not in shapes:
        return operands
    rest = [
        broadcast_in_dim(x, shape=tuple(longest), dims=()) if s == () else x
        for x, s in zip(operands[peers:], shapes, strict=True)
    ]
    return (*operands[:peers], *rest)


_LOOPS: Final = {
    "scan": {"body": "consts"},
    "while": {"cond": "cond_consts", "body": "body_consts"},
}
"""Programs of loops, in the order of their constants among the operands, and how many those are."""


def with_constants(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return operands and attributes of an effect in which constants of programs are operands.

    Args:
      name: the effect's name.
      operands: its operands.
      attributes: its attributes, by effax's names.

    >>> import effax
    >>> held = effax.numpy.arange(2)
    >>> program = effax.make_jaxpr(lambda x: x + held)(1)
    >>> operands, attributes = with_constants("call", (1,), {"program": program})
    >>> len(operands), attributes["program"].consts
    (2, ())
    """
    found = dict(attributes)
    if name == "cond":
        branches = found["branches"]
        constants = [x for p in branches for x in p.consts]
        if constants:
            found["branches"] = tuple([_among(branches, i) for i in range(len(branches))])
        return (operands[0], *constants, *operands[1:]), found
    at = 0
    for part, count in _LOOPS.get(name, {"program": ""}).items():
        program = found.get(part)
        own = program.consts if isinstance(program, Program) else ()
        if own:
            operands = (*operands[:at], *own, *operands[at:])
            found[part] = _closed(program)
        if count:
            found[count] += len(own)
            at += found[count]
    return operands, found


def _closed(program: Any) -> Program:
    """The program with inputs for its constants, which is kept for the program's sake."""
    if "closed" not in program.memo:
        program.memo["closed"] = program.replace(consts=())
    found: Program = program.memo["closed"]
    return found


def _among(branches: tuple[Program, ...], index: int) -> Program:
    """One of the branches of a conditional, with inputs for the constants of all of them."""
    program = branches[index]
    types = tuple([tuple([v.type for v in p.constvars]) for p in branches])
    key = "closed among", types, index
    if key not in program.memo:
        inputs = [
            v if i == index else Variable(None, v.type)
            for i, p in enumerate(branches)
            for v in p.constvars
        ]
        program.memo[key] = program.replace(constvars=tuple(inputs), consts=())
    found: Program = program.memo[key]
    return found


class _Jvp:
    """A forward rule that a trace has wrapped, on flat values."""

    __slots__ = ("captured", "jvp", "symbolic")

    def __init__(self, jvp: Any, captured: int, symbolic: bool) -> None:
        self.jvp = jvp
        self.captured = captured
        self.symbolic = symbolic

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Return results and tangents, None for those that are zero."""
        n = self.captured
        refuse_captured(self.jvp.__name__, "custom_jvp", tangents[:n])
        given = directions(primals[n:], tangents[n:], self.symbolic)
        found = self.jvp.call_wrapped(*primals[n:], *given)
        half = len(found) // 2
        moving = [
            None if is_symbolic(t) or tangent_dtype(typeof(p).dtype) == float0 else t
            for p, t in zip(found[:half], found[half:], strict=True)
        ]
        return found[:half], moving


def _bind_functions(
    effect: Any, functions: Sequence[Any], operands: Sequence[Any], symbolic_zeros: bool = False
) -> Any:
    """Perform a call with a rule of its own, of functions that a trace has wrapped.

    Args:
      effect: `custom_jvp_call`.
      functions: the function and its rule, as `process_custom_jvp_call` gets them.
      operands: the values to call the function with.
      symbolic_zeros: whether the rule takes symbolic zeros.

    Raises:
      NotImplementedError: for another effect.
    """
    if effect is not custom.custom_jvp_call:
        raise NotImplementedError(
            f"{effect}: only the functions of custom_jvp_call can be wrapped and bound again; call "
            "the function, fun.call_wrapped(*tracers), or give a rule by effax.custom_vjp"
        )
    fun, jvp = functions
    staged = stage(fun.call_wrapped, [*map(typeof, operands)], fun.__name__)
    rule = _Jvp(jvp, len(staged.captured), symbolic_zeros)
    return effect(*staged.captured, *operands, program=staged.program, rule=rule, name=fun.__name__)
