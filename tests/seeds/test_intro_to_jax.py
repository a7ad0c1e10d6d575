"""Seed 004, "Chapter 1: Intro to JAX": every program, only its import line changed.

3000 × 3000 becomes 300 × 300. The lines for a GPU run where there is one; elsewhere asking for it
must say so.
"""

import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp


# a function with some amount of calculations
def f(x):
    y1 = x + x * x + 3
    y2 = x * x + x * x.T
    return y1 * y2


def devices(platform: str) -> list:
    """The devices of `platform`, or an empty list where this machine has none."""
    try:
        return jax.devices(platform)
    except RuntimeError:
        return []


@pytest.mark.filterwarnings("ignore:backend and device argument:DeprecationWarning")
@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_f_compiled_for_a_platform(platform):
    if platform == "gpu" and not devices("gpu"):
        # XLA names the platform it does not know; a program written for a GPU must not pass on.
        with pytest.raises(RuntimeError, match=r"(?i)gpu"):
            jax.device_put(jnp.zeros(3), jax.devices("gpu")[0])
        return

    # generate some random data
    x = np.random.randn(300, 300).astype("float32")
    jax_x = jax.device_put(jnp.array(x), jax.devices(platform)[0])

    # compile function to the backend with JAX
    jax_f = jax.jit(f, backend=platform)

    # warm-up
    result = jax_f(jax_x)

    assert result.devices() == {jax.devices(platform)[0]}
    assert result.devices() == jax_x.devices()
    np.testing.assert_allclose(result.block_until_ready(), f(x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(f(jax_x), f(x), rtol=1e-4, atol=1e-4)


def test_in_place_update_becomes_a_functional_one():
    arr, i = jnp.arange(5), 2
    with pytest.raises(TypeError, match=r"\.at\["):
        arr[i] += 10
    arr = arr.at[i].add(10)
    assert arr.tolist() == [0, 1, 12, 3, 4]


def test_numpy_names_the_chapter_mentions():
    x = np.linspace(-1, 1, 7).astype("f4")
    np.testing.assert_allclose(jnp.abs(x), np.abs(x))
    np.testing.assert_allclose(jnp.exp(x), np.exp(x), rtol=1e-6)
    kernel = np.array([1, 2, 1], "f4")
    np.testing.assert_allclose(
        jnp.convolve(x, kernel), np.convolve(x, kernel), rtol=1e-6, atol=1e-6
    )


def test_the_chapters_four_transformations_compose():
    """ "vmap() a batch, jit() it for the GPU, and grad() to train": the text's own sentence."""

    def loss(w, x):
        return jnp.sum(jnp.tanh(w @ x) ** 2)

    w = np.linspace(-1, 1, 6).reshape(2, 3).astype("f4")
    xs = np.linspace(0, 1, 12).reshape(4, 3).astype("f4")

    def total(w):
        return jnp.sum(jax.jit(jax.vmap(loss, in_axes=(None, 0)))(w, xs))

    z = np.tanh(xs @ w.T)
    np.testing.assert_allclose(
        jax.grad(total)(w), (2 * z * (1 - z**2)).T @ xs, rtol=1e-4, atol=1e-6
    )
