"""The shared part of all distributions: promotion, and functions derived from other functions.

A distribution is a module that writes down what is its own (a log-density, a distribution
function) and derives the rest: densities from log-densities, tails from distribution functions.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import textwrap
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, overload

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import is_complex, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import strong
from effax.scipy.normal import ComplexError

P = ParamSpec("P")


@overload
def elementwise(function: Callable[P, Array], /) -> Callable[P, Array]: ...
@overload
def elementwise(
    *, weak: str = ..., complex: bool = ...
) -> Callable[[Callable[P, Array]], Callable[P, Array]]: ...
def elementwise(
    function: Any = None, /, *, weak: str = "of a scalar point", complex: bool = False
) -> Any:
    """A function of floats of one dtype, in which its arguments, defaults and all, meet.

    They broadcast as NumPy's do. The result is NaN where any of them is: comparisons with the
    bounds of a support are false for NaN, and would hide it. Called eagerly it is one executable.

    Weak types are as JAX's: where the first argument is an array the result is not weak, whatever
    it meets; but some functions keep weakness (`weak="kept"`), and some never do (`"never"`), or
    never where the result is an array (`"scalars"`).

    Complex arguments are refused with `ComplexError`, unless the function is `complex`: one
    without a support to compare with, which analysis continues.
    """
    if function is None:
        return lambda function: _elementwise(function, weak, complex)
    return _elementwise(function, weak, complex)


def _elementwise(function: Callable[P, Array], weak: str, complex: bool) -> Callable[P, Array]:
    signature = inspect.signature(function)
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    @wraps(function)
    def promoted(*args: P.args, **keywords: P.kwargs) -> Array:
        bound = signature.bind(*args, **keywords)
        given = len(bound.arguments)
        bound.apply_defaults()
        operands: list[Any] = floats(name, *bound.arguments.values())
        if not complex and is_complex(typeof(operands[0]).dtype):
            raise ComplexError(f"stats.{name}: arguments must be real, got a complex one")
        gap = functools.reduce(operator.or_, map(jnp.isnan, operands[:given]))
        # Added, not selected, so that derivatives of NaN are NaN.
        value = function(*operands) + jnp.where(gap, math.nan, 0)  # type: ignore[call-arg]
        if weak == "kept":
            kept = all(typeof(x).weak_type for x in operands)
            return convert_element_type(value, dtype=typeof(value).dtype, weak_type=kept)
        seen = value if weak == "scalars" else operands[0]
        return strong(value) if weak == "never" or typeof(seen).ndim > 0 else value

    return whole()(promoted)


def defined(value: ArrayLike, *conditions: Any) -> Array:
    """The value where the parameters are what they may be, else NaN, as in JAX and SciPy."""
    return jnp.where(functools.reduce(operator.and_, conditions), value, math.nan)


_MEANINGS = {
    "pdf": "Evaluate the probability density function.",
    "pmf": "Evaluate the probability mass function.",
    "cdf": "Evaluate the cumulative distribution function, the probability of at most x.",
    "logcdf": "Evaluate the logarithm of `cdf`.",
    "sf": "Evaluate the survival function, the probability of more than x.",
    "logsf": "Evaluate the logarithm of the survival function.",
}


def _derived(
    name: str,
    function: Callable[P, Array],
    operation: Callable[[Array], Array],
    args: str,
    answer: str,
) -> Callable[P, Array]:
    @wraps(function)
    def derived(*args: P.args, **keywords: P.kwargs) -> Array:
        return operation(function(*args, **keywords))

    module = function.__module__.rpartition(".")[2]
    derived.__name__ = derived.__qualname__ = name
    # The arguments are the function's own, and only its docstring names them.
    named = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    named = textwrap.indent(f"Args:\n{named}\n\n", "    ")
    imported = "    >>> import effax.numpy as jnp\n" if "jnp." in args else ""
    derived.__doc__ = (
        f"{_MEANINGS[name]}\n\n{named}{imported}    >>> from effax.scipy.stats import {module}\n"
        f"    >>> round(float({module}.{name}({args})), 3)\n    {answer}\n    "
    )
    return whole()(derived)


def log1mexp(x: Array) -> Array:
    """Return `log(1 - exp(-x))` for x >= 0, exact for small x and for large: -inf at 0."""
    small = x < math.log(2)
    # Never of 0 itself, whose derivative would be NaN, as 0 * inf.
    near, far = jnp.where(small & (x != 0), x, 1), jnp.where(small, 1, x)
    value = jnp.where(small, jnp.log(-jnp.expm1(-near)), jnp.log1p(-jnp.exp(-far)))
    return jnp.where(x == 0, -math.inf, value)


def log1mexp_of_exp(x: Any) -> Array:
    """Return `log1mexp(exp(x))` also where the inner exponential is too small or too large.

    It is x to half an `exp(x)`, so x itself where that is below the precision.
    """
    least = math.log(jnp.finfo(x.dtype).eps)
    value = log1mexp(jnp.exp(jnp.clip(x, least, 10)))
    return jnp.where(x < least, x, value)


def exp(x: Array) -> Array:
    """The exponential, NaN of NaN.

    XLA's own on the CPU (0.10.2) gives what was in memory where it sees that a vector is all NaN.
    """
    return jnp.where(jnp.isnan(x), x, jnp.exp(x))


def exponential(
    name: str, function: Callable[P, Array], args: str, answer: str
) -> Callable[P, Array]:
    """`exp` of a function under another name; args and answer are the docstring's example."""
    return _derived(name, function, exp, args, answer)


def logarithm(
    name: str, function: Callable[P, Array], args: str, answer: str
) -> Callable[P, Array]:
    """`log` of a function."""
    return _derived(name, function, jnp.log, args, answer)


def complement(
    name: str, function: Callable[P, Array], args: str, answer: str
) -> Callable[P, Array]:
    """1 minus a function."""
    return _derived(name, function, lambda x: 1 - x, args, answer)
