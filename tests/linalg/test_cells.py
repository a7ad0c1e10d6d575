"""Linear algebra and Fourier transforms in every column."""

from functools import partial

import numpy as np
import pytest

import effax
from effax.backends.reference.evaluate import evaluate_program
from effax.effects.rows import linalg
from effax.effects.types import typeof
from effax.interpreters.stage import stage
from tests.samples import checks, condensed, fourier
from tests.samples import linalg as matrices

SAMPLES = matrices.SAMPLES + condensed.SAMPLES + fourier.SAMPLES
IDS = [f"{effect}-{i}" for i, (effect, *_) in enumerate(SAMPLES)]
FULL = [
    s
    for s in SAMPLES
    if s[1][0].size and not (s[2].get("full_matrices") and s[1][0].shape[-2] > s[1][0].shape[-1])
]


@pytest.mark.cpu
@pytest.mark.parametrize(("effect", "operands", "attributes"), SAMPLES, ids=IDS)
def test_xla_agrees_with_the_reference(effect, operands, attributes):
    checks.check_reference(effect, operands, attributes)


@pytest.mark.cpu
@pytest.mark.parametrize(("effect", "operands", "attributes"), FULL, ids=lambda x: str(x)[:20])
def test_batches(effect, operands, attributes):
    function = checks.performing(effect, attributes)
    n = len(operands)
    for batched in {(True,) * n, (True,) + (False,) * (n - 1), (False,) * (n - 1) + (True,)}:
        many = [
            np.stack([x, 2 * x] if x.dtype.kind != "i" else [x, x]) if b else x
            for x, b in zip(operands, batched, strict=True)
        ]
        found = effax.vmap(function, in_axes=[0 if b else None for b in batched])(*many)
        each = [
            function(*(x[i] if b else x for x, b in zip(many, batched, strict=True)))
            for i in range(2)
        ]
        checks.close(found, [np.stack(list(map(np.asarray, ys))) for ys in zip(*each, strict=True)])


@pytest.mark.parametrize(
    ("effect", "operands", "attributes"),
    [s for s in FULL if s[1][0].dtype.kind in "fc" and s[0] not in condensed.REFUSED],
    ids=lambda x: str(x)[:20],
)
def test_derivatives(effect, operands, attributes):
    """jvp against central differences in float64, and the transpose against the jvp."""
    with effax.enable_x64(True):
        wide = [x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in operands]
        directions = [symmetric_direction(effect, x, i) for i, x in enumerate(wide)]

        def function(*xs):
            done = checks.performing(effect, attributes)(*xs)
            return [y for y in done if y.dtype.kind in "fc"]

        primals, tangents = effax.jvp(function, tuple(wide), tuple(directions))
        checks.close(primals, function(*wide))
        eps = 1e-6
        ahead, behind = (
            function(*(x + sign * eps * t for x, t in zip(wide, directions, strict=True)))
            for sign in (1, -1)
        )
        slope = [
            (np.asarray(a) - np.asarray(b)) / (2 * eps) for a, b in zip(ahead, behind, strict=True)
        ]
        if not (effect in (linalg.svd, linalg.eigh) and wide[0].dtype.kind == "c"):
            checks.close(tangents, slope, 1e-5)
        _, back = effax.vjp(function, *wide)
        random = np.random.default_rng(5)
        cts = [
            (
                random.normal(size=y.shape)
                + (1j * random.normal(size=y.shape) if y.dtype.kind == "c" else 0)
            ).astype(y.dtype)
            for y in map(np.asarray, primals)
        ]
        pulled = back(cts)
        one = sum(np.sum(np.asarray(g) * t).real for g, t in zip(pulled, directions, strict=True))
        other = sum(np.sum(c * np.asarray(t)).real for c, t in zip(cts, tangents, strict=True))
        np.testing.assert_allclose(one, other, rtol=1e-8)


def symmetric_direction(effect, x, seed):
    random = np.random.default_rng(20 + seed)
    t = random.normal(size=x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * random.normal(size=x.shape)
    if effect in (linalg.cholesky, linalg.eigh):
        t = t + t.conj().swapaxes(-1, -2)
    return t.astype(x.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_factors_give_the_matrix_back(dtype):
    with effax.enable_x64(True):
        x = matrices.matrices(2, 5, 3, dtype=dtype)
        tolerance = 1e-4 if np.dtype(dtype).name in ("float32", "complex64") else 1e-10
        q, r = map(np.asarray, linalg.qr(x, full_matrices=False))
        s, u, vh = map(np.asarray, linalg.svd(x, full_matrices=False, compute_uv=True))
        h = matrices.positive(2, 3, 3, dtype=dtype)
        v, w = map(np.asarray, linalg.eigh(h, lower=True))
        factor = np.asarray(linalg.cholesky(h))
        e, right = map(np.asarray, linalg.eig(x[:, :3], compute_left=False, compute_right=True))
        for found, wanted in (
            (q @ r, x),
            (u * s[:, None] @ vh, x),
            (v * w[:, None] @ v.conj().swapaxes(1, 2), h),
            (factor @ factor.conj().swapaxes(1, 2), h),
            (x[:, :3] @ right, right * e[:, None]),
        ):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_a_matrix_that_is_not_positive_has_no_cholesky_factor():
    many = np.stack([np.eye(2), -np.eye(2)]).astype(np.float32)
    found = np.asarray(linalg.cholesky(many))
    np.testing.assert_array_equal(found[0], np.eye(2))
    assert np.isnan(found[1][np.tril_indices(2)]).all()
    assert found[1, 0, 1] == 0


@pytest.mark.parametrize(
    ("effect", "shape", "attributes"),
    [
        (linalg.cholesky, (2, 3), {}),
        (linalg.lu, (3,), {}),
        (linalg.eigh, (2, 3), {"lower": True}),
    ],
)
def test_what_is_no_matrix_is_refused(effect, shape, attributes):
    with pytest.raises(TypeError, match=str(effect)):
        effect(np.ones(shape, np.float32), **attributes)


def test_integers_are_refused():
    with pytest.raises(TypeError, match="i32"):
        linalg.lu(np.ones((2, 2), np.int32))


def test_empty_batches_have_a_program():
    program = stage(lambda x: linalg.lu(x), [typeof(np.ones((0, 2, 2), np.float32))]).program
    assert evaluate_program(program, np.ones((0, 2, 2), np.float32))[0].shape == (0, 2, 2)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (7, 4), (40, 40)])
def test_pivots_are_exchanges_one_after_the_other(size, count):
    rng = np.random.default_rng(0)
    pivots = np.array([[rng.integers(i, size) for i in range(count)] for _ in range(3)], np.int32)
    expected = np.tile(np.arange(size), (3, 1))
    for order, row in zip(expected, pivots, strict=True):
        for i, pivot in enumerate(row):
            order[[i, pivot]] = order[[pivot, i]]
    permutation = partial(effax.lax.linalg.lu_pivots_to_permutation, permutation_size=size)
    np.testing.assert_array_equal(effax.jit(permutation)(pivots[0]), expected[0])
    for whole in (effax.jit(permutation), effax.vmap(permutation)):
        np.testing.assert_array_equal(whole(pivots), expected)
