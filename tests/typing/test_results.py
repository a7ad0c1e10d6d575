"""Results of public functions agree with their annotations, when called and in a trace.

mypy can't hold this: bodies perform effects, whose results are Any. The cases are the grid's.
"""

import contextlib
import inspect
import typing
import warnings
from types import NoneType, UnionType
from typing import Any, Union

import numpy as np
import pytest

import effax
from tests.grid.ask import ROOT, effax_library, operands
from tests.grid.play import recorded

LIBRARY = effax_library()
CASES = {
    name: [record.case for record in records if record.wanted.leaves is not None]
    for path in sorted((ROOT / "tests" / "goldens").glob("grid_*.json"))
    for name, records in recorded(path).items()
    if not name.endswith("drawn")
}
# What has no type in a trace, or asks for elements there, is held by the grid.
UNTRACED = (TypeError, ValueError, IndexError, NotImplementedError, AttributeError)


def promised(function: Any) -> Any:
    """Return the type that a function's annotation promises."""
    function = inspect.unwrap(function)
    said = getattr(function, "__annotations__", {}).get("return", Any)
    return eval(said, function.__globals__) if isinstance(said, str) else said


def keeps(promise: Any, x: Any) -> bool:
    """Whether a result is of an annotated type."""
    origin, parts = typing.get_origin(promise), typing.get_args(promise)
    if promise is Any or isinstance(promise, typing.TypeVar):
        return True
    if promise is None:
        return x is None
    if origin in (Union, UnionType):
        return any(keeps(part, x) for part in parts)
    if origin is tuple:
        if not isinstance(x, tuple) or type(x) is not tuple:
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(keeps(parts[0], one) for one in x)
        return len(parts) == len(x) and all(map(keeps, parts, x))
    if origin is list:
        return isinstance(x, list) and all(keeps(parts[0], one) for one in x)
    kind = origin or promise
    if kind in (int, float, bool, str, NoneType):  # nothing of NumPy's that only passes for one
        return type(x) is kind
    return isinstance(x, kind) if isinstance(kind, type) else callable(x)


class Watched:
    """A module whose functions note what they return, and are compared with what they promise."""

    def __init__(self, module: Any, broken: list[str]) -> None:
        self.module = module
        self.broken = broken

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if inspect.ismodule(found):
            return Watched(found, self.broken)
        if not inspect.isfunction(found):
            return found

        def watched(*args: Any, **keywords: Any) -> Any:
            result = found(*args, **keywords)
            if not keeps(promised(found), result):
                kind = type(result).__name__
                if isinstance(result, list | tuple):
                    kind += f" of {[type(x).__name__ for x in result]}"
                self.broken.append(f"{name}{args} is {kind}, not {promised(found)}")
            return result

        return watched


def in_a_trace(function: Any, given: list[Any]) -> None:
    with contextlib.suppress(*UNTRACED):
        effax.eval_shape(lambda *xs: (function(*xs), 0)[1], *given)


def eager(function: Any, given: list[Any]) -> None:
    with contextlib.suppress(ValueError):  # a few functions refuse what JAX takes: tests/grid
        function(*given)


def broken_promises(name: str, count: int, call: Any) -> list[str]:
    """Return the results that break a function's annotation, in some cases of the grid."""
    broken: list[str] = []
    names = {n: Watched(m, broken) for n, m in LIBRARY.names.items()}
    for case in CASES[name][:count]:
        with warnings.catch_warnings(), np.errstate(all="ignore"), effax.enable_x64(case.x64):
            warnings.simplefilter("ignore")
            call(case.function(names), operands(LIBRARY, case))
    return broken


@pytest.mark.parametrize("name", CASES)
def test_functions_return_what_they_say_in_a_trace(name):
    assert not broken_promises(name, 1, in_a_trace)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"jnp.reshape"}))  # which keeps NumPy's
def test_functions_return_what_they_say(name):
    assert not broken_promises(name, 2, eager)


def test_a_broken_promise_is_found():
    assert keeps(tuple[effax.Array, ...], (effax.numpy.ones(1),))
    for promise, x in [(effax.Array, np.ones(1)), (int, np.int64(1)), (list[int], (1,))]:
        assert not keeps(promise, x)
