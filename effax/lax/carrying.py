"""Staging for control flow: functions of trees become programs with fixed types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from effax.api.calling.arguments import name_of
from effax.api.calling.signatures import Parameters, leaf_names, traced_function
from effax.api.custom.calls import typed
from effax.effects import key_use
from effax.effects.effect import REFERENCES
from effax.effects.mismatch import mismatches, one_level
from effax.effects.program import Program, Variable
from effax.effects.promotion import result_type
from effax.effects.rows.conversion import convert_element_type
from effax.effects.tree import (
    keystr,
    registry,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from effax.effects.types import ShapedArray, str_long, typeof
from effax.interpreters.functor.discharge import distinct
from effax.interpreters.stage import Staged, refuse_returned, stage

F = TypeVar("F", bound=Callable[..., Any])


def traced(
    what: str, function: Callable[..., Any], tree: Any, types: Sequence[ShapedArray]
) -> tuple[Staged, Any]:
    """A part of a loop, of the arguments of that tree, staged; and the tree of its results."""
    flat, out = on_leaves(what, function, tree)
    name, named = name_of(function), traced_function(function, what, tree, positional=True)
    staged = key_use.repeated(
        lambda: stage(flat, types, name, named), lambda s: s.program.outputs, name
    )
    return staged, out[0]


def refuse_aliases(
    what: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    leaves: Sequence[Any],
    captured: Sequence[Any] = (),
) -> None:
    """Raise `RefError` for a reference that is twice among arguments, whose leaves are given too,
    or among these and what a function captured."""
    if not REFERENCES.isdisjoint(map(type, leaves)):
        tree = tree_flatten((args, {}))[1]
        name = f"{name_of(function)} for {what}"
        parameters = Parameters.of(function)
        distinct([*captured, *leaves], name, lambda: leaf_names(parameters, tree))


def on_leaves(
    what: str, function: Callable[..., Any], tree: Any
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """A function of the arguments of that tree on leaves; a list for the tree of its results."""
    out: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        args = tree_unflatten(tree, values)
        leaves, out_tree = tree_flatten(function(*args))
        if not REFERENCES.isdisjoint(map(type, leaves)):
            parameters = Parameters.of(function)
            refuse_returned(
                leaves,
                name_of(function),
                what,
                values,
                lambda: leaf_names(parameters, tree_flatten((args, {}))[1]),
            )
        out[:] = [out_tree]
        return leaves

    return flat, out


def with_captures(parts: Sequence[Staged]) -> tuple[list[Any], list[Program]]:
    """Return all captured values, and programs that each take all of them first."""
    values: list[Any] = []
    places: dict[int, int] = {}
    for part in parts:
        for x in part.captured:
            if id(x) not in places:
                places[id(x)] = len(values)
                values.append(x)
    programs = []
    for part in parts:
        n = len(part.captured)
        own = {places[id(x)]: v for x, v in zip(part.captured, part.program.inputs, strict=False)}
        first = [own[i] if i in own else Variable(None, typeof(x)) for i, x in enumerate(values)]
        p = part.program
        programs.append(Program([*first, *p.inputs[n:]], p.equations, p.outputs, p.name))
    return values, programs


def describe_difference(
    what: str,
    one: tuple[str, Any, Sequence[Any]],
    other: tuple[str, Any, Sequence[Any]],
    advice: str = "",
    told: str = "",
) -> TypeError:
    """An error that shows two trees of types side by side, and how they differ.

    Each side is its name, its tree, and the types of its leaves; `told` is what differs in words.
    """
    left, right = (tree_unflatten(tree, list(types)) for _, tree, types in (one, other))
    rows = [("", one[0], other[0], ""), *_compared((), left, right)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = []
    for path, x, y, why in rows:
        cells = f"  {path:{widths[0]}}  {x:{widths[1]}} | {y:{widths[2]}}"
        lines.append(f"{cells}  <-- {why}" if why else cells.rstrip())
    told = f"\n{told}\n" if told else ""
    return TypeError(
        "\n".join([what, *([told] if told else []), *lines, *([advice] if advice else [])])
    )


def carry_differences(carry: str, given: Any, returned: Any) -> str:
    """Say in words how the carry that a loop's body returns differs from the one it is given.

    Both are trees of types; `carry` is the name that the body gives it.
    """

    def component(path: tuple[Any, ...]) -> str:
        return f"the input carry {'component ' if path else ''}{carry}{keystr(path)}"

    return _sentences(
        [
            f"{component(m.path)} is a {_node(m.first)} but the corresponding component of the "
            f"carry output is a {_node(m.second)}, so {m.explanation}"
            for m in mismatches(registry, given, returned, None, prefix=False)
        ]
        or [
            f"{component(path)} has type {str_long(one)} but the corresponding output carry "
            f"component has type {str_long(other)}, so {_unequal(one, other)}"
            for (path, one), other in zip(
                tree_flatten_with_path(given)[0], tree_flatten(returned)[0], strict=True
            )
            if not same_types([one], [other])
        ]
    )


def branch_differences(names: tuple[str, str], first: Any, other: Any) -> str:
    """Say in words how the results of two branches differ, by the names of the branches.

    Both are trees of types.
    """
    one_name, other_name = names

    def at(path: tuple[Any, ...]) -> str:
        return f" at path {keystr(path)}" if path else ""

    return _list(
        [
            f"{one_name} output{at(m.path)} is a {_node(m.first)} but {other_name} output"
            f"{at(m.path)} is a {_node(m.second)}, so {m.explanation}"
            for m in mismatches(registry, first, other, None, prefix=False)
        ]
        or [
            f"The output of {one_name}{at(path)} has type {one.strong()} but the "
            f"corresponding output of {other_name} has type {two.strong()}, so "
            f"{_unequal(one, two)}"
            for (path, one), two in zip(
                tree_flatten_with_path(first)[0], tree_flatten(other)[0], strict=True
            )
            if not same_results([one], [two])
        ]
    )


def branch_advice(names: tuple[str, str], first: Any, other: Any) -> str:
    """Say what to do about branches, of those names, whose results differ in this way."""
    if (first is None) != (other is None):
        return f"{names[other is None]} returned None: does it lack a return?"
    (one, tree), (two, other_tree) = tree_flatten(first), tree_flatten(other)
    if tree != other_tree:
        none = str(type(None))
        differences = mismatches(registry, first, other, None, prefix=False)
        return "Let all branches return the same tree" + (
            "; where one has nothing to return it returns zeros, or its operand."
            if any(none in (m.first, m.second) for m in differences)
            else "."
        )
    pairs = [*zip(one, two, strict=True)]
    if same_types(one, two):
        return _to_one_varying(names, first, other)
    return (
        "Let all branches return the same "
        + " and ".join(
            [f"shapes{_to_one_shape(pairs)}"] * any(a.shape != b.shape for a, b in pairs)
            + ["dtypes (.astype)"] * any(a.dtype != b.dtype for a, b in pairs)
            + ["shardings (effax.sharding.reshard)"] * any(a.cut != b.cut for a, b in pairs)
        )
        + "."
    )


def _to_one_varying(names: tuple[str, str], first: Any, other: Any) -> str:
    """Say which results to mark, by `pcast`, as ones that may differ along more axes of a mesh."""
    told = []
    for (path, one), two in zip(
        tree_flatten_with_path(first)[0], tree_flatten(other)[0], strict=True
    ):
        for name, t, u in ((names[0], one, two), (names[1], two, one)):
            missing = tuple(u.varying - t.varying)
            if missing:
                place = f" at path {keystr(path)}" if path else ""
                told.append(
                    f"applying `effax.lax.pcast(..., {missing}, to='varying')` to the output of "
                    f"{name}{place}"
                )
    return f"This might be fixed by {', '.join(told)}."


def _to_one_shape(pairs: Sequence[tuple[ShapedArray, ShapedArray]]) -> str:
    """Name what brings both arrays of each pair to one shape, or nothing."""
    if all(a.size == b.size for a, b in pairs):
        return " (jnp.reshape)"
    lengths = [(m, n) for a, b in pairs for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False)]
    if all(m == n or 1 in (m, n) for m, n in lengths):
        return " (jnp.broadcast_to)"
    return " (jnp.pad, or a slice)" if all(a.ndim == b.ndim for a, b in pairs) else ""


def _sentences(found: list[str]) -> str:
    """One difference as a sentence, several as a list."""
    if len(found) == 1:
        return f"{found[0][:1].upper()}{found[0][1:]}."
    return _list(found)


def _list(found: list[str]) -> str:
    return ";\n".join(f"  * {difference}" for difference in found) + "." * bool(found)


def _node(named: str) -> str:
    return "pytree leaf" if named == str(ShapedArray) else named


def _unequal(one: ShapedArray, other: ShapedArray) -> str:
    parts = ["the dtypes do not match"] if one.dtype != other.dtype else []
    parts += ["the shapes do not match"] if one.shape != other.shape else []
    parts += ["the shardings do not match"] if one.cut != other.cut else []
    parts += ["the manual axis types do not match"] if one.varying != other.varying else []
    return ", and ".join(parts)


_Row = tuple[str, str, str, str]


def _compared(path: tuple[Any, ...], one: Any, other: Any) -> Iterator[_Row]:
    """A row for each leaf of both, and for each place where one has another node, or none."""
    name = keystr(path) or "(the whole)"
    left, right = one_level(registry, one), one_level(registry, other)
    if left is None and right is None:
        yield name, _shown(one), _shown(other), _why(one, other)
    elif left is None or right is None or type(one) is not type(other):
        yield name, _shown(one), _shown(other), "different structure"
    else:
        names = [keystr((key,)) for key, _ in (*left[0], *right[0])]
        ours, theirs = (
            {keystr((key,)): (key, child) for key, child in side[0]} for side in (left, right)
        )
        for key in dict.fromkeys(names):
            if key in ours and key in theirs:
                yield from _compared((*path, ours[key][0]), ours[key][1], theirs[key][1])
            else:
                sides = (_shown(s[key][1]) if key in s else "(nothing)" for s in (ours, theirs))
                yield keystr(path) + key, *sides, "only on one side"  # type: ignore[misc]
        if names and left[1] != right[1] and ours.keys() == theirs.keys():
            yield name, f"{left[1]}", f"{right[1]}", "different metadata"


def _shown(x: Any) -> str:
    """A type, or a tree of types in short."""
    if isinstance(x, ShapedArray):
        return x.str_short()
    leaves = ", ".join(t.str_short() for t in tree_flatten(x)[0])
    return "None" if x is None else f"{type(x).__name__}({leaves})"


def _why(one: ShapedArray, other: ShapedArray) -> str:
    parts = [
        *(["different shape"] if one.shape != other.shape else []),
        *(["different dtype"] if one.dtype != other.dtype else []),
        *(["different sharding"] if one.cut != other.cut else []),
    ]
    return ", ".join(parts)


def same_types(one: Sequence[ShapedArray], other: Sequence[ShapedArray]) -> bool:
    """Whether shapes, dtypes and cuts are equal; weak types are not looked at."""
    return len(one) == len(other) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.cut is b.cut
        for a, b in zip(one, other, strict=True)
    )


def same_results(one: Sequence[ShapedArray], other: Sequence[ShapedArray]) -> bool:
    """Whether types are the same, and values of them may differ along the same axes of a mesh."""
    return same_types(one, other) and all(
        a.varying == b.varying for a, b in zip(one, other, strict=True)
    )


def _promote_weak(
    types: Sequence[ShapedArray], outs: Sequence[ShapedArray]
) -> list[ShapedArray] | None:
    """Carry types, weak ones replaced where the body makes another dtype; None if unchanged.

    What differs between places of a mesh after a step may differ before it, too.
    """
    found = [
        (
            t.update(dtype=result_type(t, o), weak_type=False)
            if t.weak_type and t.dtype != o.dtype
            else t
        ).vary(t.varying | o.varying)
        for t, o in zip(types, outs, strict=True)
    ]
    return None if found == list(types) else found


def as_type(x: Any, type: ShapedArray) -> Any:
    """The value, converted where it is of another type."""
    t = typeof(x)
    if t is type:
        return x
    return convert_element_type(x, dtype=type.dtype, weak_type=type.weak_type)


class _UserBody(NamedTuple):
    """The user's function that a loop's body calls, and the part of the carry that it takes."""

    what: str
    body: Callable[..., Any]
    part: int


_USER_BODY: Final = "_effax_user_body"


def wraps_body(step: F, what: str, body: Callable[..., Any], part: int) -> F:
    """Note on a loop's body which function of the user it calls, of which messages then speak.

    Args:
      step: the body of a `scan` or a `while_loop`, whose carry is a tuple.
      what: the user's function in words.
      body: the user's function, whose last argument is the carry.
      part: the position in the tuple of the carry that `body` takes and returns.

    Returns:
      `step`.
    """
    setattr(step, _USER_BODY, _UserBody(what, body, part))
    return step


def _other_carry(
    what: str,
    body: Callable[..., Any],
    given: tuple[Any, Sequence[ShapedArray]],
    returned: tuple[Any, Sequence[ShapedArray]],
) -> TypeError:
    """An error for a body that returns a carry of another tree or of other types.

    Both carries are trees with the types of their leaves.
    """
    one, other = tree_unflatten(*given), tree_unflatten(*returned)
    user: _UserBody | None = getattr(body, _USER_BODY, None)
    if user is None:
        what, named = f"{what} body function", Parameters.of(body).first(1)[0]
    else:
        one, other = one[user.part], other[user.part]
        what, named = user.what, Parameters.of(user.body).first(2)[1]
    (types, tree), (found, found_tree) = tree_flatten(one), tree_flatten(other)
    if tree != found_tree:
        equal = "the same pytree structure"
        advice = "Return a carry with the structure of the initial one."
        if other is None:
            advice = "The body returned None: does it lack a return?"
    else:
        equal = "equal types"
        shapes = any(a.shape != b.shape for a, b in zip(types, found, strict=True))
        advice = _of_one_shape(what) if shapes else _OF_ONE_DTYPE
    return describe_difference(
        f"{what} carry input and carry output must have {equal}, but they differ:",
        ("carry in", tree, types),
        ("carry out", found_tree, found),
        advice,
        carry_differences(named, one, other),
    )


_OF_ONE_DTYPE: Final = (
    "Convert one with .astype, or give the initial carry the type that the body makes."
)


def _of_one_shape(what: str) -> str:
    """Say what to do with a carry whose shape changes."""
    scanned = ", or return the pieces as the scanned output" if what.startswith("scan") else ""
    return (
        "A carry keeps one shape in all steps. Allocate it at its full size and write by "
        f"x.at[i].set(...){scanned}."
    )


def loop_body(
    what: str,
    body: Callable[..., Any],
    tree: Any,
    types: list[ShapedArray],
    rest: Sequence[ShapedArray],
    carry_tree: Any,
) -> tuple[Staged, Any, list[ShapedArray]]:
    """Stage a loop's body until the carry's weak types agree; then its types must."""
    while True:
        staged, out_tree = traced(what, body, tree, [*types, *rest])
        n = len(types)
        outs = staged.program.out_types
        found_tree = out_tree
        if what == "scan":
            children = _pair(out_tree, outs)
            found_tree, outs = children[0], outs[: children[0].num_leaves]
        if found_tree != carry_tree:
            raise _other_carry(what, body, (carry_tree, types), (found_tree, outs))
        stronger = _promote_weak(types, outs[:n])
        if stronger is None:
            break
        types = stronger
    if not same_types(types, outs[:n]):
        raise _other_carry(what, body, (carry_tree, types), (found_tree, outs[:n]))
    return staged, out_tree, types


def _pair(out_tree: Any, types: Sequence[ShapedArray]) -> tuple[Any, Any]:
    children = out_tree.children()
    if len(children) != 2 or out_tree.node_data() is None:
        raise TypeError(
            f"scan body output must be a pair, got {typed(out_tree, types)}. Return (carry, y)"
        )
    return children[0], children[1]
