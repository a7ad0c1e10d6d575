"""Types of functions that are made from tables, which keep the names of their parameters.

For annotations: it is imported by type checkers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, Self, TypeVar, overload

from effax.api.compiling.stages import Lowered, Traced
from effax.effects.rows.accuracy import AccuracyMode, Tolerance
from effax.effects.rows.indexing import GatherScatterMode, ScatterDimensionNumbers
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Jitted(Protocol[P, R_co]):
    """A function that is compiled; it has the parameters of the function that it was made of.

    `lower`, `trace` and `eval_shape` take what stands for arrays too, so theirs are not compared.
    """

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R_co:
        """The function's value."""

    # A method accepts any parameters: mypy does not know those of `partial(jit, ...)(f)`, and
    # dropping the first of them would leave no positional ones.
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: Any = ...) -> Callable[..., R_co]: ...

    def lower(self, *args: Any, **keywords: Any) -> Lowered:
        """The program for arguments of these types, in StableHLO."""

    def trace(self, *args: Any, **keywords: Any) -> Traced:
        """The program for arguments of these types."""

    def eval_shape(self, *args: Any, **keywords: Any) -> Any:
        """The types of the results, in their tree."""

    def clear_cache(self) -> None:
        """Forget what was compiled."""


class Named(Protocol):
    """A function, as far as `pickle` and `help` look at it."""

    __name__: str
    __qualname__: str


class Unary(Named, Protocol):
    """A function of NumPy's of one array, given by position."""

    def __call__(self, x: ArrayLike, /) -> Array:
        """The function's value, element by element."""


class UnaryOperator(Named, Protocol):
    """An operator of `lax` with one operand."""

    def __call__(self, x: ArrayLike) -> Array:
        """The operator's value, element by element."""


class TunableOperator(Named, Protocol):
    """An operator of `lax` that some accelerators compute in several ways."""

    def __call__(self, x: ArrayLike, *, accuracy: Tolerance | AccuracyMode | None = None) -> Array:
        """The operator's value, element by element."""


class BinaryOperator(Named, Protocol):
    """An operator of `lax` with two operands."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array:
        """The operator's value, element by element."""


class Reduction(Named, Protocol):
    """A function of `lax` that folds axes."""

    def __call__(
        self, operand: ArrayLike, axes: Sequence[int], *, out_sharding: OutSharding = None
    ) -> Array:
        """The array without these axes."""


class Cumulation(Named, Protocol):
    """A function of `lax` that folds each element with all before it."""

    def __call__(self, operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        """An array of the same shape."""


class Position(Named, Protocol):
    """A function of `lax` that finds an element along an axis."""

    def __call__(self, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        """Its positions."""


class Scatter(Named, Protocol):
    """A function of `lax` that writes slices into an array."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array:
        """The array with the slices in it."""


class FourierAlongOneAxis(Named, Protocol):
    """A Fourier transform along one axis."""

    def __call__(
        self, a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
    ) -> Array:
        """The coefficients along that axis."""


class FourierAlongAxes(Named, Protocol):
    """A Fourier transform along several axes."""

    def __call__(
        self,
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = ...,
        norm: str | None = None,
    ) -> Array:
        """The coefficients along these axes."""


class SpecialOfOne(Named, Protocol):
    """A special function of one array."""

    def __call__(self, x: ArrayLike) -> Array:
        """The function's value, element by element."""


class SpecialOfTwo(Named, Protocol):
    """A special function with one parameter."""

    def __call__(self, a: ArrayLike, x: ArrayLike) -> Array:
        """The function's value, element by element."""


class SpecialOfThree(Named, Protocol):
    """A special function with two parameters."""

    def __call__(self, a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
        """The function's value, element by element."""
