"""`custom_vmap`: functions that bring their own batching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.api.calling.arguments import name_of, wearing
from effax.api.custom.calls import by_position, pass_on_rules
from effax.effects.errors import RefError
from effax.effects.frames import filtered
from effax.effects.rows import custom
from effax.effects.rows.state import Ref
from effax.effects.tree import (
    broadcast_prefix,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from effax.effects.types import typeof
from effax.interpreters.stage import stage
from effax.keys import leaves as key_leaves
from effax.lax.control import map as lax_map

__all__ = ["custom_vmap", "sequential_vmap"]
__dir__ = __all__.copy


class custom_vmap:  # noqa: N801  (JAX's name)
    """A function with a rule of its own for `vmap`.

    `def_vmap(rule)`: `rule(axis_size, in_batched, *args)` gets the arguments, those that are
    batched with the batch axis in front, and trees of Booleans that say which they are. It returns
    the result and the same for it. Under `vmap`, derivatives are those of the rule.

    >>> import effax, effax.numpy as jnp
    >>> from effax.custom_batching import custom_vmap
    >>> @custom_vmap
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, x):
    ...     return jnp.cos(x), in_batched[0]
    >>> f(0.0), effax.vmap(f)(jnp.zeros(2))
    (Array(0., dtype=float32, weak_type=True), Array([1., 1.], dtype=float32))
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None
        wearing(fun)(self)
        pass_on_rules(self, fun)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    @filtered
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's value; its rule is used where it is mapped."""
        name = name_of(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name}.")
        args = by_position(self.fun, args, keywords, "custom_vmap")
        leaves, tree = tree_flatten(args)
        if any(isinstance(x, Ref) for x in leaves):
            raise RefError(
                f"the custom_vmap function {name} takes arrays, but was given a reference; pass "
                "its contents, ref[...], and write the result back"
            )
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            results, out_tree = tree_flatten(self.fun(*tree_unflatten(tree, values)))
            out[:] = [out_tree]
            return results

        staged = stage(flat, [typeof(x) for x in leaves], name)
        rule = _Rule(self.vmap_rule, name, len(staged.captured), tree, out[0])
        results = custom.custom_vmap_call(
            *staged.captured, *leaves, program=staged.program, rule=rule, name=name
        )
        return tree_unflatten(out[0], results)


class _Rule:
    """A user's batching rule, on flat values."""

    __slots__ = ("captured", "function", "name", "out_tree", "tree")

    def __init__(
        self, function: Callable[..., Any], name: str, captured: int, tree: Any, out_tree: Any
    ) -> None:
        self.function = function
        self.name = name
        self.captured = captured
        self.tree = tree
        self.out_tree = out_tree

    def __repr__(self) -> str:
        return f"<rule of {self.name}>"

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        n = self.captured
        if any(batched[:n]):
            raise ValueError(
                f"the custom_vmap function {self.name} closes over a value that is mapped, and its "
                "rule says nothing of that value; pass it to the function as an argument"
            )
        args = tree_unflatten(self.tree, values[n:])
        marks = tree_unflatten(key_leaves.tree_structure(args), batched[n:])
        result = self.function(size, list(marks), *args)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ValueError(
                f"the batching rule of {self.name} must return a pair: the result, and which "
                f"parts of it are batched; it returned {type(result).__name__}"
            )
        leaves, found = tree_flatten(result[0])
        try:
            marks = broadcast_prefix(result[1], result[0])
        except ValueError:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name_of(self.function)}) do not match: the value has {found}, the "
                f"specification {tree_structure(result[1])}"
            ) from None
        if found != self.out_tree:
            raise ValueError(
                f"the batching rule of {self.name} must return a result with the tree of the "
                f"function's, {self.out_tree}, but got {found}"
            )
        return leaves, [bool(b) for b in marks]


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Make a function that `vmap`, nested ones too, applies to each of the batch by `lax.map`.

    Args:
      f: the function.

    >>> import effax, effax.numpy as jnp
    >>> f = sequential_vmap(jnp.square)
    >>> effax.vmap(f)(jnp.arange(3.0))
    Array([0., 1., 4.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def one_by_one(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(tuple(in_batched))[0]
        rows = [x for x, b in zip(leaves, flags, strict=True) if b]

        def one(row: Sequence[Any]) -> Any:
            left = iter(row)
            return mapped(  # through `mapped` again, so that an outer vmap loops over its lanes too
                *tree_unflatten(
                    tree, [next(left) if b else x for x, b in zip(leaves, flags, strict=True)]
                )
            )

        result = lax_map(one, rows)
        return result, tree_map(lambda _: True, result)

    return mapped
