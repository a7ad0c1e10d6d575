"""Window functions: weights that fall off towards both ends."""

from __future__ import annotations

from math import pi
from typing import Any

from effax.eager.whole import whole
from effax.effects.rows import elementwise, selection, shape, transcendental
from effax.effects.rows.comparison import le
from effax.effects.types import default_float, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.elementary import i0
from effax.operands.arguments import broadcast, cast, concrete_int


def _length(M: Any, name: str) -> int:  # noqa: N803
    if isinstance(M, float):  # NumPy takes floats; JAX drops the fraction
        M = int(M)  # noqa: N806
    count = concrete_int(M, f"the M argument of jnp.{name}")
    if count < 0:
        raise ValueError(f"nonnegative window size expected for {name}, got {count}")
    return count


def _steps(M: int) -> Any:  # noqa: N803
    return shape.iota(dtype=default_float(), shape=(M,), dimension=0)


def _cosine(x: Any, turns: float) -> Any:
    return transcendental.cos(elementwise.mul(x, turns))


@whole("M")
def bartlett(M: int) -> Array:  # noqa: N803
    """Return the Bartlett (triangular) window of `M` points, a 1-D array.

    Args:
      M: the number of points, an int.

    >>> bartlett(3).tolist()
    [0.0, 1.0, 0.0]
    """
    n = _length(M, "bartlett")
    if n <= 1:
        return shape.full((n,), 1, default_float())
    away = elementwise.sub(elementwise.mul(_steps(n), 2.0), float(n - 1))
    return elementwise.sub(1.0, elementwise.div(elementwise.abs(away), float(n - 1)))


@whole("M")
def blackman(M: int) -> Array:  # noqa: N803
    """Return the Blackman window of `M` points, a sum of two cosines.

    Args:
      M: the number of points, an int.

    >>> [round(abs(x), 2) for x in blackman(3).tolist()]
    [0.0, 1.0, 0.0]
    """
    n = _length(M, "blackman")
    if n <= 1:
        return shape.full((n,), 1, default_float())
    x = elementwise.div(elementwise.mul(_steps(n), 2 * pi), float(n - 1))
    first = elementwise.sub(0.42, elementwise.mul(_cosine(x, 1.0), 0.5))
    return elementwise.add(first, elementwise.mul(_cosine(x, 2.0), 0.08))


@whole("M")
def hamming(M: int) -> Array:  # noqa: N803
    """Return the Hamming window of `M` points, a cosine that ends at 0.08.

    Args:
      M: the number of points, an int.

    >>> [round(x, 2) for x in hamming(3).tolist()]
    [0.08, 1.0, 0.08]
    """
    n = _length(M, "hamming")
    if n <= 1:
        return shape.full((n,), 1, default_float())
    x = elementwise.div(elementwise.mul(_steps(n), 2 * pi), float(n - 1))
    return elementwise.sub(0.54, elementwise.mul(_cosine(x, 1.0), 0.46))


@whole("M")
def hanning(M: int) -> Array:  # noqa: N803
    """Return the Hann window of `M` points, a cosine that ends at 0.

    Args:
      M: the number of points, an int.

    >>> hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    n = _length(M, "hanning")
    if n <= 1:
        return shape.full((n,), 1, default_float())
    x = elementwise.div(elementwise.mul(_steps(n), 2 * pi), float(n - 1))
    return elementwise.mul(elementwise.sub(1.0, _cosine(x, 1.0)), 0.5)


@whole("M")
def kaiser(M: int, beta: ArrayLike) -> Array:  # noqa: N803
    """Return the Kaiser window of `M` points, of a shape that depends on beta.

    Args:
      M: the number of points, an int.
      beta: a number: 0 for a rectangle; the larger it is, the narrower the window.

    >>> kaiser(3, 0.0).tolist()
    [1.0, 1.0, 1.0]
    """
    n = _length(M, "kaiser")
    if n <= 1:
        return shape.full((n,), 1, default_float())
    middle = (n - 1) / 2
    place = elementwise.div(elementwise.sub(_steps(n), middle), middle)
    inside = elementwise.sub(1.0, elementwise.square(place))
    inside = selection.select_n(le(inside, 0.0), inside, 0.0)
    width = broadcast(cast(beta, typeof(inside).dtype), (n,))
    top = i0(elementwise.mul(width, elementwise.sqrt(inside)))
    return elementwise.div(top, i0(width))
