"""The rarer special functions, against SciPy over their domains, and their derivatives."""

import numpy as np
import pytest
import scipy.special

import effax
import effax.numpy as jnp
from effax.scipy import special

inf, nan = np.inf, np.nan
REALS = np.concatenate(
    [
        -(10.0 ** np.linspace(-5, 2.5, 100)),
        [0],
        10.0 ** np.linspace(-5, 2.5, 100),
        [0.5, 1, 2, 3, 4, 40, -inf, inf, nan],
    ]
)
# JAX and SciPy give NaN or infinity by chance there; the limits are what is given here.
LIMITS = {"spence": {inf: -inf}, "exp1": {inf: 0.0}}


def relative(found, wanted):
    """Relative errors; 0 where both are the same infinity, or NaN."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    with np.errstate(all="ignore"):
        error = np.abs(found - wanted) / np.where(wanted == 0, 1, np.abs(wanted))
    return np.where((found == wanted) | (np.isnan(found) & np.isnan(wanted)), 0, error)


def check(name, found, wanted, dtype, points=REALS):
    wide = dtype == "float64"
    for x, y in zip(*[(z if isinstance(z, tuple) else (z,)) for z in (found, wanted)], strict=True):
        limits = np.finfo(dtype)
        # What overflows or underflows in 32 bits, and large angles there, are left out.
        seen = np.ones(len(points), bool) if wide else ~(np.abs(points) > 60)
        seen &= ~((np.abs(y) < limits.tiny) & (y != 0)) & ~(
            (np.abs(y) > limits.max) & np.isfinite(y)
        )
        error = np.where(seen, relative(x, y), 0)
        worst = int(np.argmax(np.where(np.isnan(error), inf, error)))
        assert error[worst] < (1e-12 if wide else 5e-5), (name, points[worst], x[worst], y[worst])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", ["dawsn", "erfcx", "exp1", "expi", "fresnel", "sici", "spence", "wofz"]
)
def test_functions_of_one_variable(name, dtype):
    points = REALS.astype(dtype)
    wanted = getattr(scipy.special, name)(points.astype("float64"))
    if name in LIMITS:
        for x, y in LIMITS[name].items():
            wanted = np.where(points == x, y, wanted)
    with effax.enable_x64(dtype == "float64"):
        found = getattr(special, name)(points)
        found = tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)
    check(name, found, wanted, dtype, points)


def test_functions_of_the_complex_plane():
    random = np.random.default_rng(0)
    z = 10 ** random.uniform(-3, 1.2, 300) * np.exp(1j * random.uniform(0, 2 * np.pi, 300))
    with effax.enable_x64(True):
        for name in ("wofz", "erfcx"):
            wanted = getattr(scipy.special, name)(z)
            error = relative(getattr(special, name)(z), wanted)
            assert error[np.isfinite(wanted)].max() < 1e-12
        slope = effax.jvp(special.wofz, (z[:5],), (np.ones(5, complex),))[1]
        step = 1e-6
        wanted = (scipy.special.wofz(z[:5] + step) - scipy.special.wofz(z[:5] - step)) / (2 * step)
        np.testing.assert_allclose(slope, wanted, 1e-6)


def test_exponential_integrals_of_orders():
    n = np.array([0, 1, 2, 3, 7, 20, 100])[:, None]
    x = np.concatenate([10.0 ** np.linspace(-4, 2.5, 40), [0.0, 3.0, inf]])
    wanted = scipy.special.expn(n, x)
    with effax.enable_x64(True):
        assert relative(special.expn(n, x), wanted).max() < 1e-12
        found = effax.grad(special.expn, 1)(3, 1.5)
        np.testing.assert_allclose(found, -scipy.special.expn(2, 1.5), 1e-12)
    assert np.isnan(special.expn(-1, 1.0)) and np.isnan(special.expn(2, -1.0))


GRID = np.array([-3, -2.5, -1, 0.5, 1, 2.2, 7]), np.array([-2.5, -0.5, 0.5, 1, 3, 4.7])


def test_kummers_function():
    a, b, x = np.broadcast_arrays(
        GRID[0][:, None, None],
        GRID[1][:, None],
        [-200, -30, -5, -1, -0.1, 0, 0.3, 1, 4, 20, 90, 150, nan],
    )
    wanted = scipy.special.hyp1f1(a, b, x)
    with effax.enable_x64(True):
        assert relative(special.hyp1f1(a, b, x), wanted).max() < 1e-11
    assert np.isinf(special.hyp1f1(1.0, -1.0, 2.0))


def test_first_derivatives_of_kummers_function():
    args = (1.3, 2.0, 0.5)
    step = 1e-5
    with effax.enable_x64(True):
        found = effax.grad(special.hyp1f1, (0, 1, 2))(*args)
    for i, slope in enumerate(found):
        ahead, behind = ([x + s * (j == i) for j, x in enumerate(args)] for s in (step, -step))
        wanted = scipy.special.hyp1f1(*ahead) - scipy.special.hyp1f1(*behind)
        np.testing.assert_allclose(slope, wanted / (2 * step), 1e-7)


def test_gausss_function():
    a, b, c, x = np.broadcast_arrays(
        np.array([-3, -2.5, 0.5, 1, 2.2])[:, None, None, None],
        np.array([-2.0, 0.5, 1, 1.3])[:, None, None],
        np.array([0.7, 1, 1.5, 3, 4.7])[:, None],
        [-50, -5, -1, -0.9, -0.1, 0, 0.3, 0.7, 0.95, 1],
    )
    wanted = scipy.special.hyp2f1(a, b, c, x)
    with effax.enable_x64(True):
        assert relative(np.abs(special.hyp2f1(a, b, c, x)), np.abs(wanted)).max() < 1e-8
    assert np.isinf(special.hyp2f1(0.5, 0.7, 1.9, 1.5))


@pytest.mark.parametrize(
    ("name", "args", "where"),
    [
        pytest.param("hyp1f1", (1.3, 2.0, 0.5), (0, 1, 2), marks=pytest.mark.slow),
        pytest.param("hyp2f1", (1.0, 2.0, 3.0, 0.5), (0, 1, 2, 3), marks=pytest.mark.slow),
        ("owens_t", (1.0, 0.5), (0, 1)),
        ("owens_t", (0.7, 3.0), (0, 1)),
        ("dawsn", (1.3,), (0,)),
        ("erfcx", (1.3,), (0,)),
        ("exp1", (1.3,), (0,)),
        ("expi", (1.3,), (0,)),
        ("spence", (1.3,), (0,)),
        ("zeta", (2.0, 1.5), (0, 1)),
        ("gammainc", (1.3, 1.5), (0, 1)),
        ("betainc", (1.3, 1.5, 0.4), (2,)),
    ],
)
def test_derivatives(name, args, where):
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    with effax.enable_x64(True):
        found = effax.grad(ours, where)(*args)
        again = effax.grad(lambda x: effax.grad(ours, where[-1])(*args[: where[-1]], x))(args[-1])
    step = 1e-5
    for i, slope in zip(where, found, strict=True):
        ahead, behind = ([x + s * (j == i) for j, x in enumerate(args)] for s in (step, -step))
        wanted = (theirs(*ahead) - theirs(*behind)) / (2 * step)
        np.testing.assert_allclose(slope, wanted, 1e-6, 1e-9)
    step = 1e-4
    last = [theirs(*args[:-1], args[-1] + s) for s in (step, 0, -step)]
    np.testing.assert_allclose(again, (last[0] - 2 * last[1] + last[2]) / step**2, 1e-4)


@pytest.mark.parametrize("name", ["sici", "fresnel"])
def test_derivatives_of_pairs(name):
    x = np.array([0.3, 1.7, 5.0])
    step = 1e-6
    theirs = getattr(scipy.special, name)
    with effax.enable_x64(True):
        _, slopes = effax.jvp(getattr(special, name), (x,), (np.ones(3),))
    for slope, ahead, behind in zip(slopes, theirs(x + step), theirs(x - step), strict=True):
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), 1e-6, 1e-8)


def test_owens_t():
    h = np.array([-30, -8, -1, -1e-3, 0, 0.1, 1, 5, 20, inf, nan])[:, None]
    a = np.array([-inf, -50, -1, -0.3, 0, 1e-4, 0.9, 1, 1.1, 1e3, inf, nan])
    wanted = scipy.special.owens_t(h, a)
    with effax.enable_x64(True):
        assert relative(special.owens_t(h, a), wanted).max() < 1e-12


def test_bernoullis_numbers():
    with effax.enable_x64(True):
        np.testing.assert_allclose(special.bernoulli(40), scipy.special.bernoulli(40), 1e-11)
    assert special.bernoulli(0).shape == (1,) and special.bernoulli(3).dtype == "float32"
    with pytest.raises(ValueError, match="non-negative"):
        special.bernoulli(-1)
    with pytest.raises(TypeError):
        special.bernoulli(2.0)


def test_bessel_functions():
    z = np.array([0, 1e-3, 0.5, 1, -2, 5, 10, 20, -30, 40])
    wanted = scipy.special.jv(np.arange(9)[:, None], z)
    np.testing.assert_allclose(special.bessel_jn(z, v=8, n_iter=90), wanted, 1e-4, 1e-6)
    with effax.enable_x64(True):
        np.testing.assert_allclose(special.bessel_jn(z, v=8, n_iter=90), wanted, 1e-12, 1e-14)
        slope = effax.grad(lambda z: special.bessel_jn(z, v=1)[1])(2.0)
        np.testing.assert_allclose(slope, scipy.special.jvp(1, 2.0), 1e-10)
    with pytest.raises(TypeError):
        special.bessel_jn(1j, v=1)
    # Above the order that the recurrence begins with it would give 1.57 at 128.
    few = special.bessel_jn(jnp.array([36.0, 38.0, -128.0]), v=0)[0]
    np.testing.assert_allclose(few, [scipy.special.jv(0, 36), np.nan, np.nan], 1e-3)
    assert np.isnan(effax.grad(lambda z: special.bessel_jn(z, v=1)[1])(60.0))


def test_spherical_harmonics():
    n, m = np.meshgrid(np.arange(8), np.arange(-8, 9))
    theta, phi = (np.array(x)[:, None, None] for x in ([0.3, 1.0, 2.5], [0.5, 2, -1]))
    wanted = scipy.special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), wanted, 1e-4, 1e-6)
    found = effax.jit(lambda t: special.sph_harm_y(3, 1, t, 0.4, n_max=3))(0.7)
    np.testing.assert_allclose(found, scipy.special.sph_harm_y(3, 1, 0.7, 0.4), 1e-5)
    slope = effax.grad(lambda t: special.sph_harm_y(3, 1, t, 0.4).real)(0.7)
    step = 1e-5
    ends = [scipy.special.sph_harm_y(3, 1, 0.7 + s, 0.4).real for s in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), 1e-4)
    with pytest.raises(NotImplementedError, match="diff_n"):
        special.sph_harm_y(2, 1, 0.3, 0.5, diff_n=1)


def test_legendre_functions():
    """SciPy has negative orders too, from the end of the axis."""
    z = np.array([-1.0, -0.9, -0.3, 0.0, 0.5, 0.99, 1.0], np.float32)
    for norm in (False, True):
        wanted = scipy.special.assoc_legendre_p_all(6, 4, z.astype(float), norm=norm, diff_n=1)
        values, slopes = wanted[:, :, :5].swapaxes(1, 2)
        found = special.lpmn_values(4, 6, jnp.array(z), norm)
        inside = slice(1, -1)
        if norm:  # SciPy's have norm 1 on the line, and at its ends none
            values = values / np.sqrt(2 * np.pi)
            np.testing.assert_allclose(found[..., inside], values[..., inside], 2e-5, 1e-5)
        else:
            np.testing.assert_allclose(found, values, 2e-5, 1e-5)
            found, rising = special.lpmn(4, 6, jnp.array(z))
            np.testing.assert_allclose(found, values, 2e-5, 1e-5)
            np.testing.assert_allclose(rising[..., inside], slopes[..., inside], 3e-4, 1e-3)
            for order in (0, 2, 3, 4):  # that of order 1 is infinite at the ends
                ends = rising[order, :, [0, -1]], slopes[order, :, [0, -1]]
                np.testing.assert_allclose(*ends, 1e-5)
    slope = effax.jit(effax.grad(lambda x: special.lpmn_values(2, 3, x, False)[2, 3, 0]))(
        jnp.array([0.5])
    )
    np.testing.assert_allclose(slope, special.lpmn(2, 3, jnp.array([0.5]))[1][2, 3], 1e-5)
    for m, n, points, error in (
        (2, 2, z[None], ValueError),
        (-1, 2, z, ValueError),
        (2, 2, np.arange(3), TypeError),
    ):
        with pytest.raises(error, match="lpmn_values"):
            special.lpmn_values(m, n, jnp.array(points), False)


def test_small_dtypes_and_complex_numbers():
    for name in ("dawsn", "erfcx", "exp1", "expi", "spence"):
        for dtype in ("float16", "bfloat16"):
            assert getattr(special, name)(jnp.ones((), dtype)).dtype == dtype
        assert getattr(special, name)(2).dtype == "float32"
    assert special.wofz(jnp.ones((), "float16")).dtype == "complex64"
    for name, error in (
        ("dawsn", ValueError),
        ("exp1", ValueError),
        ("sici", ValueError),
        ("fresnel", NotImplementedError),
    ):
        with pytest.raises(error):
            getattr(special, name)(1 + 1j)


def test_loggamma_is_continuous_off_the_negative_axis():
    """Each side of the axis has its branch: zeros have signs."""
    rng = np.random.RandomState(0)
    cut = [complex(x, y) for x in (-0.5, -1.25, -2.75, -6.5, 0.5) for y in (0.0, -0.0)]
    z = np.concatenate([cut, rng.uniform(-9, 9, 40) + 1j * rng.uniform(-9, 9, 40)])
    found = np.asarray(special.loggamma(jnp.asarray(z.astype(np.complex64))))
    wanted = scipy.special.loggamma(z.astype(np.complex64).astype(complex))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_below_all_terms_that_xla_adds(order):
    x = -(np.arange(1, 300, 7) + 0.3)
    with effax.enable_x64(True):
        found = special.polygamma(order, x), special.zeta(order + 1.0, x)
    for y, wanted in zip(found, (scipy.special.polygamma, scipy.special.zeta), strict=True):
        wanted = wanted(order + (wanted is scipy.special.zeta), x)
        np.testing.assert_allclose(y, wanted, rtol=1e-10)
    nearest = x.astype(np.float32)
    wanted = scipy.special.polygamma(order, nearest.astype(np.float64))
    np.testing.assert_allclose(special.polygamma(order, nearest), wanted, rtol=1e-4)


def test_zeta_at_its_poles():
    assert np.isinf(special.zeta(2.0, jnp.array([0.0, -3.0, -20.0]))).all()
    assert np.isinf(special.zeta(1.0, jnp.array([3.0, -9.5]))).all()
    assert np.isnan(special.zeta(2.5, -9.5))


def test_kummers_function_at_poles_is_infinite_unless_it_ends_before():
    a = np.array([1, 1, -2, 2.5, -1, -1, -2, -3, nan, 1])
    b = np.array([0, -1, -1, -3, -1, -2, -2, -5, 1, nan])
    x = np.array([1, 1, 0.5, -1, 0.5, 0.5, 0.7, -2, 1, 1])
    np.testing.assert_allclose(special.hyp1f1(a, b, x), scipy.special.hyp1f1(a, b, x), 1e-6)
    assert float(special.hyp1f1(0.0, 0.0, 1.0)) == 1  # as in JAX and mpmath; SciPy gives inf
