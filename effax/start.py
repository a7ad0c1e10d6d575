"""Start-up: the rows are loaded, and the bottom of the stack is given its backend."""

from __future__ import annotations

import logging

from effax.backends.xla import host as host  # answers of its own for what is not staged
from effax.backends.xla.dispatch import evaluate, together
from effax.backends.xla.mesh import NamedSharding
from effax.effects import config
from effax.effects.columns import load
from effax.effects.effect import Effect
from effax.effects.handler import bottom
from effax.effects.mesh import AbstractMesh, PartitionSpec
from effax.effects.types import ShapedArray
from effax.interpreters.discharge import perform_on_contents

bottom.perform = evaluate
bottom.together = together
Effect.discharge = staticmethod(perform_on_contents)

_NO_MESH = AbstractMesh((), ())


def _uncut(type: ShapedArray) -> NamedSharding:
    return NamedSharding(_NO_MESH, PartitionSpec(*[None] * type.ndim))


ShapedArray.sharding_of = staticmethod(_uncut)

load("effax.effects")  # the rows: what can be asked; the columns are loaded when one is needed

config.watch("logging_level", logging.getLogger("effax").setLevel)
logging.getLogger("effax").setLevel(config.read("logging_level"))


def _watch_collections(level: str | None) -> None:
    if level not in (None, "allow"):
        from effax.api.living import watch_collections

        watch_collections()


config.watch("array_garbage_collection_guard", _watch_collections)
_watch_collections(config.read("array_garbage_collection_guard"))
