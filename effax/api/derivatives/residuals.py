"""The residuals of reverse mode: `saved_residuals`, `print_saved_residuals`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from effax.api.calling.arguments import name_of
from effax.api.derivatives.forward import Linearized
from effax.effects.frames import describe
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows import control
from effax.effects.rows.naming import named
from effax.effects.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.stage import stage

Residual = tuple[ShapedArray, str]

_CONSTANT: Final = "from a constant"


def saved_residuals(fun: Callable[..., Any], *args: Any, **keywords: Any) -> list[Residual]:
    """List what reverse mode through a function would store: types, and where each comes from.

    Constants come first, then arguments, then results of operations in the order of the program.
    """
    leaves, tree = tree_flatten((args, keywords))

    def flat(*values: Any) -> list[Any]:
        given, named_ones = tree_unflatten(tree, values)
        return list(tree_flatten(fun(*given, **named_ones))[0])

    def look(*values: Any) -> list[Any]:
        done = Linearized(flat, list(values))
        stored: dict[int, Any] = {}
        for e in done.tape.equations:
            for x in e.inputs:
                if not done.tape.owns(x) and (hasattr(x, "type") or np.ndim(x)):
                    stored[id(x)] = x
        return list(stored.values())

    staged = stage(look, [typeof(x) for x in leaves], name_of(fun))
    program, captured = staged.program, len(staged.captured)
    places: dict[Any, str] = dict.fromkeys(program.inputs[:captured], _CONSTANT)
    places.update(zip(program.inputs[captured:], _names(fun, args, keywords), strict=True))
    makers = _makers(program)
    outputs: list[Any] = list(program.outputs)
    order = {_CONSTANT: 0, **{name: i for i, name in enumerate(places.values(), 1)}}
    made = {x: i for i, x in enumerate(makers, len(order))}
    found = [(x, (x.type, places.get(x) or _origin(x, makers))) for x in outputs]
    found.sort(key=lambda pair: order.get(pair[1][1], made.get(pair[0], len(order))))
    return [residual for _, residual in found]


def _names(fun: Any, args: Any, keywords: Any) -> Iterator[str]:
    """Return the path of each leaf of the arguments, with the function's parameter names."""
    import inspect

    try:
        bound = inspect.signature(fun).bind(*args, **keywords).arguments
        names = [k for k, x in bound.items() if any(x is a for a in args)]
    except (TypeError, ValueError):
        names = []
    for path, _ in tree_flatten_with_path((args, keywords))[0]:
        kind, first, *rest = path
        i = first.idx if hasattr(first, "idx") else None
        if kind.idx == 1:
            yield f"from the argument {first.key}{keystr(tuple(rest))}"
        elif i is not None and len(names) == len(args):
            yield f"from the argument {names[i]}{keystr(tuple(rest))}"
        else:
            yield f"from argument {i}{keystr(tuple(rest))}"


def _makers(program: Program) -> dict[Variable, tuple[Equation, int]]:
    return {x: (e, i) for e in program.equations for i, x in enumerate(e.outputs)}


def _origin(x: Any, makers: dict[Variable, tuple[Equation, int]]) -> str:
    """The operation that made a value, in the programs of loops, branches and calls."""
    if type(x) is not Variable:
        return _CONSTANT if x.type.shape else f"the literal {x}"
    if x not in makers:
        return "an input of a loop or a call"
    e, i = makers[x]
    if e.effect is named:
        return f"named '{e.attributes['name']}' from {describe(e.frame)}"
    if e.effect is control.scan:
        inside, what = e.attributes["body"], "of each step, "
    elif e.effect is control.cond:
        branches = e.attributes["branches"]
        made = (b for b in branches if type(b.outputs[i]) is Variable)
        inside, what = next(made, branches[0]), "of a branch, "
    else:
        inside, what = e.attributes.get("program"), ""
    if inside is None:
        return f"output of {e.effect.name} from {describe(e.frame)}"
    result = inside.outputs[i]
    given = {x: k for k, x in enumerate(inside.inputs)}
    if type(result) is not Variable or result not in given:
        return what + _origin(result, _makers(inside))
    if what:
        return f"{what}its initial value, in {e.effect.name} from {describe(e.frame)}"
    return _origin(e.inputs[given[result]], makers)


def print_saved_residuals(f: Callable[..., Any], *args: Any, **keywords: Any) -> None:
    """Print the types that reverse mode through a function would store, and where each comes from.

    Args:
      f: a function of pytrees of arrays.
      *args: its arguments.
      **keywords: its arguments by name.

    >>> import effax, effax.numpy as jnp
    >>> from effax.ad_checkpoint import print_saved_residuals
    >>> def f(x):
    ...     return jnp.sin(jnp.sin(x))
    >>> print_saved_residuals(effax.checkpoint(f), 1.0)
    f32[] from the argument x
    """
    for type, place in saved_residuals(f, *args, **keywords):
        print(f"{type.str_short()} {place}")
