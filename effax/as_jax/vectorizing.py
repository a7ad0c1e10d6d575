"""Parts of `jax.numpy.vectorize`, by the names of JAX's private module, for quaxed's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from effax.numpy import broadcast_shapes
from effax.numpy.mapping import checked_results, learn_lengths


def apply_excluded(
    func: Callable[..., Any],
    excluded: Collection[int | str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """Return a function of the arguments that are not excluded, and those arguments.

    >>> function, args, keywords = apply_excluded(pow, {1}, (2, 3), {})
    >>> function(*args, **keywords)
    8
    """
    fixed = {name: x for name, x in kwargs.items() if name in excluded}

    def function(*given: Any, **named: Any) -> Any:
        rest = iter(given)
        every = [x if i in excluded else next(rest) for i, x in enumerate(args)]
        return func(*every, **named, **fixed)

    others = {name: x for name, x in kwargs.items() if name not in excluded}
    return function, [x for i, x in enumerate(args) if i not in excluded], others


def parse_input_dimensions(
    args: Sequence[Any], input_core_dims: Sequence[tuple[str, ...]], error_context: str = ""
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the shape that all axes but the core ones broadcast to, and the core axes' lengths.

    >>> import numpy as np
    >>> parse_input_dimensions([np.ones((4, 3)), np.ones(3)], [("n",), ("n",)])
    ((4,), {'n': 3})
    """
    if len(args) != len(input_core_dims):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(input_core_dims)}, got "
            f"{len(args)} {error_context}"
        )
    lengths: dict[str, int] = {}
    for x, core in zip(args, input_core_dims, strict=True):
        learn_lengths(lengths, x.shape, core, exactly=False)
    outer = [x.shape[: x.ndim - len(core)] for x, core in zip(args, input_core_dims, strict=True)]
    return broadcast_shapes(*outer), lengths


def check_output_dims(
    func: Callable[..., Any],
    dim_sizes: dict[str, int],
    expected_output_core_dims: list[tuple[str, ...]],
    error_context: str = "",
) -> Callable[..., Any]:
    """Return the function, its results compared with the core axes of a signature."""
    return checked_results(func, dim_sizes, expected_output_core_dims)
