"""Copies have memory of their own, masks are not lost, dtype classes compare, devices under jit."""

import io
import operator
from typing import NamedTuple

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


@pytest.mark.parametrize(
    "copied",
    [
        jnp.array,
        jnp.copy,
        lambda x: jnp.array(x, copy=True),
        lambda x: jnp.array(x, "float32"),
        lambda x: jnp.array(x, ndmin=1),
        lambda x: jnp.asarray(x, copy=True),
        lambda x: x.copy(),
        lambda x: jnp.astype(x, "float32", copy=True),
    ],
)
def test_a_copy_outlives_the_donation_of_its_original(copied):
    x = jnp.arange(4.0)
    y = copied(x)
    effax.jit(lambda a: a + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_asarray_does_not_copy(dtype):
    x = jnp.arange(4.0)
    assert jnp.asarray(x, dtype) is x
    assert jnp.asarray(x, dtype, copy=False) is x


@pytest.mark.parametrize(
    "function",
    [
        jnp.array,
        jnp.asarray,
        jnp.sin,
        lambda m: jnp.add(1.0, m),
        lambda m: jnp.ones(2) + m,
        lambda m: jnp.array([m, m]),
        effax.jit(lambda m: m),
        effax.device_put,
        effax.grad(lambda m: jnp.sum(m)),
    ],
)
def test_masked_arrays_are_refused(function):
    with pytest.raises(ValueError, match=r"masked arrays are not supported.*filled\(\)"):
        function(np.ma.masked_array([1.0, 2.0], [True, False]))


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        ("a, b", False),
        ("float32", False),
        (None, False),
        (3, False),
        ([("a", int)], False),
        ({"names": 3}, False),
        (np.float32, True),
        (np.dtype("float32"), True),
        (jnp.float32, True),
        (jnp.float64, False),
        (np.array([1, 2]), False),
    ],
)
def test_comparing_a_dtype_class_gives_a_boolean(other, equal):
    assert (jnp.float32 == other) is equal
    assert (jnp.float32 != other) is not equal


@pytest.mark.parametrize(
    "make",
    [
        lambda x, device: jnp.zeros(3, device=device),
        lambda x, device: jnp.empty(3, device=device),
        lambda x, device: jnp.full(3, 2, device=device),
        lambda x, device: jnp.arange(3, device=device),
        lambda x, device: jnp.arange(3.0, device=device),
        lambda x, device: jnp.linspace(0, 1, 3, device=device),
        lambda x, device: jnp.eye(2, device=device),
        lambda x, device: jnp.zeros_like(x, device=device),
        lambda x, device: jnp.ones_like(x, device=device),
        lambda x, device: jnp.full_like(x, 3, device=device),
        lambda x, device: jnp.array(x, device=device),
        lambda x, device: jnp.array([1, 2], device=device),
        lambda x, device: jnp.astype(x, int, device=device),
        lambda x, device: jnp.fft.fftfreq(4, device=device),
    ],
)
def test_a_device_may_be_named_under_transforms(make):
    x, device = jnp.ones((2, 3)), effax.devices()[0]
    wanted = make(x, device)
    assert wanted.committed
    found = effax.jit(lambda x: make(x, device))(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    rows = effax.vmap(lambda row: make(row, device))(x)
    assert rows.shape[0] == 2


@pytest.mark.parametrize("transform", [effax.vmap, lambda f: effax.vmap(effax.vmap(f))])
def test_copies_are_copies_under_transforms(transform):
    x = jnp.ones((2, 3))
    y = transform(jnp.array)(x)
    effax.jit(lambda a: a + 1, donate_argnums=0)(x)
    assert y.tolist() == [[1.0] * 3] * 2


def test_like_functions_keep_the_place_of_a_committed_array():
    x = effax.device_put(jnp.ones(2), effax.devices()[0])
    for like in (jnp.zeros_like(x), jnp.full_like(x, 3), effax.lax.full_like(x, 3)):
        assert like.committed
        assert like.sharding == x.sharding
    assert not jnp.zeros_like(jnp.ones(2)).committed


def test_in_asks_for_an_element():
    assert 1 in jnp.arange(4)
    assert 9 not in jnp.arange(4)
    for item, x, error in (
        (1, jnp.array(1), "one-dimensional"),
        (jnp.arange(2), jnp.arange(2), "must be a scalar"),
    ):
        with pytest.raises(ValueError, match=error):
            item in x  # noqa: B015
    with pytest.raises(TypeError, match="unsupported operand type"):
        "a" in jnp.arange(2)  # noqa: B015


def test_lists_are_compared_as_numpys_examples_do():
    assert jnp.array_equal([1, 2], [1, 2])
    assert not jnp.array_equal([1, 2], [1, 2, 3])
    assert jnp.array_equiv([1, 2], [[1, 2], [1, 2]])


def test_covariance_of_columns_and_its_dtype():
    x = np.arange(3.0, dtype=np.float32).reshape(1, 3)
    with np.errstate(all="ignore"):
        assert jnp.cov(x, rowvar=False).shape == np.cov(x, rowvar=False, ddof=0).shape == (3, 3)
    assert jnp.cov(jnp.arange(5), dtype="bfloat16").dtype == jnp.bfloat16
    with pytest.raises(ValueError, match="cov: dtype must be a subclass of float or complex"):
        jnp.cov(x, dtype=int)


@effax.numpy_dtype_promotion("strict")
def test_functions_that_are_clean_under_strict_promotion():
    assert jnp.histogram(jnp.arange(4))[0].sum() == 4
    assert jnp.histogramdd(jnp.ones((4, 2), "int8"), 3, density=True)[0].shape == (3, 3)
    assert jnp.mgrid[0:2.5, 0:2].dtype == jnp.float32


def test_a_row_may_fill_up_unique():
    x = jnp.array([[1, 2], [1, 2]])
    found = jnp.unique(x, axis=0, size=2, fill_value=jnp.array([7, 8]))
    assert found.tolist() == [[1, 2], [7, 8]]


def test_sums_of_booleans_count_small_floats():
    assert jnp.cumulative_sum(jnp.array([0.0, 0.1]), dtype=bool).tolist() == [False, True]


def test_traced_shapes_and_diagonals():
    found = effax.jit(lambda i, s: jnp.unravel_index(i, s))(jnp.array([3]), (2, 3))
    assert [x.tolist() for x in found] == [[1], [0]]
    np.testing.assert_array_equal(effax.jit(lambda k: jnp.tri(3, k=k))(1), np.tri(3, k=1))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: jnp.arange(1j), ValueError, "no longer supported"),
        (lambda: jnp.zeros(1.0), TypeError, "Shapes must be 1D sequences"),
        (lambda: jnp.size(jnp.ones((2, 3)), (0, -2)), ValueError, "repeated axis"),
        (lambda: jnp.rot90(jnp.ones(2)), ValueError, "ndim at least two"),
        (lambda: setattr(jnp.add, "nin", 3), AttributeError, "nin"),
        (lambda: jnp.fft.fft(jnp.ones((2, 2)), axis=[0, 1]), ValueError, "multiple axes"),
        (lambda: jnp.tensordot(jnp.ones(2), jnp.ones(2), "ab"), TypeError, "must be an int"),
        (lambda: (1,) * jnp.array(3), TypeError, "unsupported operand"),
    ],
)
def test_refusals(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_complex_numbers_become_real_ones_with_a_warning():
    z = jnp.array([1 + 2j])
    with pytest.warns(DeprecationWarning, match="Casting from complex to real"):
        assert z.astype("float32").tolist() == [1.0]
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert jnp.asarray(z, "float32").tolist() == [1.0]


@pytest.mark.parametrize("name", ["selu", "elu", "leaky_relu", "soft_sign"])
def test_activations_take_complex_numbers(name):
    from effax import nn

    z = jnp.array([1 + 2j, 0, -1 + 3j])
    found = np.asarray(getattr(nn, name)(z))
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    # Complex numbers are ordered by their real parts first.
    below = {"selu": scale * alpha, "elu": 1.0}.get(name)
    wanted = {
        "leaky_relu": np.array([1 + 2j, 0, -0.01 + 0.03j]),
        "soft_sign": np.asarray(z) / (1 + np.abs(z)),
    }.get(name)
    if wanted is None:
        wanted = np.array([1 + 2j, 0, 0]) * (scale if name == "selu" else 1)
        wanted[2] = below * np.expm1(-1 + 3j)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("relu6", [1 + 2j, 0, 6]),
        ("hard_tanh", [1, -1 + 3j, 1]),
        ("hard_sigmoid", [(4 + 2j) / 6, (2 + 3j) / 6, 1]),
        ("hard_swish", [(1 + 2j) * (4 + 2j) / 6, (-1 + 3j) * (2 + 3j) / 6, 7]),
        ("sparse_plus", [1 + 2j, (3j) ** 2 / 4, 7]),
    ],
)
def test_piecewise_activations_order_complex_numbers_by_their_real_parts(name, wanted):
    from effax import nn

    found = getattr(nn, name)(jnp.array([1 + 2j, -1 + 3j, 7]))
    np.testing.assert_allclose(found, wanted, 1e-6)


@pytest.mark.parametrize("name", ["standardize", "sparse_sigmoid"])
def test_activations_that_clip_refuse_complex_numbers(name):
    from effax import nn

    with pytest.raises(ValueError, match=f"{name}: .* real numbers"):
        getattr(nn, name)(jnp.ones(3, complex))
    assert nn.standardize(jnp.ones(3, complex), algorithm="stable").dtype == "complex64"


def test_a_donated_array_may_be_captured_too():
    c = jnp.arange(4.0)
    function = effax.jit(lambda a: a + c, donate_argnums=0)
    assert function(jnp.ones(4)).tolist() == [1, 2, 3, 4]
    assert function(c).tolist() == [0, 2, 4, 6]
    assert c.is_deleted()
    # What was captured is kept for later calls.
    assert function(jnp.ones(4)).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex64", "bool", "uint8"])
def test_saved_arrays_are_loaded_with_their_dtype(dtype):
    x, file = jnp.array([1, 0, 3]).astype(dtype), io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    found = jnp.load(file)
    assert found.dtype == dtype
    assert found.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "int4"])
def test_files_hold_the_bytes_of_narrow_dtypes(dtype):
    x, file = jnp.array([1, 0, 3]).astype(dtype), io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    with pytest.raises(TypeError, match="does not say the dtype of its one-byte elements"):
        jnp.load(file)
    file.seek(0)
    assert np.load(file).view(x.dtype).tolist() == x.tolist()


def test_like_functions_prefer_shape_and_dtype_to_conversion():
    class Refusing:
        shape, dtype = (2, 3), np.dtype("float32")

        def __jax_array__(self):
            raise ValueError("was converted")

    class Two:
        def __jax_array__(self):
            return jnp.array(2.0)

    for value in (2.0, Two()):
        found = jnp.full_like(Refusing(), value)
        assert found.shape == (2, 3)
        assert found.dtype == "float32"
        assert found.sum() == 12
    assert jnp.full_like(Two(), 3.0) == 3
    assert jnp.zeros_like(Two()) == 0


def test_a_number_of_sections_may_be_a_float_that_is_whole_or_a_known_primal():
    def shapes(parts):
        return [x.shape for x in parts]

    x = jnp.zeros((12, 2))
    for sections in (2, 2.0, np.float32(2), jnp.array(2)):
        assert shapes(jnp.split(x, sections)) == [(6, 2)] * 2
    with pytest.raises(TypeError, match=r"must be an integer, not 2\.5"):
        jnp.split(x, 2.5)
    assert shapes(effax.jvp(lambda i: jnp.split(x, i), (2.0,), (1.0,))[0]) == [(6, 2)] * 2
    for indices in (lambda i: i, lambda i: [2, i]):
        with pytest.raises(effax.errors.ConcretizationTypeError, match="Abstract tracer value"):
            effax.jit(lambda i, indices=indices: jnp.split(x, indices(i)))(2)


@pytest.mark.parametrize("x", [None, "a", np.array(object()), np.array([1, 2j], object)])
def test_what_is_no_array_is_not_complex(x):
    with effax.transfer_guard("disallow"):
        assert not jnp.iscomplexobj(x)
        assert jnp.isrealobj(x)


def test_named_tuples_may_have_operators_of_their_own():
    class Scaled(NamedTuple):
        x: object

        def __rmul__(self, other):
            return Scaled(other * self.x)

    b = jnp.full(3, 2.0)
    for function in (operator.mul, effax.jit(operator.mul)):
        found = function(b, Scaled(b))
        assert isinstance(found, Scaled)
        assert found.x.tolist() == [4, 4, 4]
    with pytest.raises(TypeError, match="make an array of the container first"):
        b * (1, 2, 3)


def test_a_ufunc_of_a_ufunc_has_numbers_of_its_own():
    function = jnp.frompyfunc(jnp.add, nin=2, nout=1, identity=3)
    assert (function.nin, function.nout, function.identity) == (2, 1, 3)
    assert function != jnp.frompyfunc(jnp.add, nin=2, nout=1, identity=0)
    assert jnp.add.identity == 0


@pytest.mark.parametrize(("number", "error"), [(np.nan, ValueError), (np.inf, OverflowError)])
def test_what_is_no_integer_is_none_in_a_trace_either(number, error):
    """It was 0, or the greatest of all."""
    for make in (lambda: jnp.int32(number), lambda: jnp.array(number, "int8")):
        for call in (make, effax.jit(make)):
            with pytest.raises(error, match="cannot convert float"):
                call()


@pytest.mark.parametrize(
    "unchanged",
    [
        lambda x: lax.convert_element_type(x, x.dtype),
        lambda x: lax.tile(x, (1,)),
        lambda x: lax.broadcast_like(x, x),
        jnp.trim_zeros,
        lambda x: jnp.nan_to_num(x, x),
    ],
)
def test_functions_with_nothing_to_do_give_arrays(unchanged):
    result = unchanged(np.arange(1, 4, dtype=np.int32))
    assert isinstance(result, effax.Array)
    assert result.tolist() == [1, 2, 3]


@pytest.mark.parametrize("text", ["7", b"7", np.str_("7"), ["7", 7], np.array(["7", "8"])])
def test_texts_are_read_as_numbers_of_a_dtype_that_is_given(text):
    """As pgx reads counts of moves from the notation of a position."""
    for dtype in ("int32", "float32", "complex64"):
        np.testing.assert_array_equal(jnp.array(text, dtype), np.asarray(text, dtype))
    assert effax.jit(lambda: jnp.int32("5"))() == 5 and jnp.isinf(jnp.float32("-inf"))
    with pytest.raises(TypeError, match="not a valid effax array type"):
        jnp.array(text)
    with pytest.raises(ValueError, match="invalid literal"):
        jnp.int32("seven")
