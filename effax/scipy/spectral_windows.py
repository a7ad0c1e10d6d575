"""Windows of the functions on spectra, by the names that SciPy gives them; all are periodic."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import effax.numpy as jnp
from effax.effects.types import default_float
from effax.effects.value import Array

_COSINES = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}
_ALIASES = {"box": "boxcar", "ones": "boxcar", "rect": "boxcar", "rectangular": "boxcar"}
_ALIASES |= {"hanning": "hann", "han": "hann", "hamm": "hamming", "ham": "hamming"}
_ALIASES |= {"black": "blackman", "blk": "blackman", "triangle": "triang", "tri": "triang"}
_ALIASES |= {"halfcosine": "cosine", "sinc": "lanczos", "gauss": "gaussian", "ksr": "kaiser"}
_ABSENT = ("chebwin", "dpss", "taylor", "kaiser_bessel_derived")


def _cosines(t: Array, terms: tuple[float, ...]) -> Array:
    """A sum of cosines of a turn, from -1 to 1."""
    return sum((a * jnp.cos(k * pi * t) for k, a in enumerate(terms)), jnp.zeros_like(t))


def _tukey(t: Array, n: int, alpha: float = 0.5) -> Array:
    if alpha <= 0:
        return jnp.ones_like(t)
    inside = (jnp.abs(t) - 1) / min(alpha, 1) + 1
    return jnp.where(inside <= 0, 1, 0.5 * (1 + jnp.cos(pi * inside)))


def _parzen(t: Array, n: int) -> Array:
    away = jnp.abs(t) * (n - 1) / n
    return jnp.where(away <= 0.5, 1 - 6 * away**2 * (1 - away), 2 * (1 - away) ** 3)


def _bohman(t: Array, n: int) -> Array:
    away = jnp.abs(t)
    inside = (1 - away) * jnp.cos(pi * away) + jnp.sin(pi * away) / pi
    return jnp.where(away < 1, inside, 0)


def _kaiser(t: Array, n: int, beta: float) -> Array:
    return jnp.i0(beta * jnp.sqrt(1 - t * t)) / jnp.i0(float(beta))


def _general_gaussian(t: Array, n: int, power: float, deviation: float) -> Array:
    return jnp.exp(-0.5 * jnp.abs(t * (n - 1) / 2 / deviation) ** (2 * power))


def _exponential(t: Array, n: int, center: float | None = None, tau: float = 1.0) -> Array:
    away = 0.0 if center is None else center - (n - 1) / 2
    return jnp.exp(-jnp.abs(t * (n - 1) / 2 - away) / tau)


# Functions of the place, from -1 to 1, of the number of places, and of the parameters.
_SHAPES: dict[str, Callable[..., Array]] = {
    "triang": lambda t, n: 1 - jnp.abs(t) * (n - 1) / (n + 1 if n % 2 else n),
    "bartlett": lambda t, n: 1 - jnp.abs(t),
    "barthann": lambda t, n: 0.62 - 0.24 * jnp.abs(t) + 0.38 * jnp.cos(pi * t),
    "bohman": _bohman,
    "cosine": lambda t, n: jnp.cos(pi / 2 * t * (n - 1) / n),
    "lanczos": lambda t, n: jnp.sinc(t),
    "parzen": _parzen,
    "tukey": _tukey,
    "exponential": _exponential,
    "kaiser": _kaiser,
    "gaussian": lambda t, n, deviation: _general_gaussian(t, n, 1, deviation),
    "general_gaussian": _general_gaussian,
    "general_cosine": lambda t, n, terms: _cosines(t, tuple(terms)),
    "general_hamming": lambda t, n, alpha: _cosines(t, (alpha, 1 - alpha)),
}
_NEED = {"kaiser": 1, "gaussian": 1, "general_gaussian": 2, "general_cosine": 1}
_NEED |= {"general_hamming": 1}


def window_of(window: Any, length: int) -> Array:
    """The periodic window of a name, a name with parameters, or of Kaiser's parameter.

    Raises `ValueError` for other names and numbers of parameters.

    >>> window_of("bartlett", 4)
    Array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    if isinstance(window, int | float) and not isinstance(window, bool):
        window = ("kaiser", window)
    name, *parameters = window if isinstance(window, tuple) else (window,)
    name = _ALIASES.get(name, name)
    if name in _ABSENT:
        raise ValueError(
            f"the window {name!r} is not implemented; compute it with scipy.signal.get_window, "
            "and pass its values"
        )
    if name not in _COSINES and name not in _SHAPES:
        raise ValueError(f"Invalid window name {name!r} in parameter {window=}!")
    if length == 1:
        return jnp.ones(1)
    n = length + 1
    t = (2 * jnp.arange(length, dtype=default_float()) - length) / length
    if name in _COSINES:
        if parameters:
            raise ValueError(f"the window {name!r} has no parameters, got {window!r}")
        return _cosines(t, _COSINES[name])
    if len(parameters) < _NEED.get(name, 0):
        raise ValueError(
            f"the window {name!r} needs {_NEED[name]} parameters: give a tuple of them after the "
            f"name, not {window!r}"
        )
    try:
        return _SHAPES[name](t, n, *parameters)
    except TypeError as error:
        raise ValueError(f"invalid window {window!r}: {error}") from None
