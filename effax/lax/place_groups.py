"""Groups of places: what `axis_index_groups` of the collectives says."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from effax.lax.slicing import dynamic_index_in_dim

Groups = tuple[tuple[int, ...], ...]


def checked_groups(name: str, groups: Any, size: int, equal: bool = False) -> Groups | None:
    """The groups as tuples, after a check that each place is in one of them.

    Args:
      name: the collective, for the messages.
      groups: sequences of the places' indices, or None.
      size: the number of places.
      equal: whether groups must have one length.

    Raises:
      ValueError: where a place is in no group or in two, or lengths differ that must not.
      TypeError: where the groups aren't sequences of integers.
    """
    if groups is None:
        return None
    try:
        found = tuple(tuple(index(place) for place in group) for group in groups)
    except TypeError:
        raise TypeError(
            f"{name}: axis_index_groups must be lists of the places' indices, got {groups!r}"
        ) from None
    if sorted(place for group in found for place in group) != list(range(size)):
        raise ValueError(
            f"{name}: axis_index_groups must cover all indices exactly once, which are 0 to "
            f"{size - 1} here, got {list(map(list, found))}"
        )
    found = tuple(group for group in found if group)
    if equal and len({len(group) for group in found}) > 1:
        raise ValueError(
            f"{name}: axis_index_groups must have groups of one length, as results have one shape "
            f"at all places, got {list(map(list, found))}"
        )
    return found


def lengths_by_place(groups: Sequence[Sequence[int]]) -> list[int]:
    """For each place, how many places its group has."""
    lengths = {place: len(group) for group in groups for place in group}
    return [lengths[place] for place in range(len(lengths))]


def numbers_within(groups: Sequence[Sequence[int]]) -> list[int]:
    """For each place, its number within its group."""
    numbers = {place: number for group in groups for number, place in enumerate(group)}
    return [numbers[place] for place in range(len(numbers))]


def of_place(numbers: Sequence[int], place: Any) -> Any:
    """The number of a place, by its index along the axes."""
    return dynamic_index_in_dim(np.array(numbers, np.int32), place, keepdims=False)


def option(groups: Groups | None) -> dict[str, Any]:
    """The groups as an attribute, which a collective over all places does not have."""
    return {} if groups is None else {"axis_index_groups": groups}
