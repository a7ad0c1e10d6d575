"""Dtypes: NumPy's and the narrow ones of `ml_dtypes`, their families, and their names in XLA."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from effax.effects.config import read, trace_key
from effax.effects.value import is_symbolic_length

__all__ = [  # the names that `effax.effects.types` re-exports
    "DType",
    "ExtendedDType",
    "as_dtype",
    "bfloat16",
    "bit_width",
    "bool_",
    "canonical_dtype",
    "complex64",
    "complex128",
    "complex_dtype",
    "default_complex",
    "default_float",
    "default_int",
    "default_position_dtype",
    "default_uint",
    "dtype_of_scalar",
    "element_name",
    "extended",
    "finfo",
    "float0",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inexact_dtype",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_bool",
    "is_complex",
    "is_extended",
    "is_float",
    "is_inexact",
    "is_integer",
    "is_signed",
    "is_unsigned",
    "issubdtype",
    "narrow_floats",
    "narrow_integers",
    "position_dtype",
    "prng_key",
    "real_dtype",
    "scalar_dtype",
    "short_name",
    "tangent_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "user_dtype",
]

DType: TypeAlias = np.dtype[Any]

if TYPE_CHECKING:
    # Written without types in ml_dtypes, as heirs of NumPy's classes.
    class finfo(np.finfo[Any]):  # noqa: D101, N801
        smallest_normal: Any

        def __new__(cls, dtype: Any) -> finfo: ...  # noqa: D102

    class iinfo(np.iinfo[Any]):  # noqa: D101, N801
        def __init__(self, int_type: Any) -> None: ...

else:
    finfo = ml_dtypes.finfo
    iinfo = ml_dtypes.iinfo

float0: Final[DType] = np.dtype([("float0", np.void, 0)])
NO_OPERATIONS: Final = (
    "float0s do not support any operations by design: their values have no elements, and are no "
    "device arrays"
)
"""The dtype of tangents of integers and Booleans: a vector space with the one element zero."""

_NARROW_FLOATS: Final = {
    "bfloat16": "bf16",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN",
    "float4_e2m1fn": "f4E2M1FN",
}
_NARROW_INTEGERS: Final = {
    "int1": "i1",
    "uint1": "ui1",
    "int2": "i2",
    "uint2": "ui2",
    "int4": "i4",
    "uint4": "ui4",
}
_NUMPY: Final = {
    "bool": "i1",
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"ui{n}" for n in (8, 16, 32, 64)},
    **{f"float{n}": f"f{n}" for n in (16, 32, 64)},
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
}


def _narrow(names: dict[str, str]) -> tuple[DType, ...]:
    return tuple(np.dtype(getattr(ml_dtypes, n)) for n in names if hasattr(ml_dtypes, n))


narrow_floats: Final = _narrow(_NARROW_FLOATS)
narrow_integers: Final = _narrow(_NARROW_INTEGERS)

bool_, int8, int16, int32, int64 = map(np.dtype, ("bool", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(np.dtype, ("float16", "float32", "float64"))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
bfloat16: Final = np.dtype(ml_dtypes.bfloat16)

ELEMENTS: Final[dict[DType, str]] = {
    **{np.dtype(name): element for name, element in _NUMPY.items()},
    **{d: _NARROW_FLOATS[d.name] for d in narrow_floats},
    **{d: _NARROW_INTEGERS[d.name] for d in narrow_integers},
    float0: "i1",  # never computed with; stored as zeros of one bit where it must be
}
SHORT: Final[dict[DType, str]] = {
    **{d: e.replace("ui", "u") for d, e in ELEMENTS.items()},
    bool_: "bool",
    complex64: "c64",
    complex128: "c128",
    float0: "float0",
}
# NumPy's one-letter kinds, with the narrow types under the kind they belong to.
_KINDS: Final[dict[DType, str]] = {
    **{d: d.kind for d in ELEMENTS},
    **{d: "f" for d in narrow_floats},
    **{d: "u" if d.name.startswith("u") else "i" for d in narrow_integers},
    float0: "V",
}
TO_32: Final[dict[Any, DType]] = {d: d for d in ELEMENTS} | {
    int64: int32,
    uint64: uint32,
    float64: float32,
    complex128: complex64,
}
_REAL: Final[dict[Any, DType]] = {complex64: float32, complex128: float64}
_COMPLEX: Final[dict[Any, DType]] = {
    float64: complex128,
    complex64: complex64,
    complex128: complex128,
}


class extended(np.generic):  # noqa: N801
    """The abstract scalar class of dtypes that are not NumPy's: random keys."""


class prng_key(extended):  # noqa: N801
    """The abstract scalar class of typed random keys."""


class ExtendedDType:
    """A dtype that NumPy does not know; a subclass gives `type` (under `extended`) and `name`.

    It compares and hashes by what its subclass says, and is carried by a `ShapedArray` as any
    other dtype. It has no name in XLA: it must be lowered by effects of its own.
    """

    __slots__ = ()

    type: Any
    name: str
    kind = "X"

    def inside(self, shape: Sequence[int]) -> tuple[tuple[int, ...], DType]:
        """The shape and the dtype of the array that one of this dtype and shape is over."""
        raise NotImplementedError(f"{self.name}: its class must define `inside`")

    def around(self, inner: Any) -> Any:
        """The array of this dtype over the array that holds it."""
        raise NotImplementedError(f"{self.name}: its class must define `around`")


def as_dtype(dtype: Any) -> DType:
    """The NumPy dtype of a dtype, scalar type or name; not canonicalised.

    Python's `int`, `float` and `complex` mean the default dtypes, and None the default float.
    Names of narrow types ("bfloat16", "int4") are understood. Raises `TypeError` for what is not
    the dtype of an array.
    """
    if type(dtype) in _DTYPE_CLASSES and dtype in ELEMENTS:
        return dtype
    if isinstance(dtype, ExtendedDType):
        return dtype  # type: ignore[return-value]
    default = _DEFAULTS.get(dtype) if isinstance(dtype, type) or dtype is None else None
    if default is not None:
        return default()
    try:
        found = np.dtype(getattr(ml_dtypes, dtype, dtype) if isinstance(dtype, str) else dtype)
    except TypeError as error:
        if repr(dtype) in str(error):
            raise TypeError(f"{error}: no dtype has this name") from None
        raise TypeError(f"{dtype!r} is not a dtype: {error}") from None
    found = found.newbyteorder("=") if not found.isnative else found
    if found not in ELEMENTS:
        what = dtype.__name__ if isinstance(dtype, type) else found.type.__name__
        raise TypeError(
            f"dtype {found} is not a valid effax type: arrays hold numbers and Booleans, not {what}"
        )
    return found


def canonical_dtype(dtype: Any) -> DType:
    """The dtype of arrays for which this one is asked: 64 bits become 32 unless x64 is on.

    >>> canonical_dtype("float64"), canonical_dtype("bfloat16")
    (dtype('float32'), dtype(bfloat16))
    """
    narrow = TO_32.get(dtype) if type(dtype) in _DTYPE_CLASSES else None
    if narrow is dtype and dtype is not None:
        return narrow
    if narrow is None:
        dtype = as_dtype(dtype)
        narrow = TO_32.get(dtype, dtype)
    return dtype if trace_key().enable_x64 else narrow


_DTYPE_CLASSES: Final = frozenset(type(d) for d in ELEMENTS)


def default_int() -> DType:
    """The dtype of Python ints: int32, or int64 under x64."""
    return int64 if trace_key().enable_x64 else int32


def position_dtype(*lengths: int) -> DType:
    """The dtype of positions along axes of these lengths: int64 where int32 can't count them.

    An axis of more than 2**31 - 1 elements has positions of 64 bits without x64 too. Symbolic
    lengths are taken to be less: exported functions refuse to be called for others.
    """
    known = [n for n in lengths if not is_symbolic_length(n)]
    return int64 if max(known, default=0) > _LARGEST_INT32 else int32


def default_position_dtype(*lengths: int) -> DType:
    """The dtype of positions in results: `default_int`, or int64 where that is too narrow."""
    return position_dtype(*lengths) if default_int() == int32 else int64


_LARGEST_INT32: Final = (1 << 31) - 1


def default_uint() -> DType:
    """The unsigned dtype of the default width."""
    return uint64 if trace_key().enable_x64 else uint32


def default_float() -> DType:
    """The dtype of Python floats: float32, or float64 under x64."""
    return float64 if trace_key().enable_x64 else float32


def default_complex() -> DType:
    """The dtype of Python complex numbers: complex64, or complex128 under x64."""
    return complex128 if trace_key().enable_x64 else complex64


_DEFAULTS: Final[dict[Any, Callable[[], DType]]] = {
    bool: lambda: bool_,
    int: default_int,
    float: default_float,
    complex: default_complex,
    None: default_float,
}


def scalar_dtype(x: Any) -> DType:
    """The dtype of a Python number (or of its type).

    Raises `OverflowError` for an int that the default integer dtype does not hold.
    """
    kind = x if isinstance(x, type) else type(x)
    dtype = _DEFAULTS[kind]()
    if kind is int and x is not int and not -(1 << 31) <= x < (1 << 31):
        limits = np.iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise OverflowError(f"Python int {x} too large to convert to {dtype}")
    return dtype


dtype_of_scalar = scalar_dtype


def element_name(dtype: DType) -> str:
    """The element type in StableHLO: "f32", "bf16", "i1", "ui8", "complex<f32>", "f8E4M3FN".

    Raises `TypeError` for a dtype that XLA has no name for.
    """
    try:
        return ELEMENTS[dtype]
    except KeyError:
        raise TypeError(f"{dtype} has no element type in XLA") from None


def short_name(dtype: DType) -> str:
    """The abbreviation used in printed programs: "f32", "u8", "bool", "c64"."""
    return SHORT.get(dtype) or str(dtype.name)


def _kind(dtype: Any) -> str:
    try:
        return _KINDS[dtype]
    except (KeyError, TypeError):
        return _KINDS.get(as_dtype(dtype), "X")


def is_bool(dtype: Any) -> bool:
    """Whether the dtype is Boolean."""
    return _kind(dtype) == "b"


def is_integer(dtype: Any) -> bool:
    """Whether the dtype is an integer type, signed or not; Boolean is not."""
    return _kind(dtype) in "iu"


def is_signed(dtype: Any) -> bool:
    """Whether the dtype is a signed integer type."""
    return _kind(dtype) == "i"


def is_unsigned(dtype: Any) -> bool:
    """Whether the dtype is an unsigned integer type."""
    return _kind(dtype) == "u"


def is_float(dtype: Any) -> bool:
    """Whether the dtype is a real floating-point type, narrow ones included."""
    return _kind(dtype) == "f"


def is_complex(dtype: Any) -> bool:
    """Whether the dtype is complex."""
    return _kind(dtype) == "c"


def is_inexact(dtype: Any) -> bool:
    """Whether the dtype is floating-point, real or complex: whether it has derivatives."""
    return _kind(dtype) in "fc"


def is_extended(dtype: Any) -> bool:
    """Whether the dtype is one that NumPy doesn't know, such as that of random keys."""
    return isinstance(dtype, ExtendedDType)


def real_dtype(dtype: Any) -> DType:
    """The dtype of real and imaginary parts; a dtype that is not complex is its own."""
    dtype = as_dtype(dtype)
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: Any) -> DType:
    """The complex dtype whose parts hold this one: complex128 for float64, else complex64."""
    return _COMPLEX.get(as_dtype(dtype), complex64)


def inexact_dtype(dtype: Any) -> DType:
    """The dtype in which functions such as `sin` compute: floats as they are, ints as floats.

    64-bit integers become float64 (float32 where x64 is off), narrower ones float32.
    """
    dtype = as_dtype(dtype)
    if is_inexact(dtype):
        return dtype
    return canonical_dtype(float64) if dtype.itemsize == 8 else float32


def tangent_dtype(dtype: Any) -> DType:
    """The dtype of tangents: itself for floats, `float0` for everything else."""
    return dtype if _kind(dtype) in "fc" else float0


def bit_width(dtype: Any) -> int:
    """Return the bits per element as XLA stores it; `int4` has 4, a Boolean 8, `float0` none.

    Raises `ValueError` for None, which NumPy would take for float64.

    Args:
      dtype: a dtype, a scalar type or a name.
    """
    if dtype is None:
        raise ValueError("dtype cannot be None: give a dtype, or its name")
    dtype = as_dtype(dtype)
    if dtype in narrow_integers:
        return int(iinfo(dtype).bits)
    if dtype in narrow_floats:
        return int(finfo(dtype).bits)
    return int(dtype.itemsize) * 8


def integer_range(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest integer of a dtype of integers."""
    width = bit_width(dtype)
    least = 0 if is_unsigned(dtype) else -(1 << (width - 1))
    return least, least + (1 << width) - 1


def issubdtype(a: Any, b: Any) -> bool:
    """Return whether `a` is below `b` in NumPy's hierarchy of types, narrow types included.

    >>> issubdtype("bfloat16", np.floating), issubdtype(ml_dtypes.int4, np.signedinteger)
    (True, True)
    """
    return _issubdtype(
        a if isinstance(a, type | np.dtype | ExtendedDType) else np.dtype(a),
        b if isinstance(b, type | np.dtype | ExtendedDType) else np.dtype(b),
    )


_ABOVE: Final = {
    "f": (np.floating, np.inexact, np.number, np.generic),
    "i": (np.signedinteger, np.integer, np.number, np.generic),
    "u": (np.unsignedinteger, np.integer, np.number, np.generic),
}
_NARROW_SCALARS: Final = {
    d.type: {d.type, *_ABOVE[_KINDS[d]]} for d in (*narrow_floats, *narrow_integers)
}


@lru_cache(4096)
def _issubdtype(a: Any, b: Any) -> bool:
    if isinstance(b, ExtendedDType):
        return isinstance(a, ExtendedDType) and a == b
    if isinstance(a, ExtendedDType):
        a = a.type
    scalar = a if isinstance(a, type) and issubclass(a, np.generic) else np.dtype(a).type
    above = b if isinstance(b, type) and issubclass(b, np.generic) else np.dtype(b).type
    if scalar in _NARROW_SCALARS:
        return above in _NARROW_SCALARS[scalar]
    return bool(np.issubdtype(scalar, above))


def user_dtype(dtype: Any, function: str = "") -> DType:
    """The canonical form of a dtype that a user asked for by name.

    Where that narrows it, the setting `explicit_x64_dtypes` says whether to warn (the default),
    to raise `ValueError`, or to keep the 64 bits.
    """
    asked = as_dtype(dtype)
    if hasattr(dtype, "__array__") and not isinstance(dtype, type | np.generic):
        raise ValueError(f"{function or 'dtype'}: expected a dtype, got an array; pass array.dtype")
    canonical = canonical_dtype(asked)
    if canonical is asked or dtype in _DEFAULTS or canonical == asked:
        return canonical
    policy = read("explicit_x64_dtypes")
    if policy == "allow":
        return asked
    where = f" in {function}" if function else ""
    message = (
        f"Explicitly requested dtype {asked} is not available{where}: 64-bit types are off; set "
        "enable_x64 to have them"
    )
    if policy == "error":
        raise ValueError(message)
    warnings.warn(f"{message}. The result has {canonical}.", UserWarning, stacklevel=3)
    return canonical
