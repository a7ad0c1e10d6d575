"""einsum and the other products against NumPy."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

_random = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return _random.normal(size=shape).astype(np.float32)


A, B, C = floats(2, 3), floats(3, 4), floats(4, 5)

SUBSCRIPTS = {
    "ij,jk": (A, B),
    "ij,jk->ki": (A, B),
    "ij,jk,kl->il": (A, B, C),
    "ij->ji": (A,),
    "ij->": (A,),
    "ba": (A,),
    "ii": (floats(3, 3),),
    "ii->i": (floats(3, 3),),
    "iij->ij": (floats(3, 3, 2),),
    "iii->i": (floats(3, 3, 3),),
    "i,i->i": (floats(3), floats(3)),
    "i,j->ij": (floats(3), floats(2)),
    ",ij->ij": (floats(), A),
    "...ij,...jk->...ik": (floats(5, 2, 3), B),
    "...ij,jk": (floats(5, 2, 3), B),
    "b...,b...->...": (floats(5, 2, 3), floats(5, 2, 3)),
    "ij,ij->": (A, A),
    "ij,i->i": (A, floats(2)),
    "ii,ij,jj->i": (floats(3, 3), floats(3, 3), floats(3, 3)),
    "i,i,i->": (floats(3), floats(3), floats(3)),
    "ij,jk->ik": (floats(2, 1), C),
    "ijk,ilm,njm,nlk,abc->": (floats(2, 2, 2),) * 5,
}


@pytest.mark.parametrize("optimize", ["auto", False, "optimal"])
@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum_is_numpys(subscripts, optimize):
    operands = SUBSCRIPTS[subscripts]
    found = jnp.einsum(subscripts, *operands, optimize=optimize)
    expected = np.einsum(subscripts, *operands)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_interleaved_form():
    np.testing.assert_allclose(jnp.einsum(A, [0, 1], B, [1, 2], [0, 2]), A @ B, rtol=1e-5)
    np.testing.assert_allclose(
        jnp.einsum(A, [5, 1], B, [1, 2]), np.einsum(A, [5, 1], B, [1, 2]), rtol=1e-5
    )
    np.testing.assert_allclose(jnp.einsum(A, [..., 1], B, [1, 2], [..., 2]), A @ B, rtol=1e-5)


def test_a_path_can_be_given():
    path, _ = jnp.einsum_path("ij,jk,kl", A, B, C)
    np.testing.assert_allclose(
        jnp.einsum("ij,jk,kl", A, B, C, optimize=["einsum_path", *path]), A @ B @ C, rtol=1e-4
    )


def test_dtypes_are_jaxs():
    whole, flags = np.ones((2, 2), np.int8), np.ones(2, bool)
    assert jnp.matmul(whole, whole).dtype == np.int8
    assert jnp.matmul(whole, whole, preferred_element_type=jnp.int32).dtype == np.int32
    assert jnp.dot(flags, flags).dtype == bool
    assert jnp.einsum("i,i->i", flags, flags).dtype == bool
    assert jnp.dot(jnp.ones(2, jnp.bfloat16), np.ones(2, np.float32)).dtype == np.float32
    assert jnp.dot(1, 2.0).weak_type
    assert jnp.trace(whole).dtype == np.int32


def test_gradients_go_through_diagonals():
    gradient = effax.grad(lambda x: jnp.einsum("ii,ij->", x, A[:, :2]))(floats(2, 2))
    np.testing.assert_allclose(gradient, np.diag(A[:, :2].sum(1)), rtol=1e-5)


SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((7, 1, 2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_and_dot_are_numpys(left, right):
    x, y = floats(*left), floats(*right)
    np.testing.assert_allclose(jnp.matmul(x, y), np.matmul(x, y), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jnp.dot(x, y), np.dot(x, y), rtol=1e-4, atol=1e-5)


def test_other_products_are_numpys():
    x, y, z = floats(2, 3), floats(4, 3), (floats(5) + 1j * floats(5)).astype(np.complex64)
    for name, operands in {
        "inner": (x, y),
        "outer": (x, y),
        "kron": (x, y),
        "vdot": (z, z),
        "convolve": (z, z[:3]),
        "correlate": (z[:3], z),
        "cross": (x, y[:2]),
    }.items():
        found, expected = getattr(jnp, name)(*operands), getattr(np, name)(*operands)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)
    for axes in (0, 1, ((1,), (1,)), (1, 1)):
        if axes == 1:
            continue
        np.testing.assert_allclose(
            jnp.tensordot(x, y, axes), np.tensordot(x, y, axes), rtol=1e-4, atol=1e-5
        )
    np.testing.assert_allclose(jnp.trace(x, offset=1), np.trace(x, offset=1))


def test_refusals_say_the_shapes():
    with pytest.raises(TypeError, match=r"f32\[2,3\] and f32\[2,3\]"):
        jnp.matmul(A, A)
    with pytest.raises(ValueError, match="input operand 0 must have ndim at least 1"):
        jnp.matmul(1.0, A)
    with pytest.raises(ValueError, match="'j' stands for lengths 3 and 2"):
        jnp.einsum("ij,jk", A, A)
    with pytest.raises(TypeError, match=r"exceeds input ranks"):
        jnp.tensordot(A, A, 3)
    with pytest.raises(ValueError, match="2 or 3 components"):
        jnp.cross(floats(4), floats(4))
