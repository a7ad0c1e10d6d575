"""Batching: values with one more axis, and how a cell of the batch column is written.

The batch axis of a carrier is always its first. `vmap` moves axes at its borders only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Final

from effax.effects.cuts import Cut
from effax.effects.effect import LITERALS, Effect, for_each_effect, only_effects
from effax.effects.facts import POINTWISE
from effax.effects.handler import Carrier
from effax.effects.program import row_of
from effax.effects.rows.shape import repeat as repeat
from effax.effects.rows.sharding import cut_as, explicit_mesh, open_all
from effax.effects.rows.state import ref_set
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode

BATCHED: Final = "batched"


class Batched(Carrier):
    """Many values at once, along the first axis of one outer value."""

    __slots__ = ("many",)

    batch_dim: ClassVar[int] = 0
    """The axis of `many` along which the values are, by JAX's name."""

    def __init__(self, handler: Batch, many: Any) -> None:
        self.handler = handler
        self.many = many

    @property
    def type(self) -> ShapedArray:  # type: ignore[override]
        """The type of one of the values."""
        return typeof(self.many).row()

    def contents(self) -> dict[str, Any]:
        """The values of all lanes."""
        return {"lanes": self.many}

    def left(self) -> Any:
        """The value that all directions of a derivative share; in any other batch, this one."""
        return self.many if self.handler.directions else self


class Batch(Lifting):
    """Each effect done for a whole batch; `axis_name` is what collectives call the batch by.

    `spmd_axes` are the axes of a mesh that the batch is cut along, and `cut` is how types say so
    of a vector of the batch's length, along explicit axes. Lanes that are `directions`
    of one derivative belong to one run of a program, which performs its effects once for all.
    `spare` says whether an argument can be left out of the mapping: more than one is mapped.
    """

    __slots__ = ("axis_name", "cut", "directions", "size", "spare", "spmd_axes")

    keeps_unset: ClassVar[bool] = True

    carrier = Batched
    label = "vmap"
    lanes = True
    owned = "a value mapped by vmap"
    reason = (
        "Under vmap a function runs once for the whole batch, whose elements may differ in this "
        "value."
    )
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = {}
    overrides: ClassVar[dict[Effect, Callable[..., Any]]] = {}
    in_lanes: ClassVar[Callable[..., Any]]
    """Does an effect that a function writes out in each lane; given by `lanes`."""

    def __init__(
        self,
        outer: Any = None,
        size: int = 1,
        axis_name: Hashable = None,
        spmd_axes: Hashable = None,
        directions: bool = False,
        cut: Cut | None = None,
    ) -> None:
        super().__init__(outer)
        self.size = size
        self.axis_name = axis_name
        self.spmd_axes = spmd_axes
        self.directions = directions
        self.cut = cut
        self.spare = False

    @property
    def remedy(self) -> str:  # type: ignore[override]
        """The way to know a value's elements: not to map it, if the others still have a length."""
        return "leave the value out of the mapping (vmap's in_axes=None)" if self.spare else ""

    @property
    def static(self) -> tuple[Any, ...]:
        """All that says which batch it is: length, axis name, axes to be cut along, directions."""
        return self.size, self.axis_name, self.spmd_axes, self.directions, self.cut

    def fresh(self, outer: Any) -> Batch:
        """The same batch, installed over another handler."""
        return Batch(outer, *self.static)

    def answers(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Collectives over the batch's own axis are its own, batched operand or not; and so are
        effects that happen in each lane. No lane writes to what was made outside."""
        if effect is ref_set:
            return True
        if not self.directions and not _in_each_lane.isdisjoint(row_of(effect, attributes)):
            return True
        if self.axis_name is None:
            return False
        if effect.collective:
            return self.axis_name in attributes["axes"]
        return f"axis {self.axis_name}" in row_of(effect, attributes)

    def write_out(
        self, effect: Effect, operands: Any, attributes: dict[str, Any], function: Any
    ) -> Any:
        """In each lane by itself, where a handler outside may have a rule for the effect."""
        return Batch.in_lanes(self, effect, operands, attributes, function)

    def mode(self, value: Any) -> Mode:
        """Whether the value differs along the batch."""
        return BATCHED if self.owns(value) else PLAIN

    def leaves(self, value: Any, mode: Mode) -> Sequence[Any]:
        """The values of the whole batch; a plain one is repeated."""
        return (value.many if self.owns(value) else self.repeated(value),)

    def value(self, mode: Mode, leaves: Sequence[Any]) -> Any:
        """A batched value."""
        return Batched(self, leaves[0])

    def leaf_types(self, mode: Mode, type: ShapedArray) -> Sequence[ShapedArray]:
        """One more axis, in front."""
        if type.cut is None and self.cut is None:
            return (type.update(shape=(self.size, *type.shape)),)
        return (self.many_type(type),)

    @property
    def along(self) -> Any:
        """The explicit axes of a mesh that the batch is cut along, as an entry of a spec."""
        return None if self.cut is None else self.cut.entries[0]

    def many_type(self, type: ShapedArray) -> ShapedArray:
        """The type of a whole batch of values of that type."""
        return type.stacked(self.size, self.along, self.cut and self.cut.mesh)

    def repeated(self, value: Any) -> Any:
        """A plain value, for each one of the batch."""
        many = repeat(value, self.size)
        if self.cut is None:
            return many
        return cut_as(many, self.many_type(typeof(value)), self.cut.mesh)

    def leaf_axes(self, mode: Mode) -> Sequence[int]:
        """The batch axis comes before the value's own."""
        return (1,)

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """A rule takes values and which of them are batched, and gives the same of its result."""
        values: list[Any] = []
        batched: list[bool] = []
        for x in operands:
            own = type(x) is Batched and x.handler is self
            values.append(x.many if own else x)
            batched.append(own)
        if explicit_mesh(values) is not None:
            out, many = self.typed(rule, effect, operands, values, batched, attributes)
        else:
            out, many = rule(self, values, batched, **attributes)
        if effect.multiple:
            return [Batched(self, x) if b else x for x, b in zip(out, many, strict=True)]
        return Batched(self, out) if many else out

    def typed(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        values: list[Any],
        batched: list[bool],
        attributes: dict[str, Any],
    ) -> tuple[Any, Any]:
        """The results of a rule for values that are cut along explicit axes of a mesh.

        One lane is typed, and refused, as it would be without the batch. What the rule performs is
        not typed; its results are cut as those of the lane are, and along the batch.
        """
        if effect.family == "sharding" or effect.higher_order:
            given: tuple[Any, Any] = rule(self, values, batched, **attributes)
            return given
        found = effect.result_type(*operands, **attributes)
        plain = [x if type(x) in LITERALS else open_all(x) for x in values]
        out, many = rule(self, plain, batched, **attributes)
        mesh = explicit_mesh(values)
        several = effect.multiple
        pairs = zip(
            out if several else [out],
            many if several else [many],
            found if several else [found],
            strict=True,
        )
        done = [cut_as(x, self.many_type(t) if b else t, mesh) for x, b, t in pairs]
        return (done, many) if several else (done[0], many)


def rule(*effects: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the batch column.

    The rule is called with the handler (its `size`, its `axis_name`), the list of values, the list
    of which of them are batched (along their first axis), and the attributes. It returns the
    result and whether that is batched (lists of both for effects of several results).
    """

    only_effects("extend.batch.rule", effects)

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            Batch.rules[effect] = function
        return function

    return fill


def in_each_lane(*effects: Effect) -> None:
    """Effects that happen once in each lane, even where no operand is batched: drawing a number.

    They have a row, by which programs that perform them are known; their rule is asked always.
    """
    for effect in effects:
        if not effect.row:
            raise ValueError(f"'{effect.name}' has no row: a program would not say it performs it")
        _in_each_lane.add(effect.row)


_in_each_lane: Final[set[str]] = set()


def elementwise(effect: Effect) -> None:
    """Let an effect on elements take a batch: its axis is one more axis."""
    Batch.rules[effect] = _elementwise_rule(effect)


def _elementwise_rule(effect: Effect) -> Callable[..., Any]:
    def elementwise_batch(
        handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
    ) -> Any:
        if not all(batched):
            values = [
                x if b or type(x) in LITERALS else repeat(x, handler.size)
                for x, b in zip(values, batched, strict=True)
            ]
        return effect(*values, **attributes), True

    return elementwise_batch


@for_each_effect
def _pointwise(effect: Effect) -> None:
    if POINTWISE in effect.facts and effect not in Batch.rules:
        elementwise(effect)


def all_batched(handler: Batch, values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """The values, those that are not batched repeated."""
    return [x if b else repeat(x, handler.size) for x, b in zip(values, batched, strict=True)]
