"""Choosing among many arrays, and among many functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.errors import ConcretizationTypeError
from effax.effects.handler import Carrier
from effax.effects.rows import selection, shape
from effax.effects.types import int32, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.keys.decorators import moves_keys
from effax.numpy.arithmetic import remainder
from effax.numpy.choosing import clip, where
from effax.numpy.comparing import truth
from effax.operands.arguments import cast, check_arrays, refuse_out, strong
from effax.operands.promoting import array, asarray, broadcast_to_common, promote_dtypes


@moves_keys("choices")
@opening
def choose(
    a: ArrayLike, choices: ArrayLike | Sequence[ArrayLike], out: None = None, mode: str = "raise"
) -> Array:
    """Return, for each element of a, the element there of the array of that number.

    Args:
      a: integers.
      choices: arrays, or an array of them; all are broadcast.
      out: must be None: arrays can't be written to.
      mode: what a number outside does: 'raise', 'wrap' or 'clip'.

    Raises:
      ValueError: for numbers outside with mode='raise', or that are not integers.
      ConcretizationTypeError: while tracing, with mode='raise'.

    >>> import effax.numpy as jnp
    >>> jnp.choose(jnp.array([1, 0, 1]), jnp.array([[1, 2, 3], [10, 20, 30]]))
    Array([10,  2, 30], dtype=int32)
    """
    refuse_out("choose", out)
    rows: Any = tuple(choices) if isinstance(choices, Iterator) else choices
    if not isinstance(rows, list | tuple):
        rows = [rows[i] for i in range(typeof(rows).shape[0])]
    check_arrays("choose", a, *rows)
    if not is_integer(typeof(a).dtype):
        raise ValueError("`a` array must be integer typed")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    if mode == "raise":
        if isinstance(a, Carrier):
            raise ConcretizationTypeError(
                "jnp.choose with mode='raise' looks at the indices, which are a traced value. "
                "Use mode='wrap' or mode='clip' instead."
            )
        known = np.asarray(a)
        if ((known < 0) | (known >= len(rows))).any():
            raise ValueError("invalid entry in choice array")
    return _choose(a, tuple(rows), mode)


@whole("mode")
def _choose(a: ArrayLike, choices: tuple[ArrayLike, ...], mode: str) -> Array:
    n = len(choices)
    narrow = typeof(a).dtype.itemsize < 4  # eight bits may not hold the number of choices
    which = cast(array(a), int32) if narrow else array(a)
    which = remainder(which, n) if mode == "wrap" else clip(which, 0, n - 1)
    return strong(_select_n(which, promote_dtypes(*choices)))


def _select_n(which: Any, cases: Sequence[Any]) -> Any:
    """The case of that number, element by element; all are broadcast."""
    which, *cases = broadcast_to_common(cast(which, int32), *cases, name="select")
    return selection.select_n(which, *cases)


@moves_keys("choicelist", "default", "on_true", "on_false")
@opening
def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """Return the choice of the first condition that holds, element by element.

    Args:
      condlist: a sequence of conditions, array_like; numbers other than 0 hold.
      choicelist: a sequence of as many choices, array_like. All are broadcast against each other.
      default: the elements where no condition holds.

    Raises:
      ValueError: for unequally many conditions and choices, or none.

    >>> import effax.numpy as jnp
    >>> x = jnp.arange(6)
    >>> jnp.select([x < 2, x > 3], [x, x * 10], -1)
    Array([ 0,  1, -1, -1, 40, 50], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arrays("select", *condlist, *choicelist, default)
    return _select(tuple(condlist), tuple(choicelist), default)


@whole()
def _select(
    conditions: tuple[ArrayLike, ...], choices: tuple[ArrayLike, ...], default: ArrayLike
) -> Array:
    result, *cases = promote_dtypes(default, *choices)
    for condition, case in zip(reversed(conditions), reversed(cases), strict=True):
        result = where(truth(array(condition)), case, result)
    return result


def piecewise(
    x: ArrayLike,
    condlist: Array | Sequence[ArrayLike],
    funclist: Sequence[ArrayLike | Callable[..., Array]],
    *args: Any,
    **kw: Any,
) -> Array:
    """Evaluate a function defined piece by piece: the last condition that holds picks the piece.

    Args:
      x: where to evaluate it.
      condlist: conditions, for each element of x or for all.
      funclist: functions of x (and the further arguments), or numbers; one more than conditions
        for where none holds, which is 0 else.
      *args, **kw: further arguments of the functions.

    Raises:
      ValueError: for another number of functions.

    >>> import effax.numpy as jnp
    >>> x = jnp.array([-2.0, 0.0, 3.0])
    >>> jnp.piecewise(x, [x < 0, x > 0], [lambda x: -x, lambda x: 2 * x])
    Array([2., 0., 6.], dtype=float32)
    """
    check_arrays("piecewise", x)
    x = array(x)
    conditions = (
        list(condlist)
        if isinstance(condlist, (list, tuple))
        else [condlist[i] for i in range(typeof(condlist).shape[0])]
    )
    pieces = list(funclist)
    if len(pieces) == len(conditions):
        pieces.append(0)
    if len(pieces) != len(conditions) + 1:
        n = len(conditions)
        raise ValueError(
            f"with {n} condition(s), either {n} or {n + 1} functions are expected; "
            f"got {len(pieces)}"
        )
    type = typeof(x)
    result = _spread_cast(_piece(pieces[-1], x, args, kw), type.dtype, type.shape)
    for condition, piece in zip(conditions, pieces[:-1], strict=True):
        value = _spread_cast(_piece(piece, x, args, kw), type.dtype, type.shape)
        result = where(truth_of(condition), value, result)
    return result


def truth_of(condition: Any) -> Any:
    """A condition, a list perhaps, as an array of Booleans."""
    return truth(array(asarray(condition, "piecewise")))


def _piece(piece: Any, x: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return piece(x, *args, **keywords) if callable(piece) else piece


@whole("dtype", "lengths")
def _spread_cast(x: Array, dtype: Any, lengths: tuple[int, ...]) -> Array:
    given = typeof(x).shape
    x = cast(array(x), dtype)
    if given == lengths:
        return x
    return shape.broadcast_in_dim(
        x, shape=lengths, dims=tuple(range(len(lengths) - len(given), len(lengths)))
    )
