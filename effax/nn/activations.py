"""Activations: functions of one number, applied to every element of an array.

They are written in effects, so each is one executable when called by itself, and works under every
handler. Derivatives at kinks are JAX's: that of `relu` at 0 is 0.
"""

from __future__ import annotations

import math
from typing import Any

from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.rows import (
    comparison,
    conversion,
    elementwise,
    logical,
    special,
    transcendental,
)
from effax.effects.rows import shape as shapes
from effax.effects.rows.selection import select_n
from effax.effects.types import (
    default_float,
    finfo,
    is_bool,
    is_complex,
    is_inexact,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, ArrayLike
from effax.numpy.comparing import greater, greater_equal
from effax.operands.arguments import canonical_axis, check_arrays, strong
from effax.operands.promoting import asarray, promote, promote_inexact


def _inexact(name: str, x: ArrayLike) -> Array:
    check_arrays(name, x)
    return promote_inexact(asarray(x), name=name)[0]


def _with_floats(name: str, x: ArrayLike) -> Array:
    """x as it is after meeting a Python float: integers have become weakly typed floats, and what
    is weakly typed is of the default dtype."""
    given = typeof(_checked(name, x))
    if is_inexact(given.dtype) and not (given.weak_type and given.dtype != default_float()):
        return _inexact(name, x)
    if is_complex(given.dtype):
        return _inexact(name, x)
    return conversion.convert_element_type(x, dtype=default_float(), weak_type=True)


def _with_integers(name: str, x: ArrayLike) -> Array:
    """x as it is after meeting a Python integer: Booleans have become weakly typed floats, and weak
    integers are of the default dtype."""
    return promote_inexact(asarray(_checked(name, x)), 0, name=name)[0]


def _only_inexact(name: str, x: ArrayLike) -> Array:
    given = typeof(_checked(name, x))
    if not is_inexact(given.dtype):
        raise TypeError(
            f"{name}: expected floating-point or complex elements, got {given.str_short()}"
        )
    return asarray(x)


def _no_bool(name: str, x: ArrayLike) -> Array:
    if is_bool(typeof(_checked(name, x)).dtype):
        raise TypeError(f"{name}: expected numbers, got Booleans")
    return asarray(x)


def _checked(name: str, x: ArrayLike) -> ArrayLike:
    check_arrays(name, x)
    return x


@whole()
def identity(x: ArrayLike) -> Array:
    """Return the array itself.

    Args:
      x: array_like.

    >>> import effax.nn as nn
    >>> nn.identity(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    check_arrays("identity", x)
    return elementwise.copy(asarray(x))


@whole()
def relu(x: ArrayLike) -> Array:
    """Return `max(x, 0)`, with derivative 0 at 0 (Bertoin et al. 2021), and where x is NaN.

    >>> import effax, effax.nn as nn
    >>> nn.relu(-1.0), float(effax.grad(nn.relu)(0.0))
    (Array(0., dtype=float32, weak_type=True), 0.0)
    """
    check_arrays("relu", x)
    values = promote(asarray(x), 0, name="relu")[0]
    return _relu(values) if is_inexact(typeof(values).dtype) else elementwise.max(values, 0)


@custom_jvp
def _relu(x: Array) -> Array:
    """As `max`, whose bounds and patterns are known to those who ask for them; but at 0 the
    derivative is not shared."""
    return elementwise.max(x, 0.0)


@_relu.defjvp
def _relu_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (t,) = primals, tangents
    largest = elementwise.max(x, 0.0)
    if is_complex(typeof(x).dtype):  # ordered by real parts, then by imaginary ones
        shared = logical.and_(comparison.eq(largest, x), comparison.ne(x, 0.0))
        return largest, select_n(shared, 0.0, t)
    return largest, select_n(comparison.gt(x, 0.0), 0.0, t)


@whole()
def relu6(x: ArrayLike) -> Array:
    """Return `min(max(x, 0), 6)`, with derivative 0 at 0 and 6.

    >>> import effax.nn as nn
    >>> nn.relu6(7.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return _relu6(_with_floats("relu6", x))


def _relu6(x: Array) -> Array:
    still = elementwise.stop_gradient(elementwise.min(elementwise.max(x, 0.0), 6.0))
    moving = logical.and_(greater(x, 0.0), greater(6.0, x))
    return select_n(moving, still, x)


@whole()
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """Return `(x + sqrt(x**2 + b)) / 2`.

    >>> import effax.nn as nn
    >>> nn.squareplus(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arrays("squareplus", x, b)
    if is_bool(typeof(x).dtype) and not is_inexact(typeof(b).dtype):
        x = _inexact("squareplus", x)
    x, b = promote_inexact(x, b, name="squareplus")
    if not is_complex(typeof(x).dtype):  # at -inf the slope is 0, and not NaN
        x = elementwise.max(x, float(finfo(typeof(x).dtype).min) / 4)
    root = elementwise.sqrt(elementwise.add(elementwise.square(x), b))
    if is_complex(typeof(root).dtype):
        return elementwise.div(elementwise.add(x, root), 2.0)
    sum_ = elementwise.add(elementwise.abs(x), root)
    # Where x is negative, x and the root nearly cancel; their product is known.
    below = greater(0.0, x)
    lower = elementwise.div(b, elementwise.mul(select_n(below, 1.0, sum_), 2.0))
    return select_n(below, elementwise.div(sum_, 2.0), lower)


@whole()
def softplus(x: ArrayLike) -> Array:
    """Return `log(1 + exp(x))`, without overflow.

    >>> import effax.nn as nn
    >>> nn.softplus(100.0)
    Array(100., dtype=float32, weak_type=True)
    """
    return _softplus(_with_integers("softplus", x))


def _softplus(x: Array) -> Array:
    """As `effax.numpy.logaddexp` with 0, whose complex results are strongly typed."""
    result = transcendental.logaddexp(x, 0.0)
    return strong(result) if is_complex(typeof(result).dtype) else result


@whole()
def sparse_plus(x: ArrayLike) -> Array:
    """Return 0 below -1, x above 1, and `(x + 1)**2 / 4` between them.

    >>> import effax.nn as nn
    >>> nn.sparse_plus(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    x = _with_floats("sparse_plus", x)
    between = elementwise.div(elementwise.square(elementwise.add(x, 1.0)), 4.0)
    above = select_n(greater_equal(x, 1.0), between, x)
    return select_n(greater_equal(-1.0, x), above, 0.0)


@whole()
def soft_sign(x: ArrayLike) -> Array:
    """Return `x / (abs(x) + 1)`.

    >>> import effax.nn as nn
    >>> nn.soft_sign(1.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    x = _with_integers("soft_sign", x)
    size = elementwise.add(elementwise.abs(x), 1.0)
    return elementwise.div(*promote_inexact(x, size, name="soft_sign"))


@whole()
def sigmoid(x: ArrayLike) -> Array:
    """Return `1 / (1 + exp(-x))`.

    >>> import effax.nn as nn
    >>> nn.sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return transcendental.logistic(_only_inexact("sigmoid", x))


@whole()
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Return `(x + 1) / 2`, clipped to [0, 1].

    >>> import effax.nn as nn
    >>> nn.sparse_sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    x = _with_floats("sparse_sigmoid", x)
    if is_complex(typeof(x).dtype):
        raise ValueError("sparse_sigmoid: expected real numbers, got complex ones")
    clipped = elementwise.min(elementwise.max(elementwise.add(x, 1.0), 0.0), 2.0)
    return elementwise.mul(clipped, 0.5)


@whole()
def silu(x: ArrayLike) -> Array:
    """Return `x * sigmoid(x)`, also called swish.

    >>> import effax.nn as nn
    >>> nn.silu(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    x = _only_inexact("silu", x)
    return elementwise.mul(x, transcendental.logistic(x))


swish = silu


@whole()
def mish(x: ArrayLike) -> Array:
    """Return `x * tanh(softplus(x))`.

    >>> import effax.nn as nn
    >>> nn.mish(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    x = _with_integers("mish", x)
    return elementwise.mul(x, transcendental.tanh(_softplus(x)))


@whole()
def log_sigmoid(x: ArrayLike) -> Array:
    """Return `log(sigmoid(x))`, without overflow.

    >>> import effax.nn as nn
    >>> nn.log_sigmoid(-100.0)
    Array(-100., dtype=float32, weak_type=True)
    """
    x = _with_integers("log_sigmoid", _no_bool("log_sigmoid", x))
    return elementwise.neg(_softplus(elementwise.neg(x)))


@whole()
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return x where it is positive, else `alpha * (exp(x) - 1)`.

    >>> import effax.nn as nn
    >>> nn.elu(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return _elu(*promote_inexact(_with_floats("elu", x), alpha, name="elu"))


def _above(x: Array, bound: float) -> Array:
    """Whether x is greater than a number; complex numbers are ordered by real, then imaginary part.

    So does `effax.numpy.greater`, and JAX with these functions.
    """
    return greater(x, bound) if is_complex(typeof(x).dtype) else comparison.gt(x, bound)


def _elu(x: Array, alpha: Any) -> Array:
    positive = _above(x, 0.0)
    # The side that is not used gets an argument at which its derivative is finite.
    below = transcendental.expm1(select_n(positive, x, 0.0))
    return select_n(positive, elementwise.mul(below, alpha), x)


@whole()
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """Return x where it is not negative, else `negative_slope * x`.

    >>> import effax.nn as nn
    >>> nn.leaky_relu(-100.0)
    Array(-1., dtype=float32, weak_type=True)
    """
    x, slope = promote(asarray(_checked("leaky_relu", x)), negative_slope, name="leaky_relu")
    below = elementwise.mul(x, slope)
    if is_complex(typeof(x).dtype):
        return select_n(greater_equal(x, 0), below, x)
    return select_n(comparison.ge(x, 0), below, x)


@whole()
def hard_tanh(x: ArrayLike) -> Array:
    """Return x clipped to [-1, 1].

    >>> import effax.nn as nn
    >>> nn.hard_tanh(3.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_arrays("hard_tanh", x)
    x = promote(asarray(x), 1, name="hard_tanh")[0]
    if is_unsigned(typeof(x).dtype):
        return elementwise.min(x, 1)
    above = select_n(greater(-1, x), x, -1)
    return select_n(greater(x, 1), above, 1)


@whole()
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return x where it is positive, else `alpha * (exp(x / alpha) - 1)`.

    >>> import effax.nn as nn
    >>> nn.celu(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    x, alpha = promote(_with_floats("celu", x), _with_floats("celu", alpha), name="celu")
    below = transcendental.expm1(elementwise.div(elementwise.min(x, 0.0), alpha))
    return elementwise.add(elementwise.max(x, 0.0), elementwise.mul(below, alpha))


@whole()
def selu(x: ArrayLike) -> Array:
    """Return the `elu` that keeps means and variances (Klambauer et al. 2017).

    Args:
      x: array_like.

    >>> import effax.nn as nn
    >>> nn.selu(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return elementwise.mul(_elu(_with_floats("selu", x), alpha), scale)


@whole("approximate")
def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Return x times the normal distribution's cumulative distribution (Hendrycks & Gimpel 2016).

    Args:
      x: array_like.
      approximate: whether to approximate the distribution function by a tanh.

    >>> import effax.nn as nn
    >>> nn.gelu(0.0)
    Array(0., dtype=float32)
    """
    x = _inexact("gelu", x)
    if typeof(x).weak_type:
        x = conversion.convert_element_type(x, dtype=typeof(x).dtype)
    if not approximate:
        tail = special.erfc(elementwise.mul(elementwise.neg(x), math.sqrt(0.5)))
        return elementwise.mul(elementwise.mul(x, 0.5), tail)
    cube = elementwise.mul(elementwise.integer_pow(x, y=3), 0.044715)
    angle = elementwise.mul(elementwise.add(x, cube), math.sqrt(2 / math.pi))
    below = elementwise.mul(elementwise.add(transcendental.tanh(angle), 1.0), 0.5)
    return elementwise.mul(x, below)


@whole("axis")
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Return the first half of an axis times the sigmoid of the second.

    Args:
      x: array_like, of floating-point or complex numbers.
      axis: the axis to halve; negative ones count from the end.

    Raises:
      ValueError: where the length of the axis is odd.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.glu(jnp.array([2.0, 0.0]))
    Array([1.], dtype=float32)
    """
    x = _only_inexact("glu", x)
    at = canonical_axis(axis, typeof(x).ndim)
    n = typeof(x).shape[at]
    if n % 2:
        raise ValueError(f"glu: axis {axis} has the length {n}, but it must be even")
    first, second = shapes.slice_axis(x, at, 0, n // 2), shapes.slice_axis(x, at, n // 2, n)
    return elementwise.mul(first, transcendental.logistic(second))


def _hard_sigmoid(x: Array) -> Array:
    return elementwise.div(_relu6(elementwise.add(x, 3.0)), 6.0)


@whole()
def hard_sigmoid(x: ArrayLike) -> Array:
    """Return `relu6(x + 3) / 6`.

    >>> import effax.nn as nn
    >>> nn.hard_sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return _hard_sigmoid(_with_floats("hard_sigmoid", x))


@whole()
def hard_silu(x: ArrayLike) -> Array:
    """Return `x * hard_sigmoid(x)`, also called hard swish.

    >>> import effax.nn as nn
    >>> nn.hard_silu(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    x = _with_floats("hard_silu", x)
    return elementwise.mul(x, _hard_sigmoid(x))


hard_swish = hard_silu


@whole()
def tanh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic tangent.

    Args:
      x: array_like.

    >>> import effax.nn as nn
    >>> nn.tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.tanh(_inexact("tanh", x))


@whole()
def log1mexp(x: ArrayLike) -> Array:
    """Return `log(1 - exp(-x))` for positive x, exact at both ends (Mächler 2012).

    >>> import effax.nn as nn
    >>> nn.log1mexp(float("inf"))
    Array(-0., dtype=float32, weak_type=True)
    """
    x = _inexact("log1mexp", _no_bool("log1mexp", x))
    small = greater(math.log(2.0), x)  # complex numbers are ordered by their real parts first
    # Each formula gets only arguments at which its derivative is finite.
    near = select_n(small, 0.5, x)
    far = select_n(small, x, 1.0)
    by_expm1 = transcendental.log(elementwise.neg(transcendental.expm1(elementwise.neg(near))))
    by_log1p = transcendental.log1p(elementwise.neg(transcendental.exp(elementwise.neg(far))))
    return select_n(small, by_log1p, by_expm1)
