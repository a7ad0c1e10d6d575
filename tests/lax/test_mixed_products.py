"""Products of two dtypes: with a preferred one, both are converted to it before they meet."""

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp

FUNCTIONS = [lax.dot, jnp.matmul, jnp.dot, lambda a, b, **how: jnp.einsum("ij,jk->ik", a, b, **how)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("preferred", ["complex64", "float32", "float16", "int32"])
@pytest.mark.parametrize(
    ("number", "dtype", "coarse"),
    [
        (9, "uint4", "float8_e5m2"),
        (99, "int8", "float8_e5m2"),
        (99, "uint8", "float8_e4m3fn"),
        (2047, "int16", "bfloat16"),
    ],
)
def test_integers_are_not_rounded_to_a_coarse_float(
    function: object, preferred: str, number: int, dtype: str, coarse: str
) -> None:
    """Rounded to the wider dtype, 9 is 8 in float8_e5m2, and 2047 is 2048 in bfloat16."""
    assert callable(function)
    a, b = jnp.array([[number, 7]], dtype), jnp.ones((2, 1), coarse)
    found = function(a, b, preferred_element_type=preferred)
    wanted = np.array(number, preferred if preferred != "complex64" else "float32") + 7
    assert found.dtype == preferred
    assert float(found[0, 0].real) == float(wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sums_of_floats_become_integers_at_the_end(function: object) -> None:
    assert callable(function)
    a, b = jnp.array([[1.75, 0.5]]), jnp.array([[2.5], [1.0]])
    assert function(a, b, preferred_element_type="int32").tolist() == [[4]]  # of 4.875
    outer = jnp.einsum("i,j->ij", a[0], b[:, 0], preferred_element_type="int32")
    assert outer.tolist() == [[4, 1], [1, 0]]  # of 4.375, 1.75, 1.25 and 0.5


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_have_the_dtypes_of_the_operands(function: object) -> None:
    assert callable(function)
    a, b = jnp.array([[2.0, 3.0]], "float16"), jnp.array([[5.0], [7.0]], "float32")

    def loss(x: jnp.ndarray, y: jnp.ndarray) -> jnp.ndarray:
        return jnp.sum(function(x, y, preferred_element_type="float32"))

    da, db = effax.grad(loss, (0, 1))(a, b)
    assert (da.dtype, db.dtype) == (a.dtype, b.dtype)
    assert (da.tolist(), db.tolist()) == (b.T.tolist(), a.T.tolist())


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("left", "right", "preferred"),
    [
        ("complex64", "int32", "float16"),
        ("int8", "uint8", "int4"),
        ("int32", "uint8", "int16"),
        ("int32", "uint8", "float16"),
        ("int32", "int32", "bfloat16"),
    ],
)
def test_a_narrower_dtype_is_refused(
    function: object, left: str, right: str, preferred: str
) -> None:
    assert callable(function)
    with pytest.raises(TypeError, match="must not be narrower than the original type"):
        function(jnp.ones((1, 2), left), jnp.ones((2, 1), right), preferred_element_type=preferred)


def test_narrower_sums_of_convolutions_are_refused() -> None:
    x = jnp.ones((1, 1, 3), "int32")
    assert lax.conv(x, x, (1,), "VALID", preferred_element_type="float32").tolist() == [[[3]]]
    with pytest.raises(TypeError, match="must not be narrower than the original type, got float16"):
        lax.conv(x, x, (1,), "VALID", preferred_element_type="float16")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_narrower_parts_of_complex_numbers_are_refused(function: object) -> None:
    assert callable(function)
    with effax.enable_x64(), pytest.raises(TypeError, match="must not be narrower than"):
        x = jnp.ones((2, 2), "complex128")
        function(x, x, preferred_element_type="complex64")
