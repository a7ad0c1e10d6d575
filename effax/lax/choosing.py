"""Functions that compilers may treat apart: one for each platform, or one under a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from effax.api.compiling.jit import jit
from effax.backends.xla.placement import default
from effax.effects.types import typeof
from effax.effects.value import ArrayLike, Value
from effax.errors import UnexpectedTracerError
from effax.operands.promoting import asarray

_KINDS = {"cpu": ("cpu",), "cuda": ("cuda", "gpu"), "rocm": ("rocm", "gpu"), "tpu": ("tpu",)}


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Return the result of the function for the platform that new arrays go to.

    Args:
      args: the functions' arguments.
      default: for platforms that are not named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu, or what a plugin calls its own.

    Raises:
      NotImplementedError: if there is none for this platform.

    A program is for one platform here, so the choice is made when the function is called or staged.

    >>> import effax.lax as lax
    >>> lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x - 1)
    3.0
    """
    here = platform()
    for name, function in per_platform.items():
        if here in _KINDS.get(name, {name}):
            return function(*args)
    if default is None:
        raise NotImplementedError(
            f"platform_dependent: a translation rule was not found for platform {here}: there is a "
            f"function for {', '.join(per_platform)} only, and no default; give one"
        )
    return default(*args)


def platform() -> str:
    """The name of the platform that new arrays go to."""
    return str(default().device.platform)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Name a function, so that a compiler that knows the name may compute it in its own way.

    XLA knows none of them and computes the decomposition, and so does every handler: here the
    name is that of a call. Keyword arguments are attributes: hashable objects and NumPy arrays.

    Raises:
      UnexpectedTracerError: for an attribute that is an array of effax's, or a traced value.
      ValueError: for a negative version.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> tangent = lax.composite(lambda x: jnp.sin(x) / jnp.cos(x), name="my.tangent")
    >>> tangent(jnp.float32(0.5))
    Array(0.5463025, dtype=float32)
    """
    if version < 0:
        raise ValueError(f"composite: version must not be negative, but it is {version}")

    @cache
    def compiled(attributes: tuple[tuple[str, _Attribute], ...]) -> Callable[..., Any]:
        given = {key: attribute.value for key, attribute in attributes}

        def body(*values: Any) -> Any:
            return decomposition(*values, **given)

        body.__name__ = name.replace(".", "_")
        return jit(body)

    def called(*args: Any, **attributes: Any) -> Any:
        return compiled(tuple((k, _Attribute(v, name)) for k, v in sorted(attributes.items())))(
            *args
        )

    return called


class _Attribute:
    """An attribute of a composite, equal to those of its type and value: 1 is not True.

    NumPy arrays are equal by their elements, which are copied.
    """

    def __init__(self, value: Any, composite: str) -> None:
        if isinstance(value, Value):
            raise UnexpectedTracerError(
                f"composite {composite!r}: an attribute is an effax array or a traced value of "
                f"type {typeof(value).str_short()}, but attributes must be known when the "
                "function is compiled; pass it as an argument, or as a NumPy array"
            )
        self.value = value.copy() if isinstance(value, np.ndarray) else value
        self._key = (
            (value.shape, value.dtype.str, value.tobytes())
            if isinstance(value, np.ndarray)
            else value
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Attribute)
            and type(self.value) is type(other.value)
            and self._key == other._key
        )

    def __hash__(self) -> int:
        return hash(self._key)


def stage(x: ArrayLike, /) -> Value:
    """Return the value as an array, or as a value of the handlers that are installed.

    Args:
      x: array_like.

    >>> import effax.lax as lax
    >>> lax.stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    found: Value = asarray(x)
    return found
