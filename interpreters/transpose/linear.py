"""Transposition: linear effects walked backwards, and how a cell of the column is written."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.columns import ready
from effax.effects.cuts import Cut, cut_of
from effax.effects.effect import LITERALS, Effect, only_effects
from effax.effects.errors import MissingRuleError
from effax.effects.facts import POINTWISE
from effax.effects.frames import describe
from effax.effects.handler import innermost
from effax.effects.program import Literal, Variable
from effax.effects.provenance import source, transposed
from effax.effects.rows import shape
from effax.effects.rows.control import call
from effax.effects.rows.conversion import number
from effax.effects.rows.sharding import cut_as, cut_to, explicit_mesh, open_all
from effax.effects.types import ShapedArray, float0, tangent_dtype, typeof
from effax.effects.value import Value, is_symbolic, is_symbolic_length
from effax.interpreters.functor.varying import along, tracked

rules: Final[dict[Effect, Callable[..., Any]]] = {}


class NotLinearError(MissingRuleError):
    """An equation on the way back is not linear; `reason` says which, where, and in what."""

    def __init__(self, equation: Any, why: str) -> None:
        self.reason = (
            f"the effect '{equation.effect.name}', performed at {describe(equation.frame)}, is "
            f"not linear {why}"
        )
        super().__init__(
            f"{self.reason}, but a reverse-mode derivative goes through it. Use forward mode "
            "(jvp, jacfwd), or give it a rule with effax.extend"
        )

    def of_transpose(self) -> MissingRuleError:
        """The error for `linear_transpose`, whose caller promised a linear function."""
        return MissingRuleError(
            f"linear_transpose: the function must be linear, but {self.reason}. For the gradient "
            "of a function that is not linear use vjp"
        )


class Linear(Value):
    """In the operands of a transpose rule: one that the effect is linear in, of which only the
    type is known."""

    __slots__ = ("cut", "mesh", "type")

    def __init__(self, type: ShapedArray, cut: Cut | None = None, mesh: Any = None) -> None:
        self.type = type
        self.cut = cut
        self.mesh = mesh

    def laid(self, share: Any, order: Sequence[int]) -> Any:
        """A share of the cotangent, axis `order[i]` of which is to be axis i, put where the operand
        lies on its mesh, if it lies on one."""
        if self.mesh is None:
            return share
        entries = (None,) * self.type.ndim if self.cut is None else self.cut.entries
        own = [entries[order.index(i)] for i in range(len(order))]
        type = typeof(share).cut_by(cut_of(self.mesh, own))
        return open_all(cut_as(share, type, self.mesh))


def is_linear(operand: Any) -> bool:
    """Whether the effect is to be transposed with respect to this operand."""
    return type(operand) is Linear


@attrs.frozen(slots=True)
class Limits:
    """The linearity of an effect: not in its `fixed` operands, nor in two at once if `one`."""

    fixed: frozenset[int] = frozenset()
    one: bool = False

    def refusal(self, operands: Sequence[Any]) -> str:
        """Why the effect is not linear in these operands; nothing where it is."""
        linear = [i for i, x in enumerate(operands) if is_linear(x)]
        if self.one and len(linear) > 1:
            return "in its operands together, which both depend on the transposed argument"
        found = next((i for i in linear if i in self.fixed), None)
        return (
            ""
            if found is None
            else (f"in operand {found}, which depends on the transposed argument")
        )


limits: Final[dict[Effect, Limits]] = {}
"""Of effects that are not linear in all their operands at once."""


def rule(
    *effects: Effect, fixed: Sequence[int] = (), one: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the transpose column.

    The rule is called with the cotangent of the result (a list of them, with None for zero, for
    effects of several results), the operands (a `Linear` where the cotangent is asked, else the
    value) and the attributes. It returns a cotangent for each operand, None where none is asked.

    `fixed` are positions of operands that the effect is not linear in; `one` says that it is linear
    in any one of the others, but not in two. Operands that are not as is said are refused.
    """

    only_effects("extend.transpose.rule", effects)

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            rules[effect] = function
            if fixed or one:
                limits[effect] = Limits(frozenset(fixed), one)
        return function

    return fill


def unary(*effects: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells for effects of one operand: the rule gives that operand's cotangent."""

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        def transposed(ct: Any, x: Any, **attributes: Any) -> Sequence[Any]:
            return (function(ct, x, **attributes),)

        for effect in effects:
            rules[effect] = transposed
        return function

    return fill


def backward(
    tape: Any,
    cotangents: dict[Variable, Any],
    inputs: Sequence[Variable],
    inside: bool = False,
) -> list[Any]:
    """Walk a tape's linear equations backwards, from the cotangents of results to the inputs'.

    `cotangents` maps variables to what is known of their cotangent, and is used up. Everything is
    performed under the handlers now installed. An input nothing depends on gives None. `inside` of
    a program of its own, scopes keep their names: the equation that holds it says what was done.
    """
    ready()
    before = source.at, source.top
    source.top = innermost()
    try:
        _walk(tape, cotangents, tracked(innermost()), inside)
    finally:
        source.at, source.top = before
    return [_as_typed(cotangents.get(x), x.type) for x in inputs]


def _as_typed(ct: Any, type: ShapedArray) -> Any:
    """A cotangent, or None, cut as its value is along explicit axes of a mesh.

    Until it is asked for, that of a value cut along none may be cut as what it was joined with: to
    gather it before it is summed would be to send all of it.
    """
    mesh = explicit_mesh((ct,))
    return ct if mesh is None or typeof(ct).cut is type.cut else cut_as(ct, type, mesh)


def _sum(one: Any, other: Any, type: ShapedArray) -> Any:
    """The sum of two cotangents of a value of that type, of which the first may be None."""
    if explicit_mesh((one,)) is not None and typeof(other).cut not in (None, typeof(one).cut):
        one, other = _as_typed(one, type), _as_typed(other, type)
    return add_cotangents(one, other)


def _walk(tape: Any, cotangents: dict[Variable, Any], tracks: bool, inside: bool) -> None:
    """`tracks` says that types tell along which axes of a mesh values may differ."""
    owns = tape.owns
    cut: dict[Variable, list[Piece]] = {}
    for e in reversed(tape.equations):
        if cut:
            _join(cut, e.outputs, cotangents, tracks)
        outs = [cotangents.pop(x, None) for x in e.outputs]
        if not any([ct is not None for ct in outs]):
            continue
        if tracks:
            outs = [along(ct, x.type) for ct, x in zip(outs, e.outputs, strict=True)]
        transpose = rules.get(e.effect) or _transpose_of_meaning(e)
        if transpose is None:
            raise NotLinearError(e, "or has no transpose rule")
        operands = [Linear(x.type) if owns(x) else x for x in e.inputs]
        mesh = explicit_mesh((*e.inputs, *e.outputs))
        plainly = e.effect.first_order and POINTWISE not in e.effect.facts
        untyped = plainly and (mesh is not None or explicit_mesh(outs) is not None)
        if not e.effect.first_order:
            outs = [
                ct if ct is None else _as_typed(ct, x.type)
                for ct, x in zip(outs, e.outputs, strict=True)
            ]
        if untyped:
            outs = [ct if ct is None else open_all(ct) for ct in outs]
            operands = [_opened(x, mesh) for x in operands] if mesh is not None else operands
        if e.effect in limits:
            refusal = limits[e.effect].refusal(operands)
            if refusal:
                raise NotLinearError(e, refusal)
        source.at = transposed(e) if e.scope and not inside else e
        if e.effect is shape.slice:
            cut.setdefault(e.inputs[0], []).append((outs[0], e.attributes))
            continue
        given = transpose(outs if e.effect.multiple else outs[0], *operands, **e.attributes)
        for x, ct in zip(e.inputs, given, strict=True):
            if ct is not None and owns(x):
                ct = along(ct, x.type) if tracks else ct
                if mesh is not None and (
                    untyped or (x.type.cut is not None and typeof(ct).cut is not x.type.cut)
                ):
                    ct = cut_as(ct, x.type, mesh)
                cotangents[x] = _sum(cotangents.get(x), ct, x.type)
    if cut:
        _join(cut, [*cut], cotangents, tracks)


Piece = tuple[Any, dict[str, Any]]
"""The cotangent of a slice, and the slice's attributes."""


def _join(
    cut: dict[Variable, list[Piece]],
    variables: Sequence[Variable],
    cotangents: dict[Variable, Any],
    tracks: bool,
) -> None:
    """Add to the cotangents of variables those of their slices, which were kept till now."""
    for x in variables:
        pieces = cut.pop(x, None)
        if pieces is not None:
            ct = _beside(pieces, x.type)
            if ct is None:
                for one, attributes in pieces:
                    (share,) = rules[shape.slice](one, Linear(x.type), **attributes)
                    ct = add_cotangents(ct, share)
            ct = cut_to(along(ct, x.type) if tracks else ct, x.type)
            cotangents[x] = add_cotangents(cotangents.get(x), ct)


def _beside(pieces: Sequence[Piece], type: ShapedArray) -> Any:
    """The cotangents of slices side by side, with zeros between; None where they are not.

    Parts of an array, as `split` gives them, are put together by one operation.
    """
    whole = tuple((0, n) for n in type.shape)
    places = []
    for ct, attributes in pieces:
        box = tuple(zip(attributes["start"], attributes["limit"], strict=True))
        axes = [i for i, ends in enumerate(box) if ends != whole[i]]
        if len(axes) != 1 or any(n != 1 for n in attributes.get("strides") or ()):
            return None
        places.append((axes[0], *box[axes[0]], ct))
    axis = places[0][0]
    if is_symbolic(n for _, start, stop, _ in places for n in (start, stop)):
        return None  # their order may be unknown
    places.sort(key=operator.itemgetter(1, 2))
    ends = [0, *(stop for _, _, stop, _ in places)]
    apart = all(start >= end for (_, start, _, _), end in zip(places, ends, strict=False))
    if len(places) < 2 or not apart or any(other != axis for other, *_ in places):
        return None
    parts = []
    for (_, start, _, ct), end in zip(places, ends, strict=False):
        parts += [_zeros(ct, axis, start - end), ct]
    parts.append(_zeros(places[0][-1], axis, type.shape[axis] - ends[-1]))
    return shape.concatenate(*(x for x in parts if x is not None), axis=axis)


def _zeros(like: Any, axis: int, length: int) -> Any:
    """Zeros with another length along an axis; None of no length."""
    if not is_symbolic_length(length) and not length:
        return None
    found = typeof(like)
    lengths = (*found.shape[:axis], length, *found.shape[axis + 1 :])
    return shape.broadcast_in_dim(number(0, found), shape=lengths, dims=())


def _opened(x: Any, mesh: Any) -> Any:
    """An operand of a type that does not say how it is cut: what a rule performs is not typed.

    Cotangents are cut as their values are, by whoever asks for them.
    """
    if type(x) is Linear:
        return Linear(x.type.cut_by(None), x.type.cut, mesh)
    return x if type(x) in LITERALS or type(x) is Literal else open_all(x)


def _transpose_of_meaning(e: Any) -> Callable[..., Any] | None:
    """The transpose of what an effect from outside means; None where nobody has said it."""
    from effax.interpreters.functor.meanings import meaning

    found = meaning(e.effect, tuple(map(typeof, e.inputs)), e.attributes)
    if found is None:
        return None
    program, captured = found.program, found.captured

    def transpose_called(ct: Any, *operands: Any, **attributes: Any) -> Sequence[Any]:
        cts = ct if e.effect.multiple else [ct]
        given = rules[call](cts, *captured, *operands, program=program, name=e.effect.name)
        return given[len(captured) :]

    return transpose_called


def add_cotangents(one: Any, other: Any) -> Any:
    """The sum of two cotangents, either of which may be None."""
    from effax.effects.rows.elementwise import add

    if one is None or other is None:
        return other if one is None else one
    return add(one, other)


def instantiate(cotangent: Any, type: ShapedArray) -> Any:
    """The cotangent, zeros of the type's where it is None."""
    if cotangent is not None:
        return cotangent
    dtype = tangent_dtype(type.dtype)
    if dtype == float0:
        return None
    zero = number(0, type.update(dtype=dtype))
    return cut_to(shape.broadcast_in_dim(zero, shape=type.shape, dims=()), type)


def value_type(operand: Any) -> ShapedArray:
    """The type of an operand, linear or known."""
    return typeof(operand)
