"""Looking into programs while they run.

>>> import effax, numpy as np
>>> @effax.jit
... def double(x):
...     print("x is {x}", x=x)
...     return effax.numpy.add(x, x)
>>> double(np.float32(2)).block_until_ready()
x is 2.0
Array(4., dtype=float32)
"""

from __future__ import annotations

import logging
import string
import sys
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from effax.api.callbacks import show
from effax.api.placing.sharding_views import inspect_array_sharding as inspect_array_sharding
from effax.api.placing.sharding_views import visualize_array_sharding as visualize_array_sharding
from effax.api.placing.sharding_views import visualize_sharding as visualize_sharding
from effax.backends.xla.array import asarray
from effax.effects.frames import filtered
from effax.effects.tree import tree_map

__all__ = [
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
__dir__ = __all__.copy


@filtered
def callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with values of a running program; what it returns is dropped.

    It is called once for each time the program comes by: for each step of a loop, and for each
    lane under `vmap`, in order. Differentiation shows it primals.

    Args:
      callback: the function; without it, the result takes function and arguments:
        `callback(ordered=True)(f, x)`.
      *args: its arguments: trees of arrays; what is no array is passed as it is.
      ordered: whether calls happen in the order of the program's text, also between programs.
      partitioned: whether, in a program over several devices, each device hands over its own piece
        of arrays; by default the first one hands over whole arrays. Batches are not cut.
      **kwargs: its arguments by keyword.

    >>> import effax, numpy as np
    >>> seen = []
    >>> def f(x):
    ...     callback(lambda v: seen.append(float(v)), x)
    ...     return x
    >>> _ = effax.vmap(f)(np.float32([1, 2]))
    >>> seen
    [1.0, 2.0]
    """

    def call(function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        if not callable(function):
            raise TypeError(
                "first argument to debug.callback must be callable, but got an object of type "
                f"{type(function)}"
            )
        show(function, args, kwargs, ordered, partitioned=partitioned)

    if callback is not None:
        return call(callback, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug_callback received unexpected arguments in the two-call form: {args=} {kwargs=}"
        )
    return call


def _given(count: int, names: list[str]) -> str:
    """The values of a call in words."""
    values = f"{count} value{'' if count == 1 else 's'} by position"
    return f"it was given {values}, and by name {', '.join(map(repr, names)) or 'none'}"


class _Checker(string.Formatter):
    """Finds arguments that a format string does not mention, before the program runs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `effax.debug.print`: {unused}")
        unknown = [k for k in kwargs if k not in used_args]
        if unknown:
            raise ValueError(
                f"Unused keyword arguments to `effax.debug.print`: {unknown}. You may be passing "
                "an f-string, which is formatted before the call; leave out its f"
            )


_checker: Final = _Checker()
_log: Final = logging.getLogger("effax")


@attrs.frozen(slots=True)
class _Line:
    """The writer of a printed line: its format, and NumPy's print options at the user's call."""

    text: str
    options: dict[str, Any] = attrs.field(hash=False)
    write: Callable[[str], Any]

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        args = tuple(map(_field, args))
        kwargs = {name: _field(x) for name, x in kwargs.items()}
        fields = [field for _, field, _, _ in string.Formatter().parse(self.text)]
        if any(field is not None for field in fields):
            with np.printoptions(**self.options):
                line = self.text.format(*args, **kwargs)
        else:
            line = " ".join((self.text, *map(str, args)))
        self.write(line)

    def __str__(self) -> str:
        return f"print({self.text!r})"


def _field(value: Any) -> Any:
    """A value to format: arrays inside of containers show as `Array(...)`, as everywhere else."""
    if isinstance(value, np.ndarray):
        return value
    return tree_map(lambda x: asarray(x) if isinstance(x, np.ndarray | np.generic) else x, value)


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")


def _show_line(
    name: str,
    write: Callable[[str], Any],
    fmt: str | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    partitioned: bool,
    skip_format_check: bool,
) -> Any:
    def line(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            try:
                _checker.format(fmt, *args, **kwargs)
            except KeyError as error:
                raise KeyError(
                    f"the format string of debug.{name} mentions {error.args[0]!r}, but "
                    f"{_given(len(args), sorted(kwargs))}"
                ) from None
            except IndexError:
                raise IndexError(
                    f"the format string of debug.{name}, {fmt!r}, needs more values than "
                    f"the {len(args)} given"
                ) from None
        told = _Line(fmt, dict(np.get_printoptions()), write)
        show(told, args, kwargs, ordered, as_arrays=False, partitioned=partitioned)

    if fmt is not None:
        return line(fmt, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug_{name} received unexpected arguments in the two-call form: {args=} {kwargs=}"
        )
    return line


@filtered
def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values of a running program.

    Formatting happens when the values are known, so give a format string and the values, not an
    f-string. Printed once for each step of a loop and each lane of `vmap`, in order.

    Args:
      fmt: a format string, as of `str.format`; without it, the result takes it:
        `print(ordered=True)("x is {}", x)`.
      *args: values for it.
      ordered: whether lines appear in the order of the program's text, also between programs.
      partitioned: whether, in a program over several devices, each device hands over its own piece
        of arrays; by default the first one hands over whole arrays. Batches are not cut.
      skip_format_check: leave arguments that the format does not mention unnoticed.
      **kwargs: values by name.

    Raises:
      ValueError: for arguments that the format string does not mention.

    >>> import effax, numpy as np
    >>> _ = effax.vmap(lambda x: print("got {x:.1f}", x=x))(np.float32([1, 2]))
    got 1.0
    got 2.0
    """
    options = ordered, partitioned, skip_format_check
    return _show_line("print", _print_line, fmt, args, kwargs, *options)


@filtered
def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Log values of a running program: as `print`, into the logger "effax", at level INFO.

    Args:
      fmt: a format string, as of `str.format`; without it, the result takes it.
      *args: values for it.
      ordered: whether lines appear in the order of the program's text, also between programs.
      partitioned: whether, in a program over several devices, each device hands over its own piece
        of arrays; by default the first one hands over whole arrays. Batches are not cut.
      skip_format_check: leave arguments that the format does not mention unnoticed.
      **kwargs: values by name.

    >>> import effax, logging
    >>> logging.getLogger("effax").isEnabledFor(logging.INFO)
    False
    >>> log("x is {x}", x=1.0)
    """
    options = ordered, partitioned, skip_format_check
    return _show_line("log", _log.info, fmt, args, kwargs, *options)


@filtered
def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Stop a running program here, and open a terminal session with the values it has.

    The session knows the variables of the function that is being traced and of its callers. It
    understands `p`, `pp`, `l`, `a`, `u`, `d`, `bt`, `c`, `q` and `h`, as pdb does, and evaluates
    anything else. It is opened each time the program comes by: for each step of a loop, and for
    each lane under `vmap`. Under differentiation variables are primals.

    Args:
      backend: "cli", the terminal, is the only one.
      filter_frames: leave the library's own frames out.
      num_frames: how many frames to know, the innermost first; all by default.
      ordered: whether sessions open in the order of the program's text, also between programs.
      token: not supported: `ordered=True` keeps the order.
      **kwargs: `stdin`, `stdout`: files that stand for the terminal.

    Raises:
      bdb.BdbQuit: where the session is left by `q`; as the cause of a `JaxRuntimeError` where the
        program is compiled.

    >>> import io, effax
    >>> @effax.jit
    ... def f(x):
    ...     y = x * 2
    ...     breakpoint(stdin=io.StringIO("p y\\nc\\n"), stdout=out)
    ...     return y
    >>> out = io.StringIO()
    >>> _ = f(3.0).block_until_ready()
    >>> "Array(6., dtype=float32)" in out.getvalue()
    True
    """
    from effax.debugger import Breakpoint, levels

    if backend not in (None, "cli"):
        raise ValueError(f"Invalid backend: {backend!r}; the only one is 'cli', the terminal")
    if token is not None:
        raise NotImplementedError(
            "breakpoint(token=...) is not supported; ordered=True keeps sessions in order"
        )
    unknown = kwargs.keys() - {"stdin", "stdout"}
    if unknown:
        raise TypeError(f"breakpoint got unexpected arguments {sorted(unknown)}")
    found, variables = levels(sys._getframe(2), bool(filter_frames), num_frames)
    stop = Breakpoint(found, kwargs.get("stdin"), kwargs.get("stdout"))
    show(stop, tuple(stop.split(variables)), {}, ordered)
