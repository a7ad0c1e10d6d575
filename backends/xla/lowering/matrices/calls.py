"""Calls of foreign functions that compute matrix by matrix: operands, layouts and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.types import ShapedArray, bool_, int32, is_complex
from effax.effects.value import is_symbolic

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def _layout(type: ShapedArray, batch: int, by_columns: bool) -> str:
    """The order of axes in memory, the fastest first; the batch last."""
    own = len(type.shape) - batch
    order = [*range(batch, batch + own)]
    if own != 2 or not by_columns:
        order = order[::-1]
    order += range(batch - 1, -1, -1)
    return f"dense<{listed(order) if order else ''}> : tensor<{len(order)}xindex>"


def foreign(
    w: Writer,
    target: str,
    operands: Sequence[Name],
    types: Sequence[ShapedArray],
    batch: int,
    attributes: str = "",
    alias: int | None = None,
    by_columns: bool = True,
) -> list[Name]:
    """Call a typed foreign function; its first result reuses the memory of operand `alias`, if any.

    The function computes each matrix of the batch by itself. The call says so on a mesh, since XLA
    would gather a whole operand otherwise.
    """
    layouts = [_layout(x.type, batch, by_columns) for x in operands]
    lengths, which = shape_operands(w, operands, types)
    layouts += ["dense<0> : tensor<1xindex>"] * len(lengths)
    outs = ", ".join(_layout(t, batch, by_columns) for t in types)
    tuple_indices = "[0]" if len(types) > 1 else "[]"
    reuse = (
        ""
        if alias is None
        else "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{tuple_indices}, operand_index = {alias}, operand_tuple_indices = []>], "
    )
    given = ", ".join(x.text for x in (*operands, *lengths))
    results = ", ".join(map(tensor, types))
    names = ", ".join([*operands, *lengths])
    text = (
        f"stablehlo.custom_call @{target}({names}) {{api_version = 4 : i32, "
        f"backend_config = {{{attributes}}}, operand_layouts = [{', '.join(layouts)}], {reuse}"
        f"result_layouts = [{outs}]{_by_matrix(w, operands, types, batch)}{which}}} : "
        f"({given}) -> "
    )
    text += f"({results})" if len(types) > 1 else results
    return w.ops(text, types) if len(types) > 1 else [w.op(text, types[0])]


def shape_operands(
    w: Writer, operands: Sequence[Name], types: Sequence[ShapedArray]
) -> tuple[list[Name], str]:
    """The shapes of a call's results as further operands, where lengths are symbolic.

    With them comes the attribute that says so. The refinement reads them, and takes them away.
    """
    if not any(is_symbolic(t.shape) for t in types):
        return [], ""
    places = listed(range(len(operands), len(operands) + len(types)))
    which = f", indices_of_shape_operands = dense<{places}> : tensor<{len(types)}xi64>"
    return [w.symbolic.vector(w, t.shape) for t in types], which


def _by_matrix(
    w: Writer, operands: Sequence[Name], types: Sequence[ShapedArray], batch: int
) -> str:
    """The attributes by which Shardy and the partitioner keep the shards of the batch apart.

    Shardy's rule numbers the axes that belong together: those of the batch are shared by all
    operands and results, each other axis is on its own.
    """
    if w.mesh is None or not batch:
        return ""
    sizes = list(operands[0].shape[:batch])
    ends = []
    for type in (*(x.type for x in operands), *types):
        own = range(len(sizes), len(sizes) + type.ndim - batch)
        ends.append(f"[{', '.join(map(_factor, (*range(batch), *own)))}]")
        sizes += type.shape[batch:]
    known = ", ".join(f"{_factor(i)}={n}" for i, n in enumerate(sizes))
    ins, outs = ", ".join(ends[: len(operands)]), ", ".join(ends[len(operands) :])
    return (
        f', mhlo.frontend_attributes = {{num_batch_dims = "{batch}"}}, sdy.sharding_rule = '
        f"#sdy.op_sharding_rule<({ins})->({outs}) {{{known}}}, custom>"
    )


def _factor(i: int) -> str:
    """Shardy's name of a factor: i to z, then z_1, z_2 and so on."""
    return chr(ord("i") + i) if i < 18 else f"z_{i - 17}"


def is_cuda(w: Writer) -> bool:
    return w.platform in ("cuda", "gpu")


def require_cpu(w: Writer, effect: Any) -> None:
    if w.platform != "cpu":
        raise UnhandledEffectError(
            f"the effect '{effect.name}' has no lowering for the platform {w.platform!r}; compute "
            "it on the CPU, with device_put"
        )


def require_lapack(w: Writer, effect: Any) -> None:
    if not is_cuda(w):
        require_cpu(w, effect)


def info_type(x: Name, batch: int) -> ShapedArray:
    """The type of the codes by which a foreign function reports failure."""
    return ShapedArray(x.shape[:batch], int32)


def or_nan(w: Writer, x: Name, info: Name, test: str = "EQ") -> Name:
    """x where the code is zero (where `info GE 0`, if that is the test), NaN elsewhere."""
    flags = info.type.update(dtype=bool_)
    zero = w.constant(0, info.type)
    good = w.op(
        f"stablehlo.compare {test}, {info}, {zero}, SIGNED : ({info.text}, {zero.text}) -> "
        f"{tensor(flags)}",
        flags,
    )
    return nan_unless(w, good, x)


def nan_unless(w: Writer, good: Name, x: Name) -> Name:
    """x, NaN in those matrices of a batch that are not good."""
    wide = x.type.update(dtype=bool_)
    mask = spread_over(w, good, wide)
    nan = w.constant(complex("nan+nanj") if is_complex(x.dtype) else float("nan"), x.type)
    return w.op(f"stablehlo.select {mask}, {x}, {nan} : {tensor(wide)}, {x.text}", x.type)


def spread_over(w: Writer, x: Name, type: ShapedArray) -> Name:
    """A value for each matrix of a batch, at all its elements."""
    dims = range(len(x.shape))
    if is_symbolic(type.shape):
        found: Name = w.symbolic.broadcast(w, x, type, dims)
        return found
    return w.op(
        f"stablehlo.broadcast_in_dim {x}, dims = {listed(dims)} : ({x.text}) -> {tensor(type)}",
        type,
    )


def flag(value: bool) -> str:
    """A Boolean attribute."""
    return "true" if value else "false"


def lapack_name(w: Writer, x: Name, name: str, cusolver: str | None = None) -> str:
    """The foreign function for elements of this dtype, on this platform."""
    if is_cuda(w):
        return f"cusolver_{cusolver or name}_ffi"
    return f"lapack_{_LETTERS[x.dtype.name]}{name}_ffi"
