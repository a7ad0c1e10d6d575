"""Special functions: CHLO's, which the compiler expands, and those written out in effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.elementwise import operation
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects import special
from effax.effects.effect import Effect
from effax.effects.types import ShapedArray
from effax.interpreters.expansions import EXPANSIONS, expand

_OPERATIONS: Final[dict[Effect, str]] = {
    special.erf: "chlo.erf",
    special.erfc: "chlo.erfc",
    special.erf_inv: "chlo.erf_inv",
    special.lgamma: "chlo.lgamma",
    special.digamma: "chlo.digamma",
    special.polygamma: "chlo.polygamma",
    special.zeta: "chlo.zeta",
    special.bessel_i1e: "chlo.bessel_i1e",
}

for _effect, _name in _OPERATIONS.items():
    rule(_effect)(operation(_name))


def _expansion(effect: Effect) -> None:
    @rule(effect)
    def lower_expansion(w: Writer, types: Sequence[ShapedArray], *xs: Name) -> Any:
        return w.body(expand(effect, [x.type for x in xs]), xs)[0]


for _effect in EXPANSIONS:
    if _effect.family == special.FAMILY:
        _expansion(_effect)
