"""Callbacks: effects that Python code on the host answers.

The attribute `callback` is a function of flat NumPy arrays that gives a sequence of results; it is
hashable, and equal to another exactly when the two may stand for each other in a compiled program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from effax.effects.effect import LITERALS, Effect
from effax.effects.facts import SOUND
from effax.effects.types import ShapedArray, canonical_dtype

if TYPE_CHECKING:
    from effax.effects.program import Program

FAMILY = "callback"

TOKEN = ShapedArray((), np.dtype(np.bool_))
"""The type of what ordered callbacks hand on from one to the next; its value means nothing."""

VMAP_METHODS: Final = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
    None,
)
"""JAX's words for the ways to run a foreign call under `vmap`."""


def _nothing(*operands: ShapedArray, **attributes: Any) -> Sequence[ShapedArray]:
    return ()


def _given(
    *operands: ShapedArray, result_types: tuple[ShapedArray, ...], **attributes: Any
) -> Sequence[ShapedArray]:
    return result_types


def _sequenced_type(
    token: ShapedArray, *operands: ShapedArray, result_types: tuple[ShapedArray, ...], **_: Any
) -> Sequence[ShapedArray]:
    if token is not TOKEN:
        raise TypeError(
            f"sequenced_callback: the first operand must be a token, got {token.str_short()}"
        )
    return (TOKEN, *result_types)


debug_callback = Effect(
    "debug_callback",
    family=FAMILY,
    typing=_nothing,
    multiple=True,
    row="callback",
    facts=SOUND,
)
"""`debug_callback(*operands, callback, ordered)`: show operands to the host; no results.

It happens once for each time the program comes by, and never changes what is computed.
"""

pure_callback = Effect("pure_callback", family=FAMILY, typing=_given, multiple=True, facts=SOUND)
"""`pure_callback(*operands, callback, result_types, vmap_method)`: a function computed by the host.

It may be dropped, repeated and moved like any pure effect.
"""

io_callback = Effect(
    "io_callback", family=FAMILY, typing=_given, multiple=True, row="callback", facts=SOUND
)
"""`io_callback(*operands, callback, result_types, ordered)`: ask the host, which may act."""

sequenced_callback = Effect(
    "sequenced_callback",
    family=FAMILY,
    typing=_sequenced_type,
    multiple=True,
    row="callback",
    facts=SOUND,
)
"""`sequenced_callback(token, *operands, callback, result_types, debugs)`: an ordered callback.

It follows the one that gave the token. Its first result is the token of the next. `debugs` says
whether it was a `debug_callback`."""


HOST: Final = frozenset({debug_callback, pure_callback, io_callback, sequenced_callback})
"""The effects that Python code on the host answers."""


_ADVICE: Final = "return what result_shape_dtypes announces, or announce what the callback returns"


def answer(
    callback: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    result_types: Sequence[ShapedArray],
) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the host's answer as arrays of these types.

    Raises `TypeError` where the callback gives another number of results, or other types; Python
    numbers take the dtype that is expected, and without `enable_x64` 64 bits become 32.
    """
    results = callback(*operands)
    if len(results) != len(result_types):
        raise TypeError(
            f"the callback {callback} returned {len(results)} results, but "
            f"result_shape_dtypes has {len(result_types)}; {_ADVICE}"
        )
    return tuple(
        _typed(callback, i, x, t)
        for i, (x, t) in enumerate(zip(results, result_types, strict=True))
    )


def _typed(callback: Any, i: int, x: Any, type_: ShapedArray) -> np.ndarray[Any, Any]:
    array = np.asarray(x, type_.dtype if type(x) in LITERALS else None)
    for what, wanted, found in (
        ("shape", type_.shape, array.shape),
        ("dtype", type_.dtype, canonical_dtype(array.dtype)),
    ):
        if wanted != found:
            raise TypeError(
                f"Incorrect output {what} for return value #{i}: the callback {callback} was "
                f"announced as {type_.str_short()}, but it returned "
                f"{array.dtype.name}{list(array.shape)}; {_ADVICE}"
            )
    return array.astype(type_.dtype, copy=False)


@attrs.frozen(slots=True)
class PerLane:
    """A callback for a batch: the callback for one lane, called for each in order.

    `batched` says which operands have a lane axis, their first; results get one.
    """

    callback: Callable[..., Sequence[Any]]
    batched: tuple[bool, ...]
    size: int
    result_types: tuple[ShapedArray, ...] = ()

    def __call__(self, *operands: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """The results of all lanes, stacked."""
        results = [np.empty((self.size, *t.shape), t.dtype) for t in self.result_types]
        for i in range(self.size):
            lane = [x[i] if b else x for x, b in zip(operands, self.batched, strict=True)]
            for many, one in zip(
                results, answer(self.callback, lane, self.result_types), strict=True
            ):
                many[i] = one
        return results


@attrs.frozen(slots=True)
class Showing:
    """A callback without results for batches of batches: it is called for each lane of each.

    `levels` are the batches from the outermost: which operands have an axis for its lanes, and how
    many there are. The lanes of the outermost change fastest, as in JAX.
    """

    callback: Callable[..., Sequence[Any]]
    levels: tuple[tuple[tuple[bool, ...], int], ...]

    def __call__(self, *operands: np.ndarray[Any, Any]) -> Sequence[Any]:
        """Call it for all lanes; no results."""
        sizes = [size for _, size in reversed(self.levels)]
        for reversed_index in np.ndindex(*sizes):
            index = reversed_index[::-1]
            lane = []
            for at, x in enumerate(operands):
                pairs = zip(index, self.levels, strict=True)
                lane.append(x[tuple([i for i, (batched, _) in pairs if batched[at]])])
            self.callback(*lane)
        return ()


@attrs.frozen(slots=True)
class OfPieces:
    """A callback without results that each device of a program calls with its pieces of arrays."""

    callback: Callable[..., Sequence[Any]]

    def __call__(self, *operands: Any) -> Sequence[Any]:
        """Call it."""
        return self.callback(*operands)


@attrs.frozen(slots=True)
class OnlyWhen:
    """A callback that is called when its first operand is true; else its results are zeros."""

    callback: Callable[..., Sequence[Any]]
    result_types: tuple[ShapedArray, ...] = ()

    def __call__(self, active: Any, *operands: Any) -> Sequence[Any]:
        """Return the callback's result, or zeros."""
        if active:
            return self.callback(*operands)
        return [np.zeros(t.shape, t.dtype) for t in self.result_types]


@attrs.frozen(slots=True)
class Inspection:
    """A callback that is told, when a program is compiled, where; at run time it does nothing."""

    told: Callable[[Any], None]

    def __call__(self, *operands: Any) -> Sequence[Any]:
        """Nothing."""
        return ()


def innermost(callback: Any) -> Any:
    """The user's callback, without what batches and guards put around it."""
    while isinstance(callback, PerLane | Showing | OnlyWhen):
        callback = callback.callback
    return callback


def lanes_of_pieces(callback: Any, count: int) -> list[int] | None:
    """Return how many axes of each operand are of batches; None of a callback for whole arrays.

    Args:
      callback: the callback of a `debug_callback`.
      count: the number of its operands.
    """
    lanes, guards = [0] * count, 0
    while isinstance(callback, Showing | OnlyWhen):
        if isinstance(callback, OnlyWhen):
            guards += 1
        else:
            for batched, _ in callback.levels:
                for i, has_lanes in enumerate(batched):
                    lanes[guards + i] += has_lanes
        callback = callback.callback
    return lanes if isinstance(callback, OfPieces) else None


def inspections(program: Program) -> Iterator[Callable[[Any], None]]:
    """Return the sharding-inspection callbacks of a program."""
    for e in program.equations if "callback" in program.row else ():
        callback = innermost(e.attributes.get("callback"))
        if isinstance(callback, Inspection):
            yield callback.told
        for inner in e.programs():
            yield from inspections(inner)
