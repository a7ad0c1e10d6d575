"""Forward mode of references: those made inside hold dual numbers; one made outside can't."""

from __future__ import annotations

from typing import Any, NoReturn

from effax.effects.errors import RefError
from effax.effects.rows.state import ref_set
from effax.interpreters.jvp.dual import rule


@rule(ref_set, pure=True)
def ref_set_jvp(primals: list[Any], tangents: list[Any]) -> NoReturn:
    raise RefError(
        "performing a set operation with a differentiated value on a non-differentiated array "
        f"reference of type {primals[0].type!r}, which was made outside of the function that is "
        "being differentiated. Move the array reference inside, pass it to jvp as an argument, or "
        "write stop_gradient of the value"
    )
