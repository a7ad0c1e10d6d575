"""Forward mode: dual numbers, and how a cell of the jvp column is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from effax.effects.effect import Effect, for_each_effect, only_effects
from effax.effects.facts import BILINEAR, LINEAR, STILL
from effax.effects.frames import user_frame
from effax.effects.handler import Carrier, bottom
from effax.effects.provenance import Origin, source
from effax.effects.rows import shape
from effax.effects.rows.conversion import number
from effax.effects.rows.sharding import cut_to
from effax.effects.types import ShapedArray, float0, is_inexact, typeof
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode
from effax.interpreters.functor.varying import tracked, widened

DUAL: Final = "dual"


class Dual(Carrier):
    """A value and the direction it moves in; a value that does not move is not wrapped."""

    __slots__ = ("primal", "tangent")

    def __init__(self, handler: JVP, primal: Any, tangent: Any) -> None:
        self.handler = handler
        self.primal = primal
        self.tangent = tangent

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """The primal's type."""
        return typeof(self.primal)

    def concrete(self) -> Any:
        """The primal, where its elements are known: Python may branch on it."""
        primal = self.primal
        return primal.concrete() if isinstance(primal, Carrier) else primal

    def left(self) -> Any:
        """The primal."""
        return self.primal

    def contents(self) -> dict[str, Any]:
        """The primal, and the tangent where it is a value and not an unknown of reverse mode."""
        if self.handler.reverse:
            return {"value": self.primal}
        return {"value": self.primal, "tangent": self.tangent}


class JVP(Lifting):
    """Dual numbers: each effect carries a tangent beside its primal (Wengert 1964).

    A missing tangent is a symbolic zero, and costs nothing.
    """

    __slots__ = ("in_pieces",)

    keeps_unset: ClassVar[bool] = True

    carrier = Dual
    label = "jvp"
    owned = "a value with a tangent"
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = {}

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.in_pieces = tracked(self.outer)

    @property
    def reverse(self) -> bool:
        """Whether tangents are unknowns that are recorded, to be walked backwards."""
        return getattr(self.outer, "linear", False)

    @property
    def transform(self) -> str:
        """The transform as values show it."""
        return "grad" if self.reverse else self.label

    def mode(self, value: Any) -> Mode:
        """Whether the value has a tangent."""
        return DUAL if self.owns(value) else PLAIN

    def leaves(self, value: Any, mode: Mode) -> Sequence[Any]:
        """Primal and tangent, the latter zeros where there is none."""
        return self.split(value) if self.owns(value) else (value, zeros_like(value))

    def value(self, mode: Mode, leaves: Sequence[Any]) -> Any:
        """A dual number."""
        return self.dual(*leaves)

    def leaf_types(self, mode: Mode, type: ShapedArray) -> Sequence[ShapedArray]:
        """Primal and tangent have the same shape."""
        return type, tangent_type(type)

    def value_leaf(self, mode: Mode) -> int:
        """The primal."""
        return 0

    def join(self, one: Mode, other: Mode) -> Mode:
        """A value that may move, moves."""
        return other if one is PLAIN else one

    def dual(self, primal: Any, tangent: Any) -> Any:
        """The pair, or the primal alone when there is no tangent."""
        if tangent is None:
            return primal
        if self.in_pieces:  # the primal differs between places, so each has its own tangent
            tangent = widened(tangent, typeof(primal))
        return Dual(self, primal, tangent)

    def split(self, value: Any) -> tuple[Any, Any]:
        """Primal and tangent; the latter None for a value that is not the handler's own."""
        if type(value) is Dual and value.handler is self:
            return value.primal, value.tangent
        return value, None

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """A rule takes primals and tangents (None where there is none), and gives both."""
        primals: list[Any] = []
        tangents: list[Any] = []
        for x in operands:
            if type(x) is Dual and x.handler is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
            else:
                primals.append(x)
                tangents.append(None)
        if self.outer is bottom and not effect.multiple:
            primal, tangent = _at_once(rule, effect, primals, tangents, attributes)
        elif self.outer.records and source.at is None and not effect.higher_order:
            # Find the user's source line once per rule, not once per effect the rule performs.
            source.at = Origin(user_frame(), "", None)
            try:
                primal, tangent = rule(primals, tangents, **attributes)
            finally:
                source.at = None
        else:
            primal, tangent = rule(primals, tangents, **attributes)
        if effect.multiple:
            return [self.dual(p, t) for p, t in zip(primal, tangent, strict=True)]
        if tangent is None or self.in_pieces:
            return self.dual(primal, tangent)
        return Dual(self, primal, tangent)


def _at_once(
    rule: Callable[..., Any],
    effect: Effect,
    primals: list[Any],
    tangents: list[Any],
    attributes: dict[str, Any],
) -> Any:
    """Compute a rule as one operation where no handler is installed outside."""
    if not is_pure(effect, rule):
        return rule(primals, tangents, **attributes)
    moving = tuple([t is not None for t in tangents])

    def flat(*values: Any) -> tuple[list[Any], None]:
        rest = iter(values)
        plain = [next(rest) for _ in moving]
        given = [next(rest) if moves else None for moves in moving]
        primal, tangent = rule(plain, given, **attributes)
        return ([primal] if tangent is None else [primal, tangent]), None

    values = primals + [t for t in tangents if t is not None]
    found = bottom.together((rule, moving, *attributes.items()), flat, values)
    if found is None:
        return rule(primals, tangents, **attributes)
    results = found[0]
    return results if len(results) == 2 else (results[0], None)


_pure: Final[set[Callable[..., Any]]] = set()
"""Rules that do nothing but perform effects, which depend on operands and attributes alone."""


def is_pure(effect: Effect, rule: Callable[..., Any] | None) -> bool:
    """Whether what the rule performs may be put off, or compiled as one operation."""
    return rule in _pure and effect.first_order and not effect.answerable


def tangent_type(type: ShapedArray) -> ShapedArray:
    """The type of the tangents of a value of that type; `float0` where nothing can move."""
    return type if moves(type) else type.update(dtype=float0)


def moves(type: ShapedArray) -> bool:
    """Whether values of the type have tangents at all."""
    return is_inexact(type.dtype)


def zeros(type: ShapedArray) -> Any:
    """Zeros of a type, as weak as it is."""
    return cut_to(shape.broadcast_in_dim(number(0, type), shape=type.shape, dims=()), type)


def zeros_like(value: Any) -> Any:
    """Zeros of the type of a value's tangents."""
    return zeros(tangent_type(typeof(value)))


def rule(
    *effects: Effect, pure: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the jvp column.

    The rule is called with lists of primals and of tangents (None: zero) and the attributes, and
    returns the primal result and its tangent (lists of them for effects of several results).

    A `pure` rule only performs effects, the same ones for the same attributes and types: it reads
    nothing that changes, and does nothing each time. Where nothing is installed outside, it is
    called once for all operands of the same types, and its effects are compiled as one operation.
    """

    only_effects("extend.jvp.rule", effects)

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            JVP.rules[effect] = function
        if pure:
            _pure.add(function)
        return function

    return fill


transposable: Final[set[Effect]] = set()
"""Effects that make tangents of tangents: the transpose column needs a cell of each."""


def linear(*effects: Effect, fixed: int = 0) -> None:
    """Effects linear in all operands after the first `fixed`: the tangent goes the same way."""
    for effect in effects:
        rule(effect, pure=True)(_linear_rule(effect, fixed))
        transposable.add(effect)


def _linear_rule(effect: Effect, fixed: int = 0) -> Callable[..., Any]:
    def linear_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        primal = effect(*primals, **attributes)
        moving = [
            p if i < fixed else (zeros_like(p) if t is None else t)
            for i, (p, t) in enumerate(zip(primals, tangents, strict=True))
        ]
        if all(t is None for t in tangents[fixed:]):
            return primal, ([None] * len(primal) if effect.multiple else None)
        return primal, effect(*moving, **attributes)

    return linear_jvp


def bilinear(effect: Effect) -> None:
    """Let an effect be linear in each of its two operands: the product rule."""
    rule(effect, pure=True)(_bilinear_rule(effect))
    transposable.add(effect)


def _bilinear_rule(effect: Effect) -> Callable[..., Any]:
    def bilinear_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        terms = []
        if dx is not None:
            terms.append(effect(dx, y, **attributes))
        if dy is not None:
            terms.append(effect(x, dy, **attributes))
        return effect(x, y, **attributes), total(terms)

    return bilinear_jvp


def total(terms: Sequence[Any]) -> Any:
    """The sum of tangents, None for none."""
    from effax.effects.rows.elementwise import add

    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else add(result, term)
    return result


def _fixed_rule(effect: Effect) -> Callable[..., Any]:
    def fixed_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        primal = effect(*primals, **attributes)
        return primal, ([None] * len(primal) if effect.multiple else None)

    return fixed_jvp


@for_each_effect
def _derived(effect: Effect) -> None:
    if effect in JVP.rules:
        return
    if LINEAR in effect.facts:
        linear(effect)
    elif BILINEAR in effect.facts:
        bilinear(effect)
    elif STILL in effect.facts:
        rule(effect, pure=True)(_fixed_rule(effect))
