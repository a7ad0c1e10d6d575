"""Operations close to the machine, under JAX's names: nothing is broadcast or promoted for you."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at

if _TYPE_CHECKING:
    from effax.lax.names import *

_PLACED = frozenset(
    {
        "broadcast",
        "broadcast_in_dim",
        "broadcasted_iota",
        "conv_general_dilated",
        "dot",
        "dot_general",
        "empty",
        "ragged_dot",
        "ragged_dot_general",
        "reduce",
        "reshape",
    }
)
"""Functions with the keyword `out_sharding`."""


def _finish(names: dict[str, _Any]) -> None:
    from effax.api.placed import give_out_sharding
    from effax.key_functions import accept_keys

    give_out_sharding(names, _PLACED.intersection(names))
    _cut_at(names)
    accept_keys(names)


_surface = _Surface(globals(), _finish)
__dir__ = _surface.public


def __getattr__(name: str) -> _Any:
    """`add_p` is the effect `add`, as in `extend.core.primitives`."""
    if name.endswith("_p") and not name.startswith("_"):
        from effax.extend.core import primitives

        return getattr(primitives, name)
    return _surface.get(name)
