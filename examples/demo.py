"""Trains a classifier of handwritten digits, end to end, and shows what each transform is for.

    python examples/demo.py

Real data (1797 scanned digits, examples/data/SOURCE.md), effax and NumPy, no GPU needed, well
under a minute. Every step asserts what it claims. The only line that differs from a JAX program is
the import.
"""

import gzip
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import effax as jax
import effax.numpy as jnp
from effax import lax
from effax.experimental import checkify

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import picture  # noqa: E402

SIZES = (64, 128, 64, 10)
BATCH, EPOCHS, RATE, MOMENTUM, DECAY = 32, 60, 0.05, 0.9, 3e-4


def say(title: str) -> None:
    print(f"\n── {title} " + "─" * (76 - len(title)))


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Least seconds of a call that waits for its result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


# ---- data and model


def load_digits(key):
    """((train images, labels), (test images, labels)): float32[n, 64] of 0 to 1, int32[n]."""
    with gzip.open(HERE / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.float32)
    table = table[np.asarray(jax.random.permutation(key, len(table)))]
    images, labels = table[:, :64] / 16, table[:, 64].astype(np.int32)
    return (images[:1437], labels[:1437]), (images[1437:], labels[1437:])


def initialize(key):
    """A list of (weights, biases), each layer from a key of its own."""
    return [
        (jax.random.normal(k, (m, n)) * jnp.sqrt(2 / m), jnp.zeros(n))
        for k, m, n in zip(jax.random.split(key, 3), SIZES[:-1], SIZES[1:], strict=True)
    ]


def predict(params, image):
    """Logits of one image; `vmap` makes the batch."""
    for weights, biases in params[:-1]:
        image = jax.nn.relu(image @ weights + biases)
    weights, biases = params[-1]
    return image @ weights + biases


def loss_of_one(params, image, label):
    return -jax.nn.log_softmax(predict(params, image))[label]


def loss(params, images, labels):
    return jnp.mean(jax.vmap(loss_of_one, in_axes=(None, 0, 0))(params, images, labels))


@jax.jit
def accuracy(params, images, labels):
    logits = jax.vmap(predict, in_axes=(None, 0))(params, images)
    return jnp.mean(jnp.argmax(logits, axis=1) == labels)


# ---- training


def update(state, batch, rate):
    """One step of gradient descent with momentum and weight decay."""
    params, velocity = state
    value, grads = jax.value_and_grad(loss)(params, *batch)
    velocity = jax.tree.map(lambda v, g, p: MOMENTUM * v + g + DECAY * p, velocity, grads, params)
    params = jax.tree.map(lambda p, v: p - rate * v, params, velocity)
    return (params, velocity), value


def shifted(key, image):
    """With probability a half, the image moved by up to one pixel each way."""
    which, where = jax.random.split(key)
    padded = jnp.pad(image.reshape(8, 8), 1)
    corner = jax.random.randint(where, (2,), 0, 3)
    moved = lax.dynamic_slice(padded, tuple(corner), (8, 8)).reshape(64)
    return jnp.where(jax.random.bernoulli(which), moved, image)


@jax.jit
def epoch(state, key, rate, images, labels):
    """All minibatches once, in an order drawn from `key`: one compiled `scan`."""
    order_key, shift_key = jax.random.split(key)
    images = jax.vmap(shifted)(jax.random.split(shift_key, len(images)), images)
    steps = len(images) // BATCH
    order = jax.random.permutation(order_key, len(images))[: steps * BATCH].reshape(steps, BATCH)

    def step(state, rows):
        return update(state, (images[rows], labels[rows]), rate)

    return lax.scan(step, state, order)


def progress(done: int, total: int, text: str) -> None:
    if sys.stdout.isatty():
        filled = 40 * done // total
        print(f"\r{'█' * filled}{'░' * (40 - filled)} {text}", end="", flush=True)
        if done == total:
            print()
    elif done % 10 == 0:
        print(f"epoch {done:3d} of {total}: {text}")


def train(key, train_set, test_set):
    """The trained parameters, and the losses on both sets after each epoch."""
    key, subkey = jax.random.split(key)
    params = initialize(subkey)
    state = params, jax.tree.map(jnp.zeros_like, params)
    images, labels = map(jnp.asarray, train_set)
    evaluate = jax.jit(loss)
    curves = []
    for number in range(EPOCHS):
        rate = RATE * (1 - number / EPOCHS)
        state, _ = epoch(state, jax.random.fold_in(key, number), rate, images, labels)
        curves.append([float(evaluate(state[0], *part)) for part in (train_set, test_set)])
        progress(number + 1, EPOCHS, "loss {:.4f}, on the test set {:.4f}".format(*curves[-1]))
    return state[0], np.array(curves).T


def numpy_value_and_grad(params, images, labels):
    """The same loss and gradient, by hand."""
    (w1, b1), (w2, b2), (w3, b3) = params
    a1 = np.maximum(images @ w1 + b1, 0)
    a2 = np.maximum(a1 @ w2 + b2, 0)
    logits = a2 @ w3 + b3
    logits -= logits.max(1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    rows = np.arange(len(labels))
    d3 = np.exp(log_p)
    d3[rows, labels] -= 1
    d3 /= len(labels)
    d2 = (d3 @ w3.T) * (a2 > 0)
    d1 = (d2 @ w2.T) * (a1 > 0)
    grads = [(images.T @ d1, d1.sum(0)), (a1.T @ d2, d2.sum(0)), (a2.T @ d3, d3.sum(0))]
    return -log_p[rows, labels].mean(), grads


def show_speed(params, images, labels):
    say("grad and jit: the gradient by hand, differentiated, and compiled")
    by_hand = jax.tree.map(np.asarray, params)
    expected = numpy_value_and_grad(by_hand, images, labels)
    eager = jax.value_and_grad(loss)
    compiled = jax.jit(eager)
    for function in (eager, compiled):
        for ours, theirs in zip(
            jax.tree.leaves(function(params, images, labels)),
            jax.tree.leaves(expected),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
    images, labels = jnp.asarray(images), jnp.asarray(labels)
    times = {
        "NumPy, by hand": seconds(
            lambda: numpy_value_and_grad(by_hand, np.asarray(images), np.asarray(labels)), 20
        ),
        "value_and_grad(loss)": seconds(
            lambda: eager(params, images, labels)[0].block_until_ready(), 5
        ),
        "jit(value_and_grad(loss))": seconds(
            lambda: compiled(params, images, labels)[0].block_until_ready(), 50
        ),
    }
    for name, taken in times.items():
        print(f"{name:28s}{1e3 * taken:8.3f} ms for {len(images)} images")


# ---- what the other transforms are for


def show_per_example_gradients(params, images, labels):
    say("vmap(grad): which training images pull hardest")

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0, 0))
    def pull(params, image, label):
        grads = jax.grad(loss_of_one)(params, image, label)
        return jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))

    norms = np.asarray(pull(params, images, labels))
    hardest = np.argsort(-norms)[:5]
    print(f"gradient norms: median {np.median(norms):.2g}, largest", norms[hardest].round(2))
    # One of them alone, without vmap and jit, is the same number.
    n = int(hardest[0])
    alone = jax.grad(loss_of_one)(params, images[n], labels[n])
    size = np.sqrt(sum(np.sum(np.asarray(g, "f8") ** 2) for g in jax.tree.leaves(alone)))
    np.testing.assert_allclose(norms[n], size, rtol=1e-3)


def show_curvature(params, images, labels):
    say("jvp(grad): the sharpest direction of the loss, by power iteration with H·v")

    def hessian_times(v):
        return jax.jvp(jax.grad(lambda p: loss(p, images, labels)), (params,), (v,))[1]

    def dot(a, b):
        return sum(
            jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
        )

    @jax.jit
    def power_iteration(key):
        leaves, tree = jax.tree.flatten(params)
        keys = jax.random.split(key, len(leaves))
        start = [jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)]

        def body(_, v):
            hv = hessian_times(v)
            return jax.tree.map(lambda x: x / jnp.sqrt(dot(hv, hv)), hv)

        v = lax.fori_loop(0, 40, body, jax.tree.unflatten(tree, start))
        return dot(v, hessian_times(v)), v

    sharpness, v = power_iteration(jax.random.PRNGKey(5))
    print(f"largest eigenvalue of the Hessian ({sum(x.size for x in jax.tree.leaves(v))} parameters): "
          f"{float(sharpness):.3g}")  # fmt: skip
    assert np.isfinite(sharpness) and sharpness > 0


def show_gradient_of_training(params, images, labels):
    say("jit(grad(scan(grad))): the learning rate's own gradient, through 10 training steps")

    def after_training(rate):
        def step(p, _):
            grads = jax.grad(loss)(p, images, labels)
            return jax.tree.map(lambda x, g: x - rate * g, p, grads), None

        return loss(lax.scan(step, params, None, length=10)[0], images, labels)

    slope = float(jax.jit(jax.grad(after_training))(0.01))
    f = jax.jit(after_training)
    difference = float(f(0.012) - f(0.008)) / 0.004
    print(f"d loss / d rate = {slope:.4f}; by finite differences {difference:.4f}")
    np.testing.assert_allclose(slope, difference, rtol=0.05)


def show_checks(params, images, labels):
    say("checkify: a NaN, and the line it came from")

    def naive_loss(params, images, labels):
        logits = jax.vmap(predict, in_axes=(None, 0))(params, images)
        p = jnp.exp(logits) / jnp.sum(jnp.exp(logits), axis=1, keepdims=True)
        targets = jax.nn.one_hot(labels, 10)
        return -jnp.mean(jnp.sum(targets * jnp.log(p), axis=1))  # 0 · log 0

    checked = jax.jit(checkify.checkify(naive_loss, errors=checkify.float_checks))
    error, _ = checked(params, images, labels)
    assert error.get() is None, error.get()
    too_sure = jax.tree.map(lambda x: 4 * x, params)  # exp overflows, or p is 0
    error, value = checked(too_sure, images, labels)
    because = error.get() or ""
    print("loss", value, "because:", because)
    assert "nan" in because and "demo.py" in because
    assert np.isfinite(loss(too_sure, images, labels))  # log_softmax has no such trouble


def show_programs(params, images, labels):
    say("what a transform sees, and what XLA gets")
    staged = str(jax.make_jaxpr(loss_of_one)(params, images[0], labels[0]))
    text = jax.jit(loss_of_one).lower(params, images[0], labels[0]).as_text()
    for printed, count in ((staged, 12), (text, 14)):
        lines = printed.splitlines()
        print("\n".join(line[:110] for line in lines[:count]))
        print(f"... {len(lines)} lines\n")
    assert "stablehlo.dot_general" in text


def show_devices(params, images, labels):
    count = jax.local_device_count()
    if count == 1:
        print(
            "\n(one device; with XLA_FLAGS=--xla_force_host_platform_device_count=8 `pmap` is shown)"
        )
        return
    say(f"pmap: the gradient of {count} parts of the batch, averaged over {count} devices")
    size = len(images) // count * count
    parts = images[:size].reshape(count, -1, 64), labels[:size].reshape(count, -1)

    @partial(jax.pmap, axis_name="devices", in_axes=(None, 0, 0))
    def gradient(params, images, labels):
        return lax.pmean(jax.grad(loss)(params, images, labels), "devices")

    parallel = gradient(params, *parts)
    whole = jax.grad(loss)(params, images[:size], labels[:size])
    for ours, theirs in zip(jax.tree.leaves(parallel), jax.tree.leaves(whole), strict=True):
        np.testing.assert_allclose(ours[0], theirs, rtol=1e-3, atol=1e-5)
    print(f"the same as that of the whole batch of {size}, on one")


def main() -> None:
    began = time.perf_counter()
    data_key, train_key = jax.random.split(jax.random.PRNGKey(0))
    train_set, test_set = load_digits(data_key)

    say(f"training: {len(train_set[0])} digits, {EPOCHS} epochs, each one compiled scan")
    start = time.perf_counter()
    params, curves = train(train_key, train_set, test_set)
    reached = float(accuracy(params, *test_set))
    print(
        f"{time.perf_counter() - start:.1f} s; accuracy on {len(test_set[0])} digits not seen: {reached:.2%}"
    )
    assert reached >= 0.97

    batch = train_set[0][:256], train_set[1][:256]
    fresh = initialize(train_key)
    show_speed(params, *batch)
    show_per_example_gradients(params, *train_set)
    show_curvature(params, *batch)
    show_gradient_of_training(fresh, *batch)
    show_checks(params, *batch)
    show_programs(params, *batch)
    show_devices(params, *batch)

    images, labels = test_set
    guesses = np.asarray(jnp.argmax(jax.vmap(predict, in_axes=(None, 0))(params, images), axis=1))
    chosen = np.argsort(guesses == labels, kind="stable")[:32]  # the mistakes first
    path = HERE / "output" / "digits.svg"
    series = {"training": (curves[0], "#36c"), "test": (curves[1], "#e70")}
    picture.save(path, series, images[chosen].reshape(-1, 8, 8), labels[chosen], guesses[chosen])
    print(f"\nthe loss curve and 32 predictions: {path}")
    print(f"{time.perf_counter() - began:.1f} s in all; every claim above was asserted")


if __name__ == "__main__":
    main()
