"""Library code mixes ranks and dtypes of its own under the strictest settings of promotion."""

import pytest

import effax
import effax.image
import effax.numpy as jnp
import effax.random as random
import effax.scipy.cluster.vq
import effax.scipy.fft
import effax.scipy.linalg
import effax.scipy.ndimage
import effax.scipy.signal
import effax.scipy.special
import effax.scipy.stats
from effax.scipy.sparse.linalg import gmres

jsp = effax.scipy
X = jnp.arange(6.0).reshape(2, 3) + 1
V = jnp.array([3.0, 1, 4, 1, 5, 9, 2, 6])
KEY = random.key(0)
CALLS = {
    "toeplitz": lambda: jsp.linalg.toeplitz(V),
    "hilbert": lambda: jsp.linalg.hilbert(3),
    "circulant": lambda: jsp.linalg.circulant(X),
    "companion": lambda: jsp.linalg.companion(V),
    "convolution_matrix": lambda: jsp.linalg.convolution_matrix(V, 3),
    "dft": lambda: jsp.linalg.dft(3),
    "fiedler": lambda: jsp.linalg.fiedler(V),
    "fiedler_companion": lambda: jsp.linalg.fiedler_companion(V),
    "hadamard": lambda: jsp.linalg.hadamard(4),
    "hankel": lambda: jsp.linalg.hankel(V, V[:3]),
    "helmert": lambda: jsp.linalg.helmert(3),
    "invhilbert": lambda: jsp.linalg.invhilbert(3),
    "invpascal": lambda: jsp.linalg.invpascal(3),
    "leslie": lambda: jsp.linalg.leslie(V, V[:-1]),
    "pascal": lambda: jsp.linalg.pascal(3),
    "solve_sylvester": lambda: jsp.linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.eye(2)),
    "gmres": lambda: gmres(jnp.eye(2, dtype=complex), jnp.ones(2, complex)),
    "bessel_jn": lambda: jsp.special.bessel_jn(X, v=2),
    "loggamma": lambda: jsp.special.loggamma(X.astype(complex)),
    "wofz": lambda: jsp.special.wofz(X),
    "erfcx": lambda: jsp.special.erfcx(X.astype(complex)),
    "double_sided_maxwell": lambda: random.double_sided_maxwell(KEY, V[:3], V[:3], (2, 3)),
    "sqrtm": lambda: jsp.linalg.sqrtm(jnp.eye(2)),
    "funm": lambda: jsp.linalg.funm(jnp.eye(2), jnp.exp),
    "rsf2csf": lambda: jsp.linalg.rsf2csf(jnp.eye(2), jnp.eye(2)),
    "polyfit": lambda: jnp.polyfit(jnp.arange(8.0), V, 2),
    "multigammaln": lambda: jsp.special.multigammaln(X + 9, 2),
    "sici": lambda: jsp.special.sici(X),
    "detrend": lambda: jsp.signal.detrend(X),
    "stft": lambda: jsp.signal.stft(jnp.ones(64), nperseg=16),
    "csd": lambda: jsp.signal.csd(jnp.ones(64), jnp.ones(64), nperseg=16),
    "welch": lambda: jsp.signal.welch(jnp.ones(64), nperseg=16),
    "istft": lambda: jsp.signal.istft(jnp.ones((9, 9), complex), nperseg=16),
    "dct": lambda: jsp.fft.dct(X),
    "idct": lambda: jsp.fft.idct(X),
    "dctn": lambda: jsp.fft.dctn(X),
    "idctn": lambda: jsp.fft.idctn(X),
    "vq": lambda: jsp.cluster.vq.vq(X, X),
    "map_coordinates": lambda: jsp.ndimage.map_coordinates(
        X.astype(int), [jnp.array([0.5]), jnp.array([0.5])], 1, mode="nearest"
    ),
    "resize": lambda: effax.image.resize(X, (4, 4), "cubic"),
    "scale_and_translate": lambda: effax.image.scale_and_translate(
        X, (4, 4), (0, 1), jnp.ones(2), jnp.zeros(2), "linear"
    ),
    "random.t": lambda: random.t(KEY, V[:3], (2, 3)),
    "random.weibull_min": lambda: random.weibull_min(KEY, V[:3], 2.0, (2, 3)),
    "random.multivariate_normal": lambda: random.multivariate_normal(KEY, V[:2], jnp.eye(2), (3,)),
    "random.truncated_normal": lambda: random.truncated_normal(KEY, V[:3] - 9, V[:3], (2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_is_clean_under_raise_and_strict(name):
    with effax.numpy_rank_promotion("raise"), effax.numpy_dtype_promotion("strict"):
        CALLS[name]()


def test_the_users_operands_are_still_judged():
    with effax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        X + V[:3]
    with effax.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="strict"):
        X + jnp.ones(3, int)


@pytest.mark.parametrize(
    "f",
    [jsp.special.beta, jsp.special.betaln, jsp.special.gammainc, jsp.special.xlogy,
     jsp.special.zeta, jnp.add, jnp.lcm],
)  # fmt: skip
def test_operands_of_the_user_are_judged(f):
    """Ranks that differ are refused under 'raise', as in JAX; numbers are no matter of it."""
    row, table = jnp.arange(1, 5), jnp.arange(1, 13).reshape(3, 4)
    with effax.numpy_rank_promotion("raise"):
        for x, y in ((row, table), (table, row)):
            with pytest.raises((ValueError, TypeError), match="numpy_rank_promotion"):
                f(x, y)
        f(table, 2)


def test_functions_that_broadcast_whatever_the_setting():
    row, table = jnp.arange(1, 5), jnp.arange(1, 13).reshape(3, 4)
    with effax.numpy_rank_promotion("raise"):
        assert jnp.where(row > 2, table, row).shape == jnp.heaviside(table, row).shape == (3, 4)
        assert jnp.gcd(table, row).shape == (3, 4)


def test_betabinom_of_no_draws_is_certain():
    pairs = ((0.5, 0.5), (1.0, 2.0), (10.0, 0.1))
    assert [float(jsp.stats.betabinom.logpmf(0, 0, *pair)) for pair in pairs] == [0.0] * 3
