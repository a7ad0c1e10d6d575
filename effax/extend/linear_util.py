"""Functions with transformations around them, by the names of `jax.extend.linear_util`."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Generator, Hashable
from typing import Any, Final
from weakref import WeakKeyDictionary

from effax.eager.whole import remembered
from effax.effects import config

__all__ = [
    "StoreException",
    "WrappedFun",
    "cache",
    "merge_linear_aux",
    "transformation",
    "transformation2",
    "transformation_with_aux",
    "transformation_with_aux2",
    "wrap_init",
]


class StoreException(ValueError):  # noqa: N818  (JAX's name)
    """An auxiliary result was asked for that there is none of: the function was not called yet."""


class Store:
    """The auxiliary result of the last call of a transformed function."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def store(self, value: Any) -> None:
        """Keep a value, in place of the one before."""
        self._kept[:] = [value]

    @property
    def val(self) -> Any:
        """The value; raises `StoreException` where there is none."""
        if not self._kept:
            raise StoreException("the auxiliary result is not known before the function is called")
        return self._kept[0]


class WrappedFun:
    """A function, its keyword parameters, and the transformations around it.

    Two are equal if they have the same function, parameters and transformations. `cache` finds
    results by that.
    """

    __slots__ = ("_call", "debug_info", "f", "params", "stores", "transforms")

    def __init__(
        self,
        f: Callable[..., Any],
        params: tuple[tuple[str, Any], ...],
        debug_info: Any,
        transforms: tuple[tuple[Callable[..., Any], tuple[Hashable, ...]], ...] = (),
        stores: tuple[Store | None, ...] = (),
        call: Callable[..., Any] | None = None,
    ) -> None:
        self.f = f
        self.params = params
        self.debug_info = debug_info
        self.transforms = transforms
        self.stores = stores
        self._call = functools.partial(f, **dict(params)) if call is None else call

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "function")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.f, self.params, self.transforms, self.debug_info

    def call_wrapped(self, *args: Any, **keywords: Any) -> Any:
        """The function's result."""
        return self._call(*args, **keywords)

    def wrap(
        self,
        around: Callable[..., Any],
        parameters: tuple[Any, ...] = (),
        store: Store | None = None,
    ) -> WrappedFun:
        """Return `around(call, *parameters, *args)` in place of `call`, which is this function.

        Where there is a store, `around` is called with it after `call`.
        """
        first = () if store is None else (store,)
        return WrappedFun(
            self.f,
            self.params,
            self.debug_info,
            ((around, parameters), *self.transforms),
            (store, *self.stores),
            functools.partial(around, self._call, *first, *parameters),
        )

    def populate_stores(self, stores: tuple[Store | None, ...]) -> None:
        """Take over what the stores of an equal function hold."""
        for mine, theirs in zip(self.stores, stores, strict=True):
            if mine is not None and theirs is not None:
                mine.store(theirs.val)


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """Return a function that can be given to `api_util.flatten_fun` and `partial_eval`.

    Args:
      f: the function.
      params: keyword arguments that it is always called with.
      debug_info: from `api_util.debug_info`; kept.

    >>> wrap_init(max).call_wrapped(1, 2)
    2
    """
    return WrappedFun(f, tuple(sorted((params or {}).items())), debug_info)


def transformation2(around: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make a transformation of wrapped functions of a function that calls the one it is given.

    Args:
      around: called as `around(call, *parameters, *args)`, for the result.

    Returns:
      A function of a wrapped function and the parameters, which returns a wrapped function.

    >>> @transformation2
    ... def scaled(call, factor, x):
    ...     return factor * call(x)
    >>> scaled(wrap_init(lambda x: x + 1), 10).call_wrapped(2)
    30
    """

    @functools.wraps(around)
    def transformed(fun: WrappedFun, *parameters: Any) -> WrappedFun:
        return fun.wrap(around, parameters)

    return transformed


def transformation_with_aux2(
    around: Callable[..., Any],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """Make a transformation whose functions find something else besides their result.

    Args:
      around: called as `around(call, store, *parameters, *args)`, for the result; it is to call
        `store.store` with what else it finds.

    Returns:
      A function of a wrapped function and the parameters, which returns a wrapped function, and a
      function that gives what else the last call found.

    >>> @transformation_with_aux2
    ... def counted(call, store, *args):
    ...     store.store(len(args))
    ...     return call(*args)
    >>> fun, found = counted(wrap_init(max))
    >>> fun.call_wrapped(2, 5), found()
    (5, 2)
    """

    @functools.wraps(around)
    def transformed(
        fun: WrappedFun, *parameters: Any, **_: Any
    ) -> tuple[WrappedFun, Callable[[], Any]]:
        store = Store()
        return fun.wrap(around, parameters, store), lambda: store.val

    return transformed


def transformation(
    around: Callable[..., Generator[tuple[Any, Any], Any, Any]],
) -> Callable[..., WrappedFun]:
    """Make a transformation of wrapped functions of a generator.

    It is called with the parameters of the transformation, then the arguments; it yields the
    arguments and keywords to call the function with, is sent the result, and yields its own.

    >>> @transformation
    ... def scaled(factor, x):
    ...     result = yield (x,), {}
    ...     yield factor * result
    >>> scaled(wrap_init(lambda x: x + 1), 10).call_wrapped(2)
    30
    """

    @functools.wraps(around)
    def stepped(call: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        steps = around(*args, **keywords)
        given, named = next(steps)
        return steps.send(call(*given, **named))

    return transformation2(stepped)


def transformation_with_aux(
    around: Callable[..., Generator[tuple[Any, Any], Any, Any]],
) -> Callable[..., tuple[WrappedFun, Callable[[], Any]]]:
    """The same, of a generator that yields its result and what else it found, last.

    The transformation returns a function besides, which gives what else was found by the last call.

    >>> @transformation_with_aux
    ... def counted(x):
    ...     result = yield (x,), {}
    ...     yield result, 1
    >>> fun, found = counted(wrap_init(lambda x: x + 1))
    >>> fun.call_wrapped(2), found()
    (3, 1)
    """

    @functools.wraps(around)
    def stepped(call: Callable[..., Any], store: Store, *args: Any, **keywords: Any) -> Any:
        steps = around(*args, **keywords)
        given, named = next(steps)
        result, aux = steps.send(call(*given, **named))
        store.store(aux)
        return result

    return transformation_with_aux2(stepped)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Return what else was found by whichever of two transformed functions was called.

    Args:
      aux1: the function that `transformation_with_aux` gave beside the first.
      aux2: that beside the second.

    Returns:
      Whether it is of the first, which is asked first, and what was found.

    Raises:
      StoreException: where neither was called.

    >>> @transformation_with_aux
    ... def counted(x):
    ...     result = yield (x,), {}
    ...     yield result, 1
    >>> (first, one), (_, two) = counted(wrap_init(abs)), counted(wrap_init(abs))
    >>> first.call_wrapped(-2), merge_linear_aux(one, two)
    (2, (True, 1))
    """
    try:
        return True, aux1()
    except StoreException:
        return False, aux2()


_MISSING: Final = object()


def cache(
    call: Callable[..., Any],
    *,
    explain: Callable[[WrappedFun, bool, dict[Any, Any], Any, float], Any] | None = None,
) -> Callable[..., Any]:
    """Decorate a function of a wrapped function and more so that its results are kept.

    A result is found again for an equal wrapped function, equal other arguments and the same
    settings. The stores of the wrapped function are then filled as they were. Results are kept as
    long as the function that is wrapped, and until `effax.clear_caches`.

    Args:
      call: the function; all of its arguments must be hashable.
      explain: called where no result is found and the setting `explain_cache_misses` is on, with
        the wrapped function, whether it was never seen, the results kept for it, the key and the
        seconds that `call` took.

    Returns:
      The function, with the methods `evict_function`, which forgets the results for one wrapped
      function's `f`, and `cache_clear`, which forgets all.

    >>> @cache
    ... def staged(fun, n):
    ...     print("staging")
    ...     return fun.call_wrapped(n)
    >>> wrapped = wrap_init(lambda n: n + 1)
    >>> staged(wrapped, 1), staged(wrapped, 1)
    staging
    (2, 2)
    """
    functions: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
    remembered(functions)

    @functools.wraps(call)
    def memoized(fun: WrappedFun, *args: Any) -> Any:
        fresh: dict[Any, Any] = {}
        known = functions.setdefault(fun.f, fresh)
        key = fun.params, fun.transforms, args, config.trace_key()
        found = known.get(key, _MISSING)
        if found is not _MISSING:
            result, stores = found
            fun.populate_stores(stores)
            return result
        began = time.perf_counter()
        result = call(fun, *args)
        if explain is not None and config.read("explain_cache_misses"):
            explain(fun, known is fresh, known, key, time.perf_counter() - began)
        known[key] = result, fun.stores
        return result

    memoized.evict_function = lambda f: functions.pop(f, None)  # type: ignore[attr-defined]
    memoized.cache_clear = functions.clear  # type: ignore[attr-defined]
    return memoized
