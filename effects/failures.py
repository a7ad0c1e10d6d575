"""Failures: what went wrong in a checked program, as exceptions and as places where it can happen.

A program that runs on a device can't raise. It returns a number, the code of a `Site`, and the
site knows what to say: which kind of failure, of which effect, at which line of the user's code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Final
from weakref import WeakValueDictionary

from effax.effects.frames import Frame, describe, whole_instruction
from effax.effects.tree import PyTreeDef, tree_unflatten
from effax.effects.types import ShapedArray


class JaxRuntimeError(ValueError):
    """The error that is raised when a check does not hold."""


class JaxException(Exception):  # noqa: N818  (JAX's name)
    """A failure of a checked program; subclasses are the categories that checkify distinguishes."""


class NaNError(JaxException):
    """An operation returned NaN."""


class DivisionByZeroError(JaxException):
    """A division by zero, of integers or of floats."""


class OOBError(JaxException):
    """An index lay outside the array it was used on."""


class FailedCheckError(JaxException):
    """A user's `check` did not hold."""


class BatchedError(JaxException):
    """Failures of some elements of a batch; `error_mapping` has them by their index."""

    def __init__(self, error_mapping: dict[tuple[int, ...], JaxException]) -> None:
        self.error_mapping = error_mapping
        super().__init__(
            "\n".join(
                f"at mapped index {', '.join(map(str, index))}: {error}"
                for index, error in error_mapping.items()
            )
        )


Message = Callable[[Sequence[Any]], str]


class Site:
    """A place where a check can fail: one object for each, so that sites compare by identity.

    `code` is what a program returns for it. `message` makes the text from the payload, whose types
    (for one failure) are `types`; it is hashable. `lanes` is the shape of the batches that the
    check was under when it was answered.
    """

    __slots__ = ("__weakref__", "code", "frame", "kind", "lanes", "message", "types")

    code: int
    kind: type[JaxException]
    message: Message
    frame: Frame | None
    types: tuple[ShapedArray, ...]
    lanes: tuple[int, ...]

    _known: ClassVar[WeakValueDictionary[Hashable, Site]] = WeakValueDictionary()

    def __new__(
        cls,
        kind: type[JaxException],
        message: Message,
        frame: Frame | None,
        types: Sequence[ShapedArray] = (),
        lanes: tuple[int, ...] = (),
    ) -> Site:
        """The site with these fields, made when there is none yet."""
        types = tuple(types)
        frame = frame and whole_instruction(frame)
        key = kind, message, frame, types, lanes
        found = cls._known.get(key)
        if found is None:
            found = object.__new__(cls)
            found.code = next(_codes)
            found.kind, found.message, found.frame = kind, message, frame
            found.types, found.lanes = types, lanes
            found = cls._known.setdefault(key, found)
        return found

    def in_lanes(self, lanes: tuple[int, ...]) -> Site:
        """The same place, answered for a batch."""
        return Site(self.kind, self.message, self.frame, self.types, lanes)

    def failure(self, payload: Sequence[Any]) -> JaxException:
        """The exception for one failure, with details added to a user's own message."""
        text = self.message(payload)
        if self.kind is not FailedCheckError:
            text = f"{text} at {describe(self.frame)}"
        return self.kind(text)

    def failures(self, failed: Any, payload: Sequence[Any]) -> JaxException | None:
        """The exception for a check of several lanes: those that failed, by their index.

        `failed` is a NumPy array of the lanes' shape, and so begin the shapes of the payload's.
        """
        if not failed.shape:
            return self.failure(payload) if failed else None
        found = {
            index: self.failure([x[index] for x in payload])
            for index in zip(*(map(int, axis) for axis in failed.nonzero()), strict=True)
        }
        return BatchedError(found) if found else None

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} {self.message} at {describe(self.frame)}>"


_codes: Final = itertools.count(1)


class Formatted:
    """The message of a user's check: a format string, and the tree of its arguments."""

    __slots__ = ("text", "tree")

    def __init__(self, text: str, tree: PyTreeDef) -> None:
        self.text = text
        self.tree = tree

    def __call__(self, payload: Sequence[Any]) -> str:
        """The text, the payload in its places."""
        args, keywords = tree_unflatten(self.tree, payload)
        return f"{self.text.format(*args, **keywords)} (`check` failed)"

    def __eq__(self, other: object) -> bool:
        return type(other) is Formatted and self.text == other.text and self.tree == other.tree

    def __hash__(self) -> int:
        return hash((self.text, self.tree))

    def __repr__(self) -> str:
        return repr(self.text)


def require(site: Site, holds: Any, payload: Sequence[Any]) -> None:
    """Raise `JaxRuntimeError` unless a claim, a NumPy array, holds in every lane.

    Of several failures its text has the first by itself, then each with its index.
    """
    error = site.failures(~holds, payload)
    if error is not None:
        told = str(error)
        if type(error) is BatchedError:
            told = f"{next(iter(error.error_mapping.values()))}\n{told}"
        raise JaxRuntimeError(told) from error
