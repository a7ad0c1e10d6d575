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

import numpy as np

from effax.effects.frames import boundary, strip
from effax.effects.tree import tree_flatten, tree_leaves, tree_unflatten
from effax.effects.types import canonical_dtype, canonical_shape, typeof, uint32
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
    "insert": ("arr", "values"),
    "meshgrid": ("xi",),
    "put_along_axis": ("arr", "values"),
    "select": ("choicelist", "default", "on_true", "on_false"),
    "select_n": ("cases",),
    "where": ("x", "y"),
} | dict.fromkeys(
    (
        *("array_split", "block", "broadcast", "broadcast_in_dim"),
        *("broadcast_to", "broadcast_to_rank", "collapse", "column_stack", "concat"),
        *("concatenate", "copy", "delete", "diagonal", "dsplit", "dstack"),
        *("dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim"),
        *("expand_dims", "flip", "fliplr", "flipud", "gather", "hsplit", "hstack"),
        *("index_in_dim", "index_take", "matrix_transpose", "moveaxis"),
        *("permute_dims", "ravel", "repeat", "reshape", "resize", "rev", "roll", "rollaxis"),
        *("rot90", "slice", "slice_in_dim", "split", "squeeze", "stack", "swapaxes", "take"),
        *("take_along_axis", "tile", "transpose", "unstack", "vsplit", "vstack"),
    ),
    (),
)
"""Functions of `numpy` and `lax` that take keys: which parameters hold them, the first if none."""


def _isclose(a: Any, b: Any, *tolerances: Any, **options: Any) -> Any:
    return a == b


def _allclose(a: Any, b: Any, *tolerances: Any, **options: Any) -> Any:
    return (a == b).all()


def _array_equal(a: Any, b: Any, equal_nan: bool = False) -> Any:
    from effax import numpy as jnp

    return (a == b).all() if a.shape == b.shape else jnp.asarray(False)


FILLING: Final = (
    *("zeros", "ones", "empty", "full"),
    *("zeros_like", "ones_like", "empty_like", "full_like"),
)
"""Functions that make an array of one value, of a dtype given or of that of another array."""
CONVERTING: Final = ("array", "asarray", "astype", "convert_element_type")
"""Functions that take an array and a dtype for it."""
ANSWERS: Final[dict[str, Callable[..., Any]]] = {
    "shape": lambda keys: keys.shape,
    "ndim": lambda keys: keys.ndim,
    "size": lambda keys: keys.size,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "array_equal": _array_equal,
    "isclose": _isclose,
    "allclose": _allclose,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
"""Functions whose results for keys are not keys."""


def accept_keys(namespace: dict[str, Any]) -> None:
    """Let the functions of a public namespace that have a meaning for arrays of keys take them."""
    meanings: dict[str, _Meaning] = {
        **dict.fromkeys(STRUCTURAL, _moved),
        **dict.fromkeys(ANSWERS, _answered),
        **dict.fromkeys(FILLING, _filled),
        **dict.fromkeys(CONVERTING, _converted),
    }
    for name, meaning in meanings.items():
        function = namespace.get(name)
        if type(function) is FunctionType:
            namespace[name] = _accepting(function, name, meaning)


_Meaning = Callable[[Callable[..., Any], str, tuple[Any, ...], dict[str, Any]], Any]
_KEYED: Final = frozenset({KeyArray, KeyType})


def _has_keys(x: Any) -> bool:
    kind = type(x)
    return kind in _KEYED or (kind in (list, tuple) and len(x) > 0 and _has_keys(x[0]))


def _accepting(function: Callable[..., Any], name: str, meaning: _Meaning) -> Callable[..., Any]:
    @boundary
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            for x in args:
                kind = type(x)
                if kind in _KEYED or ((kind is list or kind is tuple) and _has_keys(x)):
                    return meaning(function, name, args, keywords)
            if keywords and any(map(_has_keys, keywords.values())):
                return meaning(function, name, args, keywords)
            return function(*args, **keywords)
        except Exception as error:
            strip(error)
            raise

    return call


def _answered(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Answer a question about keys, whose answer is not of keys."""
    return ANSWERS[name](*args, **keywords)


def _moved(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Move keys about, by the same function of their words."""
    _check(function, name, args, keywords)
    leaves, tree = tree_flatten((args, keywords), is_leaf=is_keys)
    places = [i for i, x in enumerate(leaves) if is_keys(x)]

    def of_words(*words: Any) -> Any:
        filled = dict(zip(places, words, strict=True))
        given, named = tree_unflatten(tree, [filled.get(i, x) for i, x in enumerate(leaves)])
        return function(*given, **named)

    return over_words(of_words, *[leaves[i] for i in places])


def _filled(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Make an array of one value: of keys, or of another dtype in the shape of an array of keys.

    A number as the value of keys is that of each of their words.
    """
    bound = inspect.signature(function).bind(*args, **keywords)
    given = bound.arguments
    value: Any = given.get("fill_value")
    like = next((p for p in ("a", "x", "prototype") if p in given), "")
    dtype = given.get("dtype")
    if dtype is None:
        dtype = (given[like] if is_keys(given.get(like)) else value).dtype
    if is_keys(value) and value.dtype != dtype:
        raise _inconvertible(name, value.dtype, dtype)
    if like:
        lengths = np.shape(given[like]) if given.get("shape") is None else given["shape"]
        if is_keys(given[like]):  # of keys, only the shape counts from here on
            given[like] = np.broadcast_to(np.uint32(), np.shape(given[like]))
        given["shape"] = lengths
    if type(dtype) is not KeyType:
        return function(*bound.args, **bound.kwargs)
    given["dtype"] = uint32
    if is_keys(value):

        def of_word(word: Any) -> Any:
            given["fill_value"] = word
            return function(*bound.args, **bound.kwargs)

        return over_words(of_word, value)
    given["shape"] = (*canonical_shape(given["shape"]), dtype.width)
    words = function(*bound.args, **bound.kwargs)
    return KeyArray(words, implementation=dtype.implementation)


def _converted(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Make an array of keys of what is one, or of a list of them; the dtype must be theirs."""
    signature = inspect.signature(function)
    bound = signature.bind(*args, **keywords)
    operand, dtype = list(signature.parameters)[:2]
    x, wanted = bound.arguments[operand], bound.arguments.get(dtype)
    if wanted is not None:
        for leaf in tree_leaves(x, is_leaf=is_keys):
            if typeof(leaf).dtype != wanted:
                raise _inconvertible(name, typeof(leaf).dtype, wanted)
        if signature.parameters[dtype].default is inspect.Parameter.empty:
            return x
        del bound.arguments[dtype]
    return _moved(function, name, bound.args, bound.kwargs)


def _inconvertible(name: str, given: Any, wanted: Any) -> ValueError:
    names = [x.name for x in (given, canonical_dtype(wanted))]
    return ValueError(
        f"{name}: Cannot convert_element_type from {names[0]} to {names[1]}; random.key_data gives "
        "the integers that keys are made of, random.wrap_key_data keys made of integers"
    )


def _check(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    """Raise where keys stand for indices, or meet what is no key, or keys of another kind."""
    bound = inspect.signature(function).bind(*args, **keywords).arguments
    data = STRUCTURAL.get(name) or (next(iter(bound)),)
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
