"""Linear algebra of a batch spread over devices moves nothing; `test_mesh.py` runs this file."""

import re
from functools import partial

import numpy as np
import pytest

import effax
import effax.numpy as jnp
import effax.scipy.linalg as jsl
from effax.backends.xla.lowering.matrices import householder
from effax.backends.xla.lowering.matrices import tridiagonal as written
from effax.lax import linalg as lxl
from effax.sharding import Mesh, NamedSharding

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = Mesh(np.array(effax.devices()).reshape(4, 2), ("x", "y"))
COLLECTIVE = r"all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter"
A = np.random.RandomState(0).normal(size=(8, 5, 5)).astype("f4")
DEFINITE = A @ A.transpose(0, 2, 1) + 5 * np.eye(5, dtype="f4")
RIGHT = A[:, :, :2]
VECTOR = A[:, 0]
ROWS = A[:, :3]


def lower_solve(a, b):
    return lxl.triangular_solve(a, b, left_side=True, lower=True)


def tridiagonal(d, b):
    return lxl.tridiagonal_solve(d, 9 + d, d, b)


def written_solve(d, b):
    return written.solve(d, 9 + d, d, b)


def derivative_of_inverse(a):
    return effax.grad(lambda a: jnp.linalg.inv(a).sum())(a)


CASES = {
    "svd": (jnp.linalg.svd, A),
    "svdvals": (jnp.linalg.svdvals, ROWS),
    "eigh": (jnp.linalg.eigh, DEFINITE),
    "eig": (jnp.linalg.eig, A),
    "qr": (jnp.linalg.qr, A),
    "pivoted qr": (lambda a: lxl.qr(a, pivoting=True), A),
    "cholesky": (jnp.linalg.cholesky, DEFINITE),
    "inv": (jnp.linalg.inv, A),
    "derivative of inv": (derivative_of_inverse, A),
    "solve": (jnp.linalg.solve, A, RIGHT),
    "triangular_solve": (lower_solve, DEFINITE, RIGHT),
    "tridiagonal_solve": (tridiagonal, VECTOR, RIGHT),
    "lu": (lxl.lu, A),
    "det": (jnp.linalg.det, A),
    "pinv": (jnp.linalg.pinv, ROWS),
    "schur": (lxl.schur, A),
    "hessenberg": (lxl.hessenberg, A),
    "tridiagonal": (lambda a: lxl.tridiagonal(a, lower=True), DEFINITE),
    # What GPUs and TPUs run of some of these.
    "written pivoted qr": (householder.pivoted, A),
    "written hessenberg": (householder.hessenberg, A),
    "written tridiagonal": (partial(householder.tridiagonal, lower=False), DEFINITE),
    "written tridiagonal_solve": (written_solve, VECTOR, RIGHT),
    "expm": (effax.vmap(jsl.expm), A),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_stay_where_they_are(name):
    function, *host = CASES[name]
    spread = [effax.device_put(x, NamedSharding(MESH, P("x"))) for x in host]
    jitted = effax.jit(function)
    assert not re.findall(COLLECTIVE, jitted.lower(*spread).compile().as_text())
    found, wanted = jitted(*spread), jitted(*host)
    for ours, theirs in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        assert ours.sharding.shard_shape(ours.shape)[0] == 2
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("spec", [P("x", "y"), P(None, "y"), P(("x", "y")), P()])
def test_matrices_cut_up_are_put_together(spec):
    a = effax.device_put(np.stack([A, A], 1)[:, :, :4, :4], NamedSharding(MESH, spec))
    b = effax.device_put(A[:, :4, :4], NamedSharding(MESH, P("x", "y")))
    for x in (a, b):
        product = effax.jit(lambda x: jnp.linalg.inv(x) @ x)(x)
        wanted = np.broadcast_to(np.eye(4, dtype="f4"), x.shape)
        np.testing.assert_allclose(product, wanted, atol=2e-4)
