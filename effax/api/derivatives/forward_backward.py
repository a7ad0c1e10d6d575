"""`fwd_and_bwd`: both passes of reverse mode as functions, with the residuals between them.

What `vjp` returns is a node of pytrees: its leaves are the residuals, so that it leaves a jitted
function and enters another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from effax.api.calling.arguments import positions
from effax.api.calling.differentiable import chosen, with_chosen
from effax.api.compiling.jit import jit
from effax.api.derivatives.reverse import VJP, vjp
from effax.effects.frames import filtered


@filtered
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return both passes of reverse mode through a function, each compiled once.

    Args:
      fun: a function of pytrees of arrays.
      argnums: the position, or positions, of the arguments it is differentiated by.
      has_aux: whether `fun` returns a pair, the second of which is not differentiated.
      jitted: whether both functions are jitted.

    Returns:
      `fwd(*args)`, which gives `(value, residuals)`, or `(value, residuals, aux)` with `has_aux`;
      and `bwd(residuals, cotangent)`, the cotangents of the chosen arguments: a tuple of them, or
      the one where `argnums` is one number.

    Raises:
      TypeError: for positions that are no arguments.
      ValueError: for a cotangent of another tree, shape or dtype.

    >>> import effax, effax.numpy as jnp
    >>> fwd, bwd = fwd_and_bwd(lambda x, w: x @ w, argnums=(0, 1))
    >>> y, residuals = fwd(jnp.ones((1, 2)), 3.0 * jnp.ones((2, 1)))
    >>> bwd(residuals, jnp.ones((1, 1)))
    (Array([[3., 3.]], dtype=float32), Array([[1.],
           [1.]], dtype=float32))
    """
    argnums = positions(argnums)

    @filtered
    def fwd(*args: Any, **keywords: Any) -> tuple[Any, ...]:
        places = chosen(argnums, args, "argnums")
        function = with_chosen(fun, places, args, keywords)
        return vjp(function, *[args[i] for i in places], has_aux=has_aux)

    @filtered
    def bwd(residuals: VJP, cotangent: Any) -> Any:
        found = residuals(cotangent)
        return found[0] if isinstance(argnums, int) else found

    update_wrapper(fwd, fun)
    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
