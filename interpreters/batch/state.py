"""Batching of references: those made inside hold the batch; no lane writes one made outside."""

from __future__ import annotations

from typing import Any, NoReturn

from effax.effects.errors import RefError
from effax.effects.rows.state import ref_set
from effax.interpreters.batch.batched import Batch, rule


@rule(ref_set)
def ref_set_batch(handler: Batch, values: list[Any], batched: list[bool]) -> NoReturn:
    raise RefError(
        "performing a set/swap operation with vmapped value on an unbatched array reference of "
        f"type {values[0].type!r}: all lanes would write the same place. Move the array reference "
        "to be an argument to the vmapped function, with an axis for the lanes, or make it inside"
    )
