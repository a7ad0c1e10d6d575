"""Cosine transforms, places between pixels, interpolation and codes, against SciPy."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import effax
import effax.numpy as jnp
from effax.scipy import fft, integrate, interpolate, ndimage
from effax.scipy.cluster.vq import vq

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


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [None, np.nan, 2.0])
def test_interpolation_on_a_grid(method, fill):
    points = (np.array([0, 1.0, 3]), np.arange(4.0))
    values = random.normal(size=(3, 4, 2))
    places = random.uniform(-1, 4, size=(5, 4, 2))
    ours = interpolate.RegularGridInterpolator(points, values, method, fill_value=fill)
    theirs = scipy.interpolate.RegularGridInterpolator(points, values, method, False, fill)
    np.testing.assert_allclose(ours(places), theirs(places), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(effax.jit(ours)(places), ours(places), rtol=1e-5)
    assert ours((0.5, 0.5)).shape == (2,) and ours(np.array([0.5, 0.5])).shape == (1, 2)
    assert np.isnan(np.asarray(ours((np.nan, 0.5)))).all()


def test_slopes_and_refusals_on_a_grid():
    points = (np.arange(3.0), np.arange(4.0))
    plane = interpolate.RegularGridInterpolator(
        points, points[0][:, None] + 3 * points[1], fill_value=None
    )
    slope = effax.grad(lambda p: plane(p)[0])(jnp.array([0.2, 5.7]))
    np.testing.assert_allclose(slope, [1, 3], rtol=1e-5)
    make = interpolate.RegularGridInterpolator
    for wrong in (
        lambda: make(points, np.ones((3, 4)), "cubic"),
        lambda: make(points * 2, np.ones((3, 4))),
        lambda: make(points, np.ones((4, 4))),
        lambda: make(points, np.ones((3, 4)), fill_value=1j),
        lambda: plane(np.ones((2, 3))),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(NotImplementedError):
        make(points, np.ones((3, 4)), bounds_error=True)


def test_codes():
    points, codes = random.normal(size=(9, 3)), random.normal(size=(4, 3))
    for a, b in ((points, codes), (points[:, 0], codes[:, 0])):
        for found, wanted in zip(vq(a, b), scipy.cluster.vq.vq(a, b), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert vq(points, codes)[0].dtype == "int32"
    with pytest.raises(ValueError, match="same rank"):
        vq(points, codes[0])
    with pytest.raises(ValueError, match="ndim"):
        vq(points[None], codes[None])


def test_trapezoid():
    y, x = random.normal(size=(3, 5)), np.sort(random.normal(size=5))
    np.testing.assert_allclose(
        integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        integrate.trapezoid(y, dx=0.5, axis=0),
        scipy.integrate.trapezoid(y, dx=0.5, axis=0),
        rtol=1e-4,
        atol=1e-5,
    )
