"""`checkpoint`: what a backward pass needs is computed again, not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar

from effax.api.calling.arguments import as_tuple, name_of, static_positions, wearing
from effax.api.calling.kept import find_trace, keep_trace, key_of
from effax.api.calling.signatures import traced_function
from effax.api.custom.calls import staged_over
from effax.effects.effect import Effect
from effax.effects.frames import filtered
from effax.effects.program import Program
from effax.effects.rows import contraction, control, convolution
from effax.effects.rows.naming import named
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from effax.interpreters.residual.verdicts import Offloadable

P = ParamSpec("P")
R = TypeVar("R")


Policy = Callable[..., bool]


def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[P, R]:
    """Return `fun` with its intermediate values computed again in reverse mode, not stored.

    Args:
      fun: the function.
      prevent_cse: keep the compiler from merging the second computation with the first. Inside a
        loop it can't, and False is cheaper. A sequence has a bool for each argument, or a tree of
        them above the argument's arrays; if any is True, all arguments are kept from it.
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
    if not isinstance(prevent_cse, bool | list | tuple):
        raise TypeError(
            f"checkpoint: prevent_cse must be a bool, or a sequence of them, got {prevent_cse!r}"
        )
    prevented = any(tree_leaves(prevent_cse))
    numbers, names = as_tuple(static_argnums) or None, as_tuple(static_argnames) or None
    places, fixed_names = static_positions(fun, numbers, names)

    @wearing(fun)
    @filtered
    def remat(*args: Any, **keywords: Any) -> Any:
        fixed = {n % len(args) for n in places if -len(args) <= n < len(args)}
        static = {k: v for k, v in keywords.items() if k in fixed_names}
        moving = (
            [x for i, x in enumerate(args) if i not in fixed],
            {k: v for k, v in keywords.items() if k not in static},
        )
        leaves, tree = tree_flatten(moving)
        if not isinstance(prevent_cse, bool):
            broadcast_prefix(tuple(prevent_cse), tuple(moving[0]))
        statics = [(i, args[i]) for i in sorted(fixed)] + sorted(static.items())
        key = key_of(tree, leaves, statics)
        found = find_trace(fun, key)
        if found is not None:
            program, out_tree = found
            return tree_unflatten(out_tree, done_again(program, leaves))
        out: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            given, named_ones = tree_unflatten(tree, values)
            rest = iter(given)
            filled = [x if i in fixed else next(rest) for i, x in enumerate(args)]
            results, out_tree = tree_flatten(fun(*filled, **named_ones, **static))
            out[:] = [out_tree]
            return results

        named = traced_function(fun, "checkpoint", tree, fixed, leaves=leaves)
        (staged,), leaves = staged_over([flat], leaves, [name_of(fun)], [named])
        keep_trace(fun, key, staged.captured, (staged.program, out[0]))
        results = done_again(staged.program, [*staged.captured, *leaves])
        return tree_unflatten(out[0], results)

    def done_again(program: Program, operands: Sequence[Any]) -> Any:
        return control.remat(
            *operands, program=program, policy=policy, name=name_of(fun), prevent_cse=prevented
        )

    return remat


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """Return the values themselves, under a name that policies can speak of.

    Args:
      x: a pytree of arrays.
      name: the name.

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


def _check_names(names: Iterable[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"names of a checkpoint policy must be strings, one an argument; got {name!r}"
            )


def save_only_these_names(*names: str) -> Policy:
    """Store the values that `checkpoint_name` gave one of these names."""
    _check_names(names)

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is named and attributes["name"] in names

    return policy


def save_any_names_but_these(*names: str) -> Policy:
    """Store the values that `checkpoint_name` gave another name than these."""
    _check_names(names)

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is named and attributes["name"] not in names

    return policy


def save_anything_except_these_names(*names: str) -> Policy:
    """Store everything but the values of these names."""
    _check_names(names)

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return effect is not named or attributes["name"] not in names

    return policy


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Store what either of two policies stores."""

    def policy(effect: Effect, *types: Any, **attributes: Any) -> bool:
        return policy_1(effect, *types, **attributes) or policy_2(effect, *types, **attributes)

    return policy


_MEMORIES = ("device", "pinned_host", "unpinned_host")


def _offloadable(src: str, dst: str) -> Offloadable:
    for kind in (src, dst):
        if kind not in _MEMORIES:
            raise ValueError(
                f"offload_src and offload_dst must be one of {', '.join(_MEMORIES)}, got {kind!r}"
            )
    return Offloadable(src, dst)


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Store the results of contractions without batch axes in another memory of the device.

    The memories of a CPU are one: there, results are stored where they are. Other devices refuse.
    """
    place = _offloadable(offload_src, offload_dst)

    def policy(effect: Effect, *types: Any, **attributes: Any) -> Any:
        stored = dots_with_no_batch_dims_saveable(effect, *types, **attributes)
        return place if stored else False

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Store the values of some names, and those of others in another memory of the device.

    The memories of a CPU are one: there, values are stored where they are. Other devices refuse.
    """
    place = _offloadable(offload_src, offload_dst)
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    _check_names(saved | offloaded)
    both = saved & offloaded
    if both:
        raise ValueError(
            "names_which_can_be_saved and names_which_can_be_offloaded must be exclusive, but "
            f"both have {sorted(both)}"
        )

    def policy(effect: Effect, *types: Any, **attributes: Any) -> Any:
        if effect is not named:
            return False
        return place if attributes["name"] in offloaded else attributes["name"] in saved

    return policy


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
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
"""Ready-made policies, which say what a checkpointed function stores for its backward pass."""
