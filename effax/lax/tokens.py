"""Tokens: values that order what happens, and sends and receives that they tie together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from effax.effects.rows import naming
from effax.effects.rows.shape import full
from effax.effects.tree import (
    register_pytree_node_class,
    tree_leaves,
    tree_structure,
)
from effax.effects.types import bool_, canonical_dtype, typeof
from effax.effects.value import Array
from effax.lax.parallel import ppermute

Perm = tuple[tuple[int, int], ...]


@register_pytree_node_class
class Token:
    """A value without content: what takes it comes after what gave it.

    A token that `psend` gave holds what is under way, until `precv` takes it.
    """

    __slots__ = ("sent", "state")

    def __init__(self, state: Array, sent: tuple[tuple[Hashable, Perm, Any], ...] = ()) -> None:
        self.state = state
        self.sent = sent

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The state and what is under way; the routes are metadata."""
        return (self.state, [x for *_, x in self.sent]), tuple([s[:2] for s in self.sent])

    @classmethod
    def tree_unflatten(cls, routes: Any, children: Any) -> Token:
        """The token of these parts."""
        state, sent = children
        return cls(state, tuple([(*r, x) for r, x in zip(routes, sent, strict=True)]))

    def __repr__(self) -> str:
        return "Token()"


def create_token(_: Any = None) -> Token:
    """Return a token that comes after nothing.

    Args:
      _: ignored.

    >>> create_token()
    Token()
    """
    return Token(full((), False, bool_))


def after_all(*operands: Any) -> Token:
    """Return a token that comes after all of the given tokens.

    Effects that can be observed happen in the order of the program's text anyway. Raises
    `TypeError` for what is no token.

    Args:
      *operands: tokens.

    >>> after_all(create_token(), create_token())
    Token()
    """
    if not all(isinstance(x, Token) for x in operands):
        raise TypeError(f"Arguments to after_all must be tokens, got {operands}")
    state = full((), False, bool_)
    for x in operands:
        state = state | x.state
    return Token(state, sum((x.sent for x in operands), ()))


def psend(x: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> Token:
    """Send values to other places along a named axis; `precv` gets them there.

    Args:
      x: a tree of arrays.
      axis_name: the axis, which must be bound.
      perm: pairs of a source and a destination; each is at most once a source, once a destination.

    Returns:
      A token, for the `precv` of the same axis and `perm`. A send and its receive are one
      `ppermute`, so places that are no destination get zeros.

    >>> import effax, effax.numpy as jnp
    >>> def shift(x):
    ...     token = effax.lax.psend(x, "i", [(0, 1), (1, 2)])
    ...     return effax.lax.precv(token, x, "i", [(0, 1), (1, 2)])
    >>> effax.vmap(shift, axis_name="i")(jnp.array([1.0, 2.0, 3.0]))
    Array([0., 1., 2.], dtype=float32)
    """
    route = _route(perm)
    return Token(full((), False, bool_), ((axis_name, route, ppermute(x, axis_name, route)),))


def precv(
    token: Token, out_shape: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]
) -> Any:
    """Receive the values that `psend` sent along these routes.

    Args:
      token: what the `psend` gave, or `after_all` of that and others.
      out_shape: the shape and dtype of what comes, in its tree.
      axis_name, perm: as for the `psend`.

    Raises:
      ValueError: for a token of no such send: there is no receiving before sending.
      TypeError: where something else was sent.

    >>> import effax, effax.numpy as jnp
    >>> def shift(x):
    ...     token = effax.lax.psend(x, "i", [(0, 1)])
    ...     return effax.lax.precv(token, x, "i", [(0, 1)])
    >>> effax.vmap(shift, axis_name="i")(jnp.array([1.0, 2.0])).tolist()
    [0.0, 1.0]
    """
    if not isinstance(token, Token):
        raise TypeError(f"precv: the first argument must be a token of psend, got {token!r}")
    route = _route(perm)
    for name, sent_route, x in token.sent:
        if (name, sent_route) == (axis_name, route):
            return _received(x, out_shape)
    raise ValueError(
        f"precv(axis_name={axis_name!r}, perm={route}): the token comes from a psend with another "
        "axis_name or perm. A send and its receive are one permutation: pass precv the token of "
        "the psend whose values it receives, or use ppermute"
    )


def _received(x: Any, announced: Any) -> Any:
    wanted, found = tree_leaves(announced), tree_leaves(x)
    if tree_structure(announced) != tree_structure(x):
        raise TypeError(
            f"precv: the expected tree is {tree_structure(announced)}, but {tree_structure(x)} was "
            "sent"
        )
    for w, f in zip(wanted, found, strict=True):
        t = typeof(f)
        if tuple(w.shape) != t.shape or canonical_dtype(w.dtype) != t.dtype:
            raise TypeError(
                f"precv: the expected type is {w.dtype}{list(w.shape)}, but {t.str_short()} was "
                "sent"
            )
    return x


def _route(perm: Sequence[tuple[int, int]]) -> Perm:
    return tuple((int(a), int(b)) for a, b in perm)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keep values in a program although nothing uses them.

    Programs hold what computes them, so checks and prints on the way stay; the compiler computes
    them too with `prevent_mlir_dce`, on the CPU.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: whether the compiler keeps the values as well, on the CPU.

    >>> import effax, effax.numpy as jnp
    >>> def f(x):
    ...     effax.lax.dce_sink(jnp.sin(x))
    ...     return x
    >>> print(effax.make_program(f)(1.0))
    { lambda a:f32[] . ! sink
      b:f32[] = sin a
      _ = dce_sink[prevent=False] b
      in (a) }
    """
    naming.sink(*tree_leaves(val), prevent=bool(prevent_mlir_dce))
