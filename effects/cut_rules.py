"""The cuts of the results of each effect along explicit axes of a mesh: a table, and its rules.

A rule says from the operands' cuts how results are cut, and refuses what has no one answer, before
anything runs. Effects on elements follow one rule by their facts; the others are in `BY_NAME` and
`BY_FAMILY`. What stands in neither is refused by name: under `auto_axes` the compiler decides.
Source: the propagation rules of JAX's explicit mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import attrs

from effax.effects.config import trace_key
from effax.effects.cuts import Entries, count, cut_of, entry_of, names_of
from effax.effects.errors import ShardingTypeError
from effax.effects.facts import POINTWISE
from effax.effects.interning import keep
from effax.effects.mesh import AxisType, PartitionSpec, current_mesh
from effax.effects.provenance import source

if TYPE_CHECKING:
    from effax.effects.effect import Effect
    from effax.effects.types import ShapedArray

_LIMIT: Final = 8192
_memo: Final[dict[Any, Any]] = {}


@attrs.frozen(slots=True)
class Cutting:
    """One effect on operands of which some are cut: what a rule is told.

    `types` are the operands' (None for a number), `outs` those of the results, not cut yet.
    """

    name: str
    types: tuple[Any, ...]
    outs: tuple[Any, ...]
    attributes: dict[str, Any]
    mesh: Any

    def spec(self, operand: int) -> Entries:
        """The entries of an operand, one for each of its axes."""
        return entries(self.types[operand])

    @property
    def shown(self) -> str:
        """The types of the operands, as text."""
        return ", ".join(t.str_short() for t in self.types if t is not None)

    def refuse(self, why: str, advice: str = "") -> ShardingTypeError:
        """The error that says why there is no one way to cut the results, and what to do."""
        return ShardingTypeError(f"{self.name} of {self.shown}: {why}; {advice or _ADVICE}")


_ADVICE: Final = (
    "reshard an operand (effax.sharding.reshard), or let the compiler choose within a function "
    "under effax.sharding.auto_axes(..., out_sharding=...)"
)
Rule = Callable[[Cutting], Sequence[Entries]]


def entries(type: ShapedArray) -> Entries:
    """The entries of a type, one for each axis.

    Args:
      type: the type of an array, cut or not.
    """
    return (None,) * len(type.shape) if type.cut is None else type.cut.entries


def infer_cut(effect: Effect, types: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The result types of an effect of which some operand is cut.

    Args:
      effect: the effect.
      types: the types of its operands, None for a number.
      attributes: its attributes.

    Raises:
      ShardingTypeError: where there is no rule, or the rule finds no one answer.
    """
    key = effect, trace_key().mesh, source.at is None, tuple(types), *attributes.items()
    found = _memo.get(key)
    if found is None:
        found = keep(_memo, key, _infer(effect, types, attributes), _LIMIT)
    return found


def _infer(effect: Effect, types: Sequence[Any], attributes: dict[str, Any]) -> Any:
    mesh = _mesh_of(effect.name, types)
    rule = rule_of(effect)
    if rule is None:
        asked = Cutting(effect.name, tuple(types), (), attributes, mesh)
        raise asked.refuse("no rule says how its results are cut")
    if rule is own:
        typed = effect.typing(*types, **attributes)
        return tuple(typed) if effect.multiple else typed
    for over in dict.fromkeys(t.cut.mesh for t in types if t is not None and t.cut is not None):
        _check_context(effect.name, over)
    plain = tuple([t if t is None else t.cut_by(None) for t in types])
    found = effect.infer(plain, attributes)
    outs = found if effect.multiple else (found,)
    told = Cutting(effect.name, tuple(types), outs, attributes, mesh)
    done = [_cut(told, t, spec) for t, spec in zip(outs, rule(told), strict=True)]
    return tuple(done) if effect.multiple else done[0]


def rule_of(effect: Effect) -> Rule | None:
    """The rule of an effect: by its name, by its family, or by its facts."""
    named = BY_NAME.get(effect.name) or BY_FAMILY.get(effect.family)
    return pointwise if named is None and POINTWISE in effect.facts else named


def _mesh_of(name: str, types: Sequence[Any]) -> Any:
    meshes = list(dict.fromkeys(t.cut.mesh for t in types if t is not None and t.cut is not None))
    if any(m.shape_tuple != meshes[0].shape_tuple for m in meshes):
        raise ShardingTypeError(
            f"{name}: operands are cut over different meshes, {meshes[0]} and {meshes[1]}; move "
            "one of them to the other's mesh by device_put"
        )
    context = current_mesh()
    if context is not None and context.manual_axes:
        used = {n for t in types if t is not None and t.cut is not None for n in t.cut.used}
        mapped = sorted(str(n) for n in used if n in context.manual_axes)
        if mapped:
            raise ShardingTypeError(
                f"{name}: context mesh {context} should match the mesh of an operand, {meshes[0]}, "
                f"whose explicit axes {mapped} cut it; pass the operand as an argument of the "
                "function under shard_map, not from around it"
            )
    return meshes[0]


def _check_context(name: str, mesh: Any) -> None:
    """Raise `ValueError` where types are over axes that the mesh in context has otherwise.

    Axes that a `shard_map` around is over keep their types in those of operands. An equation that
    runs again, in a derivative, may have been written under another mesh.
    """
    context = current_mesh()
    if source.at is not None or context is None or context.empty:
        return
    kinds = dict(zip(context.axis_names, context.axis_types, strict=True))
    alike = context.shape_tuple == mesh.shape_tuple and all(
        kinds[n] in (kind, AxisType.Manual)
        for n, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
    )
    if not alike:
        raise ValueError(
            f"For primitive {name}, context mesh {context} should match the aval mesh {mesh}, "
            "along whose explicit axes an operand is cut; enter the mesh of the operand "
            "(effax.set_mesh), or reshard the operand to the mesh in context"
        )


def _cut(told: Cutting, type: ShapedArray, spec: Entries) -> ShapedArray:
    used = [n for entry in spec for n in names_of(entry)]
    twice = sorted({str(n) for n in used if used.count(n) > 1})
    if twice:
        raise told.refuse(
            f"{told.name} operation produces an illegally sharded result, {PartitionSpec(*spec)}, "
            f"which names the mesh axes {twice} twice",
            "pass out_sharding where the function has it, or reshard an operand first",
        )
    doing = _DOING.get(told.name, told.name)
    for n, entry in zip(type.shape, spec, strict=True):
        if entry is not None and n % count(told.mesh, entry):
            raise told.refuse(
                f"{doing} on sharded dims where out dim ({n}) is not divisible by mesh axes "
                f"({count(told.mesh, entry)}) with spec ({entry}) is not implemented"
            )
    return type.cut_by(cut_of(told.mesh, spec))


_DOING: Final = {"slice": "slicing", "pad": "padding"}
"""The words that errors have for effects that change the lengths of axes."""


# ---------------------------------------------------------------------------------- the rules


def own(told: Cutting) -> Sequence[Entries]:
    """The marker of effects whose typing speaks of cuts itself; it is never called."""
    raise NotImplementedError(told.name)


def fresh(told: Cutting) -> Sequence[Entries]:
    """Results that are cut along nothing, whatever the operands are."""
    return [(None,) * t.ndim for t in told.outs]


def pointwise(told: Cutting) -> Sequence[Entries]:
    """Axes in the same place are cut in the same way; one that is not cut follows the others."""
    ndim = told.outs[0].ndim
    specs = [entries(t) for t in told.types if t is not None and len(t.shape) == ndim]
    found: list[Any] = [None] * ndim
    for spec in specs:
        for i, entry in enumerate(spec):
            if entry is not None and found[i] not in (None, entry):
                texts = ", ".join(str(PartitionSpec(*s)) for s in specs)
                raise told.refuse(
                    f"{told.name} got incompatible shardings for broadcasting: {texts}"
                )
            found[i] = found[i] if entry is None else entry
    return [tuple(found)] * len(told.outs)


def kept(told: Cutting) -> Sequence[Entries]:
    """As the first operand is cut, axis by axis, if lengths allow it."""
    return [told.spec(0)] * len(told.outs)


def reduced(told: Cutting) -> Sequence[Entries]:
    """As the operands are cut, without the axes that are gone."""
    axes = told.attributes.get("axes", (told.attributes.get("axis"),))
    left = [
        tuple(entry for i, entry in enumerate(told.spec(k)) if i not in axes)
        for k in range(len(told.outs))
    ]
    return left


def along(field: str, told: Cutting) -> Sequence[Entries]:
    """As the operands are cut, all alike, but not along the axis that the effect works along."""
    axis = told.attributes[field]
    specs = [entries(t) for t in told.types if t is not None and t.cut is not None]
    if any(spec[axis] is not None for spec in specs):
        raise told.refuse(f"Input should be unsharded over the axis being reduced, which is {axis}")
    if any(spec != specs[0] for spec in specs):
        raise told.refuse("operands must have equal shardings")
    return [specs[0]] * len(told.outs)


def broadcast(told: Cutting) -> Sequence[Entries]:
    """New axes are not cut."""
    found: list[Any] = [None] * told.outs[0].ndim
    for entry, d in zip(told.spec(0), told.attributes["dims"], strict=True):
        found[d] = entry
    return [tuple(found)]


def transposed(told: Cutting) -> Sequence[Entries]:
    """The entries change places with their axes."""
    spec = told.spec(0)
    return [tuple(spec[i] for i in told.attributes["permutation"])]


def recast(told: Cutting) -> Sequence[Entries]:
    """A last axis that is used up, or that comes, is not cut."""
    spec, ndim = told.spec(0), told.outs[0].ndim
    if any(entry is not None for entry in spec[ndim:]):
        raise told.refuse("the last axis, of which each element is made, must be unsharded")
    return [(*spec, None)[:ndim]]


def windowed(told: Cutting) -> Sequence[Entries]:
    """As the array is cut whose windows are read, or written to, the last of one rank."""
    arrays = [entries(t) for t in told.types if t is not None and len(t.shape)]
    return [arrays[-1]] * len(told.outs)


def alike(told: Cutting) -> Sequence[Entries]:
    """As all operands are cut; those that nobody put on the mesh may not be."""
    context = current_mesh()
    strict = context is not None and bool(context.explicit_axes)
    specs = [entries(t) for t in told.types if t is not None and len(t.shape) and t.cut is not None]
    plain = any(
        t is not None and len(t.shape) == len(specs[0]) and t.cut is None for t in told.types
    )
    if any(spec != specs[0] for spec in specs) or (plain and strict):
        raise told.refuse("All operands should have the same sharding")
    return [specs[0]]


def updated(told: Cutting) -> Sequence[Entries]:
    """As the operand is cut, if its update is cut alike, or is whole along the axes that are."""
    (operand, update), spec, new = told.types[:2], told.spec(0), told.spec(1)
    for n, k, e, f in zip(operand.shape, update.shape, spec, new, strict=True):
        if e != f and not (f is None and n == k):
            raise told.refuse("operand and update should have the same sharding")
    return [spec]


def reshaped(told: Cutting) -> Sequence[Entries]:
    """Axes of length 1 come and go; one axis is split in several, or several are merged in one."""
    (operand,), (out,) = told.types, told.outs
    spec = told.spec(0)
    groups = matched(operand.shape, out.shape)
    uneven = [g for g in groups or () if len(g[0]) != 1 or len(g[1]) != 1]
    if groups is None or len(uneven) > 1 or any(len(a) > 1 and len(b) > 1 for a, b in uneven):
        raise _no_reshape(told)
    found: list[Any] = [None] * out.ndim
    for ins, outs in groups:
        names = _merged(told, [spec[i] for i in ins])
        if len(ins) == len(outs) == 1:
            found[outs[0]] = spec[ins[0]]
            continue
        for place in outs:
            taken, left = [], out.shape[place]
            while names and left > 1:
                size = told.mesh.shape[names[0]]
                if left % size:
                    raise _no_reshape(told)
                left //= size
                taken.append(names.pop(0))
            found[place] = entry_of(taken)
        if names:
            raise _no_reshape(told)
    return [tuple(found)]


def _no_reshape(told: Cutting) -> ShardingTypeError:
    return told.refuse(
        f"This reshape is not supported, to {told.outs[0].shape}: how is the result to be cut?",
        "Please specify the sharding of the output via the `out_sharding` argument",
    )


def _merged(told: Cutting, group: Sequence[Any]) -> list[Any]:
    """The names along which merged axes are cut: those of the first ones, else there is a gap."""
    while group and group[-1] is None:
        group = group[:-1]
    if len(group) > 1 and None in group:
        raise _no_reshape(told)
    return [n for entry in group for n in names_of(entry)]


def matched(one: Sequence[int], other: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """Groups of axes of two shapes that hold the same elements, without axes of length 1.

    Args:
      one: a shape.
      other: a shape of as many elements.

    >>> matched((8, 3), (2, 4, 1, 3))
    [([0], [0, 1]), ([1], [3])]
    """
    left, right = (
        [i for i, n in enumerate(one) if n != 1],
        [i for i, n in enumerate(other) if n != 1],
    )
    found = []
    while left and right:
        ins, outs = [left.pop(0)], [right.pop(0)]
        while (a := prod(one[i] for i in ins)) != (b := prod(other[i] for i in outs)):
            if not (left if a < b else right):
                return None
            (ins if a < b else outs).append((left if a < b else right).pop(0))
        found.append((ins, outs))
    return None if left or right else found


def contracted(told: Cutting) -> Sequence[Entries]:
    """Batch axes, then what is left of either operand; an axis both are summed along is unclear."""
    return [_product(told, told.spec(0), told.spec(1), told.attributes["dimension_numbers"])]


def ragged(told: Cutting) -> Sequence[Entries]:
    """As `contracted` where groups are one more axis of lhs, which is not cut."""
    if any(e is not None for e in told.spec(2)):
        raise told.refuse("the sizes of the groups must be unsharded")
    (lc, rc), (lb, rb) = told.attributes["dimension_numbers"]
    group = told.attributes["group"]
    lc, lb = (tuple(i + 1 for i in axes) for axes in (lc, lb))
    left = (None, *told.spec(0))
    if group:
        return [_product(told, left, told.spec(1), (((0, *lc), (*group, *rc)), (lb, rb)))]
    found = list(_product(told, left, told.spec(1), ((lc, rc), (lb, rb))))
    return [(found.pop(len(lb)), *found)]


def _product(told: Cutting, left: Entries, right: Entries, numbers: Any) -> Entries:
    (lc, rc), (lb, rb) = numbers
    batches = "lhs batch dimensions and rhs batch dimensions to have the consistent"
    sums = "contracting dimensions to have consistent"
    for what, ls, rs in ((batches, lb, rb), (sums, lc, rc)):
        pairs = [(left[i], right[j]) for i, j in zip(ls, rs, strict=True)]
        if any(a is not None and b is not None and a != b for a, b in pairs):
            raise told.refuse(
                f"{told.name} requires {what} sharding, got "
                f"{tuple(a for a, _ in pairs)} and {tuple(b for _, b in pairs)}"
            )
    if any(left[i] is not None and right[j] is not None for i, j in zip(lc, rc, strict=True)):
        raise told.refuse(
            "Contracting dimensions are sharded and it is ambiguous how the output should be "
            "sharded",
            "Please specify the output sharding via the `out_sharding` parameter",
        )
    batch = [left[i] if left[i] is not None else right[j] for i, j in zip(lb, rb, strict=True)]
    rest = [e for i, e in enumerate(left) if i not in (*lc, *lb)]
    return (*batch, *rest, *(e for i, e in enumerate(right) if i not in (*rc, *rb)))


def convolved(told: Cutting) -> Sequence[Entries]:
    """As the batch and the spatial axes of the left operand are; all else must not be cut."""
    left, right = told.spec(0), told.spec(1)
    numbers = told.attributes["dimension_numbers"]
    ins, _, outs = numbers
    if any(e is not None for e in right) or left[ins[1]] is not None:
        raise told.refuse(
            "the kernel must not be sharded, nor the feature axis of the left operand",
            "Please specify the output sharding via the `out_sharding` parameter",
        )
    found: list[Any] = [None] * told.outs[0].ndim
    for i, o in zip(ins, outs, strict=True):
        found[o] = left[i]
    return [tuple(found)]


def in_batches(told: Cutting) -> Sequence[Entries]:
    """As the leading axes are cut; the axes of the matrices themselves must not be."""
    own_axes = _RANKS.get(told.name, 2)
    batch = told.types[0].ndim - own_axes
    specs = [entries(t) for t in told.types]
    if any(e is not None for spec in specs for e in spec[batch:]):
        raise told.refuse("operands must be unsharded on non-batch dimensions")
    if any(spec[:batch] != specs[0][:batch] for spec in specs):
        raise told.refuse("all operands must have the same batch sharding")
    return [(*specs[0][:batch], *[None] * (t.ndim - batch)) for t in told.outs]


_RANKS: Final = {"pivots_to_permutation": 1, "tridiagonal_solve": 1}
"""The axes of the first operand that belong to one problem, where they are not a matrix's two."""


def gathered(told: Cutting) -> Sequence[Entries]:
    """Whole axes of the operand, and paired axes, stay cut; what is looked up in must not be."""
    operand, indices = told.types[:2]
    dims, sizes = told.attributes["dimension_numbers"], told.attributes["slice_sizes"]
    spec, at = told.spec(0), list(told.spec(1))
    pairs = list(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True))
    clear = (
        all(sizes[i] == operand.shape[i] or spec[i] is None for i in dims.start_index_map)
        and all(at[j] == spec[i] or None in (at[j], spec[i]) for i, j in pairs)
        and all(e is None or j in dims.start_indices_batching_dims for j, e in enumerate(at))
    )
    if not clear:
        raise told.refuse(
            "the sharding of the gathered array could not be resolved unambiguously (or would "
            "require collectives on inputs)",
            "Use `.at[...].get(out_sharding=)` to provide it",
        )
    for i, j in pairs:
        at[j] = spec[i] if at[j] is None else at[j]
    outside = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    slices = iter([spec[i] for i in range(operand.ndim) if i not in outside])
    rest = iter(at[: indices.ndim - 1])
    ndim = told.outs[0].ndim
    return [tuple(next(slices) if i in dims.offset_dims else next(rest) for i in range(ndim))]


def scattered(told: Cutting) -> Sequence[Entries]:
    """As the operand is cut, where whole slices of it are written, alike cut."""
    operand, indices, updates = told.types[:3]
    dims = told.attributes["dimension_numbers"]
    spec, at, new = list(told.spec(0)), told.spec(1), told.spec(2)
    window = list(dims.update_window_dims)
    queries = [i for i in range(updates.ndim) if i not in window]
    batching = list(
        zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)
    )
    outside = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    slices = list(zip(window, [i for i in range(operand.ndim) if i not in outside], strict=True))
    paired = {j for _, j in batching}
    triples = [(spec[i], at[j], new[queries[j]]) for i, j in batching]
    clear = (
        all(len({e for e in triple if e is not None}) < 2 for triple in triples)
        and all(
            (new[u] == spec[i] and updates.shape[u] == operand.shape[i])
            or (new[u] is None and spec[i] is None)
            for u, i in slices
        )
        and all(spec[i] is None for i in dims.inserted_window_dims)
        and all(new[q] is None for j, q in enumerate(queries) if j not in paired)
        and all(at[j] is None for j in range(indices.ndim) if j not in paired)
    )
    if not clear:
        raise told.refuse(
            "the sharding of the result could not be resolved unambiguously (or would require "
            "collectives on inputs)",
            "Use `.at[...].set/add/mul/...(out_sharding=)` to provide it",
        )
    for (i, _), triple in zip(batching, triples, strict=True):
        spec[i] = next((e for e in triple if e is not None), None)
    return [tuple(spec)]


BY_NAME: Final[dict[str, Rule]] = {
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), reduced),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor", "argmax", "argmin"), reduced),
    "reduce": reduced,
    "broadcast_in_dim": broadcast,
    "transpose": transposed,
    "reshape": reshaped,
    "concatenate": alike,
    **dict.fromkeys(("pad", "rev", "slice", "dynamic_slice", "fft"), kept),
    "dynamic_update_slice": updated,
    "gather": gathered,
    **dict.fromkeys(
        ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"), scattered
    ),
    "dot_general": contracted,
    "ragged_dot_general": ragged,
    "conv_general_dilated": convolved,
    **dict.fromkeys(("select_n", "clamp", "threefry2x32"), pointwise),
    "sort": partial(along, "dimension"),
    "top_k": partial(along, "axis"),
    **dict.fromkeys(("reduce_window_sum", "reduce_window_max", "reduce_window_min"), kept),
    **dict.fromkeys(("reduce_window", "select_and_gather_add", "select_and_scatter_add"), windowed),
    "bitcast_convert_type": recast,
    **dict.fromkeys(("psum", "pmax", "pmin", "ppermute"), pointwise),
    **dict.fromkeys(("check", "debug_check", "detect", "dce_sink", "rng_bit_generator"), fresh),
    **dict.fromkeys(
        ("custom_linear", "linear_solve", "unstored", "parallel", "exported_call"), own
    ),
    **dict.fromkeys(("with_sharding_constraint", "reshard", "opened", "device_put"), own),
    **dict.fromkeys(("sharding_group", "shard_map"), own),
}
"""The rules of single effects."""

BY_FAMILY: Final[dict[str, Rule]] = {
    "cumulative": partial(along, "axis"),
    "linalg": in_batches,
    "condensed": in_batches,
    "callback": fresh,
    "control": own,
    "custom": own,
    "state": own,
}
"""The rules of families of which all effects that are not in `BY_NAME` follow one."""
