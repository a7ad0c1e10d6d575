"""Checking: the handler that answers checks, and makes claims of its own about every effect.

It owns no values. It looks at effects as they pass, and remembers in its state which claims did
not hold: the functor carries that state through calls, branches and loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

from effax.effects.contexts import put
from effax.effects.effect import Effect, for_each_effect
from effax.effects.facts import SOUND, SPREADING
from effax.effects.failures import (
    DivisionByZeroError,
    JaxException,
    NaNError,
    OOBError,
    Site,
)
from effax.effects.frames import user_frame
from effax.effects.handler import Carrier, current, outside
from effax.effects.program import row_of
from effax.effects.provenance import source
from effax.effects.rows import shape
from effax.effects.rows.check import NAN, detect
from effax.effects.rows.comparison import eq
from effax.effects.rows.complex import imag, real
from effax.effects.rows.logical import or_
from effax.effects.rows.reduction import reduce_or
from effax.effects.rows.selection import select_n
from effax.effects.types import ShapedArray, bool_, int32, is_complex, is_float, is_inexact, typeof
from effax.interpreters.checkify.payload import stored, stored_types
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode, functor

CODE: Final = ShapedArray((), int32)
AUTOMATIC: Final = frozenset({NaNError, DivisionByZeroError, OOBError})
_CHECKS: Final = frozenset({"check", "debug_check"})
_TOGETHER: Final = 16

_NOTHING: Final[frozenset[int]] = frozenset()
_NOBODY: Final = (None, _NOTHING)

Kinds = frozenset[type[JaxException]]


class _Nobody(Carrier):
    """The carrier of a handler that owns no values."""

    __slots__ = ()


class Checkify(Lifting):
    """Answers checks of the given kinds; see `checkify` of the surface.

    The state's mode is the tuple of sites that may have failed so far. Its leaves are the code of
    the site that failed first (0 for none), one flag for each site, and the sites' payloads.
    `pending` are claims made since the leaves were last brought up to date, in program order;
    `unseen` those after them that wait to be looked at together. `carried` are values whose
    elements would be NaN if those of certain unseen ones were, which are `covered` by a later one.
    """

    __slots__ = (
        "automatic",
        "carried",
        "covered",
        "first",
        "flags",
        "kinds",
        "payloads",
        "pending",
        "sites",
        "staging",
        "unseen",
    )

    carrier = _Nobody
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = {}
    overrides: ClassVar[dict[Effect, Callable[..., Any]]] = {}

    def __init__(self, outer: Any = None, kinds: Iterable[type[JaxException]] = ()) -> None:
        super().__init__(outer)
        self.kinds: Kinds = frozenset(kinds)
        self.automatic = bool(self.kinds & AUTOMATIC)
        self.pending: list[tuple[Site, Any, Sequence[Any]]] = []
        self.unseen: list[tuple[Site, str, Sequence[Any]]] = []
        self.covered: set[int] = set()
        self.carried: dict[int, tuple[Any, frozenset[int]]] = {}
        self.staging = any(h.captures for h in _outwards(self.outer))
        self.sites: tuple[Site, ...] = ()
        self.first: Any = None
        self.flags: Any = None
        self.payloads: dict[Site, Sequence[Any]] = {}

    @property
    def static(self) -> tuple[Kinds]:
        """The kinds of failures it answers."""
        return (self.kinds,)

    def fresh(self, outer: Any) -> Checkify:
        """The same checks, installed over another handler."""
        return Checkify(outer, self.kinds)

    def mode(self, value: Any) -> Mode:
        """All values are others'."""
        return PLAIN

    def interprets(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Whether it performs checks."""
        return not _CHECKS.isdisjoint(row_of(effect, attributes))

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Perform the effect outside, and check what it was given and what it gave."""
        if not (self.automatic or effect.answerable):
            return self.outer.perform(effect, operands, attributes)
        token = put(current, self.outer)
        try:
            if effect.higher_order or effect.performs:
                return self._higher_order(effect, operands, attributes)
            rule: Callable[..., Any] = self.rules.get(effect, arithmetic)
            return rule(self, effect, operands, attributes)
        finally:
            current.reset(token)

    def _higher_order(
        self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        if not (self.automatic or self.interprets(effect, attributes)):
            return effect(*operands, **attributes)
        rule = self.rules.get(effect)
        if rule is not None:
            return rule(self, effect, operands, attributes)
        lifting = self.overrides.get(effect) or functor.get(effect)
        if lifting is None:
            return arithmetic(self, effect, operands, attributes)
        return lifting(self, effect, operands, attributes)

    # -- what went wrong

    def site(
        self, kind: type[JaxException], message: Any, types: Sequence[ShapedArray] = ()
    ) -> Site:
        """The site of a check made here and now."""
        return Site(kind, message, source.frame or user_frame(), types)

    def note(self, site: Site, failed: Any, payload: Sequence[Any] = ()) -> None:
        """Remember that a claim failed, where `failed` is true.

        `failed` has the shape of the site's lanes, and so have the payload's leading axes.
        """
        if self.unseen:
            self._look()
        if site.lanes:
            payload = [failed, *payload]
            failed = any_of(failed)
        self.pending.append((site, failed, stored(payload)))

    def look(
        self,
        site: Site,
        what: str,
        arrays: Sequence[Any],
        covers: frozenset[int] = _NOTHING,
    ) -> int:
        """Note a failure if an element of these arrays is `what`, NaN or zero; the claim's number.

        While staging, arrays are collected and looked at together; see `detect`. `covers` are the
        numbers of claims that fail only if this one does.
        """
        self.covered |= covers
        self.unseen.append((site, what, arrays))
        number = len(self.unseen) - 1
        if not self.staging or number + 1 >= _TOGETHER:
            self._look()
        return number

    def carry(self, value: Any, numbers: frozenset[int]) -> None:
        """Remember that a value is NaN somewhere if the arrays of these unseen claims are."""
        if self.unseen and numbers:
            self.carried[id(value)] = value, numbers

    def carried_by(self, values: Sequence[Any]) -> frozenset[int]:
        """The unseen claims that these values carry."""
        if not self.carried:
            return _NOTHING
        return _NOTHING.union(*(self.carried.get(id(x), _NOBODY)[1] for x in values))

    def _look(self) -> None:
        unseen, covered = self.unseen, self.covered
        self.unseen, self.covered, self.carried = [], set(), {}
        answers = iter(
            detect(
                *(x for _, _, xs in unseen for x in xs),
                what=tuple(w for _, w, xs in unseen for _ in xs),
                covered=tuple(i in covered for i, (_, _, xs) in enumerate(unseen) for _ in xs),
                lanes=0,
            )
        )
        for site, _, xs in unseen:
            found = next(answers)
            for _ in xs[1:]:
                found = or_(found, next(answers))
            self.pending.append((site, found, ()))

    # -- the state

    def state_mode(self) -> Mode:
        """The sites that may have failed, in program order."""
        if self.unseen:
            with outside(self.outer):
                self._look()
        return tuple(dict.fromkeys((*self.sites, *(site for site, _, _ in self.pending))))

    def state_join(self, one: Any, other: Any) -> Mode:
        """The sites of both."""
        return tuple(dict.fromkeys((*one, *other)))

    def state_types(self, mode: Any) -> Sequence[ShapedArray]:
        """A code, the flags, and the payloads."""
        if not mode:
            return ()
        flags = ShapedArray((len(mode),), bool_)
        return CODE, flags, *(t for site in mode for t in stored_types(site))

    def state_set(self, mode: Any, leaves: Sequence[Any]) -> None:
        """Go on from that state."""
        self.sites, self.pending, self.payloads = mode, [], {}
        self.unseen, self.covered, self.carried = [], set(), {}
        self.first = self.flags = None
        if mode:
            self.first, self.flags, *rest = leaves
            values = iter(rest)
            for site in mode:
                self.payloads[site] = [next(values) for _ in stored_types(site)]

    def state_leaves(self, mode: Any) -> Sequence[Any]:
        """The state, with flags and empty payloads for sites that only others have met."""
        if not mode:
            return ()
        self._settle()
        if self.first is None:
            self.first = shape.full((), 0, int32)
        leaves = [self.first, self._flags_of(mode)]
        for site in mode:
            known = self.payloads.get(site)
            if known is None:
                known = [shape.full(t.shape, 0, t.dtype) for t in stored_types(site)]
            leaves += known
        return leaves

    def _flags_of(self, mode: tuple[Site, ...]) -> Any:
        n, k = len(self.sites), len(mode)
        if mode[:n] == self.sites:
            if n == k:
                return self.flags
            rest = shape.full((k - n,), False, bool_)
            return rest if n == 0 else shape.concatenate(self.flags, rest, axis=0)
        where = {site: i for i, site in enumerate(self.sites)}
        none = shape.full((1,), False, bool_)
        pieces = [
            shape.slice_axis(self.flags, 0, where[s], where[s] + 1) if s in where else none
            for s in mode
        ]
        return shape.concatenate(*pieces, axis=0)

    def _settle(self) -> None:
        """Bring the leaves up to date with the claims made since."""
        if self.unseen:
            self._look()
        if not self.pending:
            return
        pending, self.pending = self.pending, []
        first: Any = shape.full((), 0, int32)
        for site, failed, _ in reversed(pending):
            first = select_n(failed, first, site.code)
        if self.first is not None:
            first = select_n(eq(self.first, 0), self.first, first)
        before = self.sites
        failed_now: dict[Site, Any] = {}
        for site, failed, payload in pending:
            earlier = failed_now.get(site)
            if payload:
                self._keep_payload(site, earlier, payload)
            failed_now[site] = failed if earlier is None else or_(earlier, failed)
        self.sites = tuple(dict.fromkeys((*before, *failed_now)))
        self.flags = self._merged_flags(before, failed_now)
        self.first = first

    def _keep_payload(self, site: Site, earlier: Any, payload: Sequence[Any]) -> None:
        """The payload of the first failure, in each lane."""
        known = self.payloads.get(site)
        if known is not None and site.lanes:
            had = known[0]
            kept = [
                select_n(_over(had, typeof(p)), p, k)
                for k, p in zip(known[1:], payload[1:], strict=True)
            ]
            payload = [or_(had, payload[0]), *kept]
        elif known is not None:
            had = earlier
            if site in self.sites:
                i = self.sites.index(site)
                flag = shape.squeeze(shape.slice_axis(self.flags, 0, i, i + 1), (0,))
                had = flag if earlier is None else or_(flag, earlier)
            payload = [select_n(had, p, k) for k, p in zip(known, payload, strict=True)]
        self.payloads[site] = payload

    def _merged_flags(self, before: tuple[Site, ...], failed_now: dict[Site, Any]) -> Any:
        none = shape.full((), False, bool_)
        pieces = [shape.reshape(failed_now.get(s, none), shape=(1,)) for s in self.sites]
        now = pieces[0] if len(pieces) == 1 else shape.concatenate(*pieces, axis=0)
        if not before:
            return now
        grown = len(self.sites) - len(before)
        old = self.flags
        if grown:
            old = shape.concatenate(old, shape.full((grown,), False, bool_), axis=0)
        return or_(old, now)


def _outwards(handler: Any) -> Iterator[Any]:
    while handler is not None:
        yield handler
        handler = handler.outer


def _over(mask: Any, type: ShapedArray) -> Any:
    """A mask over lanes, spread over the axes of each lane's value."""
    lanes = typeof(mask).shape
    if lanes == type.shape:
        return mask
    return shape.broadcast_in_dim(mask, shape=type.shape, dims=tuple(range(len(lanes))))


def any_of(flags: Any) -> Any:
    """Whether any element is true."""
    axes = tuple(range(len(typeof(flags).shape)))
    return reduce_or(flags, axes=axes) if axes else flags


# -- how a cell of the column is written


class OfPrimitive:
    """A message that names an effect; equal for equal text and effect."""

    __slots__ = ("effect", "text")

    def __init__(self, text: str, effect: Effect) -> None:
        self.text = text
        self.effect = effect

    def __call__(self, payload: Sequence[Any]) -> str:
        """The text."""
        return self.text.format(self.effect.name)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is OfPrimitive and self.text == other.text and self.effect is other.effect
        )

    def __hash__(self) -> int:
        return hash((self.text, self.effect))

    def __repr__(self) -> str:
        return self.text.format(self.effect.name)


def rule(*effects: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the checkify column.

    The rule is called with the handler, the effect, its operands and attributes, outside the
    handler. It performs the effect and gives its result, after noting by `handler.note` what may
    have gone wrong. An effect without a cell is checked for NaN.
    """

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            Checkify.rules[effect] = function
        return function

    return fill


def arithmetic(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """An effect that computes: its inexact results must not be NaN."""
    result = effect(*operands, **attributes)
    if NaNError in handler.kinds:
        if SPREADING in effect.facts:
            check_nan(handler, effect, (result,), handler.carried_by(operands))
        else:
            check_nan(handler, effect, result if effect.multiple else (result,))
    return result


def check_nan(
    handler: Checkify, effect: Effect, results: Sequence[Any], covers: frozenset[int] = _NOTHING
) -> None:
    """Note where an effect's results are NaN, as one must be if those of the claims covered are."""
    parts = []
    for x in results:
        dtype = typeof(x).dtype
        if is_complex(dtype):
            parts += [real(x), imag(x)]
        elif is_inexact(dtype):
            parts.append(x)
    if not parts:
        return
    message = OfPrimitive("nan generated by primitive: {}", effect)
    site = handler.site(NaNError, message)
    whole = parts == [*results] and typeof(parts[0]).size
    number = handler.look(site, NAN, parts, covers if whole else _NOTHING)
    if whole and len(parts) == 1:
        handler.carry(parts[0], frozenset((number,)))


def harmless(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """An effect that can't fail: it moves, compares or chooses what is there."""
    result = effect(*operands, **attributes)
    if handler.carried and SPREADING in effect.facts:
        type = typeof(result)
        if is_float(type.dtype) and type.size:
            handler.carry(result, handler.carried_by(operands))
    return result


@for_each_effect
def _sound(effect: Effect) -> None:
    if SOUND in effect.facts:
        Checkify.rules.setdefault(effect, harmless)
