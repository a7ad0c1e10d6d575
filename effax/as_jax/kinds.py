"""The modules that arrays and traced values say they are from, where effax is jax.

Libraries that know several kinds of arrays (autoray, and so quimb and PennyLane) ask the class of
an array for its module and take the functions of that package.
"""

from __future__ import annotations

from typing import Any, Final

from effax.effects.value import Value, shown_modules

_MODULES: Final = {
    "effax.backends.xla.array": "jax._src.array",
    "effax.backends.reference.evaluate": "jax._src.core",
    "effax.effects.program": "jax._src.interpreters.partial_eval",
    "effax.interpreters.batch.batched": "jax._src.interpreters.batching",
    "effax.interpreters.interpreter.carried": "jax._src.core",
    "effax.interpreters.jvp.dual": "jax._src.interpreters.ad",
    "effax.keys.arrays": "jax._src.random.prng",
}


def say_jax() -> None:
    """Let the classes of arrays and traced values, those to come too, say that they are of jax."""
    shown_modules.update(_MODULES)
    for kind in _below(Value):
        kind.__module__ = shown_modules.get(kind.__module__, kind.__module__)


def _below(kind: type) -> list[Any]:
    subclasses: list[type] = kind.__subclasses__()
    return [x for sub in subclasses for x in (sub, *_below(sub))]
