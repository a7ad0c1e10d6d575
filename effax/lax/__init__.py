"""Operations close to the machine, under JAX's names: nothing is broadcast or promoted for you."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at

if _TYPE_CHECKING:
    from effax.api.custom_jvp import stop_gradient as stop_gradient
    from effax.api.meshes import with_sharding_constraint as with_sharding_constraint
    from effax.lax import linalg as linalg
    from effax.lax.associative import associative_scan as associative_scan
    from effax.lax.branching import cond as cond
    from effax.lax.branching import switch as switch
    from effax.lax.choosing import composite as composite
    from effax.lax.choosing import platform_dependent as platform_dependent
    from effax.lax.choosing import stage as stage
    from effax.lax.contraction import DotAlgorithm as DotAlgorithm
    from effax.lax.contraction import DotAlgorithmPreset as DotAlgorithmPreset
    from effax.lax.contraction import DotDimensionNumbers as DotDimensionNumbers
    from effax.lax.contraction import Precision as Precision
    from effax.lax.contraction import PrecisionLike as PrecisionLike
    from effax.lax.contraction import batch_matmul as batch_matmul
    from effax.lax.contraction import dot as dot
    from effax.lax.contraction import dot_general as dot_general
    from effax.lax.control import fori_loop as fori_loop
    from effax.lax.control import map as map
    from effax.lax.control import scan as scan
    from effax.lax.control import while_loop as while_loop
    from effax.lax.convolution import ConvDimensionNumbers as ConvDimensionNumbers
    from effax.lax.convolution import (
        ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    )
    from effax.lax.convolution import conv as conv
    from effax.lax.convolution import conv_dimension_numbers as conv_dimension_numbers
    from effax.lax.convolution import conv_general_dilated as conv_general_dilated
    from effax.lax.convolution import conv_general_permutations as conv_general_permutations
    from effax.lax.convolution import conv_transpose as conv_transpose
    from effax.lax.convolution import conv_with_general_padding as conv_with_general_padding
    from effax.lax.folds import approx_max_k as approx_max_k
    from effax.lax.folds import approx_min_k as approx_min_k
    from effax.lax.folds import argmax as argmax
    from effax.lax.folds import argmin as argmin
    from effax.lax.folds import cumlogsumexp as cumlogsumexp
    from effax.lax.folds import cummax as cummax
    from effax.lax.folds import cummin as cummin
    from effax.lax.folds import cumprod as cumprod
    from effax.lax.folds import cumsum as cumsum
    from effax.lax.folds import padtype_to_pads as padtype_to_pads
    from effax.lax.folds import reduce as reduce
    from effax.lax.folds import reduce_and as reduce_and
    from effax.lax.folds import reduce_max as reduce_max
    from effax.lax.folds import reduce_min as reduce_min
    from effax.lax.folds import reduce_or as reduce_or
    from effax.lax.folds import reduce_prod as reduce_prod
    from effax.lax.folds import reduce_sum as reduce_sum
    from effax.lax.folds import reduce_window as reduce_window
    from effax.lax.folds import reduce_window_shape_tuple as reduce_window_shape_tuple
    from effax.lax.folds import reduce_xor as reduce_xor
    from effax.lax.folds import sort as sort
    from effax.lax.folds import sort_key_val as sort_key_val
    from effax.lax.folds import top_k as top_k
    from effax.lax.fourier import FftType as FftType
    from effax.lax.fourier import fft as fft
    from effax.lax.gathering import GatherDimensionNumbers as GatherDimensionNumbers
    from effax.lax.gathering import GatherScatterMode as GatherScatterMode
    from effax.lax.gathering import ScatterDimensionNumbers as ScatterDimensionNumbers
    from effax.lax.gathering import gather as gather
    from effax.lax.gathering import index_take as index_take
    from effax.lax.gathering import scatter as scatter
    from effax.lax.gathering import scatter_add as scatter_add
    from effax.lax.gathering import scatter_apply as scatter_apply
    from effax.lax.gathering import scatter_max as scatter_max
    from effax.lax.gathering import scatter_min as scatter_min
    from effax.lax.gathering import scatter_mul as scatter_mul
    from effax.lax.gathering import scatter_sub as scatter_sub
    from effax.lax.generators import RandomAlgorithm as RandomAlgorithm
    from effax.lax.generators import rng_bit_generator as rng_bit_generator
    from effax.lax.generators import rng_uniform as rng_uniform
    from effax.lax.integers import mulhi as mulhi
    from effax.lax.operators import AccuracyMode as AccuracyMode
    from effax.lax.operators import RoundingMethod as RoundingMethod
    from effax.lax.operators import Tolerance as Tolerance
    from effax.lax.operators import abs as abs
    from effax.lax.operators import acos as acos
    from effax.lax.operators import acosh as acosh
    from effax.lax.operators import add as add
    from effax.lax.operators import asin as asin
    from effax.lax.operators import asinh as asinh
    from effax.lax.operators import atan as atan
    from effax.lax.operators import atan2 as atan2
    from effax.lax.operators import atanh as atanh
    from effax.lax.operators import bessel_i0e as bessel_i0e
    from effax.lax.operators import bessel_i1e as bessel_i1e
    from effax.lax.operators import betainc as betainc
    from effax.lax.operators import bitwise_and as bitwise_and
    from effax.lax.operators import bitwise_not as bitwise_not
    from effax.lax.operators import bitwise_or as bitwise_or
    from effax.lax.operators import bitwise_xor as bitwise_xor
    from effax.lax.operators import cbrt as cbrt
    from effax.lax.operators import ceil as ceil
    from effax.lax.operators import clz as clz
    from effax.lax.operators import complex as complex
    from effax.lax.operators import conj as conj
    from effax.lax.operators import cos as cos
    from effax.lax.operators import cosh as cosh
    from effax.lax.operators import digamma as digamma
    from effax.lax.operators import div as div
    from effax.lax.operators import eq as eq
    from effax.lax.operators import erf as erf
    from effax.lax.operators import erf_inv as erf_inv
    from effax.lax.operators import erfc as erfc
    from effax.lax.operators import exp as exp
    from effax.lax.operators import exp2 as exp2
    from effax.lax.operators import expm1 as expm1
    from effax.lax.operators import floor as floor
    from effax.lax.operators import ge as ge
    from effax.lax.operators import gt as gt
    from effax.lax.operators import igamma as igamma
    from effax.lax.operators import igamma_grad_a as igamma_grad_a
    from effax.lax.operators import igammac as igammac
    from effax.lax.operators import imag as imag
    from effax.lax.operators import integer_pow as integer_pow
    from effax.lax.operators import is_finite as is_finite
    from effax.lax.operators import le as le
    from effax.lax.operators import lgamma as lgamma
    from effax.lax.operators import log as log
    from effax.lax.operators import log1p as log1p
    from effax.lax.operators import logistic as logistic
    from effax.lax.operators import lt as lt
    from effax.lax.operators import max as max
    from effax.lax.operators import min as min
    from effax.lax.operators import mul as mul
    from effax.lax.operators import ne as ne
    from effax.lax.operators import neg as neg
    from effax.lax.operators import nextafter as nextafter
    from effax.lax.operators import polygamma as polygamma
    from effax.lax.operators import population_count as population_count
    from effax.lax.operators import pow as pow
    from effax.lax.operators import random_gamma_grad as random_gamma_grad
    from effax.lax.operators import real as real
    from effax.lax.operators import reciprocal as reciprocal
    from effax.lax.operators import rem as rem
    from effax.lax.operators import round as round
    from effax.lax.operators import rsqrt as rsqrt
    from effax.lax.operators import shift_left as shift_left
    from effax.lax.operators import shift_right_arithmetic as shift_right_arithmetic
    from effax.lax.operators import shift_right_logical as shift_right_logical
    from effax.lax.operators import sign as sign
    from effax.lax.operators import sin as sin
    from effax.lax.operators import sinh as sinh
    from effax.lax.operators import sqrt as sqrt
    from effax.lax.operators import square as square
    from effax.lax.operators import sub as sub
    from effax.lax.operators import tan as tan
    from effax.lax.operators import tanh as tanh
    from effax.lax.operators import zeta as zeta
    from effax.lax.parallel import all_gather as all_gather
    from effax.lax.parallel import all_to_all as all_to_all
    from effax.lax.parallel import axis_index as axis_index
    from effax.lax.parallel import axis_size as axis_size
    from effax.lax.parallel import pbroadcast as pbroadcast
    from effax.lax.parallel import pcast as pcast
    from effax.lax.parallel import pmax as pmax
    from effax.lax.parallel import pmean as pmean
    from effax.lax.parallel import pmin as pmin
    from effax.lax.parallel import ppermute as ppermute
    from effax.lax.parallel import pshuffle as pshuffle
    from effax.lax.parallel import psum as psum
    from effax.lax.parallel import psum_scatter as psum_scatter
    from effax.lax.parallel import pswapaxes as pswapaxes
    from effax.lax.patches import conv_general_dilated_local as conv_general_dilated_local
    from effax.lax.patches import conv_general_dilated_patches as conv_general_dilated_patches
    from effax.lax.patches import conv_general_shape_tuple as conv_general_shape_tuple
    from effax.lax.patches import conv_shape_tuple as conv_shape_tuple
    from effax.lax.patches import conv_transpose_shape_tuple as conv_transpose_shape_tuple
    from effax.lax.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
    from effax.lax.ragged import ragged_dot as ragged_dot
    from effax.lax.ragged import ragged_dot_general as ragged_dot_general
    from effax.lax.ragged_exchange import ragged_all_to_all as ragged_all_to_all
    from effax.lax.scaled import scaled_dot as scaled_dot
    from effax.lax.shapes import bitcast_convert_type as bitcast_convert_type
    from effax.lax.shapes import broadcast as broadcast
    from effax.lax.shapes import broadcast_in_dim as broadcast_in_dim
    from effax.lax.shapes import broadcast_like as broadcast_like
    from effax.lax.shapes import broadcast_shapes as broadcast_shapes
    from effax.lax.shapes import broadcast_to_rank as broadcast_to_rank
    from effax.lax.shapes import broadcasted_iota as broadcasted_iota
    from effax.lax.shapes import clamp as clamp
    from effax.lax.shapes import collapse as collapse
    from effax.lax.shapes import concatenate as concatenate
    from effax.lax.shapes import convert_element_type as convert_element_type
    from effax.lax.shapes import dtype as dtype
    from effax.lax.shapes import empty as empty
    from effax.lax.shapes import expand_dims as expand_dims
    from effax.lax.shapes import full as full
    from effax.lax.shapes import full_like as full_like
    from effax.lax.shapes import iota as iota
    from effax.lax.shapes import optimization_barrier as optimization_barrier
    from effax.lax.shapes import pad as pad
    from effax.lax.shapes import reduce_precision as reduce_precision
    from effax.lax.shapes import reshape as reshape
    from effax.lax.shapes import rev as rev
    from effax.lax.shapes import select as select
    from effax.lax.shapes import select_n as select_n
    from effax.lax.shapes import shape_as_value as shape_as_value
    from effax.lax.shapes import split as split
    from effax.lax.shapes import squeeze as squeeze
    from effax.lax.shapes import stack as stack
    from effax.lax.shapes import tile as tile
    from effax.lax.shapes import transpose as transpose
    from effax.lax.shapes import unstack as unstack
    from effax.lax.slicing import dynamic_index_in_dim as dynamic_index_in_dim
    from effax.lax.slicing import dynamic_slice as dynamic_slice
    from effax.lax.slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
    from effax.lax.slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
    from effax.lax.slicing import dynamic_update_slice as dynamic_update_slice
    from effax.lax.slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
    from effax.lax.slicing import index_in_dim as index_in_dim
    from effax.lax.slicing import slice as slice
    from effax.lax.slicing import slice_in_dim as slice_in_dim
    from effax.lax.solve import custom_linear_solve as custom_linear_solve
    from effax.lax.solve import custom_root as custom_root
    from effax.lax.tokens import after_all as after_all
    from effax.lax.tokens import create_token as create_token
    from effax.lax.tokens import dce_sink as dce_sink
    from effax.lax.tokens import precv as precv
    from effax.lax.tokens import psend as psend

_PLACED = frozenset(
    {
        "broadcast",
        "broadcast_in_dim",
        "broadcasted_iota",
        "conv_general_dilated",
        "dot",
        "dot_general",
        "empty",
        "ragged_dot",
        "ragged_dot_general",
        "reduce",
        "reshape",
    }
)
"""Functions with the keyword `out_sharding`."""


def _finish(names: dict[str, _Any]) -> None:
    from effax.api.placed import give_out_sharding
    from effax.key_functions import accept_keys

    give_out_sharding(names, _PLACED.intersection(names))
    _cut_at(names)
    accept_keys(names)


_surface = _Surface(globals(), _sys._getframe().f_code, _finish)
__dir__ = _surface.public


def __getattr__(name: str) -> _Any:
    """`add_p` is the effect `add`, as in `extend.core.primitives`."""
    if name.endswith("_p") and not name.startswith("_"):
        from effax.extend.core import primitives

        return getattr(primitives, name)
    return _surface.get(name)
