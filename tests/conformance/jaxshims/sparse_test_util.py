"""jax.experimental.sparse.test_util, written anew."""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

import jaxshims
from jaxshims import _numerics as num
from jaxshims import test_util as jtu

MATMUL_TOL = {
    np.float32: 1e-5,
    np.float64: 1e-10,
    np.complex64: 1e-5,
    np.complex128: 1e-10,
}
GATHER_TOL = MATMUL_TOL


def _sparse(name):
    return jaxshims.target_attr("experimental.sparse." + name)


def _tree(name):
    return jaxshims.target_attr("tree_util." + name)


def is_sparse(x):
    return isinstance(x, _sparse("JAXSparse"))


def _todense(tree):
    return _tree("tree_map")(lambda x: _sparse("todense")(x), tree, is_leaf=is_sparse)


class BatchedDotGeneralProperties(NamedTuple):
    lhs_shape: tuple
    rhs_shape: tuple
    n_batch: int
    n_dense: int
    dimension_numbers: tuple


class SparseLayout(NamedTuple):
    n_batch: int
    n_dense: int
    n_sparse: int


def iter_subsets(s):
    s = list(s)
    for n in range(len(s) + 1):
        yield from itertools.combinations(s, n)


def iter_sparse_layouts(shape, min_n_batch=0):
    n = len(shape)
    for n_batch in range(min_n_batch, n + 1):
        for n_dense in range(n - n_batch + 1):
            yield SparseLayout(n_batch, n_dense, n - n_batch - n_dense)


def iter_bcsr_layouts(shape, min_n_batch=0):
    for layout in iter_sparse_layouts(shape, min_n_batch):
        if layout.n_sparse == 2:
            yield layout


class SparseTestCase(jtu.JaxTestCase):
    def assertSparseArraysEquivalent(self, x, y, **kw):
        self.assertEqual(_tree("tree_structure")(x), _tree("tree_structure")(y))
        self.assertAllClose(_tree("tree_leaves")(x), _tree("tree_leaves")(y), **kw)

    def _CheckAgainstDense(
        self,
        dense_op,
        sparse_op,
        args_maker,
        check_jit=True,
        check_dtypes=True,
        tol=None,
        atol=None,
        rtol=None,
        canonicalize_dtypes=True,
    ):
        args = args_maker()
        want = dense_op(*_todense(args))
        check = functools.partial(
            self.assertAllClose,
            check_dtypes=check_dtypes,
            atol=tol if atol is None else atol,
            rtol=tol if rtol is None else rtol,
            canonicalize_dtypes=canonicalize_dtypes,
        )
        got = sparse_op(*args)
        check(_todense(got), want)
        if check_jit:
            jitted = jaxshims.target_attr("jit")(sparse_op)(*args)
            self.assertSparseArraysEquivalent(
                got, jitted, atol=tol if atol is None else atol, rtol=tol if rtol is None else rtol
            )

    def _CheckGradsSparse(
        self,
        dense_fun,
        sparse_fun,
        args_maker,
        *,
        argnums=None,
        modes=("fwd", "rev"),
        atol=None,
        rtol=None,
    ):
        """The Jacobians by the stored values agree with the dense function's."""
        args = list(args_maker())
        argnums = range(len(args)) if argnums is None else argnums
        flatten, unflatten = _tree("tree_flatten"), _tree("tree_unflatten")
        flat = [flatten(a) for a in args]
        places = [
            (i, j)
            for i in argnums
            for j, leaf in enumerate(flat[i][0])
            if num.kind_of(num.dtype_of(leaf)) in "fc"
        ]

        def rebuild(values):
            leaves = [list(held) for held, _ in flat]
            for (i, j), v in zip(places, values, strict=False):
                leaves[i][j] = v
            return [unflatten(t, held) for held, (_, t) in zip(leaves, flat, strict=False)]

        def dense(*values):
            return dense_fun(*_todense(rebuild(values)))

        def sparse(*values):
            return _todense(sparse_fun(*rebuild(values)))

        values = [flat[i][0][j] for i, j in places]
        self.assertAllClose(dense(*values), sparse(*values), atol=atol, rtol=rtol)
        which = tuple(range(len(values)))
        for mode in modes:
            jac = jaxshims.target_attr({"fwd": "jacfwd", "rev": "jacrev"}[mode])
            leaves = _tree("tree_leaves")
            self.assertAllClose(
                leaves(jac(dense, argnums=which)(*values)),
                leaves(jac(sparse, argnums=which)(*values)),
                atol=atol,
                rtol=rtol,
            )

    def _random_bdims(self, *args):
        return [int(self.rng().randint(0, n + 1)) for n in args]

    def _CheckBatchingSparse(
        self,
        dense_fun,
        sparse_fun,
        args_maker,
        *,
        batch_size=3,
        bdims=None,
        check_jit=False,
        check_dtypes=True,
        tol=None,
        atol=None,
        rtol=None,
        canonicalize_dtypes=True,
    ):
        samples = [args_maker() for _ in range(batch_size)]
        if bdims is None:
            bdims = self._random_bdims(
                *(a.n_batch if is_sparse(a) else np.ndim(a) for a in samples[0])
            )
        batched = [
            _stack(items, d) for items, d in zip(zip(*samples, strict=False), bdims, strict=False)
        ]
        vmap = jaxshims.target_attr("vmap")
        want = vmap(dense_fun, in_axes=tuple(bdims))(*map(_todense, batched))
        got = vmap(sparse_fun, in_axes=tuple(bdims))(*batched)
        check = functools.partial(
            self.assertAllClose,
            check_dtypes=check_dtypes,
            atol=tol if atol is None else atol,
            rtol=tol if rtol is None else rtol,
            canonicalize_dtypes=canonicalize_dtypes,
        )
        check(_todense(got), want)
        if check_jit:
            jitted = jaxshims.target_attr("jit")(vmap(sparse_fun, in_axes=tuple(bdims)))(*batched)
            check(_todense(jitted), want)


def _stack(items, axis):
    """Stacks arrays, or sparse arrays along a new batch dimension."""
    if not is_sparse(items[0]):
        return np.stack([np.asarray(x) for x in items], axis)
    first = items[0]
    shape = first.shape[:axis] + (len(items),) + first.shape[axis:]
    jnp = jaxshims.target_attr("numpy")
    names = ["data", "indices", *(["indptr"] if hasattr(first, "indptr") else [])]
    parts = [np.stack([np.asarray(getattr(x, name)) for x in items], axis) for name in names]
    return type(first)(tuple(jnp.asarray(part) for part in parts), shape=shape)


def _count(nse, size):
    if 0 <= nse < 1:
        nse = math.ceil(nse * size)
    return min(int(nse), size)


def _random_bcoo(rng, rand_method, nse, n_batch, n_dense):
    def make(shape, dtype, nse=nse, n_batch=n_batch, n_dense=n_dense):
        shape = tuple(shape)
        n_sparse = len(shape) - n_batch - n_dense
        assert n_sparse >= 0, (shape, n_batch, n_dense)
        batch, middle, dense = (
            shape[:n_batch],
            shape[n_batch : n_batch + n_sparse],
            shape[n_batch + n_sparse :],
        )
        size = math.prod(middle)
        count = _count(nse, size)
        data = rand_method(rng)(batch + (count,) + dense, dtype)
        rows = []
        for _ in range(math.prod(batch)):
            flat = rng.choice(size, count, replace=False) if count else np.zeros(0, int)
            rows.append(
                np.stack(np.unravel_index(flat, middle), -1)
                if n_sparse
                else np.zeros((count, 0), int)
            )
        indices = np.asarray(rows, np.int32).reshape(batch + (count, n_sparse))
        jnp = jaxshims.target_attr("numpy")
        return _sparse("BCOO")((jnp.asarray(data), jnp.asarray(indices)), shape=shape)

    return make


def rand_bcoo(rng, rand_method=jtu.rand_default, nse=0.5, n_batch=0, n_dense=0):
    return _random_bcoo(rng, rand_method, nse, n_batch, n_dense)


def rand_bcsr(rng, rand_method=jtu.rand_default, nse=0.5, n_batch=0, n_dense=0):
    coo = _random_bcoo(rng, rand_method, nse, n_batch, n_dense)

    def make(shape, dtype, **kw):
        return _sparse("BCSR").from_bcoo(coo(shape, dtype, **kw).sort_indices())

    return make


def rand_sparse(rng, nse=0.5, post=lambda x: x, rand_method=jtu.rand_default):
    """A dense array with about nse of its elements not zero."""

    def make(shape, dtype, nse=nse):
        values = np.asarray(rand_method(rng)(shape, dtype)).copy()
        size = math.prod(shape)
        zeros = rng.choice(size, size - _count(nse, size), replace=False)
        values.ravel()[zeros] = 0
        return post(values)

    return make
