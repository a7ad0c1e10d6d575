"""Callbacks backwards: showing a tangent leaves nothing to propagate; the others are not linear."""

from __future__ import annotations

from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows.callback import (
    debug_callback,
    io_callback,
    pure_callback,
    sequenced_callback,
)
from effax.interpreters.transpose.linear import rule


@rule(debug_callback)
def debug_callback_transpose(cts: list[Any], *operands: Any, **attributes: Any) -> list[Any]:
    return [None for _ in operands]


@rule(pure_callback, io_callback, sequenced_callback)
def callback_transpose(cts: list[Any], *operands: Any, **attributes: Any) -> list[Any]:
    raise UnsupportedDerivativeError(
        "Pure callbacks and IO callbacks do not support transpose. Please use `custom_vjp` to use "
        "callbacks while taking gradients."
    )
