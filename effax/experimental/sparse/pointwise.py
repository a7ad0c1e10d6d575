"""Functions of single elements: of a sparse array they are those of its data, if 0 stays 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import numpy as np

import effax.numpy as jnp
from effax.effects.contexts import put
from effax.effects.effect import Effect, distinct
from effax.effects.errors import MissingRuleError
from effax.effects.handler import bottom, current
from effax.effects.rows import complex as complex_rows
from effax.effects.rows import conversion, elementwise
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.structures import with_data
from effax.experimental.sparse.vectors import by_position

_ADDITIVE: Final = (
    elementwise.neg,
    elementwise.copy,
    elementwise.stop_gradient,
    complex_rows.real,
    complex_rows.imag,
    complex_rows.conj,
)
"""Functions that are additive: they apply to each of several elements at one position."""


_known: Final[dict[Any, bool]] = {}
_LIMIT: Final = 1024


def by_element(
    effect: Effect, x: Any, operands: Sequence[Any], at: int, attributes: dict[str, Any]
) -> Any:
    """Return the sparse array of an effect on the elements of `x`.

    Args:
      effect: a pointwise effect of one result.
      x: the sparse array.
      operands: the operands, Python numbers but for that at `at`, which `x` stands for.
      at: the place of `x` among them.
      attributes: the attributes of the effect.

    Raises:
      MissingRuleError: if the effect of 0 is not 0.
    """
    if not _keeps_zero(effect, x.dtype, operands, at, attributes):
        _refuse_dense(effect, attributes)
    if not _is_additive(effect, x.dtype, attributes) and not getattr(x, "unique_indices", False):
        x = _each_once(x)
    given = [x.data if i == at else y for i, y in enumerate(operands)]
    return with_data(x, effect(*given, **attributes))


def _is_additive(effect: Effect, dtype: Any, attributes: dict[str, Any]) -> bool:
    if effect is conversion.convert_element_type:
        # Rounding a sum to integers differs from rounding its terms.
        return jnp.issubdtype(attributes["dtype"], jnp.inexact) or (
            jnp.issubdtype(attributes["dtype"], jnp.integer) and jnp.issubdtype(dtype, jnp.integer)
        )
    return effect in _ADDITIVE


def _each_once(x: Any) -> Any:
    """Return the array with each position once, in the same format and with as much room."""
    found = by_position(x)._each_once()
    return found if isinstance(x, BCOO) else type(x).from_bcoo(found)


def _keeps_zero(
    effect: Effect, dtype: Any, operands: Sequence[Any], at: int, attributes: dict[str, Any]
) -> bool:
    """Return whether the effect is 0 where `x` is 0, which is computed once."""
    others = tuple([None if i == at else (type(y), distinct(y)) for i, y in enumerate(operands)])
    key = effect, dtype, others, tuple(attributes.items())
    found = _known.get(key)
    if found is None:
        if len(_known) >= _LIMIT:
            _known.clear()
        found = _known[key] = _is_zero_at_zero(effect, dtype, operands, at, attributes)
    return found


def _is_zero_at_zero(
    effect: Effect, dtype: Any, operands: Sequence[Any], at: int, attributes: dict[str, Any]
) -> bool:
    token = put(current, bottom)
    try:
        given = [jnp.zeros((), dtype) if i == at else y for i, y in enumerate(operands)]
        with np.errstate(all="ignore"):
            return not np.any(np.asarray(effect(*given, **attributes)) != 0)
    finally:
        current.reset(token)


def _refuse_dense(effect: Effect, attributes: dict[str, Any]) -> NoReturn:
    """Raise `MissingRuleError` for an effect whose result would be dense."""
    exponent = ""
    if effect is elementwise.integer_pow:
        exponent = f" with non-positive exponent {attributes['y']}"
    raise MissingRuleError(
        f"sparse rule for {effect.name}{exponent} is not implemented because it would result in "
        "dense output. If that is intended, make the operands dense by sparse.todense"
    )
