"""Every effect on arrays has operands in `tests/samples`, with which its cells are checked."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import tests.samples
from effax.effects.effect import Effect, all_effects
from effax.matrix import library_families

BY_SUBJECT = {
    "accuracy",
    "callback",
    "check",
    "collective",
    "foreign",
    "naming",
    "random",
    "sharding",
}
"""Families that act, or say where values are: their tests are by subject, as in tests/callbacks."""


def _effects(value: Any) -> Iterator[Effect]:
    """The effects in nested lists, tuples and dicts."""
    match value:
        case Effect():
            yield value
        case dict():
            yield from _effects([*value.items()])
        case list() | tuple():
            for one in value:
                yield from _effects(one)


def test_every_effect_has_operands():
    modules = [
        importlib.import_module(f"tests.samples.{found.name}")
        for found in pkgutil.iter_modules(tests.samples.__path__)
    ]
    given = {effect for module in modules for effect in _effects([*vars(module).values()])}
    families = library_families() - BY_SUBJECT
    first_order = [e for e in all_effects() if e.first_order and e.family in families]
    assert len(first_order) > 100
    assert [e for e in first_order if e not in given] == []
