"""effax: numerical programs as effects, transformations as handlers.

A program written for JAX runs as it is by `python -m effax.as_jax program.py`, or with its import
lines changed: `import effax as jax, effax.numpy as jnp`.
"""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import Final as _Final

from effax.api.surface import start as _start  # noqa: F401  # isort: skip  (it gives the stack its bottom)

from effax import numpy as numpy  # isort: skip  (it gives values their operators)

from effax.api.surface.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at
from effax.effects.frames import strip as _strip

if _TYPE_CHECKING:
    from effax.names import *

__version__: _Final[str] = "0.1.0"

__version_info__: _Final[tuple[int, int, int]] = (0, 10, 2)
"""The version of JAX's interface that effax has; programs compare it to ask which names exist."""


def _finish(names: dict[str, _Any]) -> None:
    _cut_at(names, home=False)


_surface = _Surface(globals(), _finish)
__dir__ = _surface.public

# opt_einsum and similar libraries look for these in the package of an array's class.
_FOR_DISPATCHERS = ("einsum", "tensordot", "transpose")


def __getattr__(name: str) -> _Any:
    if name in _FOR_DISPATCHERS:
        return getattr(numpy, name)
    try:
        return _surface.get(name)
    except AttributeError as error:
        _strip(error)
        raise


def load_ipython_extension(ipython: _Any) -> None:
    """Show arrays, programs, stages and shardings as HTML in Jupyter: `%load_ext effax`."""
    from effax.seeing.notebook import register

    register(ipython)


if "IPython" in _sys.modules:  # a notebook, or a program that another library gave IPython
    from effax.seeing.notebook import register_if_shown as _register_if_shown

    _register_if_shown()
