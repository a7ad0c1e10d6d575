"""Types are interned, dtypes are classified as in JAX, and values have the types they should."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effax.effects import types
from effax.effects.config import enable_x64, explicit_x64_dtypes
from effax.effects.types import ShapedArray, canonical_shape, typeof
from effax.effects.value import Value

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "promotion.json").read_text())


@given(st.lists(st.integers(0, 9), max_size=4), st.sampled_from(["f4", "int4", "bool"]))
def test_types_are_interned(shape, dtype):
    dtype = types.as_dtype(dtype)
    one, other = ShapedArray(shape, dtype), ShapedArray(tuple(shape), dtype.type)
    assert one is other
    assert one.shape == tuple(shape)
    assert (one.ndim, one.size) == (len(shape), int(np.prod(shape)))
    assert pickle.loads(pickle.dumps(one)) is one
    assert copy.deepcopy(one) is one


def test_a_type_is_immutable_and_updates_by_copy():
    t = ShapedArray((2, 3), np.float32)
    with pytest.raises(AttributeError):
        t.shape = (1,)
    assert t.update(shape=(3,), dtype="int8", weak_type=True) is ShapedArray((3,), "int8", True)
    assert t.update(weak_type=True).strong() is t
    assert t.str_short() == "f32[2,3]"
    assert repr(t.update(weak_type=True)) == "f32[2,3]~weak"


def test_shapes():
    assert canonical_shape(np.int64(3)) == (3,)
    assert canonical_shape(np.array([2, 3])) == (2, 3)
    assert all(type(n) is int for n in canonical_shape((np.int8(1), True)))
    for wrong in [(-1,), (1.5,), "ab", 2.0, None]:
        with pytest.raises(TypeError):
            canonical_shape(wrong)


def test_typeof():
    assert typeof(True) is ShapedArray((), bool)
    assert typeof(1) is ShapedArray((), np.int32, True)
    assert typeof(1j) is ShapedArray((), np.complex64, True)
    assert typeof(np.float64(1)) is ShapedArray((), np.float32)
    assert typeof(np.zeros((2, 3), np.int64)) is ShapedArray((2, 3), np.int32)
    assert typeof(np.zeros(2, ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    assert typeof(np.zeros(2, types.float0)).dtype == types.float0
    assert typeof(np.zeros(2, ">f4")) is ShapedArray((2,), np.float32)
    with enable_x64(True):
        assert typeof(1) is ShapedArray((), np.int64, True)
        assert typeof(np.float64(1)) is ShapedArray((), np.float64)
        assert typeof(np.zeros(3)) is ShapedArray((3,), np.float64)
    assert typeof(1.0).dtype == np.float32


def test_typeof_of_subclasses_and_values():
    class Count(int):
        pass

    class Held(Value):
        __slots__ = ("type",)

    held = Held()
    held.type = ShapedArray((2,), "int8")
    assert typeof(Count(3)) is typeof(3)
    assert typeof(held) is held.type
    assert (held.ndim, held.size, held.dtype) == (1, 2, np.int8)


@pytest.mark.parametrize("thing", ["a", None, [1, 2], object(), np.array("a"), np.array([None])])
def test_typeof_refuses(thing):
    with pytest.raises(TypeError):
        typeof(thing)


def test_integers_that_do_not_fit():
    assert typeof(2**31 - 1) is typeof(1)
    with pytest.raises(OverflowError):
        typeof(2**31)
    with enable_x64(True):
        assert typeof(2**31).dtype == np.int64
        with pytest.raises(OverflowError):
            typeof(2**63)


def test_defaults_follow_x64():
    for x64, width in ((False, 32), (True, 64)):
        with enable_x64(x64):
            assert types.as_dtype(int) == np.dtype(f"int{width}")
            assert types.default_uint() == np.dtype(f"uint{width}")
            assert types.as_dtype(None) == types.canonical_dtype("float64")
            assert types.scalar_dtype(1j) == types.canonical_dtype(np.complex128)
            assert types.inexact_dtype("int64") == np.dtype(f"float{width}")
            assert ShapedArray((), float).dtype == np.dtype(f"float{width}")


def test_user_dtypes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert types.user_dtype(float) == np.float32
        assert types.user_dtype("int8") == np.int8
        with pytest.raises(UserWarning):
            types.user_dtype("float64", "zeros")
    with explicit_x64_dtypes("error"), pytest.raises(ValueError, match="in zeros"):
        types.user_dtype(np.int64, "zeros")
    with explicit_x64_dtypes("allow"):
        assert types.user_dtype(np.int64) == np.int64


ELEMENTS = {
    "bool": "i1", "int4": "i4", "uint2": "ui2", "int8": "i8", "uint8": "ui8", "uint64": "ui64",
    "bfloat16": "bf16", "float16": "f16", "float64": "f64", "complex64": "complex<f32>",
    "complex128": "complex<f64>", "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_element_names(name):
    assert types.element_name(types.as_dtype(name)) == ELEMENTS[name]


def test_names_of_what_xla_does_not_know():
    with pytest.raises(TypeError):
        types.element_name(np.dtype(object))
    with pytest.raises(TypeError):
        types.as_dtype("no such dtype")


def test_issubdtype_agrees_with_jax():
    kinds = {k for held in GOLDENS["issubdtype"].values() for k in held}
    for name, held in GOLDENS["issubdtype"].items():
        dtype = types.as_dtype(name)
        assert {k for k in kinds if types.issubdtype(dtype, getattr(np, k))} == set(held), name
        assert types.is_float(dtype) == ("floating" in held)
        assert types.is_integer(dtype) == ("integer" in held)
        assert types.is_signed(dtype) == ("signedinteger" in held)
        assert types.is_unsigned(dtype) == ("unsignedinteger" in held)
        assert types.is_complex(dtype) == ("complexfloating" in held)
        assert types.is_inexact(dtype) == ("inexact" in held)
        assert types.is_bool(dtype) == ("bool_" in held)


def test_related_dtypes():
    assert types.real_dtype("complex128") == np.float64
    assert types.real_dtype("bfloat16") == ml_dtypes.bfloat16
    assert types.complex_dtype("float64") == np.complex128
    assert types.complex_dtype("bfloat16") == np.complex64
    assert types.tangent_dtype(np.dtype("int32")) == types.float0
    assert types.tangent_type(ShapedArray((2,), bool)) is ShapedArray((2,), types.float0)
    assert types.tangent_type(ShapedArray((2,), "f4")) is ShapedArray((2,), "f4")
    assert types.bit_width("int4") == 4
    assert types.bit_width("float8_e5m2") == 8
    assert types.bit_width("complex64") == 64
    assert types.finfo("bfloat16").bits == 16
    assert types.iinfo("int4").max == 7


def test_extended_dtypes_are_carried():
    class Key(types.ExtendedDType):
        type = types.prng_key
        name = "key<fry>"

    key = Key()
    t = ShapedArray((2,), key)
    assert t is ShapedArray((2,), key)
    assert t.str_short() == "key<fry>[2]"
    assert types.canonical_dtype(key) is key
    assert types.issubdtype(key, types.extended)
    assert not types.issubdtype(key, np.floating)
    assert not types.is_inexact(key)
    assert types.tangent_dtype(key) == types.float0
    with pytest.raises(TypeError):
        types.element_name(key)


def test_scalar_constants():
    assert types.is_scalar_constant(np.float32(1))
    assert not types.is_scalar_constant(1.0)
    assert not types.is_scalar_constant(np.zeros(()))
    assert not types.is_scalar_constant(np.str_("a"))
