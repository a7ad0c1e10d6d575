"""`pjit`: `jit` on the devices of a mesh that is entered by `with mesh:`.

>>> import effax
>>> from effax.experimental.pjit import pjit
>>> pjit(lambda x: 2 * x)(3.0)
Array(6., dtype=float32, weak_type=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from effax.api.calling.options import CompilerOptions
from effax.api.compiling.jit import jitted
from effax.api.placing.shardings import UNSPECIFIED

__all__ = ["pjit"]


def pjit(
    fun: Callable[..., Any] | None = None,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
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
    """Compile `fun` as `effax.jit` does; under `with mesh:`, for the devices of that mesh.

    There specs are over the mesh, and arguments that nobody put anywhere go to its devices.

    Args:
      fun: a function of pytrees of arrays; without it, the result is a decorator.
      in_shardings, out_shardings: shardings, or specs over the mesh in context, in a prefix of the
        trees of arguments and results. Under `with mesh:` None, where it is given, replicates an
        array over the mesh.
      static_argnums, static_argnames: arguments that are part of the compiled program.
      donate_argnums, donate_argnames: arguments whose memory the results may take over.
      keep_unused: accepted for JAX's sake; unused arguments stay operands of the program.
      device, backend: the device, or the platform whose first device, to run on.
      inline: whether programs that call this function hold its effects, not one call.
      compiler_options: flags of XLA by name.

    Raises:
      RuntimeError: for a spec without a mesh in context.
      ValueError: for arguments committed to other devices than those of the mesh.

    >>> import effax, effax.numpy as jnp
    >>> with effax.sharding.Mesh(effax.devices()[:1], "x"):
    ...     pjit(lambda x: 2 * x, effax.P("x"))(jnp.ones(2)).sharding.spec
    P('x',)
    """
    return jitted(
        "pjit",
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
