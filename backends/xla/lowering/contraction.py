"""Contraction in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from effax.backends.xla.lowering.elementwise import converted, whole, whole_bytes
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from effax.effects.dtypes import bit_width, narrow_floats
from effax.effects.rows import contraction
from effax.effects.types import ShapedArray, bfloat16, element_name, float16, float32, float64

_WIDE: Final = np.dtype(np.float32)
_IN_KERNELS: Final = frozenset({np.dtype(np.float32), bfloat16})
"""The dtypes of ragged products on TPUs: the compiler refuses float16, and crashes on others."""
_NARROW: Final = frozenset(d for d in narrow_floats if bit_width(d) <= 8)


def precision_names(precision: Any) -> str:
    """The precision of both operands, in StableHLO's words."""
    return ", ".join(map(str, precision)) if isinstance(precision, tuple) else "DEFAULT, DEFAULT"


_ON_CPU: Final = frozenset(
    {
        *(DotAlgorithmPreset.F16_F16_F16, DotAlgorithmPreset.F32_F32_F32),
        *(DotAlgorithmPreset.F64_F64_F64, DotAlgorithmPreset.BF16_BF16_F32),
        *(DotAlgorithmPreset.BF16_BF16_F32_X3, DotAlgorithmPreset.BF16_BF16_F32_X6),
    }
)
_SAME_ON_CPU: Final = {
    DotAlgorithm(x, x, x): DotAlgorithmPreset[f"{name}_{name}_{name}"]
    for x, name in ((float16, "F16"), (float32, "F32"), (float64, "F64"))
} | {DotAlgorithm(bfloat16, bfloat16, float32): DotAlgorithmPreset.BF16_BF16_F32}


def _algorithm(
    w: Writer, precision: Any, lhs: Name, rhs: Name, type: ShapedArray
) -> tuple[str, Name, Name, Any]:
    """The attribute, operands as the algorithm takes them, and the dtype that it gives.

    Raises `ValueError` for one that the platform does not have.
    """
    if precision is DotAlgorithmPreset.DEFAULT:
        return "", lhs, rhs, type.dtype
    found = _SAME_ON_CPU.get(precision, precision)
    if w.platform == "cpu" and found not in _ON_CPU:
        raise ValueError(
            f"The precision '{precision}' is not supported by dot_general on CPU, which has "
            f"{', '.join(sorted(map(str, _ON_CPU)))}"
        )
    if isinstance(found, DotAlgorithmPreset):
        lhs, rhs = (_stored(w, x, found.storage_types) for x in (lhs, rhs))
        first, second = found.name.split("_")[:2] if found.storage_types else (lhs, rhs)
        text = _ALGORITHM.format(
            lhs=_NAMES.get(first) or element_name(lhs.dtype),
            rhs=_NAMES.get(second) or element_name(rhs.dtype),
            sum=element_name(found.accumulation_type or type.dtype),
            n=1,
            m=1,
            products=found.products,
            imprecise=str("FAST" in found.name).lower(),
        )
        return text, lhs, rhs, found.accumulation_type or type.dtype
    text = _ALGORITHM.format(
        lhs=element_name(found.lhs_precision_type),
        rhs=element_name(found.rhs_precision_type),
        sum=element_name(found.accumulation_type),
        n=found.lhs_component_count,
        m=found.rhs_component_count,
        products=found.num_primitive_operations,
        imprecise=str(bool(found.allow_imprecise_accumulation)).lower(),
    )
    return text, lhs, rhs, found.accumulation_type


_NAMES: Final = {"F16": "f16", "BF16": "bf16", "TF32": "tf32", "F32": "f32", "F64": "f64"}
_ALGORITHM: Final = (
    ", algorithm = <lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, accumulation_type = "
    "{sum}, lhs_component_count = {n}, rhs_component_count = {m}, num_primitive_operations = "
    "{products}, allow_imprecise_accumulation = {imprecise}>"
)


def _stored(w: Writer, x: Name, dtypes: Sequence[Any] | None) -> Name:
    if dtypes is None or x.dtype in dtypes:
        return x
    return converted(w, x, x.type.update(dtype=dtypes[0]))


def widened(w: Writer, *operands: Name, narrow: bool = False) -> list[Name]:
    """Operands as XLA multiplies them: on the CPU, narrow floats are widened first.

    Elsewhere they are where products of `narrow` floats are not to be had.
    """
    operands = tuple(whole_bytes(w, x) for x in operands)
    if w.platform != "cpu" and not narrow:
        return list(operands)
    return [
        converted(w, x, x.type.update(dtype=_WIDE)) if x.dtype in _NARROW else x for x in operands
    ]


def product_type(w: Writer, type: ShapedArray) -> ShapedArray:
    """The type of a convolution of `widened` operands, before it is rounded to `type`."""
    rounded = type.dtype in _NARROW and w.platform != "tpu"
    return type.update(dtype=_WIDE if rounded else whole(w, type.dtype))


@rule(contraction.dot_general)
def lower_dot_general(
    w: Writer,
    types: Sequence[ShapedArray],
    lhs: Name,
    rhs: Name,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Name:
    (type,) = types
    algorithm, dtype = "", type.dtype
    if precision is None or isinstance(precision, tuple):
        lhs, rhs = widened(w, lhs, rhs)
        dtype = whole(w, dtype)
    else:
        algorithm, lhs, rhs, dtype = _algorithm(w, precision, lhs, rhs, type)
    contracting, batching = (
        " x ".join(f"[{', '.join(map(str, side))}]" for side in pair) for pair in dimension_numbers
    )
    batch = f"batching_dims = {batching}, " if dimension_numbers[1][0] else ""
    made = type.update(dtype=dtype)
    product = w.op(
        f"stablehlo.dot_general {lhs}, {rhs}, {batch}contracting_dims = {contracting}, "
        f"precision = [{precision_names(precision)}]{algorithm} : ({lhs.text}, {rhs.text}) -> "
        f"{tensor(made)}",
        made,
    )
    return converted(w, product, type)


@rule(contraction.ragged_dot_general)
def lower_ragged_dot_general(
    w: Writer,
    types: Sequence[ShapedArray],
    lhs: Name,
    rhs: Name,
    group_sizes: Name,
    *,
    dimension_numbers: Any,
    ragged: int,
    group: tuple[int, ...],
    precision: Any,
    preferred_element_type: Any,
) -> Name:
    """On a TPU `chlo.ragged_dot`, a kernel that multiplies each row once; elsewhere masks, as XLA
    for CPUs and GPUs writes them too."""
    from effax.interpreters.composites import ragged as composites

    (type,) = types
    attributes = {
        "dimension_numbers": dimension_numbers,
        "ragged": ragged,
        "group": group,
        "precision": precision,
        "preferred_element_type": preferred_element_type,
    }
    known = precision is None or isinstance(precision, tuple)
    dtypes = {lhs.dtype, rhs.dtype, type.dtype}
    if w.platform != "tpu" or not known or 0 in (*lhs.shape, *rhs.shape) or dtypes - _IN_KERNELS:
        return w.performed(partial(composites.ragged_by_masks, **attributes), lhs, rhs, group_sizes)
    if not composites.is_plain(len(lhs.shape), len(rhs.shape), dimension_numbers, ragged, group):
        # libtpu's compiler crashes on batch axes, and refuses further free axes of lhs.
        plain = composites.worth_plain(
            len(lhs.shape), len(group_sizes.shape), dimension_numbers, ragged, group
        )
        written = composites.ragged_as_plain if plain else composites.ragged_by_masks
        return w.performed(partial(written, **attributes), lhs, rhs, group_sizes)
    lc, rc = dimension_numbers[0]
    axes = {
        "lhs_contracting_dimensions": lc,
        "rhs_contracting_dimensions": rc,
        "lhs_ragged_dimensions": (ragged,),
        "rhs_group_dimensions": group,
    }
    numbers = ", ".join(f"{name} = [{', '.join(map(str, a))}]" for name, a in axes.items() if a)
    each = precision if isinstance(precision, tuple) else ("DEFAULT", "DEFAULT")
    how = ", ".join(f"#chlo<precision {p}>" for p in each)
    given = ", ".join(x.text for x in (lhs, rhs, group_sizes))
    return w.op(
        f'"chlo.ragged_dot"({lhs}, {rhs}, {group_sizes}) <{{precision_config = [{how}], '
        f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}> : ({given}) -> "
        f"{tensor(type)}",
        type,
    )
