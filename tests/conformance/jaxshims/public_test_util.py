"""jax.test_util: numerical checks of derivatives (central differences)."""

from __future__ import annotations

import numpy as np

import jaxshims
from jaxshims import _numerics as num

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_EPS = 1e-4


def _tree(name):
    return jaxshims.target_attr("tree_util." + name)


def _is_float0(x):
    return getattr(x, "dtype", None) == num.float0


def _differentiable(x):
    return num.kind_of(num.dtype_of(x)) in "fc"


def _random_tangent(rng, x):
    """A direction at ``x``: normal for inexact leaves, float0 for the others."""
    if _is_float0(x) or not _differentiable(x):
        return np.zeros(np.shape(x), num.float0)
    dtype = num.canonical(num.dtype_of(x))
    wide = num.wide(dtype)
    t = rng.randn(*np.shape(x))
    if num.kind_of(dtype) == "c":
        t = t + 1j * rng.randn(*np.shape(x))
    out = np.asarray(np.asarray(t, wide), dtype)
    if type(x) in (int, float, complex):
        return out.item()
    return out


def _shifted(x, t, scale):
    if _is_float0(t) or _is_float0(x):
        return x
    dtype = num.canonical(num.dtype_of(x))
    wide = num.wide(dtype)
    moved = np.asarray(x).astype(wide) + np.asarray(scale, wide) * np.asarray(t).astype(wide)
    moved = np.asarray(moved).astype(dtype)
    return jaxshims.target_attr("numpy.asarray")(moved)


def _exact_step(x, t, eps):
    """Changes ``t`` a little, so that x + eps t is a number of x's dtype.

    This takes most of the rounding error out of the difference quotient.
    """
    if _is_float0(t) or _is_float0(x):
        return t
    dtype = num.canonical(num.dtype_of(x))
    if num.kind_of(dtype) not in "fc":
        return t
    wide = {"f": np.float64, "c": np.complex128}[num.kind_of(dtype)]
    x_wide = np.asarray(np.asarray(x), dtype).astype(wide)
    with np.errstate(all="ignore"):
        moved = np.asarray(x_wide + eps * np.asarray(t).astype(wide))
        step = np.asarray(moved.astype(dtype).astype(wide) - x_wide)
        exact = np.asarray(
            np.where(np.isfinite(step), step / eps, np.asarray(t).astype(wide))
        ).astype(dtype)
    return exact.item() if type(t) in (int, float, complex) else exact


def numerical_jvp(f, primals, tangents, eps=None):
    """Central difference quotient of ``f`` with steps of +-eps."""
    eps = _EPS if eps is None else eps
    tree_map = _tree("tree_map")

    def at(sign):
        return f(
            *tree_map(lambda x, t: _shifted(x, t, sign * eps), tuple(primals), tuple(tangents))
        )

    def quotient(hi, lo):
        if _is_float0(hi) or not _differentiable(hi):
            return np.zeros(np.shape(hi), num.float0)
        dtype = num.dtype_of(hi)
        wide = num.wide(dtype)
        hi, lo = np.asarray(hi).astype(wide), np.asarray(lo).astype(wide)
        with np.errstate(all="ignore"):
            # Equal values differ by zero, infinities included.
            d = np.where(hi == lo, np.zeros((), wide), hi - lo)
            return np.asarray(d * (0.5 / eps)).astype(dtype)

    return tree_map(quotient, at(+1), at(-1))


def _inner(xs, ys):
    """Real part of the sum of products of all pairs of leaves."""
    total = 0.0
    for x, y in zip(_tree("tree_leaves")(xs), _tree("tree_leaves")(ys), strict=True):
        if _is_float0(x) or _is_float0(y):
            continue
        dtype = num.wide(num.dtype_of(x))
        total += np.sum(
            np.asarray(x).astype(dtype) * np.asarray(y).astype(num.wide(num.dtype_of(y)))
        ).real
    return total


def _leaf_close(a, b, atol, rtol, err_msg):
    if _is_float0(a) or _is_float0(b):
        return
    assert np.shape(a) == np.shape(b), (np.shape(a), np.shape(b), err_msg)
    # The suite's tolerances for derivatives are per element: they grow with the
    # number of elements.
    da, db = num.dtype_of(a), num.dtype_of(b)
    n = np.size(a)
    num.assert_close(
        a,
        b,
        err_msg=err_msg,
        atol=n * max(num.tolerance(da, atol), num.tolerance(db, atol)),
        rtol=n * max(num.tolerance(da, rtol), num.tolerance(db, rtol)),
    )


def check_close(xs, ys, atol=None, rtol=None, err_msg=""):
    tx, ty = _tree("tree_structure")(xs), _tree("tree_structure")(ys)
    lx, ly = _tree("tree_leaves")(xs), _tree("tree_leaves")(ys)
    if len(lx) != len(ly):
        raise AssertionError(f"trees differ: {tx} and {ty}. {err_msg}")
    for x, y in zip(lx, ly, strict=False):
        _leaf_close(x, y, atol, rtol, err_msg)


def _grad_tol(tol, *trees):
    if tol is not None and not isinstance(tol, dict):
        return tol
    return max(
        [
            num.tolerance(num.canonical(num.dtype_of(x)), tol, num.DEFAULT_GRADIENT_TOLERANCE)
            for t in trees
            for x in _tree("tree_leaves")(t)
            if not _is_float0(x)
        ]
        or [0.0]
    )


def _directions(rng, args, eps):
    eps = _EPS if eps is None else eps
    return _tree("tree_map")(lambda x: _exact_step(x, _random_tangent(rng, x), eps), args)


def check_jvp(f, f_jvp, args, atol=None, rtol=None, eps=None, err_msg=""):
    rng = np.random.RandomState(0)
    args = tuple(args)
    tangents = _directions(rng, args, eps)
    out, out_t = f_jvp(args, tangents)
    want = f(*args)
    want_t = numerical_jvp(f, args, tangents, eps)
    a, r = _grad_tol(atol, out, want), _grad_tol(rtol, out, want)
    check_close(out, want, a, r, err_msg and f"{err_msg}: JVP primal")
    check_close(out_t, want_t, a, r, err_msg and f"{err_msg}: JVP tangent")


def check_vjp(f, f_vjp, args, atol=None, rtol=None, eps=None, err_msg=""):
    rng = np.random.RandomState(0)
    args = tuple(args)
    out, pullback = f_vjp(*args)
    want = f(*args)
    a, r = _grad_tol(atol, out, want), _grad_tol(rtol, out, want)
    check_close(out, want, a, r, err_msg and f"{err_msg}: VJP primal")
    tangents = _directions(rng, args, eps)
    tangents_out = numerical_jvp(f, args, tangents, eps)
    cotangents = _tree("tree_map")(lambda x: _random_tangent(rng, x), out)
    cotangents_out = pullback(cotangents)
    dtype = [
        num.canonical(num.dtype_of(x))
        for t in (args, out)
        for x in _tree("tree_leaves")(t)
        if not _is_float0(x) and _differentiable(x)
    ]
    if dtype:
        a = max(num.tolerance(d, atol, num.DEFAULT_GRADIENT_TOLERANCE) for d in dtype)
        r = max(num.tolerance(d, rtol, num.DEFAULT_GRADIENT_TOLERANCE) for d in dtype)
    ip = _inner(tangents, cotangents_out)
    ip_want = _inner(tangents_out, cotangents)
    np.testing.assert_allclose(
        ip, ip_want, atol=a, rtol=r, err_msg=err_msg and f"{err_msg}: VJP cotangent projection"
    )


def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Compares jvp and vjp of ``f`` with central differences up to ``order``."""
    args = tuple(args)
    jvp = jaxshims.target_attr("jvp")
    vjp = jaxshims.target_attr("vjp")
    linearize = jaxshims.target_attr("linearize")
    if isinstance(modes, str):
        modes = (modes,)

    def check(f, args, order, trail):
        if "fwd" in modes:
            msg = f"{trail}jvp"
            check_jvp(f, lambda xs, ts: jvp(f, xs, ts), args, atol, rtol, eps, msg)
            if not trail and "rev" in modes:

                def by_linearize(xs, ts):
                    out, f_lin = linearize(f, *xs)
                    return out, f_lin(*ts)

                check_jvp(f, by_linearize, args, atol, rtol, eps, "linearize")
            if order > 1:
                check(lambda xs, ts: jvp(f, xs, ts), (args, args), order - 1, msg + " of ")
        if "rev" in modes:
            msg = f"{trail}vjp"
            check_vjp(f, lambda *xs: vjp(f, *xs), args, atol, rtol, eps, msg)
            if order > 1:

                def pulled(*xs):
                    out, pullback = vjp(f, *xs)
                    return pullback(out)

                check(pulled, args, order - 1, msg + " of ")

    check(f, args, order, "")
