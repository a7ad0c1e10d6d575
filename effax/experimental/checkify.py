"""Checks in compiled programs: errors as values, and what made them.

>>> import effax, effax.numpy as jnp
>>> from effax.experimental import checkify
>>> def f(x):
...     checkify.check(x > 0, "{x} needs to be positive!", x=x)
...     return 1 / x
>>> err, out = effax.jit(checkify.checkify(f))(jnp.float32(-3))
>>> err.get()
'-3.0 needs to be positive! (`check` failed)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import numpy as np

from effax.api.calling.arguments import wearing
from effax.backends.xla.array import asarray
from effax.effects.columns import load
from effax.effects.failures import (
    BatchedError,
    DivisionByZeroError,
    FailedCheckError,
    Formatted,
    JaxException,
    JaxRuntimeError,
    NaNError,
    OOBError,
    Site,
)
from effax.effects.frames import filtered, user_frame
from effax.effects.rows import check as effects
from effax.effects.rows.comparison import ne
from effax.effects.rows.conversion import bitcast_convert_type
from effax.effects.rows.logical import not_, or_
from effax.effects.rows.shape import broadcast_in_dim
from effax.effects.tree import register_pytree_node_class, tree_flatten, tree_map
from effax.effects.types import is_bool, is_complex, typeof
from effax.effects.value import Value
from effax.interpreters.checkify.checking import Checkify
from effax.interpreters.checkify.payload import stored_types

__all__ = [
    "BatchedError",
    "DivisionByZeroError",
    "Error",
    "FailedCheckError",
    "JaxException",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
__dir__ = __all__.copy

load("effax.interpreters.checkify")

ErrorCategory = type[JaxException]
P = ParamSpec("P")
Out = TypeVar("Out")

user_checks: Final[frozenset[ErrorCategory]] = frozenset({FailedCheckError})
"""Failures of `check`."""
nan_checks: Final[frozenset[ErrorCategory]] = frozenset({NaNError})
"""Operations that give NaN."""
index_checks: Final[frozenset[ErrorCategory]] = frozenset({OOBError})
"""Indices outside the array."""
div_checks: Final[frozenset[ErrorCategory]] = frozenset({DivisionByZeroError})
"""Divisions by zero."""
float_checks: Final = nan_checks | div_checks
"""NaN and divisions by zero."""
automatic_checks: Final = float_checks | index_checks
"""All that need no `check` to be written."""
all_checks: Final = automatic_checks | user_checks
"""All there are."""


@register_pytree_node_class
class Error:
    """The failure of a checked function, if there was one: a pytree of arrays.

    `get()` says what failed first, `get_all()` everything that failed, `throw()` raises it.
    """

    __slots__ = ("_leaves", "_sites")

    def __init__(self, sites: tuple[Site, ...] = (), leaves: Sequence[Any] = ()) -> None:
        self._sites = sites
        self._leaves = tuple(leaves)

    def get(self) -> str | None:
        """The message of the check that failed first, None if all held.

        For an error of a batch, a line for each element that failed, with its index.
        """
        error = self.get_exception()
        return None if error is None else str(error)

    def get_all(self) -> list[str]:
        """The messages of all checks that failed, the first first."""
        return [str(e) for e in self._exceptions(every=True)]

    def get_exception(self) -> JaxException | None:
        """The exception for the check that failed first, None if all held."""
        return next(self._exceptions(every=False), None)

    def throw(self) -> None:
        """Raise `JaxRuntimeError`, a `ValueError`, if a check failed.

        Under `checkify` this is a check itself, see `check_error`.
        """
        check_error(self)

    def _exceptions(self, every: bool) -> Iterator[JaxException]:
        if not self._sites:
            return
        first, flags, *rest = [np.asarray(x) for x in self._leaves]
        if not flags.any():
            return
        payloads = dict(_grouped(self._sites, rest))
        batch = first.shape
        if not batch:
            yield from _in_order(self._sites, payloads, first, flags, (), every)
            return
        by_index: dict[tuple[int, ...], list[JaxException]] = {}
        for index in np.ndindex(*batch):
            if first[index]:
                by_index[index] = list(_in_order(self._sites, payloads, first, flags, index, every))
        for k in range(max(map(len, by_index.values()))):
            yield BatchedError({i: found[k] for i, found in by_index.items() if k < len(found)})

    def __repr__(self) -> str:
        return f"Error({self.get()})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Site, ...]]:
        """Arrays; and the sites their codes stand for."""
        return self._leaves, self._sites

    @classmethod
    def tree_unflatten(cls, sites: tuple[Site, ...], leaves: Sequence[Any]) -> Error:
        """The error of these parts."""
        return cls(sites, leaves)


def _grouped(sites: Sequence[Site], leaves: Sequence[Any]) -> Iterator[tuple[Site, list[Any]]]:
    rest = iter(leaves)
    for site in sites:
        yield site, [next(rest) for _ in stored_types(site)]


def _in_order(
    sites: Sequence[Site],
    payloads: dict[Site, list[Any]],
    first: Any,
    flags: Any,
    index: tuple[int, ...],
    every: bool,
) -> Iterator[JaxException]:
    """The failures of one element of a batch: the first, then the others in program order."""
    failed = [s for s, flag in zip(sites, flags[index], strict=True) if flag]
    failed.sort(key=lambda s: s.code != int(first[index]))
    for site in failed if every else failed[:1]:
        leaves = [x[index] for x in payloads[site]]
        mask = np.asarray(leaves.pop(0) if site.lanes else True)
        error = site.failures(mask, _values(site, leaves))
        if error is not None:
            yield error


def _values(site: Site, leaves: Sequence[Any]) -> list[Any]:
    """A payload from its bits: arrays, as messages show them."""
    rest = map(np.asarray, leaves)
    values = []
    for t in site.types:
        if is_complex(t.dtype):
            part = np.float32 if t.dtype.itemsize == 8 else np.float64
            real, imag = next(rest).view(part), next(rest).view(part)
            number = np.empty(real.shape, t.dtype)
            number.real, number.imag = real, imag
            values.append(asarray(number))
        else:
            word = next(rest)
            values.append(asarray(word if word.dtype == t.dtype else word.view(t.dtype)))
    return values


init_error: Final = Error()
"""No error."""


@filtered
def checkify(
    f: Callable[P, Out], errors: frozenset[ErrorCategory] = user_checks
) -> Callable[P, tuple[Error, Out]]:
    """Answer the checks of a function: errors become a value that it returns.

    Args:
      f: a function that may contain `check`.
      errors: which failures are looked for, a union of the sets of this module: `user_checks`
        (`check`), `nan_checks`, `div_checks`, `index_checks`; `float_checks` is NaN and division,
        `automatic_checks` those and indices, `all_checks` all.

    Returns:
      A function of the same arguments that returns an `Error` and what `f` returns. It can be
      compiled, batched and differentiated, and used inside loops and branches, like any other.

    >>> import effax, effax.numpy as jnp
    >>> err, out = checkify(lambda x: jnp.log(x), errors=nan_checks)(jnp.float32(-1))
    >>> err.get().split(" at ")[0]
    'nan generated by primitive: log'
    """
    if not callable(f):
        raise TypeError(f"checkify takes a function, but was given {f!r}")

    @wearing(f, annotated=False)
    @filtered
    def checked(*args: P.args, **kwargs: P.kwargs) -> tuple[Error, Out]:
        # NumPy arrays would be computed by NumPy, where checks can't see it.
        args, kwargs = tree_map(_on_device, (args, kwargs))
        handler = Checkify(kinds=errors)
        out = handler.run(f, *args, **kwargs)
        sites: Any = handler.state_mode()
        return Error(sites, handler.state_leaves(sites)), out

    return checked


def _on_device(x: Any) -> Any:
    numeric = isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind not in "OSU"
    return asarray(x) if numeric else x


@filtered
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Claim that something holds.

    Without `checkify` around it, a claim about known values that does not hold raises at once, and
    one about traced values can't be compiled.

    Args:
      pred: a Boolean scalar.
      msg: what to say if it is False: a format string.
      *fmt_args: arrays, or trees of them, for the format string.
      debug: whether the check is made only under `checkify`, and otherwise left out.
      **fmt_kwargs: the same by name.

    Raises:
      JaxRuntimeError: a `ValueError`, if the claim does not hold and values are known.
      TypeError: if `pred` is not a Boolean scalar, or an argument is not an array.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import checkify
    >>> def root(x):
    ...     checkify.check(x >= 0, "x is {x}", x=x)
    ...     return jnp.sqrt(x)
    >>> error, _ = checkify.checkify(root)(jnp.array(-1.0))
    >>> error.get().splitlines()[0]
    'x is -1.0 (`check` failed)'
    """
    _claim(pred, msg, debug, fmt_args, fmt_kwargs)


@filtered
def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Claim that something holds, only under `checkify`; otherwise nothing happens.

    Args:
      pred: a Boolean scalar.
      msg: what to say if it is False: a format string.
      *fmt_args: arrays, or trees of them, for the format string.
      **fmt_kwargs: the same by name.

    >>> from effax.experimental import checkify
    >>> checkify.debug_check(False, "nobody asks")
    """
    _claim(pred, msg, True, fmt_args, fmt_kwargs)


def _claim(
    pred: Any, msg: str, debug: bool, fmt_args: tuple[Any, ...], fmt_kwargs: dict[str, Any]
) -> None:
    name = "debug_check" if debug else "check"
    if not _is_boolean_scalar(pred):
        raise TypeError(f"{name} takes a scalar pred as argument, got {pred!r}")
    payload, tree = tree_flatten((fmt_args, fmt_kwargs))
    for x in payload:
        if not isinstance(x, (Value, np.ndarray, np.generic)):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r} of type {type(x)}."
            )
    site = Site(
        FailedCheckError, Formatted(msg, tree), user_frame(), [_plain(typeof(x)) for x in payload]
    )
    effect = effects.debug_check if debug else effects.check
    effect(pred, *payload, site=site)


def _plain(type: Any) -> Any:
    return type.update(weak_type=False)


def _is_boolean_scalar(pred: Any) -> bool:
    if isinstance(pred, (bool, np.bool_)):
        return True
    if not isinstance(pred, (Value, np.ndarray)):
        return False
    type = typeof(pred)
    return not type.shape and is_bool(type.dtype)


@filtered
def check_error(error: Error) -> None:
    """Raise if an error is one; under `checkify` it becomes the error of the function around.

    The inverse of `checkify`: `lambda x: check_error(checkify(f)(x)[0])` fails like `f`.

    Raises:
      JaxRuntimeError: if the error is known, and is one.

    >>> import effax, effax.numpy as jnp
    >>> def f(x):
    ...     check(x > 0, "must be positive")
    ...     return x
    >>> def with_inner_jit(x):
    ...     error, out = effax.jit(checkify(f))(x)
    ...     check_error(error)
    ...     return out
    >>> error, _ = checkify(with_inner_jit)(jnp.float32(-1))
    >>> error.get()
    'must be positive (`check` failed)'
    """
    if not isinstance(error, Error):
        _refuse(error)
    if not error._sites:
        return
    first, _, *rest = error._leaves
    of_lanes = []
    for site, leaves in _grouped(error._sites, rest):
        holds = ne(first, site.code)
        if site.lanes:
            mask, *leaves = leaves
            if typeof(first).shape:
                continue
            of_lanes.append((not_(mask), _unstored(site, leaves), site.in_lanes(())))
            another = broadcast_in_dim(holds, shape=site.lanes, dims=())
            holds = or_(another, not_(mask))
        effects.check(holds, *_unstored(site, leaves), site=site.in_lanes(()))
    if len(of_lanes) > 1:  # each lane may fail at another place
        for holds, payload, site in of_lanes:
            effects.check(holds, *payload, site=site)


def _unstored(site: Site, leaves: Sequence[Any]) -> list[Any]:
    """A payload from its bits, as effects."""
    from effax.effects.rows.complex import complex

    rest = iter(leaves)
    values = []
    for t in site.types:
        if is_complex(t.dtype):
            part = np.dtype(np.float32 if t.dtype.itemsize == 8 else np.float64)
            real, imag = (bitcast_convert_type(next(rest), dtype=part) for _ in range(2))
            values.append(complex(real, imag))
        else:
            word = next(rest)
            same = typeof(word).dtype == t.dtype
            values.append(word if same else bitcast_convert_type(word, dtype=t.dtype))
    return values


def _refuse(error: Any) -> NoReturn:
    raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
