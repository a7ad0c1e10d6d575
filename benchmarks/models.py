"""Programs that several workloads trace, lower or compile; for either library, given as `jax`, `jnp`."""

import math
from collections.abc import Callable
from typing import Any

DIM, HEADS, WORDS, ROWS = 32, 4, 16, 2


def thousand_operations(jnp: Any) -> Callable:
    def f(x, y):
        for _ in range(250):
            x = jnp.sin(x)
            x = x * 0.5
            x = x + y
            x = jnp.tanh(x)
        return x

    return f


def chain(jax: Any, equations: int) -> Callable:
    """As many equations on one array, by turns a product and a sine."""

    def f(x):
        for i in range(equations):
            x = jax.lax.sin(x) if i % 2 else x * 1.5
        return x

    return f


def chain_value(np: Any, x: Any, equations: int) -> tuple[Any, Any]:
    """Return the value of `chain` at x, and its derivative there."""
    slope = np.ones_like(x)
    for i in range(equations):
        slope, x = (slope * np.cos(x), np.sin(x)) if i % 2 else (slope * 1.5, x * 1.5)
    return x, slope


def derivative_of_quotient(jax: Any, jnp: Any, order: int) -> Callable:
    """The derivative of sin(x) / (1 + x^2) of an order."""

    def f(x):
        return jnp.sin(x) / (1.0 + x * x)

    for _ in range(order):
        f = jax.grad(f)
    return f


def derivative_by_contour(np: Any, x: Any, order: int) -> Any:
    """The same, by Cauchy's formula on a circle that has the poles outside."""
    turns = np.exp(2j * np.pi * np.arange(256) / 256)
    z = np.asarray(x, "f8")[..., None] + 0.5 * turns
    mean = (np.sin(z) / (1 + z * z) * turns**-order).mean(-1).real
    return mean * math.factorial(order) / 0.5**order


def transformer(jax: Any, jnp: Any, layers: int) -> Callable:
    """The loss of a transformer of as many layers, unrolled, on `transformer_inputs`."""

    def normalized(x):
        x = x - jnp.mean(x, -1, keepdims=True)
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)

    def attention(x, qkv, out):
        q, k, v = (
            jnp.reshape(a, (ROWS, WORDS, HEADS, DIM // HEADS)) for a in jnp.split(x @ qkv, 3, -1)
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (DIM // HEADS) ** 0.5
        mask = jnp.tril(jnp.ones((WORDS, WORDS), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1)
        return jnp.reshape(jnp.einsum("bhqk,bkhd->bqhd", weights, v), (ROWS, WORDS, DIM)) @ out

    def loss(params, x):
        for p in params:
            x = x + attention(normalized(x), p["qkv"], p["out"])
            x = x + jax.nn.gelu(normalized(x) @ p["up"]) @ p["down"]
        return jnp.mean(x * x)

    return loss


def transformer_inputs(np: Any, layers: int) -> tuple[list[dict[str, Any]], Any]:
    rng = np.random.default_rng(0)
    shapes = {
        "qkv": (DIM, 3 * DIM),
        "out": (DIM, DIM),
        "up": (DIM, 4 * DIM),
        "down": (4 * DIM, DIM),
    }
    params = [
        {k: (rng.standard_normal(s) / s[0] ** 0.5).astype("f4") for k, s in shapes.items()}
        for _ in range(layers)
    ]
    return params, rng.standard_normal((ROWS, WORDS, DIM)).astype("f4")


def leapfrog(jax: Any, jnp: Any, steps: int) -> Callable:
    """The energy after as many steps of coupled pendulums, unrolled, on `leapfrog_inputs`."""

    def potential(q, w):
        return jnp.sum(w * (1 - jnp.cos(q))) + 0.5 * jnp.sum((q[1:] - q[:-1]) ** 2)

    def energy(q, w):
        p, force = jnp.zeros_like(q), jax.grad(potential)
        for _ in range(steps):
            p = p - 0.005 * force(q, w)
            q = q + 0.01 * p
            p = p - 0.005 * force(q, w)
        return jnp.sum(p * p) + potential(q, w)

    return energy


def leapfrog_inputs(np: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return rng.standard_normal(64).astype("f4"), rng.standard_normal(64).astype("f4")


def lstm(jax: Any, jnp: Any) -> Callable:
    """The squared last state of an LSTM, unrolled over the rows of `xs`."""

    def loss(xs, w):
        h = c = jnp.zeros((8, 32))
        for i in range(len(xs)):
            z = xs[i] @ w["x"] + h @ w["h"] + w["b"]
            keep, new, given, out = jnp.split(z, 4, -1)
            c = jax.nn.sigmoid(keep) * c + jax.nn.sigmoid(new) * jnp.tanh(given)
            h = jax.nn.sigmoid(out) * jnp.tanh(c)
        return jnp.sum(h * h)

    return loss


def lstm_inputs(np: Any, steps: int) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(4)
    w = {"x": rng.standard_normal((16, 128)) / 4, "h": rng.standard_normal((32, 128)) / 6}
    w["b"] = np.zeros(128)
    return rng.standard_normal((steps, 8, 16)).astype("f4"), {
        name: x.astype("f4") for name, x in w.items()
    }


def network(jnp: Any) -> Callable:
    """The loss of a network of tanh layers, one for each pair of its parameters."""

    def loss(params, x):
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean(x * x)

    return loss


def network_inputs(np: Any, layers: int, width: int = 16, rows: int = 8) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    params = [
        ((rng.standard_normal((width, width)) / width**0.5).astype("f4"), np.zeros(width, "f4"))
        for _ in range(layers)
    ]
    return params, rng.standard_normal((rows, width)).astype("f4")


def recurrent(jnp: Any) -> Callable:
    """The squared last state of a recurrent network of tanh, unrolled over the rows of `xs`."""

    def loss(params, xs):
        h = jnp.zeros((8, 32))
        for i in range(len(xs)):
            h = jnp.tanh(xs[i] @ params["x"] + h @ params["h"] + params["b"])
        return jnp.sum(h * h)

    return loss


def recurrent_inputs(np: Any, steps: int) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(5)
    params = {"x": rng.standard_normal((16, 32)) / 4, "h": rng.standard_normal((32, 32)) / 6}
    params["b"] = np.zeros(32)
    xs = rng.standard_normal((steps, 8, 16)).astype("f4")
    return {name: x.astype("f4") for name, x in params.items()}, xs


STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
"""Of ResNet-50: blocks and inner width of each stage; a block gives four times as many channels."""


def resnet_50(jax: Any, jnp: Any) -> Callable:
    """The loss of ResNet-50 with layers normalized in place of batches, on `resnet_50_inputs`."""
    layout = ("NHWC", "HWIO", "NHWC")

    def conv(x, w, stride=1):
        strides = (stride, stride)
        return jax.lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=layout)

    def normalized(x):
        x = x - jnp.mean(x, -1, keepdims=True)
        return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)

    def block(x, p, stride):
        inner = jax.nn.relu(normalized(conv(x, p["in"])))
        inner = jax.nn.relu(normalized(conv(inner, p["mid"], stride)))
        beside = normalized(conv(x, p["beside"], stride)) if "beside" in p else x
        return jax.nn.relu(normalized(conv(inner, p["out"])) + beside)

    def loss(params, x):
        x = jax.nn.relu(normalized(conv(x, params["stem"], 2)))
        window = (1, 3, 3, 1), (1, 2, 2, 1)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *window, "SAME")
        for i, stage in enumerate(params["stages"]):
            for j, p in enumerate(stage):
                x = block(x, p, 2 if i and not j else 1)
        return jnp.mean(jax.nn.log_softmax(jnp.mean(x, (1, 2)) @ params["head"]) ** 2)

    return loss


def resnet_50_inputs(np: Any) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(6)

    def weights(*shape):
        return (rng.standard_normal(shape) / np.prod(shape[:-1]) ** 0.5).astype("f4")

    stages, before = [], 64
    for blocks, width in STAGES:
        stage = []
        for j in range(blocks):
            p = {"in": weights(1, 1, before, width), "mid": weights(3, 3, width, width)}
            p["out"] = weights(1, 1, width, 4 * width)
            if not j:
                p["beside"] = weights(1, 1, before, 4 * width)
            stage.append(p)
            before = 4 * width
        stages.append(stage)
    params = {"stem": weights(7, 7, 3, 64), "stages": stages, "head": weights(before, 1000)}
    return params, rng.standard_normal((2, 64, 64, 3)).astype("f4")


def nested_control_flow(jax: Any, jnp: Any) -> Callable:
    """A scan over a branch over a while loop over a scan; a step adds 6 where its flag is set, or 3."""
    lax = jax.lax

    def add_three(x):
        return lax.scan(lambda c, y: (c + y, None), x, jnp.ones(3))[0]

    def repeated(x, times):
        return lax.while_loop(
            lambda state: state[0] < times,
            lambda state: (state[0] + 1, add_three(state[1])),
            (0, x),
        )[1]

    def step(x, flag):
        grown = lax.cond(flag, lambda x: repeated(x, 2), lambda x: repeated(x, 1), x)
        return grown, grown * 2.0

    def f(x, flags):
        last, doubled = lax.scan(step, x, flags)
        return last + 0.0 * jnp.sum(doubled)

    return f


def assert_gradient(jax: Any, np: Any, value: Callable, params: Any, *rest: Any) -> None:
    """Asserts that the gradient of `value` is right along one direction, by a central difference."""
    rng, step = np.random.default_rng(2), 1e-3
    along = jax.tree.map(lambda p: rng.standard_normal(p.shape).astype("f4"), params)
    ends = [
        float(value(jax.tree.map(lambda p, d, s=s: p + s * d, params, along), *rest))
        for s in (step, -step)
    ]
    slopes = jax.jit(jax.grad(value))(params, *rest)
    products = jax.tree.map(lambda g, d: float(np.sum(np.asarray(g) * d)), slopes, along)
    np.testing.assert_allclose(
        sum(jax.tree.leaves(products)), (ends[0] - ends[1]) / (2 * step), rtol=2e-2, atol=1e-3
    )
