"""Programs whose derivative could store more than it needs; written for any library of JAX's API.

`programs(fx)` gives functions and their arguments; `nbytes` what a list of (type, place) stores.
"""

import numpy as np

T, N = 50, 16


def programs(fx, jnp):
    lax = fx.lax
    generator = np.random.default_rng(0)

    def array(*shape):
        return generator.normal(size=shape).astype(np.float32)

    def rnn(w, u, b, xs):
        def step(h, x):
            h = jnp.tanh(w @ h + u @ x + b)
            return h, h

        return lax.scan(step, jnp.zeros(N), xs)[1].sum()

    def masked(w, xs):
        def step(c, x):
            c = jnp.where(jnp.arange(N) < N // 2, c * jnp.sin(w), c + x)
            return jnp.where(c > 0.5, c * 0.5, c), ()

        return lax.scan(step, jnp.zeros(N), xs)[0].sum()

    def invariant(w, xs):
        return lax.scan(lambda c, x: (jnp.sin(c * jnp.exp(w)) + x, ()), jnp.zeros(N), xs)[0].sum()

    def converts(w, xs):
        def step(c, x):
            y = (c.astype(jnp.bfloat16) * w.astype(jnp.bfloat16)).astype(jnp.float32)
            return y * x.astype(jnp.float32), ()

        return lax.scan(step, jnp.ones(N), xs.astype(jnp.bfloat16))[0].sum()

    def counted(w):
        def step(i, c):
            return c * jnp.cos(w * i) + i * 1.0

        return lax.fori_loop(0, T, step, jnp.ones(N)).sum()

    def clipped(w, xs):
        def step(c, x):
            c = jnp.clip(c * w + x, -1.0, 1.0)
            return c, jnp.max(c)

        c, ys = lax.scan(step, jnp.zeros(N), xs)
        return c.sum() + ys.sum()

    def branches(w, xs):
        def step(c, x):
            return lax.cond(x[0] > 0, lambda c: jnp.sin(c * w), lambda c: c * x, c), ()

        return lax.scan(step, jnp.ones(N), xs)[0].sum()

    def relu_mlp(w, v, x):
        return fx.nn.relu(fx.nn.relu(x @ w) @ v).sum()

    def layer_norm(g, b, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return ((x - mean) / jnp.sqrt(variance + 1e-5) * g + b).sum()

    def attention(q, k, v):
        scores = q @ k.T / jnp.sqrt(16.0)
        scores = jnp.where(jnp.tril(jnp.ones((T, T), bool)), scores, -1e9)
        return (fx.nn.softmax(scores, -1) @ v).sum()

    def inverses(x):
        return lax.scan(lambda c, _: (1.0 / (1.0 + c * c), None), x, None, length=T)[0].sum()

    def damped(x):
        return lax.scan(lambda c, _: (c / (1.0 + c * c), None), x, None, length=T)[0].sum()

    def by_sums(x):
        def step(c, _):
            return c / c.sum(1, keepdims=True) + 0.1, None

        return lax.scan(step, x, None, length=T)[0].sum()

    return {
        "rnn": (rnn, array(N, N), array(N, N), array(N), array(T, N)),
        "masked": (masked, array(N), array(T, N)),
        "invariant": (invariant, array(N), array(T, N)),
        "converts": (converts, array(N), array(T, N)),
        "counted": (counted, array(N)),
        "clipped": (clipped, array(N), array(T, N)),
        "branches": (branches, array(N), array(T, N)),
        "relu mlp": (relu_mlp, array(N, N), array(N, N), array(T, N)),
        "layer norm": (layer_norm, array(N), array(N), array(T, N)),
        "attention": (attention, array(T, N), array(T, N), array(T, N)),
        "inverses": (inverses, array(N)),
        "damped": (damped, array(N)),
        "by sums": (by_sums, array(N, N)),
    }


def nbytes(residuals):
    return sum(int(np.prod(t.shape)) * t.dtype.itemsize for t, _ in residuals)
