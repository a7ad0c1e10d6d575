"""Arrays that stay on their devices and are cut up among them in another way."""

from __future__ import annotations

from typing import Any, Final

from effax.backends.xla.buffer import assemble, move, shards
from effax.backends.xla.executable import Executable, compile_text
from effax.backends.xla.layout import ModuleMesh, ProgramLayout
from effax.backends.xla.lowering.writer import module_text
from effax.backends.xla.placement import Placement, replicated, tiled
from effax.effects.interning import keep
from effax.effects.program import Program, Variable
from effax.effects.types import ShapedArray

_made: Final[dict[tuple[ShapedArray, Placement, Placement], Executable]] = {}


def clear() -> None:
    """Forget the programs."""
    _made.clear()


def recut(
    buffer: Any, type: ShapedArray, source: Placement, target: Placement, shares: bool = True
) -> Any:
    """The buffer in other pieces: a program without equations, whose devices send them.

    The devices are the same, in any order; unless it `shares`, the result has memory of its own.
    By way of the host where no mesh describes both; over several processes by way of a copy on
    each device.
    """
    if source.devices != target.devices:
        return _reordered(buffer, type, source, target, shares)
    key = type, source, target
    found = _made.get(key)
    if found is None:
        x = Variable(None, type)
        program = Program([x], [], [x], "recut")
        layout = ProgramLayout(replicated(target.devices), (source,), True, None, (target,))
        try:
            mesh = ModuleMesh.of(layout, program)
        except NotImplementedError:
            if not source.is_fully_addressable and source.split:
                whole = replicated(source.devices)
                buffer, source = recut(buffer, type, source, whole), whole
            return move(buffer, type, source, target, copy=False)
        text, _ = module_text(program, target.device.platform, layout=layout, mesh=mesh)
        made = compile_text(text, placement=layout.where, out_types=[type], out_placements=[target])
        found = keep(_made, key, made, 1024)
    return found.execute([buffer])[0]


def _reordered(
    buffer: Any, type: ShapedArray, source: Placement, target: Placement, shares: bool
) -> Any:
    """The buffer under a placement that has the same devices in another order."""
    at = {device: i for i, device in enumerate(source.devices)}
    order = [at[target.devices[position]] for position in target.order]
    aligned = tiled(source.devices, target.split, target.copies, order)
    if aligned is not source or not shares:
        buffer = recut(buffer, type, source, aligned)
    mine = [device for device in source.devices if device.is_addressable]
    pieces = dict(zip(mine, shards(buffer, type, aligned), strict=True))
    ordered = [pieces[device] for device in target.devices if device.is_addressable]
    return assemble(ordered, type, target)
