"""Checks that derivatives make of arguments: real inputs and outputs, matching tangents, and
auxiliary results set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np

from effax.api.calling.arguments import as_tuple, name_of, normalise
from effax.backends.xla.array import asarray
from effax.effects.effect import LITERALS
from effax.effects.errors import RefError
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.rows.conversion import convert_element_type, number
from effax.effects.rows.state import AbstractRef, Ref
from effax.effects.tree import tree_map
from effax.effects.types import (
    ShapedArray,
    canonical_dtype,
    float0,
    is_complex,
    is_inexact,
    typeof,
)
from effax.effects.value import Value, length
from effax.interpreters.jvp.dual import tangent_type, zeros


def float0_zeros(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Tangents of integers and Booleans: nothing, in that shape."""
    return np.zeros(shape, float0)


def as_value(x: Any) -> Any:
    """A value to differentiate by: an array, or a carrier. Python numbers become weak arrays."""
    if isinstance(x, Value):
        return x
    if innermost() is bottom or isinstance(x, np.ndarray):
        return asarray(x)
    return number(x, typeof(x)) if type(x) in LITERALS else x


def check_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents, None for `float0` ones.

    Raises `TypeError` where a dtype, `ValueError` where a shape does not match.
    """
    return [
        _tangent_ref(p, t) if isinstance(p, Ref) else check_tangent(typeof(p), t)
        for p, t in zip(primals, tangents, strict=True)
    ]


def check_tangent(primal: ShapedArray, tangent: Any) -> Any:
    """The tangent of a primal of that type, None for a `float0` one; see `check_tangents`."""
    expected = tangent_type(primal)
    if expected.dtype == float0:
        given = getattr(tangent, "dtype", None)
        if given != float0:
            raise TypeError(
                "primal and tangent arguments to jvp do not match: the tangent of an integer "
                f"or Boolean primal ({primal.str_short()}) must have dtype float0, as "
                f"np.zeros({expected.shape}, effax.dtypes.float0) has; it has {given}"
            )
        if tangent.shape != expected.shape:
            raise ValueError(
                "primal and tangent arguments to jvp do not match: the primal is "
                f"{primal.str_short()}, its tangent of dtype float0 has the shape {tangent.shape}"
            )
        return None
    actual = typeof(tangent)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        refuse = TypeError if actual.dtype != expected.dtype else ValueError
        raise refuse(
            "primal and tangent arguments to jvp do not match; dtypes and shapes must be equal: "
            f"the primal is {primal.str_short()}, its tangent should be {expected.str_short()}, "
            f"but is {actual.str_short()}"
        )
    return as_value(tangent)


def _tangent_ref(primal: Ref, tangent: Any) -> Ref:
    expected = AbstractRef(tangent_type(primal.type.inner_aval))
    if not isinstance(tangent, Ref) or tangent.type.update(weak_type=False) is not expected.update(
        weak_type=False
    ):
        raise TypeError(
            "primal and tangent arguments to jvp do not match: the tangent of a reference is a "
            f"reference of type {expected!r}, but it is {tangent!r}"
        )
    return tangent


def refuse_references(leaves: Sequence[Any]) -> None:
    """Raise `RefError` for references among what a function is to be differentiated by."""
    for x in leaves:
        if isinstance(x, Ref):
            raise RefError(
                f"can't differentiate with respect to the reference {x!r}, as its contents change "
                "while the function runs: differentiate with respect to an array and make the "
                "reference from it inside; leave references out of argnums, or close over them"
            )


def _named(x: Any) -> str:
    return repr(x) if isinstance(x, Carrier) else type(x).__name__


def with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    """A result as the pair that `has_aux` promises; raises `TypeError` for anything else."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True, {name_of(fun)} must return a two-element tuple (value, auxiliary "
            f"data); it returned {_named(result)}"
        )
    return result[0], result[1]


def split_aux(fun: Callable[..., Any], has_aux: bool) -> tuple[Callable[..., Any], list[Any]]:
    """A function without its auxiliary result, and a list that holds it after the call."""
    kept: list[Any] = []
    if not has_aux:
        return fun, kept

    def value_only(*args: Any, **keywords: Any) -> Any:
        value, aux = with_aux(fun, fun(*args, **keywords))
        kept[:] = [aux]
        return value

    return value_only, kept


def plain_aux(aux: Any) -> Any:
    """Auxiliary data as it is outside the differentiation that it was computed in."""

    def strip(x: Any) -> Any:
        while isinstance(x, Carrier) and not x.handler.live and (left := x.left()) is not x:
            x = left
        return x

    return tree_map(strip, aux)


def check_inputs(
    fun: Callable[..., Any],
    places: Sequence[int],
    leaves: Sequence[Any],
    tree: Any,
    holomorphic: bool,
    allow_int: bool | None,
    what: str,
) -> None:
    """Raise `TypeError` for arguments that can not be differentiated by, with their names.

    `leaves` and `tree` are of the pair of the arguments at these places, and no keywords.
    `allow_int` is None where the function of effax called `what` has no such option.
    """
    for i, x in enumerate(leaves):
        try:
            check_input(x, holomorphic, allow_int, what)
        except TypeError as error:
            from effax.api.calling.signatures import Parameters, leaf_names

            parameters = Parameters.of(fun)
            chosen = Parameters(tuple([parameters.first(n + 1)[n] for n in places]))
            named = leaf_names(chosen, tree)[i]
            raise TypeError(f"{error} (the argument {named} of {name_of(fun)})") from None


_FORWARD: Final = frozenset(["jacfwd", "hessian"])
"""The functions that differentiate forwards, by real arguments only."""


def check_input(x: Any, holomorphic: bool, allow_int: bool | None, what: str) -> None:
    """Raise `TypeError` for an argument that can not be differentiated by."""
    t = typeof(x)
    if holomorphic:
        if not is_complex(t.dtype):
            raise TypeError(
                f"{what} with holomorphic=True requires inputs with complex dtype, but got "
                f"{t.dtype.name}"
            )
        return
    if what in _FORWARD and is_complex(t.dtype):
        raise TypeError(
            f"{what} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {t.dtype.name}; pass holomorphic=True for a function that is holomorphic, or "
            "use vjp for one that is not"
        )
    if not is_inexact(t.dtype) and not allow_int:
        kinds = (
            ("real-", "np.floating") if what in _FORWARD else ("real- or complex-", "np.inexact")
        )
        raise TypeError(
            f"{what} requires {kinds[0]}valued inputs (input dtype that is a "
            f"sub-dtype of {kinds[1]}), but got {t.dtype.name}. Pass floats"
            + ("" if allow_int is None else ", or allow_int=True for a float0 derivative")
        )


def check_output(x: Any, holomorphic: bool, what: str) -> None:
    """Raise `TypeError` for a result that has no derivative."""
    t = typeof(x)
    if holomorphic:
        if not is_complex(t.dtype):
            raise TypeError(
                f"{what} with holomorphic=True requires outputs with complex dtype, but got "
                f"{t.dtype.name}"
            )
        return
    if what in _FORWARD:
        return
    if is_complex(t.dtype):
        raise TypeError(
            f"{what} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {t.dtype.name}; pass holomorphic=True for a function that is "
            "holomorphic, or use vjp for one that is not"
        )
    if not is_inexact(t.dtype):
        raise TypeError(
            f"{what} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {t.dtype.name}: integers and Booleans have no derivative; "
            "for a step function, whose derivative is zero, convert the result with .astype(float)"
        )


def chosen(argnums: int | Sequence[int], args: Sequence[Any], what: str) -> tuple[int, ...]:
    """The positions that `argnums` names; raises `TypeError` for those that are not there."""
    if type(argnums) is int and 0 <= argnums < len(args):
        return (argnums,)
    numbers = as_tuple(argnums)
    for n in numbers:
        if not isinstance(n, (int, np.integer)):
            raise TypeError(f"argnums must be an integer or a tuple of integers, got {argnums!r}")
    if not args or any(n >= len(args) for n in numbers):
        raise TypeError(
            f"differentiating with respect to argnums={argnums} requires at least "
            f"{max(numbers, default=0) + 1} positional arguments to be passed by the caller, but "
            f"got only {len(args)} positional arguments."
        )
    return normalise(numbers, len(args), what)


def with_chosen(
    fun: Callable[..., Any],
    places: Sequence[int],
    args: Sequence[Any],
    keywords: dict[str, Any],
) -> Callable[..., Any]:
    """A function of the arguments at these places, the others fixed."""

    def of_chosen(*chosen: Any) -> Any:
        filled = list(args)
        for i, x in zip(places, chosen, strict=True):
            filled[i] = x
        return fun(*filled, **keywords)

    return of_chosen


def check_cotangent(ct: Any, type: ShapedArray) -> Any:
    """A cotangent of a result of that type; raises `ValueError` for another shape or dtype."""
    expected = tangent_type(type)
    if expected.dtype == float0:
        return None
    found = typeof(ct)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            "unexpected effax type for a cotangent: the vjp function got one of type "
            f"{found.str_short()}, and needs {expected.str_short()}, as the function's result is "
            f"{type.str_short()}"
        )
    return as_value(ct)


def cotangent_of(ct: Any, type: ShapedArray) -> Any:
    """A cotangent to give back: of the argument's type, as weak as it; zeros where it is None."""
    return cotangent_of_kind(ct, tangent_type(type))


def cotangent_of_kind(ct: Any, kind: ShapedArray) -> Any:
    """A cotangent of that type itself, as `cotangent_of` gives it."""
    if ct is None:
        return float0_zeros(kind.shape) if kind.dtype == float0 else zeros(kind)
    if typeof(ct).weak_type == kind.weak_type:
        return ct
    if innermost() is bottom:
        return asarray(ct, kind)
    return convert_element_type(ct, dtype=kind.dtype, weak_type=kind.weak_type)


def typeof_like(x: Any) -> ShapedArray:
    """The type of a value, or of what stands for one (`ShapeDtypeStruct`)."""
    if isinstance(x, AbstractRef):
        return x  # type: ignore[return-value]
    if hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__"):
        dtype = canonical_dtype(np.dtype(x.dtype))
        typed = getattr(getattr(x, "sharding", None), "typed", None)
        shape = tuple(map(length, x.shape))
        found = ShapedArray(shape, dtype, getattr(x, "weak_type", False))
        return found if typed is None else cast(ShapedArray, typed(found))
    return typeof(x)
