"""Names that have gone from JAX, or that it never had, with what to write instead."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

SUCCESSORS: Final = {
    "alltrue": "jnp.all",
    "sometrue": "jnp.any",
    "product": "jnp.prod",
    "cumproduct": "jnp.cumprod",
    "in1d": "jnp.isin",
    "row_stack": "jnp.vstack",
    "msort": "jnp.sort(x, axis=0)",
    "trapz": "jnp.trapezoid",
    "round_": "jnp.round",
    "fix": "jnp.trunc",
    "DeviceArray": "effax.Array",
    "tree_map": "effax.tree.map",
    "tree_flatten": "effax.tree.flatten",
    "tree_unflatten": "effax.tree.unflatten",
    "tree_leaves": "effax.tree.leaves",
    **{name: f"effax.nn.{name}" for name in ("relu", "gelu", "sigmoid", "softmax", "one_hot")},
    "matrix": "jnp.array with two axes",
    "nditer": "lax.scan or lax.fori_loop",
    "copyto": "x.at[idx].set(y): arrays are immutable",
    "putmask": "jnp.where",
    "require": "jnp.asarray: arrays have no flags",
    "memmap": "numpy.memmap, then jnp.asarray",
    "recarray": "a pytree (a dataclass or dict) of arrays: arrays hold numbers and Booleans only",
}


_DEPRECATED: Final = {
    "device_put_sharded": "effax.device_put(jnp.stack(shards), NamedSharding(mesh, P('x')))",
    "device_put_replicated": "effax.device_put(x, NamedSharding(mesh, P()))",
}
"""Names of `effax` that JAX had for long, and what does the same over a mesh of the devices."""

_ELSEWHERE: Final = (
    *("effax.numpy", "effax.nn", "effax.lax", "effax.random", "effax.tree", "effax"),
    *("effax.numpy.linalg", "effax.scipy.special", "effax.scipy.linalg", "effax.scipy.stats"),
)
"""Modules that may have a name which another has not; none is imported to look for it."""


def missing(module: str, name: str) -> NoReturn:
    """Raise `AttributeError` for a name that is not there, with what to use instead if known.

    Python adds what `dir` of the module has that is spelled nearly like it.
    """
    if module == "effax" and name in _DEPRECATED:
        raise AttributeError(
            f"effax.{name} is deprecated; use {_DEPRECATED[name]}, where mesh is a Mesh of the "
            "devices with the axis 'x'",
            name=name,
            obj=sys.modules[module],
        )
    successor = SUCCESSORS.get(name)
    if successor is None and not name.startswith("_"):
        loaded = ((m, sys.modules[m]) for m in _ELSEWHERE if m in sys.modules)
        successor = next((f"{m}.{name}" for m, found in loaded if name in dir(found)), None)
    hint = f"; use {successor}" if successor else ""
    raise AttributeError(
        f"module {module!r} has no attribute {name!r}{hint}", name=name, obj=sys.modules[module]
    )
