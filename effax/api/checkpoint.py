"""`checkpoint`: what a backward pass needs is computed again, not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from types import SimpleNamespace
from typing import Any

from effax.api.arguments import as_tuple, name_of, static_positions
from effax.effects import contraction, control, convolution
from effax.effects.effect import Effect
from effax.effects.frames import filtered
from effax.effects.naming import named
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.stage import stage

Policy = Callable[..., bool]


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[..., Any]:
    """A function whose intermediate values are not stored for reverse mode, but computed again.

    Args:
      fun: the function.
      prevent_cse: keep the compiler from merging the second computation with the first. Inside a
        loop it can't, and False is cheaper.
      policy: which results are stored after all: a member of `checkpoint_policies`, or a function
        `policy(effect, *types, **attributes)` that says whether an operation's results are.
      static_argnums: positions of arguments that are no arrays.
      static_argnames: names of arguments that are no arrays.

    >>> import effax, effax.numpy as jnp
    >>> f = effax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> effax.grad(f)(1.0)
    Array(0.36003947, dtype=float32, weak_type=True)
    """
    if policy is not None and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a function, not {policy!r}")
    numbers, names = as_tuple(static_argnums), as_tuple(static_argnames)

    @wraps(fun)
    @filtered
    def remat(*args: Any, **keywords: Any) -> Any:
        places, fixed_names = static_positions(fun, numbers, names)
        fixed = {n % len(args) for n in places if -len(args) <= n < len(args)}
        static = {k: v for k, v in keywords.items() if k in fixed_names}
        moving = (
            [x for i, x in enumerate(args) if i not in fixed],
            {k: v for k, v in keywords.items() if k not in static},
        )
        leaves, tree = tree_flatten(moving)
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            given, named_ones = tree_unflatten(tree, values)
            rest = iter(given)
            filled = [x if i in fixed else next(rest) for i, x in enumerate(args)]
            results, out_tree = tree_flatten(fun(*filled, **named_ones, **static))
            out[:] = [out_tree]
            return results

        name = name_of(fun)
        staged = stage(flat, [typeof(x) for x in leaves], name)
        results = control.remat(
            *staged.captured,
            *leaves,
            program=staged.program,
            policy=policy,
            name=name,
            prevent_cse=bool(prevent_cse),
        )
        return tree_unflatten(out[0], results)

    return remat


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """The values themselves, under a name that policies can speak of.

    >>> import effax
    >>> from effax.ad_checkpoint import checkpoint_name
    >>> float(checkpoint_name(2.0, "two"))
    2.0
    """
    return tree_map(lambda leaf: named(leaf, name=name), x)


_DOTS = frozenset({contraction.dot_general, convolution.conv_general_dilated})


def everything_saveable(effect: Effect, *types: Any, **attributes: Any) -> bool:
    """Store all results, as without `checkpoint`."""
    return True


def nothing_saveable(effect: Effect, *types: Any, **attributes: Any) -> bool:
    """Store the arguments only."""
    return False


def dots_saveable(effect: Effect, *types: Any, **attributes: Any) -> bool:
    """Store the results of contractions and convolutions."""
    return effect in _DOTS


def dots_with_no_batch_dims_saveable(effect: Effect, *types: Any, **attributes: Any) -> bool:
    """Store the results of contractions without batch axes: products with weights, in general."""
    return effect is contraction.dot_general and not attributes["dimension_numbers"][1][0]


def save_only_these_names(*names: str) -> Policy:
    """Store the values that `checkpoint_name` gave one of these names."""

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is named and attributes["name"] in names

    return policy


def save_any_names_but_these(*names: str) -> Policy:
    """Store the values that `checkpoint_name` gave another name than these."""

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is named and attributes["name"] not in names

    return policy


def save_anything_except_these_names(*names: str) -> Policy:
    """Store everything but the values of these names."""

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is not named or attributes["name"] not in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Store what either of two policies stores."""

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return policy_1(effect, *types, **attributes) or policy_2(effect, *types, **attributes)

    return policy


def _refused(name: str) -> Callable[..., Policy]:
    def offload(*args: Any, **keywords: Any) -> Policy:
        raise NotImplementedError(
            f"checkpoint_policies.{name}: moving residuals to another memory is not supported; "
            "store them (save_only_these_names) or compute them again"
        )

    return offload


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_only_these_names=save_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    offload_dot_with_no_batch_dims=_refused("offload_dot_with_no_batch_dims"),
    save_and_offload_only_these_names=_refused("save_and_offload_only_these_names"),
)
"""Which results a checkpointed function stores for its backward pass."""


def saved_residuals(fun: Callable[..., Any], *args: Any, **keywords: Any) -> list[Any]:
    """The types of the values that reverse mode through a function would store."""
    from effax.api.forward import Linearized

    leaves, tree = tree_flatten((args, keywords))

    def flat(*values: Any) -> list[Any]:
        given, named_ones = tree_unflatten(tree, values)
        return list(tree_flatten(fun(*given, **named_ones))[0])

    found: list[Any] = []

    def look(*values: Any) -> list[Any]:
        done = Linearized(flat, list(values))
        seen: dict[int, Any] = {}
        for e in done.tape.equations:
            for x in e.inputs:
                if not done.tape.owns(x) and hasattr(x, "type"):
                    seen[id(x)] = x.type
        found[:] = seen.values()
        return done.primals

    stage(look, [typeof(x) for x in leaves], name_of(fun))
    return found


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **keywords: Any) -> None:
    """Print the types of the values that reverse mode through a function would store.

    >>> import effax, effax.numpy as jnp
    >>> from effax.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(effax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), 1.0)
    f32[]
    """
    for type in saved_residuals(fun, *args, **keywords):
        print(type.str_short())
