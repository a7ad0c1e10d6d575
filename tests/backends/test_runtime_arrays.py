"""Values in and out of device memory: every dtype, and what an array does as a Python object."""

import copy
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.device import devices
from effax.backends.xla.dlpack import from_dlpack
from effax.backends.xla.scalars import constant
from effax.effects import config
from effax.effects.config import enable_x64
from effax.effects.types import ShapedArray

DTYPES = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    *("float16", "float32", "complex64"),
    *("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    *("int2", "uint2", "int4", "uint4"),
]
WIDE = ["int64", "uint64", "float64", "complex128"]


def dtype_named(name):
    return np.dtype(getattr(ml_dtypes, name, name))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_values_survive_the_round_trip(name, shape):
    dtype = dtype_named(name)
    x = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2 + 1).astype(dtype)
    y = asarray(x)
    assert y.type is ShapedArray(shape, dtype)
    for _ in range(2):
        back = np.asarray(y)
        assert back.dtype == dtype and back.shape == shape and not back.flags.writeable
        np.testing.assert_array_equal(back.astype("complex64"), x.astype("complex64"))
    assert np.asarray(y) is np.asarray(y)
    assert np.array(y).flags.writeable
    assert y.tolist() == x.tolist()
    assert y.nbytes == x.nbytes and y.itemsize == dtype.itemsize
    assert repr(y).startswith("Array(") and f"dtype={name}" in repr(y)


@pytest.mark.parametrize("name", WIDE)
def test_64_bits_become_32_unless_x64(name):
    x = np.arange(3).astype(name)
    assert asarray(x).dtype.itemsize == x.dtype.itemsize // 2
    with enable_x64(True):
        y = asarray(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), x)


@pytest.mark.parametrize(
    "x, dtype, weak",
    [(True, "bool", False), (3, "int32", True), (1.5, "float32", True), (1j, "complex64", True)],
)
def test_python_numbers_are_weak(x, dtype, weak):
    y = asarray(x)
    assert (y.dtype, y.weak_type, y.item()) == (np.dtype(dtype), weak, x)


def test_a_type_may_be_given():
    y = asarray(3, ShapedArray((), "bfloat16"))
    assert y.dtype == ml_dtypes.bfloat16 and float(y) == 3.0
    assert asarray(asarray(3.0), ShapedArray((), "float32")).weak_type is False
    with pytest.raises(TypeError, match="shape"):
        asarray(np.zeros(3), ShapedArray((2,), "float32"))


def test_later_writes_to_numpy_memory_are_not_seen():
    x = np.zeros(1 << 16, "float32")  # large, so that its memory is aligned
    y = asarray(x)
    x[:] = 1
    assert not np.asarray(y).any()


def test_layouts_of_numpy():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for view in (x.T, x[:, ::-1], x[::2, 1:], np.asfortranarray(x), x.astype(">f4")):
        np.testing.assert_array_equal(np.asarray(asarray(view)), view)


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([object()]), np.datetime64("2020")])
def test_what_is_not_numeric_is_refused(x):
    with pytest.raises(TypeError, match="not a valid effax array type"):
        asarray(x)


def test_large_integers_are_refused():
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        asarray(1 << 40)


def test_constants_tell_values_apart(monkeypatch):
    # A process that ever guarded transfers, as another test may have, shares none.
    monkeypatch.setattr(config, "guarded", False)

    def value(x):
        return np.asarray(Array(constant(x), asarray(x).spec))

    assert constant(1.0) is constant(1.0) and constant(1.0) is not constant(1)
    assert value(True).dtype == bool and value(1).dtype == np.int32
    assert np.signbit(value(-0.0)) and not np.signbit(value(0.0))
    assert np.signbit(value(complex(-0.0, 1.0)).real) and np.signbit(value(-0j).imag)
    assert np.isnan(value(float("nan")))


def test_text_is_as_in_jax():
    assert repr(asarray(np.arange(2.0))) == "Array([0., 1.], dtype=float32)"
    assert repr(asarray(3.0)) == "Array(3., dtype=float32, weak_type=True)"
    assert repr(asarray(np.zeros((0, 3), "int8"))) == "Array([], shape=(0, 3), dtype=int8)"
    assert repr(asarray(np.ones((2, 2)))) == ("Array([[1., 1.],\n       [1., 1.]], dtype=float32)")
    row = ", ".join(["1000.5"] * 7)
    assert repr(asarray(np.full(7, 1000.5))) == f"Array([{row}], dtype=float32)"
    row = ", ".join(["1000.5"] * 8)
    assert repr(asarray(np.full(8, 1000.5))) == f"Array([{row}],      dtype=float32)"
    assert str(asarray(np.arange(2.0))) == "[0. 1.]"
    assert f"{asarray(np.float32(3)):.2f}" == "3.00" and f"{asarray(2.0)}" == "2.0"
    with pytest.raises(TypeError):
        format(asarray(np.arange(2.0)), ".2f")


def test_scalars_become_python_numbers():
    assert float(asarray(1.5)) == 1.5 and int(asarray(7)) == 7 and complex(asarray(1j)) == 1j
    assert bool(asarray(True)) and not bool(asarray(np.zeros(1)))
    assert operator.index(asarray(3)) == 3 and [0, 1][asarray(1)] == 1
    assert operator.index(asarray(np.zeros((), ml_dtypes.int4))) == 0
    assert asarray(np.arange(3)).item(1) == 1


def test_what_is_not_a_scalar_does_not():
    x = asarray(np.arange(3.0))
    for convert in (int, float, complex):
        with pytest.raises(TypeError, match=r"Only scalar arrays .* arr.ndim=1"):
            convert(x)
    with pytest.raises(ValueError, match="truth value of an array with more than one"):
        bool(x)
    with pytest.raises(ValueError, match="truth value of an empty array"):
        bool(asarray(np.zeros(0)))
    for y in (x, asarray(1.0)):
        with pytest.raises(TypeError, match="Only integer scalar arrays"):
            operator.index(y)
    with pytest.raises(ValueError):
        x.item()


def test_containers():
    x = asarray(np.arange(3.0))
    assert len(x) == 3
    with pytest.raises(TypeError, match="len"):
        len(asarray(1.0))
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(asarray(1.0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set\(y\)"):
        x[0] = 1


def test_conversion_by_numpy():
    x = asarray(np.arange(3.0))
    assert np.asarray(x, dtype="int8").dtype == np.int8
    with pytest.raises(ValueError):
        np.asarray(x, dtype="int8", copy=False)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int4", "complex64"])
def test_copies(name):
    x = asarray(np.arange(2).astype(dtype_named(name)))
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert y.type is x.type
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    assert pickle.loads(pickle.dumps(asarray(2.0))).weak_type
    y = copy.deepcopy(x)
    x.delete()
    assert len(np.asarray(y)) == 2


def test_deletion():
    x = asarray(np.arange(3.0))
    view = np.asarray(x)
    assert x.is_ready() and x.block_until_ready() is x and not x.is_deleted()
    x.delete()
    x.delete()
    assert x.is_deleted() and x.shape == (3,)
    uses = np.asarray, Array.block_until_ready, Array.is_ready, copy.deepcopy, pickle.dumps
    for use in (*uses, repr, str):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."):
            use(x)
    assert view.tolist() == [0, 1, 2], "a view keeps its memory alive"


@pytest.mark.cpu
def test_places():
    x = asarray(np.arange(4.0))
    device = devices()[0]
    assert x.device is device and x.devices() == {device} and not x.committed
    y = device_put(x, device)
    assert y.committed and y.type is x.type and device_put(y) is y and device_put(x) is x
    assert device_put(1.5, "cpu").committed
    assert str(device) == "cpu:0" and repr(device) == "CpuDevice(id=0)"
    assert pickle.loads(pickle.dumps(x.sharding)) is x.sharding
    assert x.addressable_data(0) is x and x.is_fully_addressable and x.is_fully_replicated
    with pytest.raises(ValueError, match="device_put"):
        device_put(x, 3)
    z = device_put(x, may_alias=False)
    x.delete()
    assert z.tolist() == [0, 1, 2, 3]


@pytest.mark.cpu
def test_dlpack():
    x = asarray(np.arange(6, dtype="float32").reshape(2, 3))
    assert x.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    y = from_dlpack(x)
    assert y.type is x.type and y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert from_dlpack(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    bf16 = asarray(np.ones(3, ml_dtypes.bfloat16))
    assert from_dlpack(bf16).type is bf16.type
    source = np.arange(5.0)
    z = from_dlpack(source)
    assert z.dtype == np.float32 and z.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="float64 becomes float32"):
        from_dlpack(source, copy=False)
    with pytest.raises(BufferError):
        asarray(np.zeros(2, ml_dtypes.int4)).__dlpack__()
    source.flags.writeable = False
    assert from_dlpack(source).tolist() == [0, 1, 2, 3, 4]
