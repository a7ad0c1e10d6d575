"""Functions of arrays, and their gradients, in float32 beside float64.

Float32 may be as wrong as an operand that moves in its last bit makes a function, times `SLACK`, and
not more: that is how a stable algorithm errs, however badly conditioned a problem is. A result that
is NaN or infinite is seen; it is the finite ones that must not be wrong.
"""

import contextlib
import warnings

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import image, lax, nn
from effax.numpy import linalg
from effax.scipy import linalg as matrices
from effax.scipy import signal, special, stats

EPS = 2.0**-24
SLACK = 300


def vectors():
    """Vectors of twelve numbers, on which sums cancel, overflow or lose their small terms."""
    z = np.random.default_rng(0).normal(size=12)
    found = {
        "plain": z,
        "far": 1e4 + z,
        "farther": 3e6 + np.round(4 * z),
        "small": 1e-12 * z,
        "huge": 1e12 * z,
        "graded": np.sign(z) * 10.0 ** np.linspace(-8, 8, 12),
        "ties": np.round(z),
        "close": 1 + 1e-4 * z,
        "losses": 50 * z,
        "large losses": 1e4 * z,
        "negative": -100 * np.abs(z) - 1,
        "tiny": np.exp(-30 * np.abs(z)),
        "sorted": np.cumsum(np.abs(z)),
    }
    return {name: x.astype(np.float32) for name, x in found.items()}


def squares():
    """Matrices, from well to badly conditioned and scaled."""
    a = np.random.default_rng(0).normal(size=(5, 5))
    definite, scale = a @ a.T + np.eye(5), 10.0 ** np.linspace(-6, 6, 5)
    found = {
        "plain": a,
        "definite": definite,
        "rows": a * scale[:, None],
        "columns": a * scale,
        "graded": (definite + 4 * np.eye(5)) * scale[:, None] * scale,
        "small": 1e-15 * a,
        "huge": 1e15 * a,
        "small and definite": 1e-15 * definite,
        "nearly singular": 1 + 1e-3 * a,
        "diagonal": np.diag(scale),
        "triangular": np.triu(a) + np.eye(5),
        "stochastic": np.exp(a) / np.exp(a).sum(1, keepdims=True),
    }
    return {name: x.astype(np.float32) for name, x in found.items()}


def _halves(x):
    return x[:6] + 1j * x[6:]


NUMPY = """var std mean sum prod cumsum cumprod nanvar nanstd nanmean median diff gradient ptp
    sinc unwrap average trapezoid cov sort"""
NN = "softmax log_softmax logsumexp standardize glu"
LINALG = "det inv cholesky qr svdvals slogdet cond pinv"
OF_VECTORS = {
    **{name: getattr(jnp, name) for name in NUMPY.split()},
    **{name: getattr(nn, name) for name in NN.split()},
    **{f"norm {p}": lambda x, p=p: linalg.norm(x, ord=p) for p in (1, 2, 3, 0.5, np.inf)},
    "norm of complex numbers": lambda x: linalg.norm(_halves(x)),
    "abs of complex numbers": lambda x: jnp.abs(_halves(x)),
    "sign of complex numbers": lambda x: jnp.sign(_halves(x)),
    "sqrt of complex numbers": lambda x: jnp.sqrt(_halves(x)),
    "log of complex numbers": lambda x: jnp.log(_halves(x)),
    "reciprocal of complex numbers": lambda x: jnp.reciprocal(_halves(x)),
    "angle": lambda x: jnp.angle(_halves(x)),
    "hypot": lambda x: jnp.hypot(x[1:], x[:-1]),
    "quantile": lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.77], x.dtype)),
    "interp": lambda x: jnp.interp(x[:3], jnp.sort(x), jnp.arange(12, dtype=x.dtype)),
    "polyval": lambda x: jnp.polyval(x[:4], x),
    "polyfit": lambda x: jnp.polyfit(jnp.arange(12, dtype=x.dtype), x, 2),
    "logaddexp": lambda x: jnp.logaddexp(x[1:], x[:-1]),
    "logaddexp.accumulate": lambda x: jnp.logaddexp.accumulate(x),
    "cumlogsumexp": lax.cumlogsumexp,
    "weighted logsumexp": lambda x: special.logsumexp(x, b=jnp.arange(1, 13, dtype=x.dtype)),
    "fft": jnp.fft.fft,
    "irfft": lambda x: jnp.fft.irfft(x[:7]),
    "convolve": lambda x: jnp.convolve(x, x[:4]),
    "fftconvolve": lambda x: signal.fftconvolve(x, x[:4]),
    "detrend": signal.detrend,
    "welch": lambda x: signal.welch(x, nperseg=8)[1],
    "sem": stats.sem,
    "attention": lambda x: nn.dot_product_attention(*[x.reshape(1, 3, 1, 4)] * 3),
    "resize": lambda x: image.resize(x.reshape(3, 4), (5, 6), "cubic"),
}
OF_MATRICES = {
    **{name: getattr(linalg, name) for name in LINALG.split()},
    "norm 2": lambda a: linalg.norm(a, 2),
    "nuclear norm": lambda a: linalg.norm(a, "nuc"),
    "eigvalsh": lambda a: linalg.eigvalsh(a + a.T),
    "eigvals": lambda a: jnp.sort(jnp.abs(linalg.eigvals(a))),
    "solve": lambda a: linalg.solve(a, jnp.arange(5, dtype=a.dtype)),
    "lstsq": lambda a: linalg.lstsq(a[:, :3], jnp.arange(5, dtype=a.dtype))[0],
    "matrix_power": lambda a: linalg.matrix_power(a, 5),
    "expm": matrices.expm,
    "lu_solve": lambda a: matrices.lu_solve(matrices.lu_factor(a), jnp.arange(5, dtype=a.dtype)),
    "solve_triangular": lambda a: matrices.solve_triangular(a, jnp.arange(5, dtype=a.dtype)),
    "eigh_tridiagonal": lambda a: matrices.eigh_tridiagonal(a[0], a[1, :4], eigvals_only=True),
    "schur": lambda a: jnp.sort(jnp.abs(jnp.diag(matrices.schur(a, "complex")[0]))),
    "cov": jnp.cov,
}
OF_BOTH = {
    **{name: (f, vectors()) for name, f in OF_VECTORS.items()},
    **{f"matrix {name}": (f, squares()) for name, f in OF_MATRICES.items()},
}

CUBES = "cubes of the small ones are below the smallest normal number, and 0"
KNOWN = {
    ("gradient of softmax", "losses"): "1 less a number that is nearly 1",
    ("norm 3", "small"): CUBES,
    ("gradient of norm 3", "small"): CUBES,
    ("matrix pinv", "nearly singular"): "what is 0 is decided by the precision",
}
"""Results that are wrong in float32, and why."""


def numbers(tree):
    """The parts of a result that are numbers with a fraction, in complex128."""
    parts = [x for x in effax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)]
    return [np.asarray(x).astype(np.complex128) for x in parts]


def weighted(f):
    """A loss of all parts of a result."""

    def loss(x):
        total = jnp.zeros((), x.dtype)
        for part in effax.tree.leaves(f(x)):
            if jnp.issubdtype(part.dtype, jnp.inexact):
                part = part.real + 2 * part.imag
                weights = np.cos(np.arange(part.size)).reshape(part.shape)
                total += (part * weights.astype(part.dtype)).sum()
        return total

    return loss


def moved(x, times):
    """The operand, each number up or down by half a last place of the largest, in a matrix, or own."""
    size = np.max(np.abs(x)) if x.ndim == 2 else np.abs(x)
    for seed in range(times):
        yield x + EPS * size * np.random.default_rng(seed).choice([-1, 1], size=x.shape)


def worst(f, x):
    """The element of a result that is most wrong in float32, with what it should be, or None."""
    low = numbers(f(jnp.asarray(x)))
    with effax.enable_x64(True):
        wide = x.astype(np.float64)
        high = numbers(f(jnp.asarray(wide)))
        others = [numbers(f(jnp.asarray(y))) for y in moved(wide, 3)]
    with np.errstate(all="ignore"):
        for i, (ours, right) in enumerate(zip(low, high, strict=True)):
            change = np.max([np.abs(other[i] - right) for other in others], axis=0)
            size, change = (
                np.max(np.abs(y), where=np.isfinite(y), initial=0) for y in (right, change)
            )
            error = np.abs(ours - right)
            wrong = (error > SLACK * (EPS * size + change) + 1e-37) & np.isfinite(ours + right)
            if wrong.any():
                at = np.unravel_index(np.argmax(np.where(wrong, error, 0)), error.shape)
                return ours[at], right[at]
    return None


def faults(name, f, operands):
    for label, x in operands.items():
        with warnings.catch_warnings(action="ignore"):
            found = worst(f, x)
        if found is not None:
            yield (name, label), found


@pytest.mark.parametrize("name", OF_BOTH)
def test_float32_is_as_wrong_as_the_operand(name):
    f, operands = OF_BOTH[name]
    gradient = effax.grad(weighted(f))
    found = dict(faults(name, f, operands))
    with contextlib.suppress(effax.errors.UnsupportedDerivativeError):  # schur has none
        found |= dict(faults(f"gradient of {name}", gradient, operands))
    unknown = {what: answers for what, answers in found.items() if what not in KNOWN}
    assert not unknown
    known = {what for what in KNOWN if what[0].removeprefix("gradient of ") == name}
    assert known == found.keys(), "KNOWN has what is right now"
