"""Arguments of transformed functions: which are static, which are differentiated, in what tree."""

from __future__ import annotations

import inspect
import operator
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from types import FunctionType
from typing import Any, Final, TypeVar

import numpy as np

from effax.effects.frames import is_library
from effax.effects.rows.state import Ref
from effax.effects.tree import tree_flatten, tree_unflatten

_Wrapper = TypeVar("_Wrapper", bound=Callable[..., Any])


def as_tuple(x: int | str | Iterable[Any] | None) -> tuple[Any, ...]:
    """One number or name, or several, as a tuple."""
    if x is None:
        return ()
    if isinstance(x, (int, str, np.integer)):
        return (x,)
    return tuple(x)


def positions(argnums: int | Iterable[int]) -> int | tuple[int, ...]:
    """Return the positions of arguments as `grad` takes them: one integer, or a tuple of several.

    >>> positions(np.int64(1)), positions(i for i in (0, 1)), positions(np.array([0, 1]))
    (1, (0, 1), (0, 1))
    """
    try:
        return operator.index(argnums)  # type: ignore[arg-type]
    except TypeError:
        found = as_tuple(argnums)
        return tuple(int(n) if isinstance(n, np.integer) else n for n in found)


def normalise(numbers: Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """Positions with negative ones counted from the end.

    Raises `ValueError` for a position that isn't there.
    """
    found = []
    for n in numbers:
        if not -count <= n < count:
            raise ValueError(
                f"{what}: position {n} is out of range for a call with {count} positional arguments"
            )
        found.append(n % count)
    return tuple(found)


def static_positions(
    function: Callable[..., Any],
    numbers: int | Iterable[int] | None,
    names: str | Iterable[str] | None,
    what: str = "static",
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Static arguments by position and by name, each as `completed` by the other.

    `what` is the beginning of the options' names, "static" or "donate".
    """
    for n in as_tuple(numbers):
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{what}_argnums must be integers (positions of arguments), got {n!r}")
    for name in as_tuple(names):
        if not isinstance(name, str):
            raise TypeError(f"{what}_argnames must be strings (names of arguments), got {name!r}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return as_tuple(numbers), as_tuple(names)
    parameters = list(signature.parameters.values())
    count, takes_any = len(_positional(signature)), _takes_any(signature)
    for n in as_tuple(numbers):
        if not takes_any and not -count <= n < count:
            raise ValueError(
                f"jitted function has {what}_argnums={as_tuple(numbers)}, but only takes "
                f"{count} positional argument{'' if count == 1 else 's'}"
            )
    _check_names(parameters, as_tuple(names), what)
    return completed(signature, numbers, names)


def completed(
    signature: inspect.Signature,
    numbers: int | Iterable[int] | None,
    names: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Complete arguments by position with those by name, and the reverse, where one is None.

    Where both are given they are taken as they are, as in JAX: a name is then the argument passed
    by keyword, and not the one at its position.
    """
    positional, takes_any = _positional(signature), _takes_any(signature)
    by_number = {n % len(positional) if not takes_any else n for n in as_tuple(numbers)}
    by_name = set(as_tuple(names))
    for i, name in enumerate(positional):
        if names is None and i in by_number:
            by_name.add(name)
        elif numbers is None and name in by_name:
            by_number.add(i)
    return tuple(sorted(by_number)), tuple(sorted(by_name))


def _positional(signature: inspect.Signature) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in signature.parameters.values() if p.kind in kinds]


def _takes_any(signature: inspect.Signature) -> bool:
    return any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())


def _check_names(parameters: Sequence[inspect.Parameter], names: Sequence[str], what: str) -> None:
    """Raise `ValueError` for a name that no argument can be passed by."""
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    unnamed = {p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in names:
        if name in unnamed or (name not in known and not takes_any):
            raise ValueError(
                f"jitted function has invalid argnames {{{name!r}}} in {what}_argnames. "
                f"Function does not take these args: by name, it takes {sorted(known)}"
            )


def shown(function: Any) -> str:
    """The `repr` of a function, or its class and address where its own `__repr__` fails."""
    writer = reprlib.Repr()
    writer.maxother = _LONGEST
    return writer.repr_instance(function, 1)


_LONGEST: Final = 400


def flat_function(
    function: Callable[..., Any], tree: Any
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """A function of flat values for a function of `(args, keywords)` of that tree.

    The second result is a list that holds the tree of the results after the call.
    """
    out: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        args, keywords = tree_unflatten(tree, values)
        leaves, out_tree = tree_flatten(function(*args, **keywords))
        out[:] = [out_tree]
        return leaves

    return flat, out


def name_of(function: Callable[..., Any]) -> str:
    """The function's name, for programs and messages."""
    inner = getattr(function, "func", function)
    name = getattr(inner, "__name__", None)
    return name if isinstance(name, str) else type(inner).__name__


def wearing(
    function: Callable[..., Any], *, annotated: bool = True
) -> Callable[[_Wrapper], _Wrapper]:
    """A wrapper of the function, with its name, its docstring and the attributes users set on it.

    Not those of our own objects, nor any that the wrapper has by itself. `annotated` is False where
    the wrapper's results are of other types than the function's.

    >>> import effax
    >>> def f(x):
    ...     return x
    >>> f.mark = 1
    >>> effax.jit(effax.grad(f)).mark
    1
    """

    assigned: tuple[str, ...] = (
        WRAPPER_ASSIGNMENTS if annotated else ("__name__", "__doc__", "__module__")
    )

    # A callable may define __name__ as something else.
    if not isinstance(getattr(function, "__name__", ""), str):
        assigned = tuple(x for x in assigned if x not in ("__name__", "__qualname__"))

    def dressed(wrapper: _Wrapper) -> _Wrapper:
        update_wrapper(wrapper, function, assigned=assigned, updated=())
        for name, value in _set_by_users(function).items():
            if not hasattr(wrapper, name):
                setattr(wrapper, name, value)
        return wrapper

    return dressed


def _set_by_users(function: Any) -> dict[str, Any]:
    while function is not None and _is_ours(function):
        function = getattr(function, "__wrapped__", None)
    return getattr(function, "__dict__", {})


def _is_ours(function: Any) -> bool:
    if isinstance(function, FunctionType):
        return is_library(function.__code__.co_filename)
    return type(function).__module__.startswith("effax.")


def with_references(refs: dict[int, Ref], values: Sequence[Any]) -> list[Any]:
    """Leaves with references put back in their places."""
    if not refs:
        return list(values)
    rest = iter(values)
    return [refs[i] if i in refs else next(rest) for i in range(len(refs) + len(values))]
