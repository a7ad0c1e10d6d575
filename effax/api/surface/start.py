"""Start-up: the kernel is given what it asks of the layers above (`Bottom`)."""

from __future__ import annotations

from typing import Any

from effax.backends.xla import host as host  # answers effects outside of programs
from effax.backends.xla.dispatch import evaluate
from effax.backends.xla.mesh import NamedSharding, with_devices
from effax.effects import config
from effax.effects.effect import Effect
from effax.effects.handler import bottom, innermost
from effax.effects.mesh import AbstractMesh, PartitionSpec, current_mesh
from effax.effects.types import ShapedArray

_NO_MESH = AbstractMesh((), ())


def _first_together(*given: Any) -> Any:
    """Import the function that stands here from the first call on: most programs don't need it."""
    from effax.backends.xla.together import together

    bottom.together = together
    return together(*given)


def _discharge(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    from effax.interpreters.functor.discharge import perform_on_contents

    return perform_on_contents(effect, operands, attributes)


def _bind(*given: Any) -> Any:
    from effax.api.surface.binding import bind

    return bind(*given)


def _sharding_of(type: ShapedArray, mesh: Any = None) -> NamedSharding:
    if mesh is not None and innermost() is bottom:
        mesh = with_devices(mesh)
        entries = (None,) * type.ndim if type.cut is None else type.cut.entries
        return NamedSharding(mesh, PartitionSpec(*entries))
    if type.cut is not None:
        return NamedSharding(type.cut.mesh, type.cut.spec)
    mesh = current_mesh() if mesh is None else mesh
    over = _NO_MESH if mesh is None else mesh.abstract_mesh
    return NamedSharding(over, PartitionSpec(*[None] * type.ndim))


bottom.perform = evaluate
bottom.together = _first_together
bottom.discharge = _discharge
bottom.bind = _bind
bottom.sharding_of = _sharding_of


def _watch_collections(level: str | None) -> None:
    if level not in (None, "allow"):
        from effax.api.placing.live_arrays import watch_collections

        watch_collections()


config.watch("array_garbage_collection_guard", _watch_collections)
_watch_collections(config.read("array_garbage_collection_guard"))


def _watch_log(setting: str) -> None:
    def watch(value: Any) -> None:
        from effax.api import logs

        logs.setters[setting](value)

    config.watch(setting, watch)
    if config.read(setting) not in ("", "NOTSET", None):
        watch(config.read(setting))


_watch_log("logging_level")
_watch_log("debug_log_modules")
