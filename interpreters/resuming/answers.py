"""Answers of handled computations as results of programs: their types, branches between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from effax.effects.effect import LITERALS
from effax.effects.rows import control, conversion
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.functor.branches import align_captured
from effax.interpreters.interpreter.states import ready
from effax.interpreters.stage import Staged, stage


def staged_answer(
    function: Callable[..., Any], types: Sequence[ShapedArray], name: str
) -> tuple[Staged, Any]:
    """A function of flat values whose answer is a pytree, staged; and the answer's tree."""
    trees: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        leaves, tree = tree_flatten(function(*values))
        trees.append(tree)
        return [ready(x) for x in leaves]

    return stage(flat, types, name), trees[0]


def as_types(values: Sequence[Any], types: Sequence[ShapedArray]) -> list[Any]:
    """The values, weak ones and Python numbers converted to the types' dtypes.

    Raises `TypeError` where a shape or a dtype differs.
    """
    return [_as_type(x, t) for x, t in zip(values, types, strict=True)]


def _as_type(x: Any, type: ShapedArray) -> Any:
    found = typeof(x)
    common = common_type(found, type)
    if common is None or common.dtype != type.dtype:
        raise TypeError(f"{found.str_short()} where {type.str_short()} is expected")
    if found.dtype == type.dtype and x.__class__ not in LITERALS:
        return x
    return conversion.convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)


def common_type(one: ShapedArray, other: ShapedArray) -> ShapedArray | None:
    """The type of what is of either type: a weak one gives way. None where there is no such."""
    if one.shape != other.shape:
        return None
    if one.dtype == other.dtype:
        return other if one.weak_type else one
    if one.weak_type == other.weak_type:
        return None
    weak, strong = (one, other) if one.weak_type else (other, one)
    return strong if _KINDS.index(weak.dtype.kind) <= _KINDS.index(strong.dtype.kind) else None


_KINDS = "buifVc"
"""Kinds of dtypes, each one's numbers among those of the next; V: the narrow floats."""


def common_types(
    what: str, one: Sequence[ShapedArray], other: Sequence[ShapedArray]
) -> list[ShapedArray]:
    """The types of answers that are reached in two ways.

    Raises `TypeError` where they differ.
    """
    found = [common_type(a, b) for a, b in zip(one, other, strict=True)]
    if None in found:
        raise TypeError(
            f"{what}: the answer is {_shown(one)} on one path and {_shown(other)} on another; all "
            "clauses and the result must give answers of one type"
        )
    return [t for t in found if t is not None]


def _shown(types: Sequence[ShapedArray]) -> str:
    return "(" + ", ".join(t.str_short() for t in types) + ")"


def same_tree(what: str, one: Any, other: Any) -> Any:
    """The tree of answers that are reached in two ways.

    Raises `TypeError` where they differ.
    """
    if one != other:
        raise TypeError(
            f"{what}: the answer is a {one} on one path and a {other} on another; all clauses and "
            "the result must give answers of one structure"
        )
    return one


def staged_branches(
    index: Any, branches: Sequence[Callable[..., Any]], values: Sequence[Any], what: str
) -> Any:
    """`cond` over functions of flat values, whose answers are pytrees of one type."""
    types = [typeof(x) for x in values]
    pairs = [staged_answer(branch, types, "branch") for branch in branches]
    tree = reduce(lambda a, b: same_tree(what, a, b), [t for _, t in pairs])
    wanted = reduce(
        lambda a, b: common_types(what, a, b), [list(s.program.out_types) for s, _ in pairs]
    )
    staged = [_at_types(s, wanted) for s, _ in pairs]
    leaves = control.cond(
        index,
        *(x for one in staged for x in one.captured),
        *values,
        branches=align_captured(staged),
    )
    return tree_unflatten(tree, leaves)


def _at_types(staged: Staged, types: Sequence[ShapedArray]) -> Staged:
    """The program with its results converted, if they are not of these types."""
    program = staged.program
    found = program.out_types
    pairs = zip(found, types, strict=True)
    if all((a.dtype, a.weak_type) == (b.dtype, b.weak_type) for a, b in pairs):
        return staged

    def converted(*values: Any) -> list[Any]:
        return [
            conversion.convert_element_type(x, dtype=t.dtype, weak_type=t.weak_type)
            for x, t in zip(program.run(*values), types, strict=True)
        ]

    return Staged(stage(converted, program.in_types, program.name).program, staged.captured)
