"""Names that have gone from JAX, or that it never had, with what to write instead."""

from __future__ import annotations

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
    "matrix": "jnp.array with two axes",
    "nditer": "lax.scan or lax.fori_loop",
    "copyto": "x.at[idx].set(y): arrays are immutable",
    "putmask": "jnp.where",
    "require": "jnp.asarray: arrays have no flags",
    "memmap": "numpy.memmap, then jnp.asarray",
    "recarray": "a pytree (a dataclass or dict) of arrays: arrays hold numbers and Booleans only",
}


def missing(module: str, name: str) -> NoReturn:
    """Raise `AttributeError` for a name that is not there, with what to use instead if known."""
    successor = SUCCESSORS.get(name)
    hint = f"; use {successor}" if successor else ""
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
