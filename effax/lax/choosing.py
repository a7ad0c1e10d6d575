"""Functions that compilers may treat apart: one for each platform, or one under a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from effax.api.jit import jit
from effax.backends.xla.placement import default
from effax.effects.value import Value
from effax.numpy.operands import asarray

_KINDS = {"cpu": ("cpu",), "cuda": ("cuda", "gpu"), "rocm": ("rocm", "gpu"), "tpu": ("tpu",)}


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """The result of the function for the platform that new arrays go to.

    Args:
      args: the functions' arguments.
      default: for platforms that are not named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu.

    Raises:
      NotImplementedError: if there is none for this platform.

    A program is for one platform here, so the choice is made when the function is called or staged.

    >>> import effax.lax as lax
    >>> lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x - 1)
    3.0
    """
    unknown = per_platform.keys() - _KINDS.keys()
    if unknown:
        raise ValueError(f"platform_dependent: no platform is called {', '.join(sorted(unknown))}")
    here = platform()
    for name, function in per_platform.items():
        if here in _KINDS[name]:
            return function(*args)
    if default is None:
        raise NotImplementedError(
            f"platform_dependent: there is no function for {here}, only for "
            f"{', '.join(per_platform)}, and no default; give one"
        )
    return default(*args)


def platform() -> str:
    """The name of the platform that new arrays go to."""
    return str(default().device.platform)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function under a name, which a compiler that knows the name may compute in its own way.

    XLA knows none of them and computes the decomposition, and so does every handler: here the
    name is that of a call. Keyword arguments are attributes, and must be hashable.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> tangent = lax.composite(lambda x: jnp.sin(x) / jnp.cos(x), name="my.tangent")
    >>> tangent(jnp.float32(0.5))
    Array(0.5463025, dtype=float32)
    """
    if version < 0:
        raise ValueError(f"composite: version must not be negative, but it is {version}")

    @cache
    def compiled(attributes: tuple[tuple[str, type, Any], ...]) -> Callable[..., Any]:
        given = {key: value for key, _, value in attributes}

        def body(*values: Any) -> Any:
            return decomposition(*values, **given)

        body.__name__ = name.replace(".", "_")
        return jit(body)

    def called(*args: Any, **attributes: Any) -> Any:
        # The types keep 1 and True apart.
        return compiled(tuple((k, type(v), v) for k, v in sorted(attributes.items())))(*args)

    return called


def stage(x: Any, /) -> Value:
    """The value as an array, or as a value of the handlers that are installed.

    >>> import effax.lax as lax
    >>> lax.stage(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    found: Value = asarray(x)
    return found
