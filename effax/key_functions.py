"""Functions of `numpy` and `lax` that take arrays of random keys.

What moves elements about without looking at them (`stack`, `where`, `take`, `lax.slice`, ...) takes
keys: it is mapped over their words, as by `vmap` along the last axis, so that the function sees the
shapes of the keys. `STRUCTURAL` is the table of them, and the one place that says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, Final

from effax.effects.frames import boundary, filtered, strip
from effax.effects.tree import tree_flatten, tree_leaves, tree_unflatten
from effax.effects.types import canonical_shape, uint32
from effax.key_arrays import KeyArray, KeyType, is_keys, over_words

_PAIRED: Final = ("operand", "update")
STRUCTURAL: Final[dict[str, tuple[str, ...]]] = {
    "append": ("arr", "values"),
    "atleast_1d": ("arys",),
    "atleast_2d": ("arys",),
    "atleast_3d": ("arys",),
    "broadcast_arrays": ("args",),
    "choose": ("choices",),
    "compress": ("a",),
    "dynamic_update_index_in_dim": _PAIRED,
    "dynamic_update_slice": _PAIRED,
    "dynamic_update_slice_in_dim": _PAIRED,
    "extract": ("arr",),
    "full": ("fill_value",),
    "full_like": ("a", "x", "fill_value"),
    "insert": ("arr", "values"),
    "meshgrid": ("xi",),
    "put_along_axis": ("arr", "values"),
    "select": ("choicelist", "default", "on_true", "on_false"),
    "select_n": ("cases",),
    "where": ("x", "y"),
} | dict.fromkeys(
    (
        *("array", "array_split", "asarray", "block", "broadcast", "broadcast_in_dim"),
        *("broadcast_to", "broadcast_to_rank", "collapse", "column_stack", "concat"),
        *("concatenate", "copy", "delete", "diagonal", "dsplit", "dstack"),
        *("dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "empty_like"),
        *("expand_dims", "flip", "fliplr", "flipud", "gather", "hsplit", "hstack"),
        *("index_in_dim", "index_take", "matrix_transpose", "moveaxis", "ones_like"),
        *("permute_dims", "ravel", "repeat", "reshape", "resize", "rev", "roll", "rollaxis"),
        *("rot90", "slice", "slice_in_dim", "split", "squeeze", "stack", "swapaxes", "take"),
        *("take_along_axis", "tile", "transpose", "unstack", "vsplit", "vstack", "zeros_like"),
    ),
    (),
)
"""Functions of `numpy` and `lax` that take keys: which parameters hold them, the first if none."""


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    from effax import numpy as jnp

    return (a == b).all() if a.shape == b.shape else jnp.asarray(False)


FILLING: Final = ("zeros", "ones", "empty")
"""Functions that make keys of a shape where they are given a dtype of keys."""
ANSWERS: Final[dict[str, Callable[..., Any]]] = {
    "shape": lambda keys: keys.shape,
    "ndim": lambda keys: keys.ndim,
    "size": lambda keys: keys.size,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "array_equal": _array_equal,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
"""Functions whose results for keys are not keys."""


def accept_keys(namespace: dict[str, Any]) -> None:
    """Let the structural functions of a public namespace take arrays of keys."""
    for name in (*STRUCTURAL, *ANSWERS):
        function = namespace.get(name)
        if type(function) is FunctionType:
            namespace[name] = _accepting(function, name)
    for name in FILLING:
        if name in namespace:
            namespace[name] = _filling(namespace[name])


def _filling(function: Callable[..., Any]) -> Callable[..., Any]:
    @filtered
    @wraps(function)
    def call(shape: Any, dtype: Any = None, **keywords: Any) -> Any:
        if type(dtype) is not KeyType:
            return function(shape, dtype, **keywords)
        words = function((*canonical_shape(shape), dtype.width), uint32, **keywords)
        return KeyArray(words, implementation=dtype.implementation)

    return call


def _has_keys(x: Any) -> bool:
    kind = type(x)
    return kind is KeyArray or (kind in (list, tuple) and len(x) > 0 and _has_keys(x[0]))


def _accepting(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @boundary
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            for x in args:
                kind = type(x)
                if kind is KeyArray or ((kind is list or kind is tuple) and _has_keys(x)):
                    return on_keys(args, keywords)
            if keywords and any(map(_has_keys, keywords.values())):
                return on_keys(args, keywords)
            return function(*args, **keywords)
        except Exception as error:
            strip(error)
            raise

    def on_keys(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if name in ANSWERS:
            return ANSWERS[name](*args, **keywords)
        _check(function, name, args, keywords)
        leaves, tree = tree_flatten((args, keywords), is_leaf=is_keys)
        places = [i for i, x in enumerate(leaves) if is_keys(x)]

        def of_words(*words: Any) -> Any:
            filled = dict(zip(places, words, strict=True))
            given, named = tree_unflatten(tree, [filled.get(i, x) for i, x in enumerate(leaves)])
            return function(*given, **named)

        return over_words(of_words, *[leaves[i] for i in places])

    return call


def _check(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    """Raise where keys stand for indices, or meet what is no key, or keys of another kind."""
    bound = inspect.signature(function).bind(*args, **keywords).arguments
    data = STRUCTURAL[name] or (next(iter(bound)),)
    dtypes = {
        getattr(x, "dtype", type(x))
        for p in data
        for x in tree_leaves(bound.get(p), is_leaf=is_keys)
    }
    if len(dtypes) > 1:
        listed = ", ".join(sorted(map(str, dtypes)))
        raise ValueError(f"{name}: keys take no part in promotion, and meet here: {listed}")
    for p, x in bound.items():
        if p not in data and any(map(is_keys, tree_leaves(x, is_leaf=is_keys))):
            raise TypeError(f"{name} takes no random keys as {p}")
