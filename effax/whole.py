"""Public functions are compiled whole: one cached executable a call, promotion and all."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.dispatch import compile_program, operand, refuse_execution
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.backends.xla.layout import layout_of
from effax.effects.config import trace_key
from effax.effects.frames import boundary, strip
from effax.effects.handler import bottom, current
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.interpreters.stage import stage

P = ParamSpec("P")
R = TypeVar("R")
_LIMIT = 4096
_caches: list[tuple[dict[Any, Any], dict[Any, Any]]] = []


def whole(*static: str, given: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of the object language that is to be one executable when called eagerly.

    `static` names the parameters that are part of the operation (an axis, a dtype): hashable.
    All others are operands: array-likes, or pytrees of them. With nothing installed the call is
    staged once for the types of its operands and its statics, compiled, and run; under any
    handler the function's body is simply run, so that the handler sees its effects.

    A call whose statics can't be hashed is run effect by effect, and so is one without the keyword
    `given`, if there is such: a size without which lengths depend on elements, which are looked at.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = list(inspect.signature(function).parameters.values())
        positional = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        names = frozenset(static)
        unknown = names - {p.name for p in parameters}
        if unknown:
            raise TypeError(f"{function.__name__} has no parameters {sorted(unknown)}")
        mask = tuple(name in names for name in positional)
        arrays_only: dict[Any, _Entry] = {}
        others: dict[Any, _Entry] = {}
        _caches.append((arrays_only, others))
        installed = current.get

        @boundary
        @wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            try:
                if installed() is not bottom:
                    return function(*args, **keywords)  # type: ignore[arg-type]
                if not keywords:
                    try:
                        entry = arrays_only.get((trace_key(), *[x.spec for x in args]))
                    except AttributeError:
                        entry = None
                    if entry is not None:
                        return entry.run([x.buffer for x in args])
                if given is not None and keywords.get(given) is None:
                    return function(*args, **keywords)
                bound = _Bound(mask, names, args, keywords)
                try:
                    key = bound.key()
                    found = others.get(key)
                except TypeError:
                    return function(*args, **keywords)  # type: ignore[arg-type]
                if found is None:
                    if len(others) > _LIMIT:
                        others.clear()
                        arrays_only.clear()
                    found = others[key] = _Entry(function, bound)
                if not keywords and all(type(x) is Array for x in args):
                    arrays_only[(trace_key(), *[x.spec for x in args])] = found  # type: ignore[union-attr]
                return found.run([x.buffer for x in bound.arrays])
            except Exception as error:
                strip(error)
                raise

        return call  # type: ignore[return-value]

    return decorate


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
    """A static as a key: with its class, and the classes of what it holds, as 2 == 2.0 == True."""
    if type(x) is tuple:
        return tuple, x, tuple(map(type, x))
    if type(x) is list:
        return list, tuple(map(_fixed, x))
    return type(x), x


def _given(fixed: tuple[Any, ...]) -> Any:
    """The static that `_fixed` was made of."""
    return [*map(_given, fixed[1])] if fixed[0] is list else fixed[1]


class _Entry:
    """One staged and compiled call."""

    __slots__ = ("executor", "run", "tree")

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
            captured=[device_put(x, at) for x, at in zip(captured, layout.ins, strict=False)],
        ).gather(specs, layout)
        (self.tree,) = trees
        single = self.tree == _LEAF and self.executor.direct
        self.run = self._one if single else self._many

    def _one(self, buffers: list[Any]) -> Any:
        executor = self.executor
        everything = executor.captured + buffers if executor.captured else buffers
        try:
            outs = executor.run(everything).consume_with_handlers(executor.handlers)
        except XlaRuntimeError as error:
            explain_failure(error, zip(executor.in_specs, everything, strict=True))
            raise
        return Array(outs[0], executor.specs[0])

    def _many(self, buffers: list[Any]) -> Any:
        return tree_unflatten(self.tree, self.executor(buffers))


_LEAF = tree_flatten(0)[1]


def clear() -> None:
    """Forget what was compiled for every function."""
    for caches in _caches:
        for cache in caches:
            cache.clear()
