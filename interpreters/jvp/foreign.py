"""Forward mode through foreign code: the compiler knows what it computes, and no derivative."""

from __future__ import annotations

from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows.foreign import acting_foreign_call, exported_call, foreign_call
from effax.interpreters.jvp.dual import rule


@rule(exported_call, pure=True)
def exported_call_jvp(primals: list[Any], tangents: list[Any], *, module: Any) -> Any:
    raise UnsupportedDerivativeError(
        f"No VJP is available for the exported function {module.name}: an exported module does "
        "not hold its derivative. Serialize it with vjp_order=1 (or more, for derivatives of "
        "derivatives), or wrap its call in a function with `custom_jvp`"
    )


@rule(foreign_call, acting_foreign_call, pure=True)
def foreign_call_jvp(primals: list[Any], tangents: list[Any], *, target: Any, **_: Any) -> Any:
    raise UnsupportedDerivativeError(
        f"The FFI call to `{target.name}` cannot be differentiated: only the author of the target "
        "knows its derivative. You can use `custom_jvp` or `custom_vjp` to add support"
    )
