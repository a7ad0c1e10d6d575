"""Derivatives checked against finite differences, in one random direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from effax.api.derivatives.forward import jvp
from effax.api.derivatives.reverse import vjp
from effax.dtypes import finfo, float0, issubdtype, result_type
from effax.tree_util import tree_leaves, tree_map

__all__ = ["check_grads", "check_jvp", "check_vjp"]
__dir__ = __all__.copy

_STEP = 1e-4
_EXACT_STEP = 2.0**-11
_SEED = 0

# Error bounds by the dtype in which differences are taken: the error of a central difference with
# the step above is about (unit of rounding) / step, relative to the size of the values.
_BOUNDS = {2: 1e-1, 4: 2e-3, 8: 1e-5}


def _inexact(x: Any) -> bool:
    return issubdtype(result_type(x), np.inexact)


def _bound(tree: Any, given: float | None) -> float:
    if given is not None:
        return given
    sizes = [finfo(result_type(x)).bits // 8 for x in tree_leaves(tree) if _inexact(x)]
    return _BOUNDS.get(min(sizes, default=8), 1e-1)


def _direction(generator: np.random.Generator, x: Any) -> np.ndarray:
    """A random tangent of x: float0 zeros where x has none."""
    dtype = result_type(x)
    if not _inexact(x):
        return np.zeros(np.shape(x), float0)
    drawn = _signed(generator, np.shape(x))
    if issubdtype(dtype, np.complexfloating):
        drawn = drawn + 1j * _signed(generator, np.shape(x))
    return np.asarray(drawn, dtype)


def _signed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of size 1/2 to 3/2: a direction near zero would hide an error below the bounds."""
    return generator.choice([-1.0, 1.0], shape) * generator.uniform(0.5, 1.5, shape)


def _moved(x: Any, tangent: Any, step: float) -> Any:
    if not _inexact(x):
        return x
    x = np.asarray(x, tangent.dtype)
    return np.asarray(x + (step * tangent).astype(x.dtype), x.dtype)


def _difference(f: Callable[..., Any], args: Any, tangents: Any, step: float) -> Any:
    """Central difference of f at args along the tangents, in float64 or complex128."""

    def along(step: float) -> Any:
        return f(*tree_map(partial(_moved, step=step), args, tangents))

    def quotient(above: Any, below: Any) -> np.ndarray:
        if not _inexact(above):
            return np.zeros(np.shape(above), float0)
        wide = np.complex128 if np.iscomplexobj(above) else np.float64
        return (np.asarray(above).astype(wide) - np.asarray(below).astype(wide)) / (2 * step)

    return tree_map(quotient, along(step), along(-step))


def _compare(found: Any, expected: Any, atol: float, rtol: float, message: str) -> None:
    def one(a: Any, b: Any) -> None:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == float0 or b.dtype == float0:
            return
        wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
        np.testing.assert_allclose(
            a.astype(wide), b.astype(wide), rtol=rtol, atol=atol, err_msg=message
        )

    tree_map(one, found, expected)


# Relative errors of results of a few operations, by the size of a component.
_ROUNDING = {1: 1e-1, 2: 1e-2, 4: 1e-6, 8: 1e-15}


Tolerance: TypeAlias = float | Mapping[Any, float] | None


def check_close(
    xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = ""
) -> None:
    """Raise `AssertionError` unless two trees of arrays are close, leaf by leaf.

    Args:
      xs, ys: trees of arrays, of one structure.
      atol, rtol: bounds on the absolute and the relative error, or bounds by dtype. Those that are
        not given are those of rounding in the coarser dtype of two leaves; integers must be equal.
      err_msg: what the error says besides.

    >>> check_close({"a": 1.0}, {"a": 1.0 + 1e-9})
    """

    def one(x: Any, y: Any) -> None:
        kinds = [result_type(v) for v in (x, y) if _inexact(v)]
        coarser = min(kinds, key=lambda t: finfo(t).bits, default=None)
        bounds = (0.0, 0.0) if coarser is None else (_within(atol, coarser), _within(rtol, coarser))
        _compare(x, y, *bounds, err_msg)

    tree_map(one, xs, ys)


def _within(given: Tolerance, dtype: Any) -> float:
    if isinstance(given, Mapping):
        named = {np.dtype(key): bound for key, bound in given.items()}
        given = named.get(np.dtype(dtype))
    return _ROUNDING[finfo(dtype).bits // 8] if given is None else given


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a forward derivative of `f` at `args` with a central difference.

    One random direction is tried (the same at each call). Arguments and results are pytrees; leaves
    not of a floating dtype have no tangents and are not compared.

    Args:
      f: the function.
      f_jvp: its derivative: `f_jvp(primals, tangents)` gives the value and its tangent, as
        `partial(jvp, f)` does.
      args: the arguments of `f`.
      atol, rtol: bounds on the absolute and the relative error; by default they fit the narrowest
        dtype: 1e-5 for float64, 2e-3 for float32, 0.1 below.
      eps: the step of the difference.
      err_msg: the beginning of the error message.

    Raises:
      AssertionError: where values or tangents differ.

    >>> import effax
    >>> import effax.numpy as jnp
    >>> from functools import partial
    >>> check_jvp(jnp.sin, partial(effax.jvp, jnp.sin), (0.5,))
    """
    args = tuple(args)
    generator = np.random.default_rng(_SEED)
    tangents = tree_map(partial(_direction, generator), args)
    value, tangent = f_jvp(args, tangents)
    plain = f(*args)
    bounds = _bound((args, plain), atol), _bound((args, plain), rtol)
    prefix = f"{err_msg} " if err_msg else ""
    _compare(value, plain, *bounds, f"{prefix}value of the JVP")
    expected = _difference(f, args, tangents, eps)
    _compare(tangent, expected, *bounds, f"{prefix}tangent of the JVP")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Compare a reverse derivative of `f` at `args` with a central difference.

    For a random tangent t and cotangent c, the sum of c * (df t) is compared with that of
    (c df) * t. Leaves are treated as by `check_jvp`.

    Args:
      f: the function.
      f_vjp: its derivative: `f_vjp(*args)` gives the value and the map of cotangents, as
        `partial(vjp, f)` does.
      args: the arguments of `f`.
      atol, rtol: bounds on the absolute and the relative error; by default they fit the narrowest
        dtype: 1e-5 for float64, 2e-3 for float32, 0.1 below.
      eps: the step of the difference.
      err_msg: the beginning of the error message.

    Raises:
      AssertionError: where values or derivatives differ.

    >>> import effax
    >>> import effax.numpy as jnp
    >>> from functools import partial
    >>> check_vjp(jnp.sin, partial(effax.vjp, jnp.sin), (0.5,))
    """
    args = tuple(args)
    generator = np.random.default_rng(_SEED)
    value, pull = f_vjp(*args)
    plain = f(*args)
    bounds = _bound((args, plain), atol), _bound((args, plain), rtol)
    prefix = f"{err_msg} " if err_msg else ""
    _compare(value, plain, *bounds, f"{prefix}value of the VJP")
    tangents = tree_map(partial(_direction, generator), args)
    cotangents = tree_map(partial(_direction, generator), plain)
    moved = _difference(f, args, tangents, eps)
    pulled = pull(cotangents)
    expected = _inner(moved, cotangents)
    _compare(_inner(tangents, pulled), expected, *bounds, f"{prefix}cotangent of the VJP")


def _inner(left: Any, right: Any) -> np.ndarray:
    """The sum of products over all leaves, in float64 (complex128)."""

    def one(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == float0 or b.dtype == float0:
            return 0.0
        wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
        return np.sum(a.astype(wide) * b.astype(wide))

    return np.asarray(sum(tree_leaves(tree_map(one, left, right))))


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives of `f` at `args` with central differences.

    From the second order on each mode is applied to each derivative. One random direction is tried
    for each. Leaves are treated as by `check_jvp`.

    Args:
      f: the function.
      args: the arguments of `f`.
      order: the highest order of derivatives.
      modes: "fwd" for forward and "rev" for reverse derivatives.
      atol, rtol: bounds on the absolute and the relative error; by default they fit the narrowest
        dtype: 1e-5 for float64, 2e-3 for float32, 0.1 below.
      eps: the step of the differences; by default 2^-11.

    Raises:
      AssertionError: where derivatives differ.
      ValueError: for other modes.

    >>> import effax.numpy as jnp
    >>> check_grads(lambda x: jnp.sin(x) * x, (0.5,), order=2)
    """
    unknown = [mode for mode in modes if mode not in ("fwd", "rev")]
    if unknown:
        raise ValueError(f"check_grads: modes must be 'fwd' or 'rev', got {unknown}")
    step = _EXACT_STEP if eps is None else eps

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, path: str) -> None:
        if "fwd" in modes:
            here = f"{path}jvp"
            check_jvp(f, partial(jvp, f), args, atol, rtol, step, f"{here} of")
            if order > 1:
                check(lambda *a: jvp(f, a, _fixed(a)), args, order - 1, f"{here} of ")
        if "rev" in modes:
            here = f"{path}vjp"
            check_vjp(f, partial(vjp, f), args, atol, rtol, step, f"{here} of")
            if order > 1:
                check(lambda *a: _vjp_along(f, a), args, order - 1, f"{here} of ")

    check(f, tuple(args), order, "")


def _fixed(tree: Any) -> Any:
    """A direction for each leaf, that does not depend on its value (which may be traced)."""
    return tree_map(partial(_direction, np.random.default_rng(_SEED + 1)), tree)


def _vjp_along(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    value, pull = vjp(f, *args)
    return value, pull(_fixed(value))
