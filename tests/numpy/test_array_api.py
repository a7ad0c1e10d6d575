"""The Python array API standard 2024.12: names, how they are called, special cases, DLPack.

`array-api-tests` needs a network to be had; what it asks most is here, written from the standard.
"""

import inspect
import math

import numpy as np
import pytest

import effax
import effax.numpy as xp

inf, nan = math.inf, math.nan

# Functions by their parameters; "/" and "*" as in the standard, what has a default with "=".
SIGNATURES = """
arange start / stop= step= * dtype= device=|asarray obj / * dtype= device= copy=
empty shape * dtype= device=|empty_like x / * dtype= device=|eye n_rows n_cols= / * k= dtype= device=
from_dlpack x / * device= copy=|full shape fill_value * dtype= device=
full_like x / fill_value * dtype= device=|linspace start stop / num * dtype= device= endpoint=
meshgrid *arrays indexing=|ones shape * dtype= device=|ones_like x / * dtype= device=
tril x / * k=|triu x / * k=|zeros shape * dtype= device=|zeros_like x / * dtype= device=
astype x dtype / * copy= device=|broadcast_arrays *arrays|broadcast_to x / shape
can_cast from_ to /|finfo type /|iinfo type /|isdtype dtype kind|result_type *arrays_and_dtypes
clip x / min= max=|take x indices / * axis=|take_along_axis x indices / * axis=
matmul x1 x2 /|matrix_transpose x /|tensordot x1 x2 / * axes=|vecdot x1 x2 / * axis=
concat arrays / * axis=|expand_dims x / * axis=|flip x / * axis=|moveaxis x source destination /
permute_dims x / axes|repeat x repeats / * axis=|reshape x / shape * copy=|roll x / shift * axis=
squeeze x / axis|stack arrays / * axis=|tile x repetitions /|unstack x / * axis=
argmax x / * axis= keepdims=|argmin x / * axis= keepdims=|count_nonzero x / * axis= keepdims=
nonzero x /|searchsorted x1 x2 / * side= sorter=|where condition x1 x2 /
unique_all x /|unique_counts x /|unique_inverse x /|unique_values x /
argsort x / * axis= descending= stable=|sort x / * axis= descending= stable=
cumulative_prod x / * axis= dtype= include_initial=|cumulative_sum x / * axis= dtype= include_initial=
max x / * axis= keepdims=|mean x / * axis= keepdims=|min x / * axis= keepdims=
prod x / * axis= dtype= keepdims=|std x / * axis= correction= keepdims=
sum x / * axis= dtype= keepdims=|var x / * axis= correction= keepdims=
all x / * axis= keepdims=|any x / * axis= keepdims=|diff x / * axis= n= prepend= append=
linalg.cholesky x / * upper=|linalg.cross x1 x2 / * axis=|linalg.det x /
linalg.diagonal x / * offset=|linalg.eigh x /|linalg.eigvalsh x /|linalg.inv x /
linalg.matmul x1 x2 /|linalg.matrix_norm x / * keepdims= ord=|linalg.matrix_power x n /
linalg.matrix_rank x / * rtol=|linalg.matrix_transpose x /|linalg.outer x1 x2 /
linalg.pinv x / * rtol=|linalg.qr x / * mode=|linalg.slogdet x /|linalg.solve x1 x2 /
linalg.svd x / * full_matrices=|linalg.svdvals x /|linalg.tensordot x1 x2 / * axes=
linalg.trace x / * offset= dtype=|linalg.vecdot x1 x2 / * axis=
linalg.vector_norm x / * axis= keepdims= ord=
fft.fft x / * n= axis= norm=|fft.ifft x / * n= axis= norm=|fft.fftn x / * s= axes= norm=
fft.ifftn x / * s= axes= norm=|fft.rfft x / * n= axis= norm=|fft.irfft x / * n= axis= norm=
fft.rfftn x / * s= axes= norm=|fft.irfftn x / * s= axes= norm=|fft.hfft x / * n= axis= norm=
fft.ihfft x / * n= axis= norm=|fft.fftfreq n / * d= dtype= device=
fft.rfftfreq n / * d= dtype= device=|fft.fftshift x / * axes=|fft.ifftshift x / * axes=
"""
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor
imag isfinite isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal round
sign signbit sin sinh square sqrt tan tanh trunc"""
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and
logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"""
NAMED = [line.split() for line in SIGNATURES.replace("\n", "|").split("|") if line]
NAMED += [[name, "x", "/"] for name in UNARY.split()]
NAMED += [[name, "x1", "x2", "/"] for name in BINARY.split()]


def _found(dotted):
    value = xp
    for name in dotted.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(("name", "parameters"), [(n[0], n[1:]) for n in NAMED])
def test_signatures(name, parameters):
    """It can be called as the standard says: so many positional arguments, and these keywords."""
    function = _found(name)
    if isinstance(function, type) or "*arrays" in " ".join(parameters):
        assert callable(function)
        return
    signature = inspect.signature(getattr(function, "__wrapped__", function))
    before = parameters[: parameters.index("*")] if "*" in parameters else parameters
    positional = [p for p in before if p != "/" and not p.endswith("=")]
    keywords = [p.removesuffix("=") for p in parameters if p.endswith("=")]
    named = {
        k: None for k in keywords if not (k in before or (f"{k}=" in before and "/" in before))
    }
    signature.bind(*[None] * len(positional), **named)


@pytest.mark.parametrize("name", "e inf nan newaxis pi".split())  # noqa: SIM905
def test_constants(name):
    assert hasattr(xp, name)
    assert name == "newaxis" or isinstance(getattr(xp, name), float)


NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
)


def test_dtypes_by_name_and_kind():
    with effax.enable_x64(True):
        info = xp.__array_namespace_info__()
        assert set(info.dtypes()) == set(NAMES.split())
        assert all(getattr(xp, name) == dtype for name, dtype in info.dtypes().items())
        assert info.default_dtypes()["indexing"] == np.int64
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "numeric"):
            assert info.dtypes(kind=kind) == {
                n: d for n, d in info.dtypes().items() if xp.isdtype(d, kind)
            }
    assert set(xp.__array_namespace_info__().dtypes(kind=("bool", "real floating"))) == {
        "bool",
        "float32",
    }
    with pytest.raises(KeyError):
        xp.__array_namespace_info__().dtypes(kind="nonsense")


def test_namespace_and_devices():
    x = xp.ones(3)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="2021"):
        x.__array_namespace__(api_version="2021.12")
    info = xp.__array_namespace_info__()
    assert info.default_device() is None
    assert info.devices() == [None, *effax.devices()]
    assert set(info.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert x.device in info.devices()
    assert x.to_device(x.device).device == x.device
    assert effax.jit(lambda y: y.__array_namespace__().sum(y))(x) == 3


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", [*NAMES.split()[1:], "bool"])
def test_dlpack_both_ways(dtype):
    with effax.enable_x64(True):
        host = np.array([[0, 1], [1, 0]], dtype)
        given = xp.from_dlpack(host.copy())
        assert given.dtype == host.dtype
        assert np.array_equal(given, host)
        back = np.from_dlpack(xp.asarray(host))
        assert back.dtype == host.dtype
        assert np.array_equal(back, host)
        again = xp.from_dlpack(xp.asarray(host), copy=True)
        assert np.array_equal(again, host)


# name: arguments and result, of the standard's lists of special cases. Zeros that `remainder` leaves
# have the sign of the first operand here, as in JAX; the standard asks for that of the second.
UNARY_CASES = {
    "abs": [(nan, nan), (-0.0, 0.0), (inf, inf), (-inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, math.pi / 2), (-inf, -math.pi / 2)],
    "atanh": [(nan, nan), (1.5, nan), (-1.5, nan), (-1.0, -inf), (1.0, inf), (-0.0, -0.0)],
    "ceil": [(2.0, 2.0), (inf, inf), (-inf, -inf), (-0.0, -0.0), (nan, nan), (0.5, 1.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(2.0, 2.0), (inf, inf), (-inf, -inf), (-0.0, -0.0), (nan, nan), (-0.5, -1.0)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "reciprocal": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (-inf, -0.0), (nan, nan)],
    "round": [(inf, inf), (-0.0, -0.0), (0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0)],
    "sign": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (2.5, 1.0), (-inf, -1.0)],
    "signbit": [(0.0, False), (-0.0, True), (inf, False), (-inf, True), (nan, False), (-nan, True)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(2.0, 2.0), (inf, inf), (-0.0, -0.0), (nan, nan), (-0.5, -0.0)],
}
PI = math.pi
BINARY_CASES = {
    "add": [(inf, -inf, nan), (inf, inf, inf), (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (nan, 1, nan)],
    "atan2": [
        (nan, 1, nan), (1, 0.0, PI / 2), (1, -0.0, PI / 2), (0.0, 1, 0.0), (0.0, 0.0, 0.0),
        (0.0, -0.0, PI), (-0.0, 0.0, -0.0), (-0.0, -0.0, -PI), (-0.0, -1, -PI), (-1, 0.0, -PI / 2),
        (1, inf, 0.0), (1, -inf, PI), (-1, inf, -0.0), (-1, -inf, -PI), (inf, 1, PI / 2),
        (-inf, 1, -PI / 2), (inf, inf, PI / 4), (inf, -inf, 3 * PI / 4), (-inf, -inf, -3 * PI / 4),
    ],
    "copysign": [(1.0, -0.0, -1.0), (-1.0, 0.0, 1.0), (0.0, -1.0, -0.0), (inf, -1.0, -inf)],
    "divide": [
        (inf, inf, nan), (0.0, 0.0, nan), (0.0, 1, 0.0), (-0.0, 1, -0.0), (0.0, -1, -0.0),
        (1, 0.0, inf), (1, -0.0, -inf), (-1, 0.0, -inf), (inf, 2, inf), (inf, -2, -inf), (1, inf, 0.0),
    ],
    "floor_divide": [(nan, 1, nan), (inf, inf, nan), (0.0, 0.0, nan), (1, inf, 0.0), (-1, inf, -1.0), (7, 2, 3), (-7, 2, -4)],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (nan, 1, nan), (3, 4, 5)],
    "logaddexp": [(nan, 1, nan), (inf, 1, inf), (-inf, -inf, -inf), (1, -inf, 1)],
    "maximum": [(nan, 1, nan), (1, nan, nan), (inf, 1, inf)],
    "minimum": [(nan, 1, nan), (1, nan, nan), (-inf, 1, -inf)],
    "multiply": [(inf, 0.0, nan), (-inf, 0.0, nan), (inf, -2, -inf), (-0.0, 2, -0.0), (nan, 0, nan)],
    "nextafter": [(1.0, 1.0, 1.0), (nan, 1, nan), (1, nan, nan)],
    "pow": [
        (nan, 0.0, 1.0), (nan, -0.0, 1.0), (1.0, nan, 1.0), (2.0, inf, inf), (2.0, -inf, 0.0),
        (0.5, inf, 0.0), (0.5, -inf, inf), (1.0, inf, 1.0), (-1.0, inf, 1.0), (inf, 2.0, inf),
        (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, -3.0, -0.0), (-inf, -2.0, 0.0),
        (0.0, 2.0, 0.0), (0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, -3.0, -inf),
        (-0.0, -2.0, inf), (-2.0, 0.5, nan), (nan, 2.0, nan),
    ],
    "remainder": [
        (nan, 1, nan), (1, nan, nan), (inf, 2, nan), (1, 0.0, nan), (0.0, 2, 0.0), (5, 3, 2),
        (-5, 3, 1), (5, -3, -1), (-5, -3, -2), (1, inf, 1.0), (-1, -inf, -1.0), (-1, inf, inf),
        (1, -inf, -inf), (-0.0, -2, -0.0),
    ],
    "subtract": [(inf, inf, nan), (inf, -inf, inf), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)],
}  # fmt: skip


def _same(name, found, wanted, given):
    found, wanted = np.asarray(found), np.asarray(wanted)
    good = np.isclose(found, wanted, rtol=1e-5, atol=0, equal_nan=True)
    zeros = (
        (wanted == 0) & (found == 0) if found.dtype.kind == "f" else np.zeros(wanted.shape, bool)
    )
    good &= ~zeros | (np.signbit(found) == np.signbit(wanted))
    assert good.all(), [
        f"{name}{g}: {f} instead of {w}"
        for g, f, w, ok in zip(given, found, wanted, good, strict=True)
        if not ok
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY_CASES)
def test_special_cases_of_one(name, dtype):
    with effax.enable_x64(True):
        given = [case[0] for case in UNARY_CASES[name]]
        found = getattr(xp, name)(xp.asarray(given, dtype=dtype))
        _same(name, found, [case[1] for case in UNARY_CASES[name]], given)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY_CASES)
def test_special_cases_of_two(name, dtype):
    with effax.enable_x64(True):
        cases = BINARY_CASES[name]
        one, two = (xp.asarray([float(c[i]) for c in cases], dtype=dtype) for i in (0, 1))
        _same(name, getattr(xp, name)(one, two), [float(c[2]) for c in cases], cases)


def test_special_cases_of_reductions():
    empty = xp.zeros((0,))
    assert float(xp.sum(empty)) == 0.0
    assert float(xp.prod(empty)) == 1.0
    assert np.isnan(float(xp.mean(empty)))
    assert np.isnan(float(xp.std(empty)))
    assert bool(xp.all(empty))
    assert not bool(xp.any(empty))
    assert np.isnan(float(xp.max(xp.asarray([1.0, nan]))))
    assert np.isnan(float(xp.var(xp.asarray([1.0]), correction=1)))
    with pytest.raises(ValueError, match="zero-size"):
        xp.max(empty)


def test_sums_widen_as_the_standard_says():
    with effax.enable_x64(True):
        assert xp.sum(xp.ones(2, dtype="int8")).dtype == np.int64
        assert xp.prod(xp.ones(2, dtype="uint8")).dtype == np.uint64
        assert xp.sum(xp.ones(2, dtype="float32")).dtype == np.float32
        assert xp.cumulative_sum(xp.ones(2, dtype="int8")).dtype == np.int64
        assert xp.cumulative_sum(xp.ones(2), include_initial=True).shape == (3,)


def test_sets_have_the_fields_of_the_standard():
    x = xp.asarray([2, 1, 2])
    found = xp.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert np.array_equal(xp.take(found.values, found.inverse_indices), x)
    assert xp.linalg.eigh(xp.eye(2))._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.qr(xp.eye(2))._fields == ("Q", "R")
    assert xp.linalg.slogdet(xp.eye(2))._fields == ("sign", "logabsdet")
    assert xp.linalg.svd(xp.eye(2))._fields == ("U", "S", "Vh")
