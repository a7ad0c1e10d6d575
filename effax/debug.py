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

import string
import sys
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from effax.api.callbacks import show
from effax.effects.frames import filtered

__all__ = ["callback", "print"]


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
      partitioned: accepted for JAX's sake.
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
        show(function, args, kwargs, ordered)

    if callback is not None:
        return call(callback, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug.callback received unexpected arguments in the two-call form: {args=} {kwargs=}"
        )
    return call


class _Checker(string.Formatter):
    """Finds arguments that a format string does not mention, before the program runs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `debug.print`: {unused}")
        unknown = [k for k in kwargs if k not in used_args]
        if unknown:
            raise ValueError(
                f"Unused keyword arguments to `debug.print`: {unknown}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `debug.print` and instead should pass in a regular '
                "string."
            )


_checker: Final = _Checker()


@attrs.frozen(slots=True)
class _Print:
    """What prints a line: the format, and NumPy's print options where the user wrote the call."""

    text: str
    options: dict[str, Any] = attrs.field(hash=False)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        fields = [field for _, field, _, _ in string.Formatter().parse(self.text)]
        if any(field is not None for field in fields):
            with np.printoptions(**self.options):
                line = self.text.format(*args, **kwargs)
        else:
            line = " ".join((self.text, *map(str, args)))
        sys.stdout.write(line + "\n")

    def __str__(self) -> str:
        return f"print({self.text!r})"


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
      partitioned: accepted for JAX's sake.
      skip_format_check: leave arguments that the format does not mention unnoticed.
      **kwargs: values by name.

    Raises:
      ValueError: for arguments that the format string does not mention.

    >>> import effax, numpy as np
    >>> _ = effax.vmap(lambda x: print("got {x:.1f}", x=x))(np.float32([1, 2]))
    got 1.0
    got 2.0
    """

    def line(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            _checker.format(fmt, *args, **kwargs)
        show(_Print(fmt, dict(np.get_printoptions())), args, kwargs, ordered, as_arrays=False)

    if fmt is not None:
        return line(fmt, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"debug.print received unexpected arguments in the two-call form: {args=} {kwargs=}"
        )
    return line
