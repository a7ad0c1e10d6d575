"""Compilation for chips that are not there: programs are compiled, refused by name, or fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import attrs
import numpy as np

import effax as fx
from effax.effects.errors import EffaxError
from effax.experimental import topologies
from effax.sharding import SingleDeviceSharding
from tests.accelerators.programs import Sample

CHIPS: dict[str, tuple[str, dict[str, Any]]] = {
    "TPU v5e": ("v5e:2x2", {}),
    "H200": ("h200", {"platform": "cuda"}),
}
"""The chips, and how their topology is asked for."""

_TARGET = re.compile(r'custom_call_target="([^"]+)"')
_WIDE = re.compile(r"\b(?:f64|c128)\[")
COMPILED, REFUSED, FAILED = "compiled", "refused", "failed"


@attrs.frozen
class Outcome:
    """The outcome for a program: one of three words, and the reason where it was not compiled."""

    word: str
    why: str = ""


@cache
def devices(chip: str) -> list[Any]:
    """The devices of a chip's topology."""
    name, options = CHIPS[chip]
    return topologies.get_topology_desc(name, **options).devices


def on_chip(chip: str, args: tuple[Any, ...]) -> list[Any]:
    """Types of arguments on the chip."""
    where = SingleDeviceSharding(devices(chip)[0])
    return [fx.ShapeDtypeStruct(np.shape(x), x.dtype, sharding=where) for x in args]


def outcome(chip: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """Compile a function for a chip, and look at what came out.

    A program for a chip calls nothing of the CPU's, and has no 64-bit floats unless it was given
    some. What effax refuses is refused when lowering, by a named error.
    """
    try:
        lowered = fx.jit(function).lower(*on_chip(chip, args))
    except (EffaxError, NotImplementedError) as error:
        return Outcome(REFUSED, f"{type(error).__name__}: {error}")
    try:
        compiled = lowered.compile()
    except fx.errors.JaxRuntimeError as error:
        return Outcome(FAILED, str(error))
    text = compiled.as_text()
    foreign = [t for t in _TARGET.findall(text) if t.startswith(("lapack_", "cpu_"))]
    if foreign:
        return Outcome(FAILED, f"calls of the CPU's: {sorted(set(foreign))}")
    if _WIDE.search(text):
        return Outcome(FAILED, "64-bit floats, which nothing asked for")
    return Outcome(COMPILED)


def outcomes(chip: str, sample: Sample) -> dict[str, Outcome]:
    """The outcome of a program, and of its gradient where it has one."""
    found = {"value": outcome(chip, sample.function, sample.args)}
    derivative = sample.derivative
    if derivative is not None:
        found["gradient"] = outcome(chip, derivative, sample.args)
    return found
