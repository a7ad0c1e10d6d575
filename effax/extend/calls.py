"""Calls of functions as primitives, and what JAX's programs know of the functions they are of."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from effax.effects.jax_primitives import Unperformed
from effax.effects.rows.control import call
from effax.effects.types import typeof
from effax.extend.linear_util import WrappedFun
from effax.interpreters.stage import stage


class CallPrimitive(Unperformed):
    """A primitive that calls a function of arrays: programs have a call, of the primitive's name.

    >>> from effax.extend import linear_util
    >>> twice = CallPrimitive("twice")
    >>> twice.bind(linear_util.wrap_init(lambda x: [2.0 * x]), 3.0)
    [Array(6., dtype=float32, weak_type=True)]
    """

    __slots__ = ()

    multiple_results = call_primitive = True

    def bind(self, fun: WrappedFun, *operands: Any) -> list[Any]:
        """Perform the call of a function that returns a flat sequence of values."""
        staged = stage(fun.call_wrapped, [*map(typeof, operands)], self.name)
        return list(call(*staged.captured, *operands, program=staged.program, name=self.name))


def call_impl(f: WrappedFun, *operands: Any, **parameters: Any) -> Any:
    """Call a wrapped function, whatever a primitive's parameters say about the call."""
    return f.call_wrapped(*operands)


_FILE: Final = re.compile(r"\S+ at (?P<file>.*?)(:(?P<line>\d+))?$")


class DebugInfo(NamedTuple):
    """A description of a function: `func_src_info` is `name` or `name at file:line`.

    >>> DebugInfo("jit", "f at train.py:12", ("x",), ("result",)).func_lineno
    12
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: Any

    def resolve_result_paths(self) -> DebugInfo:
        """The same with its results' paths, where they are given by a function."""
        paths = self.result_paths
        return self._replace(result_paths=tuple(paths())) if callable(paths) else self

    @property
    def func_name(self) -> str:
        """The function's name."""
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file that it is in, as far as that is known."""
        found = _FILE.match(self.func_src_info)
        return None if found is None else found["file"]

    @property
    def func_lineno(self) -> int | None:
        """The line that it begins at, as far as that is known."""
        found = _FILE.match(self.func_src_info)
        return None if found is None or found["line"] is None else int(found["line"])
