"""Copies have memory of their own, masks are not lost, dtype classes compare, devices under jit."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp


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
