"""`jit`: a function staged once for the types of its arguments, and called as one operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from effax.api.calling.arguments import (
    static_positions,
)
from effax.api.calling.options import CompilerOptions, checked_options
from effax.api.compiling.jitted import Jit
from effax.api.placing.shardings import UNSPECIFIED, Shardings

if TYPE_CHECKING:
    from effax.api.compiling.function_types import Jitted

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(
    fun: Callable[P, R],
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    compiler_options: CompilerOptions | None = ...,
) -> Jitted[P, R]: ...
@overload
def jit(
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = ...,
    static_argnames: str | Iterable[str] | None = ...,
    donate_argnums: int | Sequence[int] | None = ...,
    donate_argnames: str | Iterable[str] | None = ...,
    keep_unused: bool = ...,
    device: Any = ...,
    backend: str | None = ...,
    inline: bool = ...,
    compiler_options: CompilerOptions | None = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: CompilerOptions | None = None,
) -> Any:
    """Compile `fun`: it is staged for the types of its arguments, and run by XLA.

    Args:
      fun: a function of pytrees of arrays; run once for each combination of argument types.
      in_shardings, out_shardings: where arguments and results lie: shardings, or specs over the
        mesh in context, in a prefix of their trees; None where the arguments or XLA decide.
      static_argnums: positions of arguments that are Python values, part of what is compiled.
      static_argnames: the same by name.
      donate_argnums: positions of arguments whose memory the results may take over.
      donate_argnames: the same by name.
      keep_unused: accepted for JAX's sake; unused arguments stay operands of what is compiled.
      device: where to run; by default where the arguments are.
      backend: the platform whose first device to run on, instead of `device`.
      inline: whether programs that call this function hold its effects, not one call.
      compiler_options: flags of XLA by name, for what is compiled.

    Returns:
      A function like `fun`, with `lower(*args)`, `trace(*args)`, `eval_shape(*args)`.

    Raises:
      TypeError: for arguments or results that are not arrays.
      ValueError: for static arguments that can't be hashed, names and positions of arguments that
        the function does not have, arguments both static and donated.
      JaxRuntimeError: for compiler options that XLA does not have.

    >>> import effax
    >>> effax.jit(lambda x: x * 2.0)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return jitted(
        "jit",
        fun,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        device=device,
        backend=backend,
        inline=inline,
        compiler_options=compiler_options,
    )


def jitted(
    function: str,
    fun: Callable[..., Any] | None,
    *,
    in_shardings: Any,
    out_shardings: Any,
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Iterable[str] | None,
    donate_argnums: int | Sequence[int] | None,
    donate_argnames: str | Iterable[str] | None,
    device: Any,
    backend: str | None,
    inline: bool,
    compiler_options: CompilerOptions | None,
) -> Any:
    """Return what `jit` or `pjit`, called `function`, returns for its arguments."""
    if fun is None:
        given = {k: v for k, v in locals().items() if k not in ("function", "fun")}
        return lambda f: jitted(function, f, **given)
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if isinstance(fun, staticmethod):  # the result would be bound to instances
        raise TypeError(
            f"staticmethod arguments are not supported, got {fun}: put staticmethod around the "
            "jitted function, and not jit around the static method"
        )
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")
    if function == "jit":  # `pjit` replicates where it is given None
        in_shardings = UNSPECIFIED if in_shardings is None else in_shardings
        out_shardings = UNSPECIFIED if out_shardings is None else out_shardings
    for option, asked in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if asked is not UNSPECIFIED and (device is not None or backend is not None):
            raise ValueError(
                f"If backend or device is specified on jit, then {option} should not be specified."
            )
    if device is not None and backend is not None:
        raise ValueError(
            f"can't specify both a device and a backend for jit, got device={device!r} and "
            f"backend={backend!r}: leave one of them out"
        )
    if backend is not None:
        from effax.backends.xla.device import devices

        device = devices(backend)[0]
    shardings: Shardings | None = None
    if in_shardings is not UNSPECIFIED or out_shardings is not UNSPECIFIED:
        shardings = Shardings(in_shardings, out_shardings, function)
    numbers, names = static_positions(fun, static_argnums, static_argnames)
    donated, donated_names = static_positions(fun, donate_argnums, donate_argnames, "donate")
    both = set(donated) & set(numbers) or set(names) & set(donated_names)
    if both:
        raise ValueError(
            "static_argnums and donate_argnums cannot intersect; static_argnames and "
            f"donate_argnames cannot intersect: {sorted(both)} are in both, and a static argument "
            "has no memory to donate"
        )
    options = tuple(sorted(checked_options(compiler_options).items()))
    how = inline, device, options, shardings, function
    return Jit(fun, numbers, names, donated, donated_names, *how)
