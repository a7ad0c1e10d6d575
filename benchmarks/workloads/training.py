"""Run time of training steps: a gradient of a network's loss, and a step against it."""

import itertools

from benchmarks.workloads.workload import program

LOSSES = {}
"""Titles and makers `(loss, parameters, *data)`, whose residuals are measured in `memory.py`."""


def training(title, why=""):
    """Enters a maker of `(loss, parameters, *data)` as a step of gradient descent.

    The gradient is compared with a difference quotient along itself.
    """

    def register(make):
        def step_of(jax, jnp, np):
            loss, params, *data = make(jax, jnp, np)

            @jax.jit
            def step(params, *data):
                value, grads = jax.value_and_grad(loss)(params, *data)
                return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

            value, updated = step(params, *data)
            slopes = jax.tree.map(lambda p, q: (p - q) / 0.1, params, updated)
            length = sum((np.asarray(g, "f8") ** 2).sum() for g in jax.tree.leaves(slopes))
            little = 1e-3 / length**0.5
            moved = jax.tree.map(lambda p, g: p - little * g, params, slopes)
            found = (float(value) - float(jax.jit(loss)(moved, *data))) / little
            np.testing.assert_allclose(found, length, rtol=0.1)
            return step, params, *data

        step_of.__name__, step_of.__module__ = make.__name__, make.__module__
        LOSSES[make.__name__] = title, make
        return program(title, why=why)(step_of)

    return register


def cross_entropy(jax, jnp, scores, targets):
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(scores), -1))


@training("MLP training step, 784-512-512-10, batch 128")
def mlp_step(jax, jnp, np):
    sizes = (784, 512, 512, 10)
    rng = np.random.default_rng(3)
    params = [
        (jnp.array((rng.standard_normal((m, n)) / m**0.5).astype("f4")), jnp.zeros(n))
        for m, n in itertools.pairwise(sizes)
    ]
    x = jnp.array(rng.standard_normal((128, 784)).astype("f4"))
    y = jnp.array(np.eye(10, dtype="f4")[rng.integers(0, 10, 128)])

    def loss(params, x, y):
        for w, b in params[:-1]:
            x = jnp.maximum(x @ w + b, 0)
        return cross_entropy(jax, jnp, x @ params[-1][0] + params[-1][1], y)

    return loss, params, x, y


@training("convolutional training step, 28 x 28 x 1, channels 16 and 32, batch 32")
def conv_step(jax, jnp, np):
    rng = np.random.default_rng(4)
    shapes = [(3, 3, 1, 16), (3, 3, 16, 32), (7 * 7 * 32, 10)]
    params = [
        jnp.array((rng.standard_normal(s) / np.prod(s[:-1]) ** 0.5).astype("f4")) for s in shapes
    ]
    x = jnp.array(rng.standard_normal((32, 28, 28, 1)).astype("f4"))
    y = jnp.array(np.eye(10, dtype="f4")[rng.integers(0, 10, 32)])
    window = (1, 2, 2, 1)

    def loss(params, x, y):
        for kernel in params[:-1]:
            x = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jnp.maximum(x, 0)
            x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID")
        return cross_entropy(jax, jnp, x.reshape(len(x), -1) @ params[-1], y)

    return loss, params, x, y


@training(
    "transformer training step, 2 layers of width 128, 4 heads, 8 x 64 tokens",
    why="on one core 56 to 58 ms, JAX 65: the rest is how two cores share the work",
)
def transformer_step(jax, jnp, np):
    rng = np.random.default_rng(5)
    width, heads, vocabulary = 128, 4, 256

    def weights(m, n):
        return jnp.array((rng.standard_normal((m, n)) / m**0.5).astype("f4"))

    def layer():
        shapes = {"qkv": 3 * width, "out": width, "up": 4 * width}
        return {k: weights(width, n) for k, n in shapes.items()} | {
            "down": weights(4 * width, width)
        }

    params = {"layers": [layer(), layer()], "table": weights(vocabulary, width)}
    tokens = rng.integers(0, vocabulary, (8, 65))
    y = np.eye(vocabulary, dtype="f4")[tokens[:, 1:]]
    tokens = jnp.array(tokens[:, :-1].astype("i4"))

    def normal(x):
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def attention(x, layer):
        n, t, _ = x.shape
        q, k, v = jnp.moveaxis((x @ layer["qkv"]).reshape(n, t, 3, heads, -1), 2, 0)
        scores = jnp.einsum("nihd,njhd->nhij", q, k) / np.sqrt(width / heads).astype("f4")
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
        mixed = jnp.einsum("nhij,njhd->nihd", jax.nn.softmax(scores), v)
        return mixed.reshape(n, t, width) @ layer["out"]

    def loss(params, tokens, y):
        x = 10 * params["table"][tokens]
        for layer in params["layers"]:
            x = x + attention(normal(x), layer)
            x = x + jax.nn.gelu(normal(x) @ layer["up"]) @ layer["down"]
        return cross_entropy(jax, jnp, normal(x) @ params["table"].T, y)

    return loss, params, tokens, jnp.array(y)
