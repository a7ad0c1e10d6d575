"""`round` to many decimals, of large and small numbers, against decimal arithmetic."""

import decimal
import math

import numpy as np
import pytest

import effax
import effax.numpy as jnp

CONTEXT = decimal.Context(prec=900)


def nearest(x, decimals):
    unit = decimal.Decimal(10).scaleb(-decimals - 1, CONTEXT)
    count = CONTEXT.divide(decimal.Decimal(x), unit).to_integral_value(decimal.ROUND_HALF_EVEN)
    return float(CONTEXT.multiply(count, unit))


@pytest.mark.parametrize("decimals", [0, 1, 4, 17, 19, 38, 39, 308, 400, -1, -19, -38, -39, -400])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_are_rounded_to_any_number_of_decimals(dtype, decimals):
    """Factors beyond the largest number, or with reciprocals that are zero, made NaN and 0."""
    draw = np.random.default_rng(0)
    info = jnp.finfo(dtype)
    most = min(37, int(math.log10(float(info.max))))
    spread = draw.uniform(-1, 1, 40) * 10.0 ** draw.integers(-most, most, 40)
    with effax.enable_x64(True):
        x = jnp.array([*draw.normal(size=10), *spread, 1.5, 0.0], dtype)
        for f in (jnp.round, effax.jit(jnp.round, static_argnums=1)):
            found = np.asarray(f(x, decimals)).astype(float)
            for given, y in zip(np.asarray(x).astype(float), found, strict=True):
                wanted = nearest(given, decimals)
                if abs(wanted) > float(info.max):
                    continue
                # Products are rounded before they are rounded to integers.
                slack = 4 * float(info.eps) * max(abs(given), abs(wanted)) + float(info.tiny)
                assert abs(y - wanted) <= slack, (given, y, wanted)


@pytest.mark.parametrize("decimals", [0, 3, 40, -3, -40])
def test_what_is_not_finite_stays(decimals):
    x = jnp.array([jnp.inf, -jnp.inf, jnp.nan])
    np.testing.assert_array_equal(jnp.round(x, decimals), x)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.array, jnp.array])
def test_decimals_may_be_any_integer(kind):
    assert jnp.array(1.256).round(kind(2)) == np.float32(1.26)


@pytest.mark.parametrize("decimals", [0, 2, 40, -40])
def test_steps_are_flat(decimals):
    slope = effax.grad(lambda x: jnp.round(x, decimals).sum())
    np.testing.assert_array_equal(slope(jnp.array([1.26, 1e30, -0.4])), np.zeros(3))


def test_decimals_are_integers_known_beforehand():
    with pytest.raises(TypeError, match=r"integer: round argument `decimals` is 2\.5"):
        jnp.round(1.0, 2.5)
    with pytest.raises(effax.errors.ConcretizationTypeError, match="round argument `decimals`"):
        effax.jit(jnp.round)(1.0, 2)
