"""Shapes with unknown lengths: read, and refused where a length is not a number.

A program here has types of known shapes, so each export is for one shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.errors import SymbolicShapeError
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof

_INSTEAD: Final = (
    "programs are staged for known lengths: export the function once for each shape that it will "
    "meet (or pad to the largest, and mask), and choose among them when calling"
)


def is_symbolic_dim(p: Any) -> bool:
    """Return whether a length is an expression of unknowns: no length of a shape here is.

    Args:
      p: the length.

    >>> is_symbolic_dim(3)
    False
    """
    return bool(getattr(type(p), "symbolic_dimension", False))


class SymbolicScope:
    """The unknowns of an export and what holds between them; nothing can be unknown here.

    Raises `SymbolicShapeError`, a `NotImplementedError`, for constraints.
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if constraints_str:
            _refuse(f"SymbolicScope({list(constraints_str)})")


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[int, ...]:
    """Return the shape that a text says, with its lengths separated by commas.

    Args:
      shape_spec: the text; None means "...".
      constraints: must be empty.
      scope: accepted for JAX's sake; no length is unknown.
      like: a shape, from which `_` takes a length and `...` the rest.

    Raises:
      SymbolicShapeError: for lengths that are not numbers, and for constraints; a
        `NotImplementedError`.
      ValueError: for a text that is no shape.

    >>> symbolic_shape("2, _, ...", like=(2, 3, 4))
    (2, 3, 4)
    >>> symbolic_shape("batch, 3")
    Traceback (most recent call last):
    effax.effects.errors.SymbolicShapeError: the length 'batch' of the shape 'batch, 3' ...
    """
    if constraints:
        _refuse(f"constraints={list(constraints)}")
    spec = "..." if shape_spec is None else shape_spec.strip()
    if spec.startswith("(") and spec.endswith(")"):
        spec = spec[1:-1]
    words = [word.strip() for word in spec.strip().rstrip(",").split(",")] if spec.strip() else []
    if "..." in words:
        at = words.index("...")
        if at != len(words) - 1:
            raise ValueError(f"the shape {shape_spec!r} may have '...' at its end only")
        words[at:] = ["_"] * (len(_needed(shape_spec, like)) - at)
    return tuple(_length(word, i, shape_spec, like) for i, word in enumerate(words))


def _needed(spec: Any, like: Sequence[int | None] | None) -> Sequence[int | None]:
    if like is None:
        raise ValueError(
            f"the shape {spec!r} has '_' or '...', which stand for lengths of `like`: pass like="
        )
    return like


def _length(word: str, i: int, spec: Any, like: Sequence[int | None] | None) -> int:
    if word == "_":
        known = _needed(spec, like)
        if i >= len(known) or known[i] is None:
            raise ValueError(
                f"the shape {spec!r} takes its length {i} from like={like!r}, which has none there"
            )
        return int(known[i])  # type: ignore[arg-type]
    if word.isdecimal():
        return int(word)
    if not word:
        raise ValueError(f"the shape {spec!r} has an empty length")
    _refuse(f"the length {word!r} of the shape {spec!r}")


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Return types with the shapes of `symbolic_shape` as `ShapeDtypeStruct`s.

    Raises what `symbolic_shape` raises.

    Args:
      args: a pytree of arrays or types.
      shapes_specs: a tree of texts that may end above the leaves of `args`: a text holds for all
        below it.
      constraints: must be empty.
      scope: accepted for JAX's sake; no length is unknown.

    >>> import effax.numpy as jnp
    >>> symbolic_args_specs((jnp.ones((2, 3)),), "2, ...")
    (ShapeDtypeStruct(shape=(2, 3), dtype=float32),)
    """
    from effax.effects.tree import broadcast_prefix

    if constraints:
        _refuse(f"constraints={list(constraints)}")
    leaves, tree = tree_flatten(args)
    specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    types = [x.type if isinstance(x, ShapeDtypeStruct) else typeof(x) for x in leaves]
    return tree_unflatten(
        tree,
        [
            ShapeDtypeStruct(symbolic_shape(spec, like=t.shape), t.dtype)
            for spec, t in zip(specs, types, strict=True)
        ],
    )


def _refuse(what: str) -> NoReturn:
    raise SymbolicShapeError(f"{what} is known only when the program runs, and {_INSTEAD}")
