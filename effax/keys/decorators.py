"""Functions of `numpy` and `lax` that take arrays of random keys.

What moves elements about without looking at them (`stack`, `where`, `take`, `lax.slice`, ...) takes
keys: it is mapped over their words, as by `vmap` along the last axis, so that the function sees the
shapes of the keys. Decorators say so, where the functions are defined.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from effax.backends.xla.array import asarray
from effax.effects.frames import boundary, strip
from effax.effects.tree import tree_flatten, tree_leaves, tree_unflatten
from effax.effects.types import canonical_dtype, canonical_shape, typeof, uint32
from effax.keys.arrays import KeyArray, KeyType, is_keys, over_words

P = ParamSpec("P")
R = TypeVar("R")
_Meaning = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
_KEYED: Final = frozenset({KeyArray, KeyType})


def moves_keys(*parameters: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that moves elements about without looking at them, for keys too.

    Args:
      parameters: those that hold the keys; the first if none is named. Keys are refused elsewhere.

    >>> import effax, effax.numpy as jnp
    >>> keys = effax.random.split(effax.random.key(0), 4)
    >>> jnp.reshape(keys, (2, 2)).shape
    (2, 2)
    """

    def meaning(
        function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        _check(function, parameters, args, keywords)
        return _moved(function, args, keywords)

    return lambda function: _accepting(function, meaning)


def answers_keys(answer: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function whose result for keys is not of keys, but what `answer` returns.

    >>> import effax, effax.numpy as jnp
    >>> jnp.shape(effax.random.split(effax.random.key(0), 4))
    (4,)
    """

    def meaning(_: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return answer(*args, **keywords)

    return lambda function: _accepting(function, meaning)


def fills_keys(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that makes an array of one value, of a dtype given or of another array's.

    >>> import effax, effax.numpy as jnp
    >>> jnp.zeros_like(effax.random.key(0)).dtype
    key<fry>
    """
    return _accepting(function, _filled)


def converts_keys(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that takes an array, and a dtype for it.

    >>> import effax, effax.numpy as jnp
    >>> jnp.asarray([effax.random.key(0), effax.random.key(1)]).shape
    (2,)
    """
    return _accepting(function, _converted)


def equal_keys(a: Any, b: Any, *_: Any, **__: Any) -> Any:
    """Compare keys as `isclose` compares numbers; its tolerances have no meaning here."""
    return a == b


def all_equal_keys(a: Any, b: Any, *_: Any, **__: Any) -> Any:
    """Whether all keys are the same, as `allclose` says it."""
    return (a == b).all()


def same_keys(a: Any, b: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and the same keys."""
    return (a == b).all() if a.shape == b.shape else asarray(np.False_)


def _has_keys(x: Any) -> bool:
    kind = type(x)
    return kind in _KEYED or (kind in (list, tuple) and len(x) > 0 and _has_keys(x[0]))


def _accepting(function: Callable[P, R], meaning: _Meaning) -> Callable[P, R]:
    @boundary
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            for x in args:
                kind = type(x)
                if kind in _KEYED or ((kind is list or kind is tuple) and _has_keys(x)):
                    return meaning(function, args, keywords)
            if keywords and any(map(_has_keys, keywords.values())):
                return meaning(function, args, keywords)
            return function(*args, **keywords)
        except Exception as error:
            strip(error)
            raise

    return call


def _moved(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Move keys about, by the same function of their words."""
    leaves, tree = tree_flatten((args, keywords), is_leaf=is_keys)
    places = [i for i, x in enumerate(leaves) if is_keys(x)]

    def of_words(*words: Any) -> Any:
        filled = dict(zip(places, words, strict=True))
        given, named = tree_unflatten(tree, [filled.get(i, x) for i, x in enumerate(leaves)])
        return function(*given, **named)

    return over_words(of_words, *[leaves[i] for i in places])


def _filled(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
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
        raise _inconvertible(function.__name__, value.dtype, dtype)
    if like:
        lengths = np.shape(given[like]) if given.get("shape") is None else given["shape"]
        if is_keys(given[like]):  # only the shape of these keys matters from here on
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
    given["shape"], _ = dtype.inside(canonical_shape(given["shape"]))
    return dtype.around(function(*bound.args, **bound.kwargs))


def _converted(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Make an array of keys of what is one, or of a list of them; the dtype must be theirs."""
    signature = inspect.signature(function)
    bound = signature.bind(*args, **keywords)
    operand, dtype = list(signature.parameters)[:2]
    x, wanted = bound.arguments[operand], bound.arguments.get(dtype)
    if wanted is not None:
        for leaf in tree_leaves(x, is_leaf=is_keys):
            if typeof(leaf).dtype != wanted:
                raise _inconvertible(function.__name__, typeof(leaf).dtype, wanted)
        if signature.parameters[dtype].default is inspect.Parameter.empty:
            return x
        del bound.arguments[dtype]
    _check(function, (operand,), bound.args, bound.kwargs)
    return _moved(function, bound.args, bound.kwargs)


def _inconvertible(name: str, given: Any, wanted: Any) -> ValueError:
    names = [x.name for x in (given, canonical_dtype(wanted))]
    return ValueError(
        f"{name}: Cannot convert_element_type from {names[0]} to {names[1]}; random.key_data gives "
        "the integers that keys are made of, random.wrap_key_data keys made of integers"
    )


def _check(
    function: Callable[..., Any],
    parameters: tuple[str, ...],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> None:
    """Raise where keys stand for indices, or meet what is no key, or keys of another kind."""
    bound = inspect.signature(function).bind(*args, **keywords).arguments
    name = function.__name__
    data = parameters or (next(iter(bound)),)
    dtypes = {
        getattr(x, "dtype", type(x))
        for p in data
        for x in tree_leaves(bound.get(p), is_leaf=is_keys)
    }
    if len(dtypes) > 1:
        listed = ", ".join(sorted(map(str, dtypes)))
        raise ValueError(f"{name}: random keys can't be promoted with other dtypes, got {listed}")
    for p, x in bound.items():
        if p not in data and any(map(is_keys, tree_leaves(x, is_leaf=is_keys))):
            raise TypeError(f"{name}: {p} must not hold random keys")
