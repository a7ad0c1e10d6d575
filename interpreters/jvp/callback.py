"""Forward mode through callbacks: the host sees primals; what it computes can't be derived."""

from __future__ import annotations

from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows.callback import (
    debug_callback,
    io_callback,
    pure_callback,
    sequenced_callback,
)
from effax.interpreters.jvp.dual import rule


@rule(debug_callback, pure=True)
def debug_callback_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    return debug_callback(*primals, **attributes), []


@rule(pure_callback, pure=True)
def pure_callback_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    raise UnsupportedDerivativeError(
        "Pure callbacks do not support JVP. Please use `custom_jvp` (or `custom_vjp`) to use "
        "callbacks while taking gradients: only the author of the callback knows its derivative."
    )


@rule(io_callback, sequenced_callback, pure=True)
def io_callback_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    raise UnsupportedDerivativeError(
        "IO callbacks do not support JVP. Pass operands without tangents (stop_gradient), or wrap "
        "it in a function with `custom_jvp`."
    )
