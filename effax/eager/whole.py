"""Public functions are compiled whole: one cached executable a call, promotion and all."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from effax.backends.xla.array import Array, buffer_of, spec_of
from effax.backends.xla.dispatch import operand, refuse_execution
from effax.backends.xla.launch import Launch
from effax.backends.xla.scalars import number
from effax.eager.calls import ENTERED, Arguments, as_values, builder, fixed, launch_of
from effax.effects.config import numpy_dtype_promotion, numpy_rank_promotion, trace_key
from effax.effects.effect import LITERALS
from effax.effects.frames import boundary, filtered, strip
from effax.effects.handler import Carrier, bottom, current, outside
from effax.effects.interning import keep
from effax.effects.rows import control
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import Value
from effax.interpreters.stage import Stage, Staged, stage

P = ParamSpec("P")
R = TypeVar("R")
_LIMIT = 4096
_PLAIN = LITERALS | {Array, type(None)}


def whole(
    *static: str, given: str | None = None, reads: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of the object language that is to be one executable when called eagerly.

    `static` names the parameters that are part of the operation (an axis, a dtype): hashable.
    All others are operands: array-likes, or pytrees of them. With nothing installed the call is
    staged once for the types of its operands and its statics, compiled, and run; so it is for the
    lanes of a `vmap` with nothing else installed (`mapped`). Under any other handler the function's
    body is simply run, so that the handler sees its effects.

    An operand, or one in a list or tuple, may be an object with `__jax_array__`: the function gets
    what that returns.

    A call whose statics can't be hashed is run effect by effect, and so is one without the keyword
    `given`, if there is such: a size without which lengths depend on elements, which are looked at.
    One that `reads` looks at lists and at the elements of NumPy's arrays: it is compiled for arrays
    and numbers, and its body is run with all other operands.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        positional, others = _parameters(function)
        names = frozenset(static)
        unknown = names.difference(positional, others)
        if unknown:
            raise TypeError(f"{function.__name__} has no parameters {sorted(unknown)}")
        places = frozenset([i for i, name in enumerate(positional) if name in names])
        calls = _Calls(function, places, names, reads)
        launches, leading, installed = calls.launches, calls.leading, current.get

        def _needs_elements(keywords: Mapping[str, Any]) -> bool:
            return given is not None and keywords.get(given) is None

        @boundary
        @wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            try:
                if (top := installed()) is not bottom:
                    if top.at_once and not _mentions_carriers(args, keywords):
                        with outside(bottom):
                            return call(*args, **keywords)
                    for x in args:
                        if not (isinstance(x, Value) or type(x) in LITERALS):
                            args = tuple(map(opened, args))
                            break
                    if keywords:
                        keywords = _all_opened(keywords)
                    if type(top) is not Stage and not _needs_elements(keywords):
                        settings = trace_key()
                        if (settings.debug_nans or settings.debug_infs) and not reads:
                            return calls.perform(args, keywords)
                        if top.lanes:
                            from effax.eager.mapped import NOT_WHOLE, call_mapped

                            found = call_mapped(calls, top, args, keywords)
                            if found is not NOT_WHOLE:
                                return found
                    result = function(*args, **keywords)
                    return result if isinstance(result, Value) else as_values(result)
                if not keywords and len(args) <= leading:
                    try:  # arrays and numbers alone: the common case, one or two without a loop
                        if len(args) == 1:
                            (x,) = args
                            launch = launches[trace_key(), x.spec]
                            buffers = [x.buffer]
                        elif len(args) == 2:
                            x, y = args
                            if type(y) in LITERALS:
                                y = number(y)
                            elif type(x) in LITERALS:
                                x = number(x)
                            launch = launches[trace_key(), x.spec, y.spec]
                            buffers = [x.buffer, y.buffer]
                        else:
                            launch = launches[(trace_key(), *map(spec_of, args))]
                            buffers = [*map(buffer_of, args)]
                    except (AttributeError, KeyError):
                        pass
                    else:
                        return launch(buffers)
                if _needs_elements(keywords):
                    return as_values(_on_opened(function, args, keywords))
                return calls.other(args, keywords)
            except Exception as error:
                strip(error)
                raise

        call.calls = calls  # type: ignore[attr-defined]
        return call

    return decorate


def _mentions_carriers(*arguments: Any) -> bool:
    return any(isinstance(x, Carrier) for x in tree_flatten(arguments)[0])


def own_promotion(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function whose body mixes ranks and dtypes of its own making.

    The settings `numpy_rank_promotion` and `numpy_dtype_promotion` speak of the user's operands.
    Within the function they are at their defaults; where they are so anyway nothing is entered.

    >>> import effax, effax.numpy as jnp
    >>> @own_promotion
    ... def scaled(x):
    ...     return x * jnp.ones((2, 1))
    >>> with effax.numpy_rank_promotion("raise"):
    ...     scaled(jnp.ones(3)).shape
    (2, 3)
    """

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        settings = trace_key()
        ranks, dtypes = settings.numpy_rank_promotion, settings.numpy_dtype_promotion
        if ranks == "allow" and dtypes == "standard":
            return function(*args, **keywords)
        with numpy_rank_promotion("allow"), numpy_dtype_promotion("standard"):
            return function(*args, **keywords)

    return call


def opened(x: Any) -> Any:
    """Replace objects that have `__jax_array__` by its result, in lists and tuples too.

    >>> class Three:
    ...     def __jax_array__(self):
    ...         return 3
    >>> opened([Three(), 1]), opened((2,))
    ([3, 1], (2,))
    """
    if isinstance(x, Value):  # most arguments are arrays
        return x
    kind = type(x)
    if kind is list or kind is tuple:
        inside = [*map(opened, x)]
        return x if all(map(operator.is_, inside, x)) else kind(inside)
    return x.__jax_array__() if hasattr(kind, "__jax_array__") else x


def is_iterable(x: Any) -> bool:
    """Whether something is neither array nor mapping, and can be walked through more than once.

    >>> is_iterable({"a": 1}.values()), is_iterable(iter([1])), is_iterable("ab")
    (True, False, False)
    """
    if isinstance(x, Value | np.ndarray | np.generic | Mapping | Iterator | str | bytes):
        return False
    kind = type(x)
    walked = hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")
    return walked and not hasattr(x, "__jax_array__")


def opening(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that is not `whole`, so that it gets `opened` arguments too.

    >>> class Three:
    ...     def __jax_array__(self):
    ...         return 3
    >>> opening(lambda x: x + 1)(Three())
    4
    """

    @filtered
    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        return _on_opened(function, args, keywords)

    return call


def _on_opened(function: Callable[..., R], args: tuple[Any, ...], keywords: dict[str, Any]) -> R:
    return function(*map(opened, args), **_all_opened(keywords))


def _all_opened(keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: opened(x) for name, x in keywords.items()}


def _parameters(function: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a function's positional and other parameters, of what it wraps if it does.

    `inspect.signature` says the same, in a tenth of the time that importing everything takes.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    n = code.co_argcount
    return code.co_varnames[:n], code.co_varnames[n : n + code.co_kwonlyargcount]


class _Calls:
    """The compiled calls of one function, by their keys."""

    __slots__ = ("function", "launches", "leading", "mapped", "names", "places", "reads")

    def __init__(
        self,
        function: Callable[..., Any],
        places: frozenset[int],
        names: frozenset[str],
        reads: bool,
    ) -> None:
        self.function = function
        self.places = places
        self.names = names
        self.reads = reads
        self.leading = min(places, default=1 << 16)
        """The number of positional arguments before the first static one."""
        self.launches: dict[Any, Launch] = remembered()
        """The key of a call with arrays alone is `(trace_key(), *specs)`."""
        self.mapped: dict[Any, Any] = remembered()
        """The calls compiled for the lanes of batches, by keys of `effax.eager.mapped`."""

    def other(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with statics, keywords, numbers or trees, or the first of its kind."""
        try:
            launch, buffers = self.find(args, keywords)
        except _UnhashableError:
            return as_values(_on_opened(self.function, args, keywords))
        return launch(buffers)

    def find(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Launch, list[Any]]:
        """The compiled call for these arguments, and the buffers of its operands."""
        parts: list[Any] = [trace_key()]
        buffers: list[Any] = []
        places = self.places
        for i, x in enumerate(args):
            if i in places:
                parts += fixed(x)
            elif (self.reads and type(x) not in _PLAIN) or not _put_operand(parts, buffers, x):
                return self._find_bound(args, keywords)
        # In the order in which `Arguments` flattens them, which is that of the program's inputs.
        for name, x in keywords.items() if len(keywords) < 2 else sorted(keywords.items()):
            parts.append(name)
            if name in self.names:
                parts += fixed(x)
            elif (self.reads and type(x) not in _PLAIN) or not _put_operand(parts, buffers, x):
                return self._find_bound(args, keywords)
        key = tuple(parts)
        try:
            found = self.launches.get(key)
        except TypeError:
            raise _UnhashableError from None
        if found is None:
            bound = Arguments.bind(args, keywords, places, self.names)
            found = self._make(key, bound, [*map(operand, bound.leaves)])
        return found, buffers

    def _find_bound(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Launch, list[Any]]:
        """The same where an operand is a tree, or what else has to be looked at more closely."""
        if self.reads:
            raise _UnhashableError
        args, keywords = tuple(map(opened, args)), _all_opened(keywords)
        bound = Arguments.bind(args, keywords, self.places, self.names)
        try:
            arrays = [x if type(x) is Array else operand(x) for x in bound.leaves]
        except TypeError:
            if any(map(is_iterable, bound.leaves)):  # the body may take a deque for a list
                raise _UnhashableError from None
            raise
        specs = tuple([x.spec for x in arrays])
        key = trace_key(), bound.statics, bound.tree, specs
        try:
            found = self.launches.get(key)
        except TypeError:
            raise _UnhashableError from None
        if found is None:
            found = self._make(key, bound, arrays)
        return found, [x.buffer for x in arrays]

    def _make(self, key: Any, bound: Arguments, arrays: Sequence[Any]) -> Launch:
        """Stage and compile the function for a call, which is found by this key from now on."""
        refuse_execution(self.function.__name__)
        specs = [x.spec for x in arrays]
        staged, tree = self._staged(bound, [s.type for s in specs])
        return keep(self.launches, key, launch_of(staged, specs, builder(tree)), _LIMIT)

    def _staged(self, bound: Arguments, types: Sequence[ShapedArray]) -> tuple[Staged, Any]:
        """The function as a program of operands of these types, and the tree of its results."""
        trees: list[Any] = []

        def body(*values: Any) -> list[Any]:
            leaves, tree = tree_flatten(bound.call(self.function, values))
            trees[:] = [tree]
            return leaves

        return stage(body, types, self.function.__name__), trees[0]

    def perform(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Perform the call as one effect: of what it makes only the results are looked at.

        For `debug_nans` under a handler: a NaN that the function makes and drops is none of the
        user's.
        """
        bound = Arguments.bind(args, keywords, self.places, self.names)
        staged, tree = self._staged(bound, [*map(typeof, bound.leaves)])
        name = self.function.__name__
        results = control.call(*staged.captured, *bound.leaves, program=staged.program, name=name)
        return tree_unflatten(tree, results)


def compiled_calls(function: Callable[..., Any]) -> dict[Any, Launch]:
    """The calls that were compiled for a function; those of arrays by `(trace_key(), *specs)`.

    A function that is not `whole` has none.
    """
    while isinstance(function, partial):
        function = function.func
    calls = getattr(function, "calls", None)
    return {} if calls is None else calls.launches


def compiled(function: Callable[..., Any], *args: Any) -> tuple[Launch, list[Any]]:
    """The compiled call of a `whole` function with these arguments, and its operands' buffers.

    For hashable statics only, and where nothing is installed.
    """
    calls: _Calls = function.calls  # type: ignore[attr-defined]
    return calls.find(args, {})


_remembered: list[dict[Any, Any]] = []


def remembered(table: Any = None) -> Any:
    """Return a table of what was compiled or made, a new dictionary by default.

    `clear` empties it with all others.
    """
    found: Any = {} if table is None else table
    _remembered.append(found)
    return found


class _UnhashableError(Exception):
    """Operands or statics that no key stands for: effects are run one by one."""


def _put_operand(parts: list[Any], buffers: list[Any], x: Any) -> bool:
    """Append what a key says of an operand, and its buffer; False for what may be a tree."""
    if type(x) is not Array:
        if x is None:
            parts.append(None)
            return True
        if type(x) is tuple or type(x) is list:
            parts += type(x), len(x)
            return all([_put_operand(parts, buffers, y) for y in x])
        if type(x) not in ENTERED:
            return False
        x = operand(x)
    parts.append(x.spec)
    buffers.append(x.buffer)
    return True


def clear() -> None:
    """Forget what was compiled for every function."""
    for found in _remembered:
        found.clear()
