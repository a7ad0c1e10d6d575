"""Collectives under checkify: sums may give NaN; each place of a pmap has checks of its own."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows import collective as c
from effax.effects.rows import shape
from effax.effects.rows.comparison import eq
from effax.effects.rows.logical import and_
from effax.interpreters.checkify.checking import Checkify
from effax.interpreters.checkify.payload import stored_types
from effax.interpreters.functor.lifting import PLAIN, lift


def checkify_parallel(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """The places begin without failures; those they leave are failures of a batch of places.

    What failed first at a place is noted before what failed there besides.
    """
    program: Program = attributes["program"]
    lifted = lift(program, handler, (PLAIN,) * len(operands))
    sites: Any = lifted.state_mode
    results = effect(
        *lifted.captured,
        *operands,
        **{
            **attributes,
            "program": lifted.program,
            "mapped": (*(False for _ in lifted.captured), *attributes["mapped"]),
        },
    )
    if not sites:
        return list(results)
    first, flags, *rest = results
    size = attributes["size"]
    found = []
    for i, site in enumerate(sites):
        count = len(stored_types(site))
        payload, rest = rest[:count], rest[count:]
        if site.lanes:
            failed, *payload = payload
        else:
            failed = shape.squeeze(shape.slice_axis(flags, 1, i, i + 1), (1,))
        found.append((site, site.in_lanes((size, *site.lanes)), failed, payload))
    if len(found) > 1:
        for site, over, failed, payload in found:
            here = shape.broadcast_in_dim(eq(first, site.code), shape=over.lanes, dims=(0,))
            handler.note(over, and_(failed, here), payload)
    for _, over, failed, payload in found:
        handler.note(over, failed, payload)
    return rest


Checkify.overrides[c.parallel] = checkify_parallel
