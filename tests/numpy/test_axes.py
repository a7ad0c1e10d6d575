"""Axes and places that are integers of other kinds, and operands whose numbers of axes differ."""

import numpy as np
import pytest

import effax.nn as nn
import effax.numpy as jnp

M = np.arange(6, dtype=np.float32).reshape(2, 3)
ONES = [np.array(1), np.int8(1), np.int64(1), jnp.int32(1)]
CALLS = {
    "expand_dims": lambda i: jnp.expand_dims(M, i),
    "squeeze": lambda i: jnp.squeeze(M[:, :1], i),
    "sum": lambda i: jnp.sum(M, axis=i),
    "median": lambda i: jnp.median(M, axis=i),
    "flip": lambda i: jnp.flip(M, i),
    "moveaxis": lambda i: jnp.moveaxis(M, i, 0),
    "roll": lambda i: jnp.roll(M, i, axis=i),
    "tile": lambda i: jnp.tile(M, i),
    "diag": lambda i: jnp.diag(M, i),
    "diagonal": lambda i: jnp.diagonal(M, i),
    "tri": lambda i: jnp.tri(i, 3, i),
    "triu": lambda i: jnp.triu(M, i),
    "softmax": lambda i: nn.softmax(M, axis=i),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("one", ONES, ids=lambda x: f"{type(x).__name__}-{x.ndim}")
def test_integers_of_other_kinds(name, one):
    np.testing.assert_array_equal(CALLS[name](one), CALLS[name](1))


@pytest.mark.parametrize("name", ["diag", "diagonal", "tri", "triu"])
def test_what_is_no_integer(name):
    with pytest.raises(TypeError, match="must be an integer"):
        CALLS[name](1.0)


@pytest.mark.parametrize(
    ("y", "x"),
    [((3,), (2, 3)), ((3,), (2, 3, 3)), ((3, 3), (2, 3, 3)), ((1,), (3, 1)), ((2, 3, 3), (1, 3))],
)
def test_trapezoids_at_places_of_more_axes(y, x):
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=y).astype(np.float32), rng.normal(size=x).astype(np.float32)
    np.testing.assert_allclose(jnp.trapezoid(y, x), np.trapezoid(y, x), rtol=1e-4, atol=1e-5)


def test_trapezoids_of_one_sample_along_an_axis():
    x = np.arange(3, dtype=np.float32) ** 2
    found = jnp.trapezoid(M, x, axis=0)
    np.testing.assert_allclose(found, np.trapezoid(M, x, axis=0))


def test_a_block_of_one_number_has_no_axis():
    assert jnp.block(np.float32(1)).shape == np.block(np.float32(1)).shape == ()


def test_axes_come_as_a_range():
    """Distrax writes them so."""
    assert jnp.expand_dims(M, range(1)).shape == (1, 2, 3)
    assert jnp.sum(M, axis=range(2)) == 15


def test_what_is_no_array_has_no_axes():
    with pytest.warns(DeprecationWarning, match="None is not an array"):
        assert jnp.shape(None) == ()
    assert not jnp.iscomplexobj(jnp.complex64)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jnp.fft.fftn(M, axes=[1, -1]), r"fft.fftn .*repeated axes. Got axes \[1, -1\]"),
        (lambda: jnp.fft.rfft2(M, axes=[0]), r"fft.rfft2 only supports 2 axes. Got axes = \[0\]"),
        (lambda: jnp.fft.fftn(M, s=(2, 3), axes=[0]), "fft.fftn: s has 2 lengths, and axes has 1"),
        (
            lambda: jnp.fft.fftfreq(3, d=[1, 2, 3]),
            r"argument of jnp.fft.fftfreq .* d = \[1, 2, 3\]",
        ),
        (
            lambda: jnp.fft.rfftfreq(4, d=(1, 2, 3)),
            "argument of jnp.fft.rfftfreq only takes a sing",
        ),
    ],
)
def test_fourier_transforms_name_what_they_refuse(call, said):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize("stable", [0, 1, np.True_])
def test_flags_of_other_kinds(stable):
    x = np.float32([2, 1, 3])
    np.testing.assert_array_equal(jnp.sort(x, stable=stable), [1, 2, 3])
    np.testing.assert_array_equal(jnp.argsort(x, stable=stable, descending=True), [2, 0, 1])
