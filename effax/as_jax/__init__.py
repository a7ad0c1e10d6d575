"""The door for programs and libraries that say `import jax`: it gives them effax.

    python -m effax.as_jax train.py --epochs 3
    python -m effax.as_jax -m pytest tests

or, at the top of a program, before anything imports jax:

    import effax.as_jax
    effax.as_jax()

Sources stay as they are. `jax` is then a module of version 0.10.2 whose submodules are effax's own
(`jax.numpy is effax.numpy`), also in processes that the program starts, for pip's metadata, and for
the private names that libraries use (`effax/as_jax/private.py`). Where nobody opens the door, the
real JAX can be imported beside effax.
"""

from __future__ import annotations

import sys
from types import ModuleType

from effax.as_jax.finder import enter as enter

__all__ = ["enter"]
__dir__ = __all__.copy


class _Door(ModuleType):
    """A module that can be called: `effax.as_jax()` is `effax.as_jax.enter()`."""

    def __call__(self) -> None:
        enter()


sys.modules[__name__].__class__ = _Door
