"""Functions apart from what they close over: `closure_convert`, `custom_gradient`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.api.calling.arguments import flat_function, name_of
from effax.api.custom.vjp import custom_vjp
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.tree import registry, tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import moves
from effax.interpreters.stage import stage


@filtered
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function without its closure, and the values that it closed over.

    Only what may be differentiated or mapped is taken out: floating-point values of transforms
    that are at work. For rules of `custom_vjp`, which must take such values as arguments.

    Args:
      fun: a function of pytrees of arrays.
      *example_args: arguments of the types that it will be called with.

    Returns:
      `(converted, values)`: `converted(*args, *values)` is `fun(*args)`.

    >>> import effax
    >>> def f(x, y):
    ...     g, values = closure_convert(lambda z: z * y, x)
    ...     return g(x, *values)
    >>> effax.grad(f, argnums=1)(2.0, 3.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten((example_args, {}))
    flat, out = flat_function(fun, tree)
    staged = stage(flat, [typeof(x) for x in leaves], name_of(fun))
    out_tree = out[0]
    hoisted = [isinstance(x, Carrier) and moves(x.type) for x in staged.captured]
    kept = list(staged.captured)
    program = staged.program
    values = [x for x, h in zip(kept, hoisted, strict=True) if h]
    count = len(values)

    def converted(*args: Any) -> Any:
        given = iter(args[len(args) - count :])
        captured = [next(given) if h else x for x, h in zip(kept, hoisted, strict=True)]
        found, found_tree = tree_flatten((args[: len(args) - count], {}))
        if found_tree != tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the tree of the "
                f"examples it was given for {name_of(fun)}, {tree}, but got {found_tree}"
            )
        return tree_unflatten(out_tree, program.run(*captured, *found))

    return converted, values


class _Pullback:
    """A backward function as residuals: its program is structure, what it closed over leaves."""

    __slots__ = ("captured", "out_tree", "program")

    def __init__(self, captured: Sequence[Any], program: Program, out_tree: Any) -> None:
        self.captured = captured
        self.program = program
        self.out_tree = out_tree

    def __call__(self, cotangent: Any) -> Any:
        results = self.program.run(*self.captured, *tree_flatten(cotangent)[0])
        return tree_unflatten(self.out_tree, results)


registry.register_node(
    _Pullback,
    lambda x: (tuple(x.captured), (x.program, x.out_tree)),
    lambda structure, captured: _Pullback(captured, *structure),
)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with its own backward function: `fun(*args)` gives `(value, f_vjp)`.

    `f_vjp` takes the cotangent of the value and returns those of the arguments: a tuple, or one
    for a function of one argument. It may close over what `fun` computed.

    >>> import effax
    >>> @custom_gradient
    ... def f(x):
    ...     return x ** 2, lambda g: (g * x,)
    >>> f(3.0), effax.grad(f)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """

    def value_only(*args: Any) -> Any:
        return fun(*args)[0]

    value_only.__name__ = name_of(fun)

    def forward(*args: Any) -> tuple[Any, _Pullback]:
        value, pull = fun(*args)
        leaves, tree = tree_flatten(((value,), {}))
        flat, out = flat_function(pull, tree)
        staged = stage(flat, [typeof(x) for x in leaves], "backward")
        return value, _Pullback(staged.captured, staged.program, out[0])

    def backward(pull: _Pullback, cotangent: Any) -> tuple[Any, ...]:
        given = pull(cotangent)
        return tuple(given) if isinstance(given, (tuple, list)) else (given,)

    with_rule = custom_vjp(value_only)
    with_rule.defvjp(forward, backward)
    return with_rule
