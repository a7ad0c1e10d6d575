"""Functions of one place that take derivatives themselves; JAX's answers are in goldens/inside.json.

`programs(jax)` needs nothing but JAX's names, so that JAX and effax run the same text. Each is a
function of `w`, which all places share, and of a piece `x` of rows; with it come the specs of its
results and whether `check_vma` is left on.
"""

import numpy as np

W = np.linspace(-0.5, 0.7, 4).astype(np.float32)
X = np.sin(np.arange(32.0)).reshape(8, 4).astype(np.float32)


def programs(jax):
    jnp, lax, P = jax.numpy, jax.lax, jax.P

    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    def mean_loss(w, x):
        return lax.pmean(loss(w, x), ("a", "b"))

    @jax.custom_vjp
    def doubled(w, x):
        return loss(w, x)

    def backward(kept, ct):
        w, x = kept
        h = jnp.tanh(x @ w)
        slope = 2 * ct * 2 * h * (1 - h**2)
        return lax.psum(slope @ x, ("a", "b")), slope[:, None] * w

    doubled.defvjp(lambda w, x: (loss(w, x), (w, x)), backward)

    def by_scan(w, x):
        def step(c, row):
            g = jax.grad(loss)(w, row[None])
            return c + g, jnp.sum(g)

        return lax.scan(step, jnp.zeros(4), x)[0]

    def scanned(w, x):
        def step(c, row):
            return c + lax.psum(jnp.sum(jnp.sin(row * w)), "b") * c, None

        return lax.scan(step, lax.pcast(jnp.sum(w), "a", to="varying"), x)[0]

    def branched(w, x):
        return lax.cond(jnp.sum(w) > 0, lambda: jnp.sum(w**2 + x[0]), lambda: jnp.sum(w * x[0]))

    def descended(w, x):
        def step(_, v):
            return v - 0.1 * jax.grad(mean_loss)(v, x)

        return lax.fori_loop(0, 3, step, w)

    rows = P(("a", "b"))
    return {
        "shared": (jax.grad(loss), P(), True),
        "shared, unchecked": (lambda w, x: jax.grad(loss)(w, x)[None], rows, False),
        "own": (jax.grad(loss, 1), rows, True),
        "mean": (jax.grad(mean_loss), P(), True),
        "mean, unchecked": (lambda w, x: jax.grad(mean_loss)(w, x)[None], rows, False),
        "mean, own": (jax.grad(mean_loss, 1), rows, True),
        "value": (jax.value_and_grad(mean_loss), P(), True),
        "cast": (
            lambda w, x: jax.grad(loss)(lax.pcast(w, ("a", "b"), to="varying"), x)[None],
            rows,
            True,
        ),
        "jit": (jax.jit(jax.grad(mean_loss)), P(), True),
        "jit inside": (jax.grad(lambda w, x: jax.jit(mean_loss)(w, x) * 2), P(), True),
        "descended": (descended, P(), True),
        "scan": (lambda w, x: lax.psum(by_scan(w, x), ("a", "b")), P(), True),
        "through a scan": (
            lambda w, x: jax.grad(lambda w: lax.pmean(scanned(w, x), "a"))(w),
            P(),
            True,
        ),
        "cond": (jax.grad(branched), P(), True),
        "custom": (jax.grad(doubled), P(), True),
        "custom, own": (jax.grad(doubled, 1), rows, True),
        "remat": (jax.grad(jax.checkpoint(mean_loss)), P(), True),
        "vmap": (
            lambda w, x: jax.vmap(jax.grad(mean_loss), (0, None))(jnp.stack([w, 2 * w]), x),
            P(),
            True,
        ),
        "vmap of own": (lambda w, x: jax.vmap(jax.grad(loss), (None, 0))(w, x[:, None]), P(), True),
        "hessian": (jax.hessian(mean_loss), P(), True),
        "gathered": (
            jax.grad(lambda w, x: jnp.sum(lax.all_gather(x * w, "b") ** 3)),
            P(),
            True,
        ),
        "scattered": (
            jax.grad(lambda w, x: jnp.sum(lax.psum_scatter((x * w)[0], "b") ** 3)),
            P(),
            True,
        ),
        "rotated": (
            jax.grad(
                lambda w, x: jnp.sum(
                    x * lax.ppermute(x * w, "b", [(i, (i + 1) % 4) for i in range(4)])
                )
            ),
            P(),
            True,
        ),
        "place": (
            jax.grad(lambda w, x: jnp.sum(w * (1.0 + lax.axis_index("a"))) * jnp.sum(x)),
            P(),
            True,
        ),
        "sum of shared": (jax.grad(lambda w, x: lax.psum(jnp.sum(w**2), "a")), P(), True),
        "both uses": (
            jax.grad(lambda w, x: jnp.sum(w**2) + lax.psum(jnp.sum(w * x), ("a", "b"))),
            P(),
            True,
        ),
        "jvp": (
            lambda w, x: jax.jvp(lambda w: mean_loss(w, x), (w,), (jnp.cos(w),))[1],
            P(),
            True,
        ),
        "vjp": (
            lambda w, x: jax.vjp(lambda w: x @ w, w)[1](jnp.ones(x.shape[0]) * jnp.sum(x))[0],
            P(),
            True,
        ),
        "grad of grad": (
            jax.grad(lambda w, x: jnp.sum(jax.grad(mean_loss)(w, x) ** 2)),
            P(),
            True,
        ),
    }


def answers(jax, mesh, names=None):
    """Return the results of programs on eight devices, and derivatives in `w` from outside."""
    P = jax.P
    found = {}
    for name, (body, out, check) in programs(jax).items():
        if names is not None and name not in names:
            continue
        f = jax.jit(
            jax.shard_map(
                body,
                mesh=mesh,
                in_specs=(P(), P(("a", "b"))),
                out_specs=out,
                check_vma=check,
            )
        )

        def total(w, x, f=f):
            return sum(jax.numpy.sum(y**2) for y in jax.tree.leaves(f(w, x)))

        leaves = [*jax.tree.leaves(f(W, X)), jax.jit(jax.grad(total))(W, X)]
        found[name] = [np.asarray(leaf, np.float64).ravel().tolist() for leaf in leaves]
    return found
