"""Images of another size, against JAX's recorded answers."""

from pathlib import Path

import numpy as np
import pytest

import effax
import effax.image
import effax.numpy as jnp
from effax.image import ResizeMethod

GOLDENS = np.load(Path(__file__).parents[1] / "goldens" / "images.npz")
IMAGE = (np.arange(12, dtype="float32") ** 2).reshape(3, 4)


@pytest.mark.parametrize("method", list(ResizeMethod))
def test_resize_as_in_jax(method):
    names = [n for n in GOLDENS.files if n.startswith(f"resize-{method.name}-")]
    assert len(names) == 8

    def resized(image):
        for name in names:
            antialias, shape = name.split("-")[2:]
            shape = tuple(map(int, shape.split("x")))
            yield effax.image.resize(image, shape, method, antialias == "1")

    for name, found in zip(names, effax.jit(lambda x: list(resized(x)))(IMAGE), strict=True):
        np.testing.assert_allclose(found, GOLDENS[name], rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("method", [m for m in ResizeMethod if m is not ResizeMethod.NEAREST])
def test_scale_and_translate_as_in_jax(method):
    names = [n for n in GOLDENS.files if n.startswith(f"move-{method.name}-")]
    assert len(names) == 4

    def moved(image):
        for name in names:
            antialias, *numbers = name.split("-")[2:]
            scale, move = (np.array([float(x)]) for x in numbers)
            yield effax.image.scale_and_translate(
                image, (5, 4), (0,), scale, move, method, antialias == "1"
            )

    for name, found in zip(names, effax.jit(lambda x: list(moved(x)))(IMAGE), strict=True):
        np.testing.assert_allclose(found, GOLDENS[name], rtol=2e-5, atol=2e-4)


def test_dtypes_are_those_of_jax():
    for given, linear in [
        ("int32", "float32"),
        ("uint8", "float32"),
        ("bool", "float32"),
        ("float16", "float16"),
        ("complex64", "complex64"),
    ]:
        x = IMAGE.astype(given)
        assert effax.image.resize(x, (2, 2), "linear").dtype == linear
        assert effax.image.resize(x, (2, 2), "nearest").dtype == given
    assert effax.image.resize(np.arange(3), (3,), "linear").dtype == "float32"


def test_names_of_methods():
    assert ResizeMethod.from_string("triangle") is ResizeMethod.LINEAR
    assert [m.value for m in ResizeMethod] == list(range(7))
    for unknown in ("pytorch", "LINEAR"):
        with pytest.raises(ValueError, match="Unknown resize method"):
            effax.image.resize(IMAGE, (2, 2), unknown)


def test_transforms_of_resize():
    def half(x):
        return effax.image.resize(x, (2, 3), "cubic")

    many = np.stack([IMAGE, IMAGE[::-1], -IMAGE])
    batched = effax.jit(effax.vmap(half))(many)
    np.testing.assert_allclose(batched, np.stack([half(x) for x in many]), rtol=1e-5, atol=1e-4)
    # Linear: the gradient of a weighted sum is the transposed map, whatever the image.
    w = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    slope = effax.grad(lambda x: jnp.sum(half(x) * w))(IMAGE)
    np.testing.assert_allclose(np.sum(slope * IMAGE), np.sum(half(IMAGE) * w), rtol=1e-4)


def test_gradient_of_a_movement():
    def moved(t):
        return effax.image.scale_and_translate(
            IMAGE, (4, 4), (0,), jnp.array([1.3]), jnp.stack([t]), "cubic"
        ).sum()

    slope, h = effax.grad(moved)(0.21), 1e-2
    np.testing.assert_allclose(slope, (moved(0.21 + h) - moved(0.21 - h)) / (2 * h), rtol=2e-2)
    assert effax.vmap(moved)(jnp.array([0.0, 0.5])).shape == (2,)


def test_what_is_refused():
    one = np.ones(1)
    with pytest.raises(ValueError, match="number of dimensions"):
        effax.image.resize(IMAGE, (2, 2, 2), "linear")
    with pytest.raises(ValueError, match="negative"):
        effax.image.resize(IMAGE, (-1, 2), "linear")
    with pytest.raises(ValueError, match="Nearest neighbor"):
        effax.image.scale_and_translate(IMAGE, (3, 4), (0,), one, one, "nearest")
    with pytest.raises(ValueError, match="spatial_dims"):
        effax.image.scale_and_translate(IMAGE, (3, 4), (0, 1), one, one, "linear")
    with pytest.raises(ValueError, match="not among"):
        effax.image.scale_and_translate(IMAGE, (3, 5), (0,), one, one, "linear")
    with pytest.raises(TypeError):
        effax.image.resize([[1.0]], (2, 2), "linear")


def test_nothing_to_see():
    assert effax.image.resize(IMAGE, (0, 3), "linear").shape == (0, 3)
    assert effax.image.resize(np.zeros((0, 3)), (2, 3), "nearest").tolist() == [[0] * 3] * 2
