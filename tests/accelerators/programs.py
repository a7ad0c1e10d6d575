"""Programs to compile for chips: each cell of the matrix, and programs with control flow.

Each comes with its gradient, where it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import attrs
import numpy as np

import effax as fx
import effax.numpy as jnp
from effax.errors import UnsupportedDerivativeError
from tests.programs.e3 import PROGRAMS, X

FAMILIES = (
    "condensed",
    "contraction",
    "convolution",
    "cumulative",
    "elementwise",
    "fourier",
    "indexing",
    "linalg",
    "reduction",
    "shape",
    "sorting",
    "window",
)
"""The modules of `tests/samples` that list calls of effects."""


@attrs.frozen
class Sample:
    """A function with arrays to call it with; its gradient is asked by `grad`."""

    family: str
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def derivative(self) -> Callable[..., Any] | None:
        """The gradient of the sum of its results; None where nothing can move, or has one."""
        at = tuple(i for i, x in enumerate(self.args) if x.dtype.kind in "fc")
        moving = [y for y in self._results() if jnp.issubdtype(y.dtype, jnp.inexact)]
        if not at or not moving:
            return None

        def total(*args: Any) -> Any:
            found = fx.tree.leaves(self.function(*args))
            floats = [y for y in found if jnp.issubdtype(y.dtype, jnp.inexact)]
            return sum(jnp.sum(jnp.real(y)) for y in floats)

        gradient = fx.grad(total, at)
        try:
            fx.eval_shape(gradient, *self.args)
        except (UnsupportedDerivativeError, NotImplementedError):
            return None
        return gradient

    def _results(self) -> list[Any]:
        return fx.tree.leaves(fx.eval_shape(self.function, *self.args))


def _call(
    effect: Any, operands: Any, attributes: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of the operands that are arrays: Python numbers stay literals."""
    arrays = [isinstance(x, np.ndarray | np.generic) for x in operands]

    def function(*given: Any) -> Any:
        rest = iter(given)
        return effect(
            *(next(rest) if a else x for a, x in zip(arrays, operands, strict=True)), **attributes
        )

    return function, tuple(np.asarray(x) for x, a in zip(operands, arrays, strict=True) if a)


def samples() -> Iterator[Sample]:
    """All of them, family by family."""
    for family in FAMILIES:
        for i, sample in enumerate(import_module(f"tests.samples.{family}").SAMPLES):
            effect, operands, attributes, *_ = sample
            function, args = _call(effect, operands, attributes)
            yield Sample(family, f"{effect.name} {i}", function, args)
    for name, program in PROGRAMS.items():
        yield Sample("control flow", name, program.make(fx, jnp), (np.asarray(X, "float32"),))
