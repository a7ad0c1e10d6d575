"""Effects: named operations with a signature, and what it is to perform one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, signature
from typing import Any, Final

import numpy as np

from effax.effects.columns import load
from effax.effects.facts import STILL, Facts
from effax.effects.handler import bottom, current, innermost
from effax.effects.interning import keep
from effax.effects.jaxpr import EffectNames
from effax.effects.types import ShapedArray, typeof

Types = tuple[ShapedArray | None, ...]

_registry: Final[dict[str, Effect]] = {}
_fillers: Final[list[Callable[[Effect], None]]] = []
_MEMO_LIMIT: Final = 8192
REFERENCES: Final[set[type]] = set()
"""The classes of references to state (`effects.state`): effects with programs take them too."""


class Described:
    """The docstring of a class; of an instance, what is written beneath its name in a module."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: type | None = None) -> str | None:
        if instance is None:
            return self.text
        from effax.effects.described import beneath

        return beneath(instance) or self.text


class Effect(EffectNames):
    """A named operation: how the types of its results follow from those of its operands.

    Operands are positional values. Attributes are keywords: static, hashable, part of the
    operation (an axis, a dtype, a `Program`). Calling the effect performs it: the handler on top
    of the stack is asked, and whatever it answers is the result.

    `typing(*operand_types, **attributes)` returns a `ShapedArray`, or a sequence of them when
    `multiple` is set; then performing it returns a list.

    In an effect with `literals`, an operand may be a Python number: it takes the shape and dtype
    of its peers, the operands from position `peers` on, so that `mul(x, 2.0)` is one equation.
    Typing sees `None` in its place.

    `row` names what stays to be answered when a program performs this effect ("check",
    "callback", ...); an effect with an empty row is pure, and may be dropped when unused.
    `performs` are the entries of rows of what it is written out as (`extend.expand`).
    `collective` effects name axes in their `axes` attribute, and are answered by the handler that
    binds them. `higher_order` effects have programs among their attributes, those with `functions`
    Python functions that may perform anything when they are called, and those with `references`
    make or take references to state. All others are `first_order`: operands and attributes are all
    that there is to know of one.

    `varying(axes, attributes)` says along which axes of a mesh results may differ under
    `shard_map`, where operands may along `axes`; by default along the same. `facts` are what holds
    for all operands; columns derive cells from them (`for_each_effect`).
    """

    __doc__ = Described(__doc__)  # an effect's own is beneath its name
    __slots__ = (
        "__weakref__",
        "_memo",
        "answerable",
        "collective",
        "facts",
        "family",
        "first_order",
        "functions",
        "higher_order",
        "literals",
        "multiple",
        "name",
        "peers",
        "performs",
        "references",
        "row",
        "still",
        "typing",
        "varying",
    )

    def __init__(
        self,
        name: str,
        *,
        family: str,
        typing: Callable[..., Any],
        multiple: bool = False,
        literals: bool = False,
        peers: int = 0,
        row: str = "",
        collective: bool = False,
        higher_order: bool = False,
        functions: bool = False,
        references: bool = False,
        varying: Callable[[frozenset[Any], dict[str, Any]], frozenset[Any]] | None = None,
        facts: Facts = Facts.NONE,
    ) -> None:
        if name in _registry:
            known = _registry[name].family
            raise ValueError(f"an effect named {name!r} exists already, in {known}")
        self.name = name
        self.family: str = family
        self.typing = typing
        self.varying = varying
        self.facts = facts
        self.still = STILL in facts  # asked at each effect of a gradient, where `in` takes 0.4 µs
        self.multiple = multiple
        self.literals = literals
        self.peers = peers
        self.row = row
        self.collective = collective
        self.higher_order = higher_order
        self.functions = functions
        self.references = references
        self.performs: frozenset[str] = frozenset()
        self.first_order = not (higher_order or functions or references)
        self.answerable = bool(row) or collective or higher_order or functions
        self._memo: dict[Any, Any] = {}
        _registry[name] = self
        for fill in _fillers:
            fill(self)

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Perform the effect: ask the handler on top of the stack."""
        if self.higher_order and not REFERENCES.isdisjoint(map(type, operands)):
            return bottom.discharge(self, operands, attributes)
        handler = current.get()
        if not handler.live:
            handler = innermost()
        return handler.perform(self, operands, attributes)

    def infer(self, types: Types, attributes: dict[str, Any]) -> Any:
        """The type of the result (a tuple of them when `multiple`), memoised on what is given."""
        key = (types, *attributes.items())
        found = self._memo.get(key)
        if found is None:
            if any([t is not None and t.cut is not None for t in types]):
                from effax.effects.cut_rules import infer_cut

                return infer_cut(self, types, attributes)
            if not self.higher_order and not self.references:
                self._refuse_references(types)
            try:
                typed = self._typed(types, attributes)
            except TypeError:
                self._refuse_arguments(types, attributes)
                raise
            found = keep(self._memo, key, tuple(typed) if self.multiple else typed, _MEMO_LIMIT)
        return found

    def _typed(self, types: Types, attributes: dict[str, Any]) -> Any:
        """Return the result types by the typing rule, with the mesh axes along which results may
        differ.

        Those that operands may differ along, unless `varying` says another thing; effects with
        programs say so themselves.
        """
        axes = frozenset[Any]().union(*[t.varying for t in types if t is not None and t.varying])
        whole = self.higher_order or self.references
        if whole or (not axes and self.varying is None):
            return self.typing(*types, **attributes)
        plain = [t.vary(frozenset()) if t is not None and t.varying else t for t in types]
        found = self.typing(*plain, **attributes)
        axes = axes if self.varying is None else self.varying(axes, attributes)
        if not self.multiple:
            return found.vary(axes | found.varying)
        return [t.vary(axes | t.varying) for t in found]

    def _refuse_references(self, types: Types) -> None:
        for i, t in enumerate(types):
            if t is not None and hasattr(t, "inner_aval"):
                raise TypeError(
                    f"{self.name} requires arrays, got a reference of type {t!r} at position {i}; "
                    "read it first: ref[...]"
                )

    def _refuse_arguments(self, types: Types, attributes: dict[str, Any]) -> None:
        """Raise `TypeError` if the typing rule has no such parameters."""
        parameters = signature(self.typing)
        try:
            parameters.bind(*types, **attributes)
        except TypeError as error:
            plain = [p.replace(annotation=Parameter.empty) for p in parameters.parameters.values()]
            raise TypeError(f"{self.name}{Signature(plain)}: {error}") from None

    def result_type(self, *operands: Any, **attributes: Any) -> Any:
        """`infer` from operands instead of types: Python numbers stay literals."""
        return self.infer(tuple(self.operand_type(x) for x in operands), attributes)

    def operand_type(self, operand: Any) -> Any:
        """The type under which typing sees an operand: None for a literal."""
        if self.literals and type(operand) in LITERALS:
            return None
        return typeof(operand)

    def literal_type(self, value: Any, types: Types) -> ShapedArray:
        """The type a literal takes among operands of these types.

        Raises `TypeError` for a float among integers, or a complex number among floats.
        """
        for peer in types[self.peers :]:
            if peer is not None:
                kinds = _TOO_NARROW.get(type(value))
                if kinds is not None and peer.dtype.kind in kinds:
                    raise TypeError(
                        f"{self.name}: {value!r} can't be converted to the dtype of "
                        f"{peer.str_short()}; the functions of effax.numpy promote, and "
                        "convert_element_type converts"
                    )
                return peer
        scalar = typeof(value)
        for other in types:
            if other is not None:
                return scalar.update(shape=other.shape)
        return scalar

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return find_effect, (self.name,)


LITERALS: Final = frozenset({bool, int, float, complex})
_TOO_NARROW: Final = {float: "biu", complex: "biuf"}
SCALARS: Final = np.generic


def distinct(x: Any) -> Any:
    """A number as part of a key, together with its class, since 1 == 1.0 == True.

    As text where == does not tell values apart: -0.0 from 0.0, one NaN from another.
    """
    return x if x and x == x and x.__class__ is not complex else repr(x)


def only_effects(decorator: str, effects: tuple[Any, ...]) -> None:
    """Raise `TypeError` unless all arguments of a decorator of rules are effects."""
    for x in effects:
        if not isinstance(x, Effect):
            got = f"the function {x.__name__}" if hasattr(x, "__name__") else repr(x)
            raise TypeError(
                f"{decorator} takes effects, as in @{decorator}(effects.add), got {got}"
            )


def find_effect(name: str) -> Effect:
    """Return the effect of that name.

    Raises `KeyError` when there is none.
    """
    return _registry[name] if name in _registry else _all()[name]


def for_each_effect(fill: Callable[[Effect], None]) -> Callable[[Effect], None]:
    """Decorate a function that fills a column's cell of an effect from its facts, if they suffice.

    It is called for each effect that there is, and for those that are defined later.
    """
    for effect in list(_registry.values()):
        fill(effect)
    _fillers.append(fill)
    return fill


def named_effect(name: str, *, load_rows: bool = True) -> Effect | None:
    """The effect of that name as Python spells it (`and_` for "and", `while_loop` for "while").

    Without `load_rows`, one of the rows that are imported so far.

    >>> named_effect("and_")
    and
    """
    base = name.removesuffix("_loop") if name.endswith("_loop") else name.removesuffix("_")
    found = _registry.get(name) or _registry.get(base)
    return found or (_all().get(name) or _all().get(base) if load_rows else None)


def all_effects() -> Iterator[Effect]:
    """Every effect defined so far, the library's and the users': by families, whose order is not
    that in which they were imported, and in order of definition within each."""
    yield from sorted(_all().values(), key=lambda effect: effect.family)


def _all() -> dict[str, Effect]:
    """The effects by name, of all rows: one is imported with what performs its effects."""
    load("effax.effects.rows")
    return _registry
