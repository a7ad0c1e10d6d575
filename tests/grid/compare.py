"""Whether two results agree: shape, dtype, weak type, and values as near as their dtype allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tests.grid.ask import Answer, Leaf
from tests.grid.case import is_complex, is_inexact

# How many units in the last place two orders of the same operations may lie apart, by item size.
UNITS = {8: 256, 4: 64, 2: 4, 1: 1}
SHOWN = 200
"""Elements up to which a difference shows all of them."""
# Errors by which JAX says that it did not foresee a case: whatever we do is as good.
FAULTS = {"AssertionError", "KeyError", "JaxRuntimeError", "XlaRuntimeError", "NotImplementedError"}
FAULTS |= {"MLIRError", "TimeoutError", "UnboundLocalError", "RecursionError", "AttributeError"}
FAULTS |= {"ZeroDivisionError"}


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number."""
    dtype = np.dtype(dtype)
    if is_complex(dtype):
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    return float(ml_dtypes.finfo(dtype).eps)


def tolerance(dtype: Any) -> float:
    """The relative error that is let pass for a dtype."""
    dtype = np.dtype(dtype)
    if not is_inexact(dtype):
        return 0.0
    size = dtype.itemsize // 2 if is_complex(dtype) else dtype.itemsize
    return UNITS[size] * epsilon(dtype)


def _smallest(dtype: Any) -> float:
    """The smallest number of a dtype that is not subnormal; those may count as 0."""
    dtype = np.dtype(f"f{dtype.itemsize // 2}") if is_complex(dtype) else dtype
    return float(ml_dtypes.finfo(dtype).smallest_normal)


def widened(x: Any) -> np.ndarray[Any, Any]:
    """In a dtype of NumPy's own in which differences can be taken."""
    x = np.asarray(x)
    if x.dtype.itemsize == 0:  # float0: only the shape tells
        return np.zeros(x.shape, bool)
    if is_complex(x.dtype):
        return x.astype(np.complex128)
    if is_inexact(x.dtype):
        return x.astype(np.float64)
    return x if x.dtype.kind in "biu" else x.astype(np.int64)


def near(
    found: Any,
    wanted: Any,
    *,
    slack: float = 1.0,
    scale: float | None = None,
    alone: bool = False,
) -> Any:
    """Return which elements of two arrays of one shape agree. The dtype of `wanted` says how near
    they must be; `scale` is the size of what was added up, if larger than the results. With `alone`
    each element is compared by itself, and may be off by so much of its own size only."""
    f, w = widened(found), widened(wanted)
    if not is_inexact(w.dtype):
        return f == w
    rtol = tolerance(np.asarray(wanted).dtype) * slack
    with np.errstate(all="ignore"):
        size = np.abs(w)
        if alone:
            greatest = 4 * _smallest(np.asarray(wanted).dtype) / rtol
        else:
            greatest = float(np.max(size, where=np.isfinite(size), initial=0.0))
            greatest = max(greatest, scale or 0.0)
        good = np.abs(f - w) <= rtol * (size + greatest)
        good |= (f == w) | (np.isnan(f) & np.isnan(w))
        if is_complex(w.dtype):
            good |= _parts(f.real, w.real, rtol) & _parts(f.imag, w.imag, rtol)
    return good


def differ(found: Any, wanted: Any, **how: Any) -> str:
    """Return the difference of two arrays' values in words, or ""; `how` is that of `near`."""
    f, w = widened(found), widened(wanted)
    if f.shape != w.shape:
        return f"shape {f.shape} instead of {w.shape}"
    good = near(found, wanted, **how)
    if good.all():
        return ""
    if f.size <= SHOWN:
        return f"{f.tolist()} instead of {w.tolist()}"
    wrong = np.argwhere(~good)
    first = tuple(wrong[:5].T)
    return (
        f"{f[first].tolist()} instead of {w[first].tolist()} at {wrong[:5].tolist()}, "
        f"{len(wrong)} of {f.size} elements"
    )


def _parts(f: Any, w: Any, rtol: float) -> Any:
    """Of complex numbers, where one part is no number, or huge."""
    return (np.abs(f - w) <= rtol * np.abs(w)) | (f == w) | (np.isnan(f) & np.isnan(w))


def same_signs(found: Any, wanted: Any) -> str:
    """Whether zeros have the same signs."""
    f, w = widened(found), widened(wanted)
    if w.dtype.kind != "f":
        return ""
    wrong = (w == 0) & (f == 0) & (np.signbit(f) != np.signbit(w))
    return f"signs of zeros: {f.tolist()} instead of {w.tolist()}" if wrong.any() else ""


def compare_leaves(
    found: Sequence[Leaf | str],
    wanted: Sequence[Leaf | str],
    *,
    slack: float = 1.0,
    scale: float | None = None,
    weak: bool = True,
    signs: bool = False,
    defined: Callable[[Any], Any] | None = None,
    alone: bool = False,
) -> str:
    """Return the difference of two results in words, or ""; `defined` is applied to both first."""
    if defined is not None:
        found, wanted = defined(found), defined(wanted)
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for f, w in zip(found, wanted, strict=True):
        if isinstance(f, str) or isinstance(w, str):
            if f != w:
                return f"{f} instead of {w}"
            continue
        if f.dtype != w.dtype:
            return f"dtype {f.dtype} instead of {w.dtype}"
        if weak and f.weak != w.weak and f.dtype != "bool":  # a weak bool is like any other
            return f"weak_type {f.weak} instead of {w.weak}"
        why = differ(f.values, w.values, slack=slack, scale=scale, alone=alone)
        if not why and signs:
            why = same_signs(f.values, w.values)
        if why:
            return why
    return ""


def compare_errors(found: Sequence[str], wanted: Sequence[str]) -> str:
    """Whether what was raised can be caught as what JAX raises."""
    if FAULTS.intersection(wanted):
        return ""
    if not found:
        return f"no error instead of {wanted[0]}"
    if wanted[0] == "TracerBoolConversionError" and "ConcretizationTypeError" in found:
        return ""  # what was made concrete first is an accident
    return "" if wanted[0] in found else f"{found[0]} instead of {wanted[0]}"


def compare(found: Answer, wanted: Answer, **how: Any) -> str:
    """Return an answer's difference from JAX's in words, or ""."""
    if wanted.leaves is None:
        return compare_errors(found.error, wanted.error)
    if found.leaves is None:
        return f"{found.error[0]} instead of a result"
    why = compare_leaves(found.leaves, wanted.leaves, **how)
    if not why and wanted.traced:
        why = compare_errors(found.traced, wanted.traced)
    elif not why and found.traced:
        why = f"{found.traced[0]} when traced"
    return why and f"{why}"
