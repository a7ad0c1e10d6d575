"""Convolutions as `lax` has them; as in neural networks, kernels are not turned round."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.rows import convolution, shape
from effax.effects.rows.convolution import ConvDimensionNumbers as ConvDimensionNumbers
from effax.effects.rows.convolution import dilated
from effax.effects.types import (
    bit_width,
    is_complex,
    is_float,
    is_inexact,
    is_unsigned,
    typeof,
)
from effax.effects.value import Array, DTypeLike, OutSharding, PrecisionLike, length
from effax.lax.contraction import canonical_precision, preferred
from effax.lax.windows import padtype_to_pads

ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
Padding = str | Sequence[tuple[int, int]]

_ROLES = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return the positions of a convolution's axes.

    Args:
      lhs_shape, rhs_shape: shapes of the operands.
      dimension_numbers: None for `("NCHW", "OIHW", "NCHW")` and the like; three such strings for
        lhs, rhs and result; or a `ConvDimensionNumbers`.

    Raises:
      TypeError: where they don't fit the shapes.

    >>> import effax.lax as lax
    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC"))
    ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise TypeError(
            f"convolution requires lhs and rhs ndim to be equal, got {ndim} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        order = tuple(range(ndim))
        return ConvDimensionNumbers(order, order, order)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError(
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    _check_three_strings(dimension_numbers)
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != ndim:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {len(spec)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def _check_three_strings(given: Any) -> None:
    plain = isinstance(given, list | tuple) and len(given) == 3
    if not plain or not all(isinstance(spec, str) for spec in given):
        raise TypeError(f"convolution dimension_numbers must be three strings, got {given!r}")


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the axes' positions in three strings: the two roles, then spatial axes in rhs's order.

    Raises `TypeError` where letters are missing or repeated, or strings differ in spatial ones.

    Args:
      dimension_numbers: three strings, for lhs, rhs and result, such as "NHWC".

    >>> import effax.lax as lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    _check_three_strings(dimension_numbers)
    spatial = []
    for i, (spec, roles) in enumerate(zip(dimension_numbers, _ROLES, strict=True)):
        if any(spec.count(r) != 1 for r in roles):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters '{roles[0]}' and "
                f"'{roles[1]}' exactly once, got {spec}."
            )
        if len(set(spec)) != len(spec):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {spec}."
            )
        spatial.append([letter for letter in spec if letter not in roles])
    if not {*spatial[0]} == {*spatial[1]} == {*spatial[2]}:
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {dimension_numbers}."
        )
    return tuple(
        tuple(spec.index(letter) for letter in (*roles, *spatial[1]))
        for spec, roles in zip(dimension_numbers, _ROLES, strict=True)
    )


@whole("attributes")
def _conv(lhs: Array, rhs: Array, attributes: tuple[tuple[str, Any], ...]) -> Array:
    return convolution.conv_general_dilated(lhs, rhs, **dict(attributes))


def _sums_in(lhs: Array, preferred: Any) -> Any:
    """The dtype of the sums. Raises `TypeError` for one of another kind than the elements', or
    narrower, or with a sign where they have none."""
    dtype = typeof(lhs).dtype
    if preferred is None:
        return None
    if is_inexact(dtype) and (is_complex(dtype), is_float(dtype)) != (
        is_complex(preferred),
        is_float(preferred),
    ):
        raise TypeError(
            f"`preferred_element_type` can't be {preferred.name} for operands of {dtype.name}"
        )
    if is_complex(preferred) and not is_complex(dtype):
        raise TypeError(
            f"`preferred_element_type` can't be {preferred.name} for operands of {dtype.name}"
        )
    if not is_inexact(preferred) and is_unsigned(dtype) != is_unsigned(preferred):
        raise TypeError(
            "`preferred_element_type` must have the same signedness as the original type, got "
            f"{preferred.name} for {dtype.name}"
        )
    if bit_width(preferred) < bit_width(dtype):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"{preferred.name} for {dtype.name}"
        )
    return preferred


def _spatial(x: Any, spec: Sequence[int]) -> list[int]:
    lengths = typeof(x).shape
    return [lengths[i] for i in spec[2:]]


def _pairs(padding: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((length(low), length(high)) for low, high in padding)
    except (ValueError, TypeError) as error:
        raise ValueError(
            "padding argument to conv_general_dilated should be a string or a sequence of "
            f"(low, high) pairs, got {padding}"
        ) from error


@placed
def conv_general_dilated(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Compute a convolution over any number of spatial axes, with all of XLA's options.

    Args:
      lhs: the input, by default [batch, features, *spatial].
      rhs: the kernel, by default [out features, in features, *spatial].
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      lhs_dilation, rhs_dilation: elements are that far apart; 1 by default.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.
      feature_group_count: groups of features that are convolved separately.
      batch_group_count: groups of the batch that are convolved separately.
      precision: a `Precision` or its name.
      preferred_element_type: the dtype to sum in, and of the result.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    Raises:
      ValueError, TypeError: where shapes and options don't fit.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> x, k = jnp.ones((1, 1, 4, 4)), jnp.ones((2, 1, 3, 3))
    >>> lax.conv_general_dilated(x, k, (1, 1), "VALID")[0, 0]
    Array([[9., 9.],
           [9., 9.]], dtype=float32)
    """
    left, right = typeof(lhs), typeof(rhs)
    numbers = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    numbers = ConvDimensionNumbers(*(tuple(map(operator.index, spec)) for spec in numbers))
    n = left.ndim - 2
    strides = tuple(map(operator.index, window_strides))
    of_lhs = (1,) * n if lhs_dilation is None else tuple(map(operator.index, lhs_dilation))
    of_rhs = (1,) * n if rhs_dilation is None else tuple(map(operator.index, rhs_dilation))
    if isinstance(padding, str):
        if any(d != 1 for d in of_lhs):
            raise ValueError(
                f"padding={padding!r} is not supported with lhs_dilation={of_lhs}: pass pairs of "
                "numbers, or use conv_transpose, whose padding may be a string"
            )
        kernel = [
            dilated(k, d) for k, d in zip(_spatial(rhs, numbers.rhs_spec), of_rhs, strict=False)
        ]
        # Typing reports strides that are too few.
        enough = strides if len(strides) == n else (1,) * n
        padding = padtype_to_pads(_spatial(lhs, numbers.lhs_spec), kernel, enough, padding)
    return _conv(
        lhs,
        rhs,
        (
            ("window_strides", strides),
            ("padding", _pairs(padding)),
            ("lhs_dilation", of_lhs),
            ("rhs_dilation", of_rhs),
            ("dimension_numbers", numbers),
            ("feature_group_count", operator.index(feature_group_count)),
            ("batch_group_count", operator.index(batch_group_count)),
            ("precision", canonical_precision(precision)),
            (
                "preferred_element_type",
                _sums_in(lhs, preferred(preferred_element_type, "conv_general_dilated")),
            ),
        ),
    )


def conv(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Compute `conv_general_dilated` without dilation and groups: NCHW, OIHW.

    Args:
      lhs: the input, [batch, features, *spatial].
      rhs: the kernel, [out features, in features, *spatial].
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      precision: a `Precision` or its name.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.conv(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (2,), "VALID")
    Array([[[2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Compute `conv_general_dilated` without groups: NCHW, OIHW.

    Args:
      lhs: the input, [batch, features, *spatial].
      rhs: the kernel, [out features, in features, *spatial].
      window_strides: how far the window moves, for each spatial axis.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or (low, high) for each spatial axis.
      lhs_dilation, rhs_dilation: elements are that far apart; None for 1.
      precision: a `Precision` or its name.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> x, kernel = jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, kernel, (1,), "VALID", None, None).tolist()
    [[[2.0, 2.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_pad(kernel: int, stride: int, padding: Any) -> tuple[int, int]:
    """The padding of the convolution that is the transpose of one with this padding."""
    if padding == "SAME":
        total = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-total // 2)
    elif padding == "VALID":
        total = kernel + stride - 2 + max(kernel - stride, 0)
        low = kernel - 1
    elif isinstance(padding, tuple):
        low, high = (kernel - p - 1 for p in padding)
        return low, high
    else:
        raise ValueError(f"Invalid padding mode: {padding}")
    return low, total - low


_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Array,
    rhs: Array,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Compute a convolution with fractional strides ("deconvolution").

    Args:
      lhs: the input, by default NHWC.
      rhs: the kernel, by default HWIO.
      strides: by how much the result is longer than the input, for each spatial axis.
      padding: 'SAME' or 'VALID', as of the convolution this is the transpose of; or (low, high)
        for each spatial axis, of this convolution itself unless `use_consistent_padding`.
      transpose_kernel: turn the kernel round and exchange its in and out features, which makes
        this the derivative of the convolution with that kernel.
      rhs_dilation: the elements of the kernel are that far apart; 1 by default.
      dimension_numbers: where the axes are; see `conv_dimension_numbers`.
      precision: a `Precision` or its name.
      preferred_element_type: the dtype to accumulate in, and of the result.
      use_consistent_padding: whether pairs in `padding` are of the convolution that this
        transposes.

    Raises:
      ValueError: where shapes and options don't fit.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.conv_transpose(jnp.ones((1, 2, 1)), jnp.ones((2, 1, 1)), (2,), "VALID")[0, :, 0]
    Array([1., 1., 1., 1.], dtype=float32)
    """
    left, right = typeof(lhs), typeof(rhs)
    if dimension_numbers is None:
        if left.ndim not in _LAYOUTS:
            raise ValueError(
                f"conv_transpose has no default dimension_numbers for {left.ndim - 2} spatial "
                "axes; pass them"
            )
        dimension_numbers = _LAYOUTS[left.ndim]
    numbers = conv_dimension_numbers(left.shape, right.shape, dimension_numbers)
    n = left.ndim - 2
    of_rhs = (1,) * n if rhs_dilation is None else tuple(rhs_dilation)
    if use_consistent_padding or (isinstance(padding, str) and padding in ("SAME", "VALID")):
        each = [padding] * n if isinstance(padding, str) else list(padding)
        kernel = [
            dilated(k, d) for k, d in zip(_spatial(rhs, numbers.rhs_spec), of_rhs, strict=True)
        ]
        padding = [_transposed_pad(k, s, p) for k, s, p in zip(kernel, strides, each, strict=True)]
    if transpose_kernel:
        rhs = _turned(rhs, numbers.rhs_spec)
    return conv_general_dilated(
        lhs,
        rhs,
        (1,) * n,
        padding,
        strides,
        of_rhs,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@whole("spec")
def _turned(rhs: Array, spec: tuple[int, ...]) -> Array:
    """A kernel turned round, its in and out features exchanged."""
    order = list(range(typeof(rhs).ndim))
    order[spec[0]], order[spec[1]] = spec[1], spec[0]
    return shape.transpose(shape.rev(rhs, dims=spec[2:]), permutation=tuple(order))
