"""Branches as users write them: `cond`, `switch`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.api.calling.arguments import name_of
from effax.api.calling.differentiable import as_value
from effax.api.calling.kept import find_trace, keep_trace, key_of
from effax.api.calling.signatures import traced_function
from effax.api.custom.calls import staged_over
from effax.effects import config as settings
from effax.effects.frames import filtered, is_library, short_path
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.rows import comparison, control
from effax.effects.rows.conversion import convert_element_type
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import ArrayLike
from effax.interpreters.functor.masks import pick
from effax.lax.carrying import (
    branch_advice,
    branch_differences,
    describe_difference,
    on_leaves,
    refuse_aliases,
    same_results,
    with_captures,
)
from effax.operands.arguments import bounded, strong

_INT32: Final = np.dtype(np.int32)
_NONE: Final[Any] = object()
"""The default of `operand`, which may be None."""


@filtered
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NONE,
) -> Any:
    """Apply one of two functions to the operands, chosen by a predicate known when it runs.

    Args:
      pred: a scalar; true where it is not zero.
      true_fun: applied to the operands when it is true.
      false_fun: applied when it is false; its results must have the same types.
      *operands: the arguments.
      operand: a single argument, the older way to give it.

    Raises:
      TypeError: where the branches' results differ in tree, shape or dtype, or under `shard_map`
        in the axes along which they may differ; or `pred` is no scalar.

    >>> import effax
    >>> effax.lax.cond(True, lambda x: x + 1.0, lambda x: x - 1.0, 3.0)
    Array(4., dtype=float32, weak_type=True)
    """
    if operand is not _NONE:
        if operands:
            raise TypeError("if 'operand' keyword is passed then no positional operands can be")
        operands = (operand,)
    if not callable(true_fun) or not callable(false_fun):
        if len(operands) == 2 and callable(false_fun) and callable(operands[1]):
            return _cond_five(pred, true_fun, false_fun, *operands)
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if pred is None or isinstance(pred, str | list | tuple | dict) or callable(pred):
        advice = "; does what computes it lack a return?" if pred is None else ""
        raise TypeError(
            "lax.cond: Pred must be a scalar (a Boolean or a number), got "
            f"{pred!r} of type {type(pred)}{advice}"
        )
    type_ = typeof(pred)
    if type_.shape:
        raise TypeError(
            f"Pred must be a scalar, got {pred} of shape {type_.shape}; reduce it with .any() or "
            ".all(), or use where for a choice element by element"
        )
    if settings.read("disable_jit") and not isinstance(pred, Carrier):
        return true_fun(*operands) if bool(pred) else false_fun(*operands)
    index = convert_element_type(_truth(pred, type_), dtype=_INT32, weak_type=False)
    return _branch("cond", index, (false_fun, true_fun), operands)


def _truth(pred: Any, type: ShapedArray) -> Any:
    if type.dtype == np.bool_:
        return pred
    return comparison.ne(pred, type.dtype.type(0))


def _cond_five(pred: Any, x: Any, true_fun: Any, y: Any, false_fun: Any) -> Any:
    return cond(pred, lambda xy: true_fun(xy[0]), lambda xy: false_fun(xy[1]), (x, y))


@filtered
def switch(
    index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NONE
) -> Any:
    """Apply one of several functions to the operands, chosen by an index known when it runs.

    The index is clamped to the branches there are.

    Args:
      index: an integer scalar.
      branches: functions whose results have the same types.
      *operands: the arguments.
      operand: a single argument, the older way to give it.

    >>> import effax
    >>> effax.lax.switch(1, [lambda x: x, lambda x: -x], 2.0)
    Array(-2., dtype=float32, weak_type=True)
    """
    if operand is not _NONE:
        if operands:
            raise TypeError("if 'operand' keyword is passed then no positional operands can be")
        operands = (operand,)
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if callable(index):
        raise TypeError(
            f"Index type must be an integer, got {index}; give the index before the branches"
        )
    if isinstance(index, (list, tuple)) or (hasattr(index, "shape") and index.shape):
        raise TypeError(f"Branch index must be scalar, got {index} of shape {np.shape(index)}.")
    try:
        type = typeof(index)
    except TypeError:
        raise TypeError(f"Index type must be an integer, got {index}.") from None
    if type.dtype.kind not in "iu":
        raise TypeError(f"Index type must be an integer, got {index} as {type.dtype.name}.")
    if len(branches) == 1:
        return branches[0](*operands)
    if type.dtype != _INT32:
        index = bounded(index, 0, len(branches) - 1)
    return _branch("switch", strong(index), branches, operands)


def _described(function: Callable[..., Any]) -> str:
    """A branch by its name and line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or is_library(code.co_filename):
        return name_of(function)
    return f"{name_of(function)} at {short_path(code.co_filename)}:{code.co_firstlineno}"


def _branch(
    what: str, index: Any, branches: Sequence[Callable[..., Any]], operands: Sequence[Any]
) -> Any:
    leaves, tree = tree_flatten(tuple(operands))
    refuse_aliases(what, branches[-1], tuple(operands), leaves)
    distinct = {id(b): b for b in branches}.values()  # a branch that is given twice is staged once
    key = key_of(tree, leaves)
    found = {id(b): find_trace(b, key) for b in distinct}
    if None in found.values():
        flats = [on_leaves(what, b, tree) for b in distinct]
        parts, leaves = staged_over(
            [f for f, _ in flats],
            leaves,
            [name_of(b) for b in distinct],
            [traced_function(b, what, tree, positional=True) for b in distinct],
        )
        for b, part, (_, out) in zip(distinct, parts, flats, strict=True):
            found[id(b)] = part, out[0]
            keep_trace(b, key, part.captured, found[id(b)])
    staged = [found[id(b)] for b in branches]
    (first, first_tree), rest = staged[0], staged[1:]
    names = (
        ("false_fun", "true_fun")
        if what == "cond"
        else tuple(f"branch {i}" for i in range(len(branches)))
    )
    for i, (other, other_tree) in enumerate(rest, 1):
        trees = other_tree == first_tree
        if not trees or not same_results(first.program.out_types, other.program.out_types):
            asked = (
                "branches must have equal output types but they differ"
                if trees
                else "branch outputs must have the same pytree structure, but they differ"
            )
            sides = [(0, names[0], staged[0]), (i, names[i], staged[i])]
            if what == "cond":  # as it is called: the branch for True first
                sides.reverse()
            told = (sides[0][1], f"branch{i}" if what == "switch" else sides[1][1])
            places = "; ".join(f"{side} is {_described(branches[n])}" for n, side, _ in sides)
            trees_of = [tree_unflatten(t, list(s.program.out_types)) for _, _, (s, t) in sides]
            one, two = ((side, t, s.program.out_types) for _, side, (s, t) in sides)
            raise describe_difference(
                f"{what} {asked}: {places}.",
                one,
                two,
                advice=branch_advice(told, *trees_of),
                told=branch_differences(told, *trees_of),
            )
    values, programs = with_captures([s for s, _ in staged])
    refuse_aliases(what, branches[-1], tuple(operands), leaves, values)
    return tree_unflatten(first_tree, _perform_cond(index, [*values, *leaves], programs))


def _perform_cond(index: Any, operands: Sequence[Any], branches: Sequence[Program]) -> list[Any]:
    """The results of the branch chosen. What every branch passes on is not among its results, so
    it does not depend on the choice: where that is mapped, it is not."""
    forwarded = {
        j: places[0]
        for j, xs in enumerate(zip(*(b.outputs for b in branches), strict=True))
        if len(set(places := [_place(b, x) for b, x in zip(branches, xs, strict=True)])) == 1
        and places[0] is not None
    }
    made = [j not in forwarded for j in range(len(branches[0].outputs))]
    programs = (
        [Program(b.inputs, b.equations, pick(b.outputs, made, True), b.name) for b in branches]
        if forwarded
        else branches
    )
    results = iter(control.cond(index, *operands, branches=tuple(programs)))
    return [
        next(results) if own else as_value(operands[forwarded[j]]) for j, own in enumerate(made)
    ]


def _place(program: Program, output: Any) -> int | None:
    """Return the number of the input that an output is; None for any other output."""
    return next((i for i, x in enumerate(program.inputs) if x is output), None)
