"""Cosine transforms and places between pixels, against SciPy."""

import numpy as np
import pytest
import scipy.fft
import scipy.ndimage

import effax
import effax.numpy as jnp
from effax.scipy import fft, ndimage

random = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_cosine_transforms(name, norm):
    ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
    for n in (1, 5, 8):
        x = random.normal(size=(3, n)).astype("float32")
        for z in (x, x + 1j * x[::-1]):
            np.testing.assert_allclose(ours(z, norm=norm), theirs(z, norm=norm), atol=1e-4)
    one = [{"n": 3}, {"n": 9}, {"axis": 0}]
    several = [{"s": (4,), "axes": (0,)}, {"s": (2, 5)}, {"axes": 1}]
    for keywords in several if name.endswith("n") else one:
        np.testing.assert_allclose(ours(x, **keywords), theirs(x, **keywords), atol=1e-4)


def test_cosine_transforms_under_transformations():
    x = random.normal(size=(4, 6)).astype("float32")
    np.testing.assert_allclose(effax.jit(effax.vmap(fft.dct))(x), scipy.fft.dct(x), atol=1e-4)
    matrix = effax.jacobian(lambda v: fft.dct(v, norm="ortho"))(x[0])
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-5)
    np.testing.assert_allclose(fft.idctn(fft.dctn(x)), x, atol=1e-5)


def test_dtypes_and_refusals_of_cosine_transforms():
    assert fft.dct(np.arange(4)).dtype == fft.dct(np.ones(4, "float16")).dtype == "float32"
    with pytest.raises(NotImplementedError):
        fft.dct(np.ones(4), type=1)
    for wrong in ({"norm": "forward"}, {"axis": 3}, {"n": 0}):
        with pytest.raises(ValueError):
            fft.idct(np.ones(4), **wrong)
    with pytest.raises(ValueError, match="same length"):
        fft.dctn(np.ones((4, 4)), s=(3, 4), axes=(0,))
    with pytest.raises(TypeError):
        fft.dct([1.0, 2.0])


MODES = {"wrap": "grid-wrap", "constant": "grid-constant"}


@pytest.mark.parametrize("mode", ["nearest", "wrap", "mirror", "reflect", "constant"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(mode, order):
    x = random.normal(size=(4, 5)).astype("float32")
    places = random.uniform(-3, 8, size=(2, 30)).astype("float32")
    wanted = scipy.ndimage.map_coordinates(
        x, places, order=order, mode=MODES.get(mode, mode), cval=0.5
    )
    found = ndimage.map_coordinates(x, places, order, mode=mode, cval=0.5)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_map_coordinates_of_integers_and_its_refusals():
    x = np.arange(6)
    at = [np.array([0.5, 1.4, 9.0])]
    assert ndimage.map_coordinates(x, at, 1, cval=2.5).tolist() == [1, 1, 2]
    assert ndimage.map_coordinates(x > 2, at, 1).dtype == "bool"
    for wrong in ({"order": 2}, {"order": 1, "mode": "grid-wrap"}):
        with pytest.raises(NotImplementedError):
            ndimage.map_coordinates(x, at, **wrong)
    with pytest.raises(ValueError, match="sequence of length"):
        ndimage.map_coordinates(x, at * 2, 1)
    with pytest.raises(TypeError, match="real"):
        ndimage.map_coordinates(x, [1j * at[0]], 1)


def test_slope_between_pixels():
    x = np.array([0.0, 10.0, 30.0], "float32")
    slope = effax.vmap(effax.grad(lambda c: ndimage.map_coordinates(x, [c], 1)))
    np.testing.assert_allclose(slope(jnp.array([0.3, 1.7])), [10, 20])
