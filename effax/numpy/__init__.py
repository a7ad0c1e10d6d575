"""NumPy's functions over effects: `import effax.numpy as jnp`."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from effax.api.on_demand import Surface as _Surface
from effax.effects.frames import cut_at as _cut_at
from effax.effects.value import Value as _Value
from effax.numpy import methods as _methods
from effax.numpy.standard import VERSION as _VERSION
from effax.numpy.standard import ArrayNamespaceInfo as _ArrayNamespaceInfo

if _TYPE_CHECKING:
    from effax.numpy import fft as fft
    from effax.numpy import linalg as linalg
    from effax.numpy.accumulations import cumprod as cumprod
    from effax.numpy.accumulations import cumsum as cumsum
    from effax.numpy.accumulations import cumulative_prod as cumulative_prod
    from effax.numpy.accumulations import cumulative_sum as cumulative_sum
    from effax.numpy.accumulations import nancumprod as nancumprod
    from effax.numpy.accumulations import nancumsum as nancumsum
    from effax.numpy.arithmetic import abs as abs
    from effax.numpy.arithmetic import absolute as absolute
    from effax.numpy.arithmetic import add as add
    from effax.numpy.arithmetic import divide as divide
    from effax.numpy.arithmetic import divmod as divmod
    from effax.numpy.arithmetic import fabs as fabs
    from effax.numpy.arithmetic import float_power as float_power
    from effax.numpy.arithmetic import floor_divide as floor_divide
    from effax.numpy.arithmetic import fmax as fmax
    from effax.numpy.arithmetic import fmin as fmin
    from effax.numpy.arithmetic import fmod as fmod
    from effax.numpy.arithmetic import maximum as maximum
    from effax.numpy.arithmetic import minimum as minimum
    from effax.numpy.arithmetic import mod as mod
    from effax.numpy.arithmetic import multiply as multiply
    from effax.numpy.arithmetic import negative as negative
    from effax.numpy.arithmetic import positive as positive
    from effax.numpy.arithmetic import pow as pow
    from effax.numpy.arithmetic import power as power
    from effax.numpy.arithmetic import reciprocal as reciprocal
    from effax.numpy.arithmetic import remainder as remainder
    from effax.numpy.arithmetic import sign as sign
    from effax.numpy.arithmetic import square as square
    from effax.numpy.arithmetic import subtract as subtract
    from effax.numpy.arithmetic import true_divide as true_divide
    from effax.numpy.arranging import delete as delete
    from effax.numpy.arranging import flip as flip
    from effax.numpy.arranging import fliplr as fliplr
    from effax.numpy.arranging import flipud as flipud
    from effax.numpy.arranging import insert as insert
    from effax.numpy.arranging import repeat as repeat
    from effax.numpy.arranging import resize as resize
    from effax.numpy.arranging import roll as roll
    from effax.numpy.arranging import rot90 as rot90
    from effax.numpy.arranging import tile as tile
    from effax.numpy.arranging import trim_zeros as trim_zeros
    from effax.numpy.bits import bitwise_and as bitwise_and
    from effax.numpy.bits import bitwise_count as bitwise_count
    from effax.numpy.bits import bitwise_invert as bitwise_invert
    from effax.numpy.bits import bitwise_left_shift as bitwise_left_shift
    from effax.numpy.bits import bitwise_not as bitwise_not
    from effax.numpy.bits import bitwise_or as bitwise_or
    from effax.numpy.bits import bitwise_right_shift as bitwise_right_shift
    from effax.numpy.bits import bitwise_xor as bitwise_xor
    from effax.numpy.bits import gcd as gcd
    from effax.numpy.bits import invert as invert
    from effax.numpy.bits import lcm as lcm
    from effax.numpy.bits import left_shift as left_shift
    from effax.numpy.bits import right_shift as right_shift
    from effax.numpy.branching import choose as choose
    from effax.numpy.branching import piecewise as piecewise
    from effax.numpy.branching import select as select
    from effax.numpy.calculus import diff as diff
    from effax.numpy.calculus import ediff1d as ediff1d
    from effax.numpy.calculus import gradient as gradient
    from effax.numpy.calculus import interp as interp
    from effax.numpy.calculus import trapezoid as trapezoid
    from effax.numpy.calculus import unwrap as unwrap
    from effax.numpy.choosing import clip as clip
    from effax.numpy.choosing import nan_to_num as nan_to_num
    from effax.numpy.choosing import where as where
    from effax.numpy.comparing import allclose as allclose
    from effax.numpy.comparing import array_equal as array_equal
    from effax.numpy.comparing import array_equiv as array_equiv
    from effax.numpy.comparing import equal as equal
    from effax.numpy.comparing import greater as greater
    from effax.numpy.comparing import greater_equal as greater_equal
    from effax.numpy.comparing import isclose as isclose
    from effax.numpy.comparing import iscomplex as iscomplex
    from effax.numpy.comparing import isfinite as isfinite
    from effax.numpy.comparing import isinf as isinf
    from effax.numpy.comparing import isnan as isnan
    from effax.numpy.comparing import isneginf as isneginf
    from effax.numpy.comparing import isposinf as isposinf
    from effax.numpy.comparing import isreal as isreal
    from effax.numpy.comparing import less as less
    from effax.numpy.comparing import less_equal as less_equal
    from effax.numpy.comparing import logical_and as logical_and
    from effax.numpy.comparing import logical_not as logical_not
    from effax.numpy.comparing import logical_or as logical_or
    from effax.numpy.comparing import logical_xor as logical_xor
    from effax.numpy.comparing import not_equal as not_equal
    from effax.numpy.complexes import angle as angle
    from effax.numpy.complexes import conj as conj
    from effax.numpy.complexes import conjugate as conjugate
    from effax.numpy.complexes import imag as imag
    from effax.numpy.complexes import iscomplexobj as iscomplexobj
    from effax.numpy.complexes import isrealobj as isrealobj
    from effax.numpy.complexes import real as real
    from effax.numpy.contraction import cross as cross
    from effax.numpy.contraction import dot as dot
    from effax.numpy.contraction import inner as inner
    from effax.numpy.contraction import kron as kron
    from effax.numpy.contraction import matmul as matmul
    from effax.numpy.contraction import matvec as matvec
    from effax.numpy.contraction import outer as outer
    from effax.numpy.contraction import tensordot as tensordot
    from effax.numpy.contraction import trace as trace
    from effax.numpy.contraction import vdot as vdot
    from effax.numpy.contraction import vecdot as vecdot
    from effax.numpy.contraction import vecmat as vecmat
    from effax.numpy.conversion import array as array
    from effax.numpy.conversion import asarray as asarray
    from effax.numpy.conversion import astype as astype
    from effax.numpy.conversion import copy as copy
    from effax.numpy.counting import bincount as bincount
    from effax.numpy.counting import digitize as digitize
    from effax.numpy.counting import histogram as histogram
    from effax.numpy.counting import histogram2d as histogram2d
    from effax.numpy.counting import histogram_bin_edges as histogram_bin_edges
    from effax.numpy.counting import histogramdd as histogramdd
    from effax.numpy.creation import arange as arange
    from effax.numpy.creation import empty as empty
    from effax.numpy.creation import empty_like as empty_like
    from effax.numpy.creation import full as full
    from effax.numpy.creation import full_like as full_like
    from effax.numpy.creation import geomspace as geomspace
    from effax.numpy.creation import linspace as linspace
    from effax.numpy.creation import logspace as logspace
    from effax.numpy.creation import ones as ones
    from effax.numpy.creation import ones_like as ones_like
    from effax.numpy.creation import zeros as zeros
    from effax.numpy.creation import zeros_like as zeros_like
    from effax.numpy.einsums import einsum as einsum
    from effax.numpy.einsums import einsum_path as einsum_path
    from effax.numpy.elementary import acos as acos
    from effax.numpy.elementary import acosh as acosh
    from effax.numpy.elementary import arccos as arccos
    from effax.numpy.elementary import arccosh as arccosh
    from effax.numpy.elementary import arcsin as arcsin
    from effax.numpy.elementary import arcsinh as arcsinh
    from effax.numpy.elementary import arctan as arctan
    from effax.numpy.elementary import arctan2 as arctan2
    from effax.numpy.elementary import arctanh as arctanh
    from effax.numpy.elementary import asin as asin
    from effax.numpy.elementary import asinh as asinh
    from effax.numpy.elementary import atan as atan
    from effax.numpy.elementary import atan2 as atan2
    from effax.numpy.elementary import atanh as atanh
    from effax.numpy.elementary import cbrt as cbrt
    from effax.numpy.elementary import cos as cos
    from effax.numpy.elementary import cosh as cosh
    from effax.numpy.elementary import deg2rad as deg2rad
    from effax.numpy.elementary import degrees as degrees
    from effax.numpy.elementary import exp as exp
    from effax.numpy.elementary import exp2 as exp2
    from effax.numpy.elementary import expm1 as expm1
    from effax.numpy.elementary import hypot as hypot
    from effax.numpy.elementary import i0 as i0
    from effax.numpy.elementary import log as log
    from effax.numpy.elementary import log1p as log1p
    from effax.numpy.elementary import log2 as log2
    from effax.numpy.elementary import log10 as log10
    from effax.numpy.elementary import logaddexp as logaddexp
    from effax.numpy.elementary import logaddexp2 as logaddexp2
    from effax.numpy.elementary import rad2deg as rad2deg
    from effax.numpy.elementary import radians as radians
    from effax.numpy.elementary import sin as sin
    from effax.numpy.elementary import sinc as sinc
    from effax.numpy.elementary import sinh as sinh
    from effax.numpy.elementary import sqrt as sqrt
    from effax.numpy.elementary import tan as tan
    from effax.numpy.elementary import tanh as tanh
    from effax.numpy.foreign import from_dlpack as from_dlpack
    from effax.numpy.foreign import frombuffer as frombuffer
    from effax.numpy.foreign import fromfile as fromfile
    from effax.numpy.foreign import fromfunction as fromfunction
    from effax.numpy.foreign import fromiter as fromiter
    from effax.numpy.foreign import fromstring as fromstring
    from effax.numpy.grids import diag as diag
    from effax.numpy.grids import diagflat as diagflat
    from effax.numpy.grids import diagonal as diagonal
    from effax.numpy.grids import eye as eye
    from effax.numpy.grids import fill_diagonal as fill_diagonal
    from effax.numpy.grids import identity as identity
    from effax.numpy.grids import indices as indices
    from effax.numpy.grids import meshgrid as meshgrid
    from effax.numpy.grids import mgrid as mgrid
    from effax.numpy.grids import ogrid as ogrid
    from effax.numpy.grids import tri as tri
    from effax.numpy.grids import tril as tril
    from effax.numpy.grids import triu as triu
    from effax.numpy.grids import vander as vander
    from effax.numpy.inspection import array_repr as array_repr
    from effax.numpy.inspection import array_str as array_str
    from effax.numpy.inspection import can_cast as can_cast
    from effax.numpy.inspection import finfo as finfo
    from effax.numpy.inspection import get_printoptions as get_printoptions
    from effax.numpy.inspection import iinfo as iinfo
    from effax.numpy.inspection import isdtype as isdtype
    from effax.numpy.inspection import isscalar as isscalar
    from effax.numpy.inspection import issubdtype as issubdtype
    from effax.numpy.inspection import iterable as iterable
    from effax.numpy.inspection import load as load
    from effax.numpy.inspection import ndim as ndim
    from effax.numpy.inspection import printoptions as printoptions
    from effax.numpy.inspection import promote_types as promote_types
    from effax.numpy.inspection import result_type as result_type
    from effax.numpy.inspection import save as save
    from effax.numpy.inspection import savez as savez
    from effax.numpy.inspection import set_printoptions as set_printoptions
    from effax.numpy.inspection import shape as shape
    from effax.numpy.inspection import size as size
    from effax.numpy.joining import append as append
    from effax.numpy.joining import array_split as array_split
    from effax.numpy.joining import block as block
    from effax.numpy.joining import column_stack as column_stack
    from effax.numpy.joining import concat as concat
    from effax.numpy.joining import concatenate as concatenate
    from effax.numpy.joining import dsplit as dsplit
    from effax.numpy.joining import dstack as dstack
    from effax.numpy.joining import hsplit as hsplit
    from effax.numpy.joining import hstack as hstack
    from effax.numpy.joining import split as split
    from effax.numpy.joining import stack as stack
    from effax.numpy.joining import unstack as unstack
    from effax.numpy.joining import vsplit as vsplit
    from effax.numpy.joining import vstack as vstack
    from effax.numpy.manipulation import atleast_1d as atleast_1d
    from effax.numpy.manipulation import atleast_2d as atleast_2d
    from effax.numpy.manipulation import atleast_3d as atleast_3d
    from effax.numpy.manipulation import broadcast_arrays as broadcast_arrays
    from effax.numpy.manipulation import broadcast_shapes as broadcast_shapes
    from effax.numpy.manipulation import broadcast_to as broadcast_to
    from effax.numpy.manipulation import expand_dims as expand_dims
    from effax.numpy.manipulation import matrix_transpose as matrix_transpose
    from effax.numpy.manipulation import moveaxis as moveaxis
    from effax.numpy.manipulation import permute_dims as permute_dims
    from effax.numpy.manipulation import ravel as ravel
    from effax.numpy.manipulation import reshape as reshape
    from effax.numpy.manipulation import rollaxis as rollaxis
    from effax.numpy.manipulation import squeeze as squeeze
    from effax.numpy.manipulation import swapaxes as swapaxes
    from effax.numpy.manipulation import transpose as transpose
    from effax.numpy.mapping import apply_along_axis as apply_along_axis
    from effax.numpy.mapping import apply_over_axes as apply_over_axes
    from effax.numpy.mapping import vectorize as vectorize
    from effax.numpy.nans import nanargmax as nanargmax
    from effax.numpy.nans import nanargmin as nanargmin
    from effax.numpy.nans import nanmax as nanmax
    from effax.numpy.nans import nanmean as nanmean
    from effax.numpy.nans import nanmin as nanmin
    from effax.numpy.nans import nanprod as nanprod
    from effax.numpy.nans import nanstd as nanstd
    from effax.numpy.nans import nansum as nansum
    from effax.numpy.nans import nanvar as nanvar
    from effax.numpy.padding import pad as pad
    from effax.numpy.polynomials import poly as poly
    from effax.numpy.polynomials import polyadd as polyadd
    from effax.numpy.polynomials import polyder as polyder
    from effax.numpy.polynomials import polydiv as polydiv
    from effax.numpy.polynomials import polyfit as polyfit
    from effax.numpy.polynomials import polyint as polyint
    from effax.numpy.polynomials import polymul as polymul
    from effax.numpy.polynomials import polysub as polysub
    from effax.numpy.polynomials import polyval as polyval
    from effax.numpy.polynomials import roots as roots
    from effax.numpy.positions import ix_ as ix_
    from effax.numpy.positions import ravel_multi_index as ravel_multi_index
    from effax.numpy.positions import unravel_index as unravel_index
    from effax.numpy.quantiles import median as median
    from effax.numpy.quantiles import nanmedian as nanmedian
    from effax.numpy.quantiles import nanpercentile as nanpercentile
    from effax.numpy.quantiles import nanquantile as nanquantile
    from effax.numpy.quantiles import percentile as percentile
    from effax.numpy.quantiles import quantile as quantile
    from effax.numpy.reductions import all as all
    from effax.numpy.reductions import amax as amax
    from effax.numpy.reductions import amin as amin
    from effax.numpy.reductions import any as any
    from effax.numpy.reductions import argmax as argmax
    from effax.numpy.reductions import argmin as argmin
    from effax.numpy.reductions import count_nonzero as count_nonzero
    from effax.numpy.reductions import max as max
    from effax.numpy.reductions import min as min
    from effax.numpy.reductions import prod as prod
    from effax.numpy.reductions import ptp as ptp
    from effax.numpy.reductions import sum as sum
    from effax.numpy.rounding import around as around
    from effax.numpy.rounding import ceil as ceil
    from effax.numpy.rounding import copysign as copysign
    from effax.numpy.rounding import floor as floor
    from effax.numpy.rounding import frexp as frexp
    from effax.numpy.rounding import heaviside as heaviside
    from effax.numpy.rounding import ldexp as ldexp
    from effax.numpy.rounding import modf as modf
    from effax.numpy.rounding import nextafter as nextafter
    from effax.numpy.rounding import rint as rint
    from effax.numpy.rounding import round as round
    from effax.numpy.rounding import signbit as signbit
    from effax.numpy.rounding import spacing as spacing
    from effax.numpy.rounding import trunc as trunc
    from effax.numpy.scalars import bfloat16 as bfloat16
    from effax.numpy.scalars import bool_ as bool_
    from effax.numpy.scalars import cdouble as cdouble
    from effax.numpy.scalars import character as character
    from effax.numpy.scalars import complex64 as complex64
    from effax.numpy.scalars import complex128 as complex128
    from effax.numpy.scalars import complex_ as complex_
    from effax.numpy.scalars import complexfloating as complexfloating
    from effax.numpy.scalars import csingle as csingle
    from effax.numpy.scalars import double as double
    from effax.numpy.scalars import dtype as dtype
    from effax.numpy.scalars import e as e
    from effax.numpy.scalars import euler_gamma as euler_gamma
    from effax.numpy.scalars import flexible as flexible
    from effax.numpy.scalars import float4_e2m1fn as float4_e2m1fn
    from effax.numpy.scalars import float8_e3m4 as float8_e3m4
    from effax.numpy.scalars import float8_e4m3 as float8_e4m3
    from effax.numpy.scalars import float8_e4m3b11fnuz as float8_e4m3b11fnuz
    from effax.numpy.scalars import float8_e4m3fn as float8_e4m3fn
    from effax.numpy.scalars import float8_e4m3fnuz as float8_e4m3fnuz
    from effax.numpy.scalars import float8_e5m2 as float8_e5m2
    from effax.numpy.scalars import float8_e5m2fnuz as float8_e5m2fnuz
    from effax.numpy.scalars import float8_e8m0fnu as float8_e8m0fnu
    from effax.numpy.scalars import float16 as float16
    from effax.numpy.scalars import float32 as float32
    from effax.numpy.scalars import float64 as float64
    from effax.numpy.scalars import float_ as float_
    from effax.numpy.scalars import floating as floating
    from effax.numpy.scalars import generic as generic
    from effax.numpy.scalars import inexact as inexact
    from effax.numpy.scalars import inf as inf
    from effax.numpy.scalars import int2 as int2
    from effax.numpy.scalars import int4 as int4
    from effax.numpy.scalars import int8 as int8
    from effax.numpy.scalars import int16 as int16
    from effax.numpy.scalars import int32 as int32
    from effax.numpy.scalars import int64 as int64
    from effax.numpy.scalars import int_ as int_
    from effax.numpy.scalars import integer as integer
    from effax.numpy.scalars import nan as nan
    from effax.numpy.scalars import newaxis as newaxis
    from effax.numpy.scalars import number as number
    from effax.numpy.scalars import object_ as object_
    from effax.numpy.scalars import pi as pi
    from effax.numpy.scalars import signedinteger as signedinteger
    from effax.numpy.scalars import single as single
    from effax.numpy.scalars import uint as uint
    from effax.numpy.scalars import uint2 as uint2
    from effax.numpy.scalars import uint4 as uint4
    from effax.numpy.scalars import uint8 as uint8
    from effax.numpy.scalars import uint16 as uint16
    from effax.numpy.scalars import uint32 as uint32
    from effax.numpy.scalars import uint64 as uint64
    from effax.numpy.scalars import unsignedinteger as unsignedinteger
    from effax.numpy.searching import argwhere as argwhere
    from effax.numpy.searching import compress as compress
    from effax.numpy.searching import extract as extract
    from effax.numpy.searching import flatnonzero as flatnonzero
    from effax.numpy.searching import nonzero as nonzero
    from effax.numpy.sets import intersect1d as intersect1d
    from effax.numpy.sets import isin as isin
    from effax.numpy.sets import setdiff1d as setdiff1d
    from effax.numpy.sets import setxor1d as setxor1d
    from effax.numpy.sets import union1d as union1d
    from effax.numpy.sets import unique as unique
    from effax.numpy.sets import unique_all as unique_all
    from effax.numpy.sets import unique_counts as unique_counts
    from effax.numpy.sets import unique_inverse as unique_inverse
    from effax.numpy.sets import unique_values as unique_values
    from effax.numpy.sliding import convolve as convolve
    from effax.numpy.sliding import correlate as correlate
    from effax.numpy.sorting import argpartition as argpartition
    from effax.numpy.sorting import argsort as argsort
    from effax.numpy.sorting import lexsort as lexsort
    from effax.numpy.sorting import partition as partition
    from effax.numpy.sorting import searchsorted as searchsorted
    from effax.numpy.sorting import sort as sort
    from effax.numpy.sorting import sort_complex as sort_complex
    from effax.numpy.statistics import average as average
    from effax.numpy.statistics import corrcoef as corrcoef
    from effax.numpy.statistics import cov as cov
    from effax.numpy.statistics import mean as mean
    from effax.numpy.statistics import std as std
    from effax.numpy.statistics import var as var
    from effax.numpy.taking import place as place
    from effax.numpy.taking import put as put
    from effax.numpy.taking import put_along_axis as put_along_axis
    from effax.numpy.taking import take as take
    from effax.numpy.taking import take_along_axis as take_along_axis
    from effax.numpy.triangles import diag_indices as diag_indices
    from effax.numpy.triangles import diag_indices_from as diag_indices_from
    from effax.numpy.triangles import mask_indices as mask_indices
    from effax.numpy.triangles import tril_indices as tril_indices
    from effax.numpy.triangles import tril_indices_from as tril_indices_from
    from effax.numpy.triangles import triu_indices as triu_indices
    from effax.numpy.triangles import triu_indices_from as triu_indices_from
    from effax.numpy.tricks import c_ as c_
    from effax.numpy.tricks import index_exp as index_exp
    from effax.numpy.tricks import packbits as packbits
    from effax.numpy.tricks import r_ as r_
    from effax.numpy.tricks import s_ as s_
    from effax.numpy.tricks import unpackbits as unpackbits
    from effax.numpy.universal import frompyfunc as frompyfunc
    from effax.numpy.universal import ufunc as ufunc
    from effax.numpy.windows import bartlett as bartlett
    from effax.numpy.windows import blackman as blackman
    from effax.numpy.windows import hamming as hamming
    from effax.numpy.windows import hanning as hanning
    from effax.numpy.windows import kaiser as kaiser

    bool = bool_

ndarray = _Value
__array_api_version__ = _VERSION
__array_namespace_info__ = _ArrayNamespaceInfo
_PLACED = frozenset(
    {
        "arange",
        "array",
        "asarray",
        "bincount",
        "broadcast_to",
        "dot",
        "einsum",
        "empty",
        "full",
        "full_like",
        "matmul",
        "ones",
        "ones_like",
        "percentile",
        "ravel",
        "repeat",
        "reshape",
        "tensordot",
        "zeros",
        "zeros_like",
    }
)
"""Functions with the keyword `out_sharding`."""


def _finish(names: dict[str, _Any]) -> None:
    from effax.api.placed import give_out_sharding
    from effax.key_functions import accept_keys

    give_out_sharding(names, _PLACED.intersection(names))
    _cut_at(names)
    accept_keys(names)


_surface = _Surface(globals(), _sys._getframe().f_code, _finish, {"bool": "bool_"})
__dir__ = _surface.public
_methods.install(_sys.modules[__name__])


def __getattr__(name: str) -> _Any:
    return _surface.get(name)
