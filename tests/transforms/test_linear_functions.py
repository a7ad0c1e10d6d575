"""Results and refusals of `vjp`, `linearize` and `linear_transpose`."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects.errors import MissingRuleError


def test_integers_are_transposed():
    (found,) = effax.linear_transpose(lambda x: 2 * x, 1)(3)
    assert (int(found), found.dtype, found.weak_type) == (6, "int32", True)
    double = effax.linear_transpose(lambda x: jnp.stack([x.sum(), x[0]]), np.arange(3))
    assert double(np.array([3, 4]))[0].tolist() == [7, 3, 3]
    (nothing,) = effax.linear_transpose(lambda x: jnp.zeros(2, "int32"), np.arange(3))(np.arange(2))
    assert nothing.dtype == "int32" and nothing.tolist() == [0, 0, 0]


@pytest.mark.parametrize("function", [lambda x: 2.0 * x, lambda x: x > 0, lambda x: (x, 1.0 * x)])
def test_a_transpose_stays_among_integers(function):
    with pytest.raises(TypeError, match="linear_transpose only supports"):
        effax.linear_transpose(function, 1)


def test_a_transpose_takes_what_the_function_gives():
    for function, cotangent in (
        (lambda x: jnp.stack([x, x]), 1.0),
        (lambda x: 1j * x, 1.0),
        (lambda x: x, 1j),
    ):
        with pytest.raises(TypeError, match="cotangent type does not match function output"):
            effax.linear_transpose(function, 1.0)(cotangent)


def test_a_pullback_takes_one_cotangent():
    pull = effax.vjp(lambda x: (x, x), 1.0)[1]
    for cotangents in ((1.0, 1.0), ()):
        with pytest.raises(TypeError, match=f"called with {len(cotangents)} arguments"):
            pull(*cotangents)


@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit])
def test_a_pushforward_takes_tangents_of_its_arguments(wrap):
    for x in (np.arange(3), np.arange(3.0, dtype=np.float32)):
        with pytest.raises(ValueError, match="linearized function called on tangent values"):
            effax.linearize(wrap(jnp.sum), x)[1](np.ones((3, 2), np.float32))


def test_python_ints_beyond_their_default_dtype():
    """They are of the dtype asked for at once."""
    from effax import lax

    assert lax.convert_element_type(2**100, "float32") == np.float32(2**100)
    assert int(lax.convert_element_type(2**32 - 1, "uint32")) == 2**32 - 1
    assert lax.convert_element_type(2**40, bool).dtype == bool
    assert lax.full((2,), 2**40, "bfloat16").dtype == "bfloat16"
    assert lax.full_like(jnp.ones(2), 2**40).tolist() == [2.0**40] * 2
    with pytest.raises(OverflowError, match="too large"):
        lax.convert_element_type(2**40, "int32")


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_derivatives_outside_of_x64_of_what_was_computed_under_it(transform):
    """Numbers in rules were of 32 bits there."""

    def cube(x):
        with effax.enable_x64(True):
            return jnp.array(x, jnp.float64) ** 3

    derivative = cube
    for expected in (8.0, 12.0, 12.0, 6.0):
        found = transform(derivative)(2.0)
        assert found == expected
        derivative = effax.grad(derivative)
    assert found.dtype == "float32"
    assert effax.config.x64_enabled is False
    with effax.enable_x64(True):
        assert effax.config.x64_enabled is True


def test_what_is_linear_in_one_operand_only_is_refused_in_two():
    """scatter_mul, tridiagonal_solve and the windows raised ValueError, of a setting of NumPy's."""
    rows, ones = np.arange(2), jnp.ones(3)
    windows = dict(select="ge", window_dimensions=(2,), window_strides=(1,), padding=((0, 0),))
    dilated = windows | {"base_dilation": (1,), "window_dilation": (1,)}
    solve = effax.effects.tridiagonal_solve
    for f in (
        lambda x: x.at[rows].multiply(x[:2], unique_indices=True),
        lambda x: solve(x, x + 4, x, x[:, None], perturb_singular=False),
        lambda x: effax.effects.select_and_gather_add(x, x, **dilated),
        lambda x: effax.effects.select_and_scatter_add(x[1:], x, **windows),
    ):
        with pytest.raises(MissingRuleError, match="is not linear"):
            effax.linear_transpose(f, ones)(f(ones))


@pytest.mark.parametrize(
    "parts, pads, joined",
    [
        (lambda x: jnp.split(x, 3, 1), 0, 1),
        (lambda x: [x[:, 1:3], x[:, 4:]], 0, 1),
        (lambda x: [x[:1], x[1:], x[:, :2]], 3, 0),
        (lambda x: [x[:, 2:], x[:, :4]], 2, 0),
        (lambda x: [x[:, ::2], x[:, 1::2]], 2, 0),
        (lambda x: [x[:, 2:]], 1, 0),
    ],
    ids=["split", "with gaps", "two axes", "overlapping", "strided", "one"],
)
def test_slices_side_by_side_are_transposed_by_one_concatenate(parts, pads, joined):
    """Pads and their sums would be as many passes over the whole array as there are parts."""
    x = np.arange(24, dtype="float32").reshape(4, 6)

    def f(x):
        return sum(jnp.sum(part * (k + 2)) for k, part in enumerate(parts(x)))

    wanted = sum(
        effax.vjp(lambda x, k=k: parts(x)[k], x)[1](np.full(part.shape, k + 2, "float32"))[0]
        for k, part in enumerate(parts(x))
    )
    np.testing.assert_array_equal(effax.grad(f)(x), wanted)
    text = effax.jit(effax.grad(f)).lower(x).as_text()
    assert (text.count("stablehlo.pad"), text.count("stablehlo.concatenate")) == (pads, joined)


@pytest.mark.parametrize("lengths", [(8,), (7,), (4, 6), (3, 5)])
def test_the_transpose_of_a_real_fourier_transform(lengths):
    """Half as much as a complex transform of a spectrum filled up with zeros."""
    rng = np.random.default_rng(0)
    axes = tuple(range(len(lengths)))

    def f(x):
        return jnp.fft.rfftn(x, axes=axes)

    x = rng.normal(size=lengths).astype("float32")
    ct = (rng.normal(size=(f(x).shape)) + 1j * rng.normal(size=f(x).shape)).astype("complex64")
    units = np.eye(x.size).reshape(x.size, *lengths)
    matrix = np.fft.rfftn(units, axes=tuple(a + 1 for a in axes)).reshape(x.size, -1)
    (found,) = effax.vjp(f, x)[1](ct)
    wanted = (matrix @ ct.reshape(-1)).real.reshape(lengths)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    text = effax.jit(lambda x, ct: effax.vjp(f, x)[1](ct)).lower(x, ct).as_text()
    assert "type = IRFFT" in text
    assert "type = FFT" not in text
