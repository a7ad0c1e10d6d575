"""Public functions are compiled whole: one cached executable a call, promotion and all."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from effax.backends.xla.array import Array, asarray, buffer_of, device_put, spec_of
from effax.backends.xla.dispatch import compile_program, operand, refuse_execution
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.backends.xla.layout import layout_of
from effax.backends.xla.scalars import number
from effax.effects.config import numpy_dtype_promotion, numpy_rank_promotion, trace_key
from effax.effects.effect import LITERALS
from effax.effects.frames import boundary, strip
from effax.effects.handler import bottom, current
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.value import Value
from effax.interpreters.stage import stage

P = ParamSpec("P")
R = TypeVar("R")
Direct = tuple[Callable[..., Any], list[Any], Any]
_LIMIT = 4096
_ENTERED = LITERALS | {np.ndarray}
_DIRECT = LITERALS | {Array}
_all_calls: list[_Calls] = []


def whole(*static: str, given: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of the object language that is to be one executable when called eagerly.

    `static` names the parameters that are part of the operation (an axis, a dtype): hashable.
    All others are operands: array-likes, or pytrees of them. With nothing installed the call is
    staged once for the types of its operands and its statics, compiled, and run; under any
    handler the function's body is simply run, so that the handler sees its effects.

    An operand, or one in a list or tuple, may be an object with `__jax_array__`: the function gets
    what that returns.

    A call whose statics can't be hashed is run effect by effect, and so is one without the keyword
    `given`, if there is such: a size without which lengths depend on elements, which are looked at.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        positional, others = _parameters(function)
        names = frozenset(static)
        unknown = names.difference(positional, others)
        if unknown:
            raise TypeError(f"{function.__name__} has no parameters {sorted(unknown)}")
        calls = _Calls(function, tuple(name in names for name in positional), names)
        direct, leading, installed = calls.direct, calls.leading, current.get

        @boundary
        @wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            try:
                if installed() is not bottom:
                    result = _on_opened(function, args, keywords)
                    return result if isinstance(result, Value) else _as_values(result)
                if not keywords and len(args) <= leading:
                    try:  # arrays and numbers alone: the common case, one or two without a loop
                        if len(args) == 1:
                            (x,) = args
                            run, handlers, spec = direct[trace_key(), x.spec]
                            buffers = [x.buffer]
                        elif len(args) == 2:
                            x, y = args
                            if type(y) in LITERALS:
                                y = number(y)
                            elif type(x) in LITERALS:
                                x = number(x)
                            run, handlers, spec = direct[trace_key(), x.spec, y.spec]
                            buffers = [x.buffer, y.buffer]
                        else:
                            run, handlers, spec = direct[(trace_key(), *map(spec_of, args))]
                            buffers = [*map(buffer_of, args)]
                    except (AttributeError, KeyError):
                        pass
                    else:
                        try:
                            outs = run(buffers).consume_with_handlers(handlers)
                        except XlaRuntimeError as error:
                            explain_failure(error, [(x.spec, x.buffer) for x in map(operand, args)])
                            raise
                        return Array(outs[0], spec)
                if given is not None and keywords.get(given) is None:
                    return _on_opened(function, args, keywords)
                return calls.other(args, keywords)
            except Exception as error:
                strip(error)
                raise

        call.calls = calls  # type: ignore[attr-defined]
        return call

    return decorate


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
    """What an object's `__jax_array__` returns, also for those in a list or tuple; else `x` itself.

    >>> class Three:
    ...     def __jax_array__(self):
    ...         return 3
    >>> opened([Three(), 1]), opened((2,))
    ([3, 1], (2,))
    """
    if isinstance(x, Value):  # most are
        return x
    kind = type(x)
    if kind is list or kind is tuple:
        inside = [*map(opened, x)]
        return x if all(map(operator.is_, inside, x)) else kind(inside)
    return x.__jax_array__() if hasattr(kind, "__jax_array__") else x


def opening(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that is not `whole`, so that it gets `opened` arguments too.

    >>> class Three:
    ...     def __jax_array__(self):
    ...         return 3
    >>> opening(lambda x: x + 1)(Three())
    4
    """

    @wraps(function)
    def call(*args: P.args, **keywords: P.kwargs) -> R:
        return _on_opened(function, args, keywords)

    return call


def _as_values(result: Any) -> Any:
    """Return what a body returned, an operand of NumPy's that it left as it is made an array.

    So results are arrays whether or not a handler is installed.
    """
    kind = type(result)
    if kind is list or kind is tuple:
        return kind(map(_as_values, result))
    return asarray(result) if kind in _ENTERED or isinstance(result, np.generic) else result


def _on_opened(function: Callable[..., R], args: tuple[Any, ...], keywords: dict[str, Any]) -> R:
    given = {name: opened(x) for name, x in keywords.items()} if keywords else keywords
    return function(*map(opened, args), **given)


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
    """What was compiled for one function: by the specs of arrays alone, and by anything else."""

    __slots__ = (
        "bound",
        "direct",
        "function",
        "leading",
        "mask",
        "mixed",
        "names",
        "static_places",
    )

    def __init__(
        self, function: Callable[..., Any], mask: tuple[bool, ...], names: frozenset[str]
    ) -> None:
        self.function = function
        self.mask = mask
        self.names = names
        self.static_places = frozenset([i for i, fixed in enumerate(mask) if fixed])
        self.leading = min(self.static_places, default=1 << 16)
        """How many positional arguments stand before the first static one."""
        self.direct: dict[Any, Direct] = {}
        self.mixed: dict[Any, _Entry] = {}
        self.bound: dict[Any, _Entry] = {}
        _all_calls.append(self)

    def clear(self) -> None:
        for cache in (self.direct, self.mixed, self.bound):
            cache.clear()

    def other(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """A call with statics, keywords, numbers or trees, or the first of its kind."""
        try:
            found, buffers, key = self.find(args, keywords)
            if found is None:
                if key is None:
                    args = tuple(map(opened, args))
                    keywords = {name: opened(x) for name, x in keywords.items()}
                found, buffers = self.make(args, keywords, key)
        except _UnhashableError:
            return self.function(*args, **keywords)
        return found.run(buffers)

    def find(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[_Entry | None, list[Any], Any]:
        """The compiled call for these arguments, their buffers, and the key it is found by.

        The key is None where an operand is a tree or what else has to be looked at more closely.
        """
        parts: list[Any] = [trace_key()]
        buffers: list[Any] = []
        places = self.static_places
        for i, x in enumerate(args):
            if i in places:
                _put_static(parts, x)
            elif not _put_operand(parts, buffers, x):
                return None, buffers, None
        for name, x in keywords.items():
            parts.append(name)
            if name in self.names:
                _put_static(parts, x)
            elif not _put_operand(parts, buffers, x):
                return None, buffers, None
        key = tuple(parts)
        try:
            return self.mixed.get(key), buffers, key
        except TypeError:
            raise _UnhashableError from None

    def make(
        self, args: tuple[Any, ...], keywords: dict[str, Any], key: Any
    ) -> tuple[_Entry, list[Any]]:
        """The entry for these arguments, and their buffers; remembered under `key`, too."""
        bound = _Bound(self.mask, self.names, args, keywords)
        try:
            whole_key = bound.key()
            found = self.bound.get(whole_key)
        except TypeError:
            raise _UnhashableError from None
        if found is None:
            if len(self.bound) > _LIMIT:
                self.clear()
            found = self.bound[whole_key] = _Entry(self.function, bound)
        if key is not None:
            self.mixed[key] = found
            only_leaves = not keywords and all(type(x) in _DIRECT for x in args)
            if only_leaves and found.direct is not None and len(args) <= self.leading:
                self.direct[(trace_key(), *map(spec_of, bound.arrays))] = found.direct
        return found, [x.buffer for x in bound.arrays]


def compiled_calls(function: Callable[..., Any]) -> dict[Any, Direct]:
    """The calls with arrays alone, of which one comes out, that were compiled for a function.

    The keys are `(trace_key(), *specs)`. A function that is not `whole` has none.
    """
    while isinstance(function, partial):
        function = function.func
    calls = getattr(function, "calls", None)
    return {} if calls is None else calls.direct


def compiled(function: Callable[..., Any], *args: Any) -> tuple[Any, list[Any]]:
    """The compiled call of a `whole` function with these arguments, and its operands' buffers.

    `call.run(buffers)` is the result. For hashable statics only, and where nothing is installed.
    """
    calls: _Calls = function.calls  # type: ignore[attr-defined]
    found, buffers, key = calls.find(args, {})
    return (found, buffers) if found is not None else calls.make(args, {}, key)


_remembered: list[dict[Any, Any]] = []


def remembered() -> dict[Any, Any]:
    """A new dictionary, of what was compiled or made, that `clear` empties with all others."""
    found: dict[Any, Any] = {}
    _remembered.append(found)
    return found


class _UnhashableError(Exception):
    """Statics that can't be part of a key: the call is run effect by effect."""


def _put_static(parts: list[Any], x: Any) -> None:
    """Append a static with its class, and the classes of what it holds, since 2 == 2.0 == True."""
    kind = type(x)
    if kind is tuple:
        parts += (kind, x, tuple(map(type, x)))
    elif kind is list:
        parts += (kind, tuple(map(_fixed, x)))
    else:
        parts += (kind, x)


def _put_operand(parts: list[Any], buffers: list[Any], x: Any) -> bool:
    """Append what a key says of an operand, and its buffer; False for what may be a tree."""
    if type(x) is not Array:
        if x is None:
            parts.append(None)
            return True
        if type(x) not in _ENTERED:
            return False
        x = operand(x)
    parts.append(x.spec)
    buffers.append(x.buffer)
    return True


class _Bound:
    """The arguments of one call, parted into statics and operands."""

    __slots__ = ("arrays", "keyword_names", "skeleton", "tree")

    def __init__(
        self,
        mask: tuple[bool, ...],
        names: frozenset[str],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        skeleton: list[Any] = []
        operands: list[Any] = []
        for i, x in enumerate(args):
            if i < len(mask) and mask[i]:
                skeleton.append(_fixed(x))
            else:
                skeleton.append(None)
                operands.append(x)
        for name, x in keywords.items():
            if name in names:
                skeleton.append(_fixed(x))
            else:
                skeleton.append(None)
                operands.append(x)
        self.skeleton = tuple(skeleton)
        self.keyword_names = tuple(keywords)
        leaves, self.tree = tree_flatten(operands)
        self.arrays = [x if type(x) is Array else operand(x) for x in leaves]

    def key(self) -> Any:
        return (
            trace_key(),
            self.skeleton,
            self.keyword_names,
            self.tree,
            tuple([x.spec for x in self.arrays]),
        )

    def call(self, function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """Call the function with these leaves in the place of the operands."""
        operands = iter(tree_unflatten(self.tree, values))
        filled = [next(operands) if x is None else _given(x) for x in self.skeleton]
        n = len(filled) - len(self.keyword_names)
        return function(*filled[:n], **dict(zip(self.keyword_names, filled[n:], strict=True)))


def _fixed(x: Any) -> tuple[Any, ...]:
    parts: list[Any] = []
    _put_static(parts, x)
    return tuple(parts)


def _given(fixed: tuple[Any, ...]) -> Any:
    """The static that `_fixed` was made of."""
    return [*map(_given, fixed[1])] if fixed[0] is list else fixed[1]


class _Entry:
    """One staged and compiled call."""

    __slots__ = ("direct", "executor", "tree")

    def __init__(self, function: Callable[..., Any], bound: _Bound) -> None:
        refuse_execution(function.__name__)
        trees: list[Any] = []

        def body(*values: Any) -> list[Any]:
            leaves, tree = tree_flatten(bound.call(function, values))
            trees[:] = [tree]
            return leaves

        staged = stage(body, [x.type for x in bound.arrays], function.__name__)
        captured = [asarray(x) for x in staged.captured]
        specs = [x.spec for x in bound.arrays]
        layout = layout_of(
            [*(x.spec for x in captured), *specs], staged.program, what=function.__name__
        )
        self.executor = compile_program(
            staged.program,
            layout,
            single_op=len(staged.program.equations) < 12,
            called=True,
            captured=[device_put(x, at) for x, at in zip(captured, layout.ins, strict=False)],
        ).gather(specs, layout)
        (self.tree,) = trees
        self.direct: Direct | None = None
        """Executable, handlers and spec where there is nothing else: one array comes out."""
        executor = self.executor
        if self.tree == _LEAF and executor.direct and not executor.captured:
            self.direct = executor.run, executor.handlers, executor.specs[0]

    def run(self, buffers: list[Any]) -> Any:
        """The result, of operands in these buffers."""
        if self.direct is None:
            return tree_unflatten(self.tree, self.executor(buffers))
        run, handlers, spec = self.direct
        try:
            return Array(run(buffers).consume_with_handlers(handlers)[0], spec)
        except XlaRuntimeError as error:
            explain_failure(error, zip(self.executor.in_specs, buffers, strict=True))
            raise


_LEAF = tree_flatten(0)[1]


def clear() -> None:
    """Forget what was compiled for every function."""
    for calls in _all_calls:
        calls.clear()
    for found in _remembered:
        found.clear()
