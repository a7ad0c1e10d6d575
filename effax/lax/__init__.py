"""Operations close to the machine, under JAX's names: nothing is broadcast or promoted for you."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.surface.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at

if _TYPE_CHECKING:
    from effax.lax.names import *

_surface = _Surface(globals(), _cut_at)
__dir__ = _surface.public


def __getattr__(name: str) -> _Any:
    """`add_p` is the effect `add`, as in `extend.core.primitives`."""
    if name.endswith("_p") and not name.startswith("_"):
        from effax.api.surface import primitives

        return getattr(primitives, name)
    return _surface.get(name)
