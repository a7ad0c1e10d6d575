"""The dtypes as `effax.numpy` names them: callable, and equal to NumPy's own.

`jnp.float32` is a dtype wherever one is asked, and `jnp.float32(x)` an array of it.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from effax.effects.types import canonical_dtype


class ScalarType(type):
    """The class of `jnp.float32` and its like.

    >>> import effax.numpy as jnp, numpy as np
    >>> jnp.int8(3), np.dtype(jnp.int8), jnp.float32 == np.float32
    (Array(3, dtype=int8), dtype('int8'), True)
    """

    dtype: np.dtype[Any]

    def __call__(cls, x: Any = 0) -> Any:
        """The value as an array of the dtype (of 32 bits for 64 unless x64 is on)."""
        from effax.numpy.conversion import array

        return array(x, dtype=canonical_dtype(cls.dtype))

    def __eq__(cls, other: object) -> bool:
        # Compare dtypes and scalar classes only: np.dtype would read "a, b" as a structure.
        if isinstance(other, ScalarType):
            return cls.dtype == other.dtype
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return cls.dtype.type is other

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'effax.numpy.{cls.__name__}'>"


def _scalar(name: str, dtype: Any) -> ScalarType:
    return ScalarType(name, (), {"dtype": np.dtype(dtype)})


bool_: Final = _scalar("bool", np.bool_)
int8: Final = _scalar("int8", np.int8)
int16: Final = _scalar("int16", np.int16)
int32: Final = _scalar("int32", np.int32)
int64: Final = _scalar("int64", np.int64)
uint8: Final = _scalar("uint8", np.uint8)
uint16: Final = _scalar("uint16", np.uint16)
uint32: Final = _scalar("uint32", np.uint32)
uint64: Final = _scalar("uint64", np.uint64)
int2: Final = _scalar("int2", ml_dtypes.int2)
int4: Final = _scalar("int4", ml_dtypes.int4)
uint2: Final = _scalar("uint2", ml_dtypes.uint2)
uint4: Final = _scalar("uint4", ml_dtypes.uint4)
float16: Final = _scalar("float16", np.float16)
bfloat16: Final = _scalar("bfloat16", ml_dtypes.bfloat16)
float32: Final = _scalar("float32", np.float32)
float64: Final = _scalar("float64", np.float64)
complex64: Final = _scalar("complex64", np.complex64)
complex128: Final = _scalar("complex128", np.complex128)
float4_e2m1fn: Final = _scalar("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float8_e3m4: Final = _scalar("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3: Final = _scalar("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz: Final = _scalar("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn: Final = _scalar("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz: Final = _scalar("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2: Final = _scalar("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz: Final = _scalar("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu: Final = _scalar("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)

single: Final = float32
double: Final = float64
csingle: Final = complex64
cdouble: Final = complex128
float_: Final = float64
int_: Final = int64
uint: Final = uint64
complex_: Final = complex128

# NumPy's abstract classes of dtypes, for issubdtype.
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
flexible = np.flexible
character = np.character
object_ = np.object_
dtype = np.dtype

pi: Final = np.pi
e: Final = np.e
euler_gamma: Final = np.euler_gamma
inf: Final = np.inf
nan: Final = np.nan
newaxis: Final = None
