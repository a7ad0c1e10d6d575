"""Foreign code backwards: nothing is known to be linear in it."""

from __future__ import annotations

from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows.foreign import acting_foreign_call, exported_call, foreign_call
from effax.interpreters.transpose.linear import rule


@rule(exported_call, foreign_call, acting_foreign_call)
def foreign_transpose(cts: list[Any], *operands: Any, **attributes: Any) -> list[Any]:
    name = attributes.get("target") or attributes["module"].name
    raise UnsupportedDerivativeError(
        f"{name} can't be transposed, as nothing says that this foreign code is linear; wrap its "
        "call in a function with `custom_vjp`"
    )
