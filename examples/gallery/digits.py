"""Train a classifier of scanned digits; draw its losses, and the test digits that it gets wrong."""

from pathlib import Path

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, nn, random

DATA = Path(__file__).resolve().parents[1] / "data" / "digits.csv.gz"


def load():
    table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    table = np.random.default_rng(0).permutation(table)
    images, labels = jnp.asarray(table[:, :64] / 16), jnp.asarray(table[:, 64].astype(np.int32))
    return (images[:1500], labels[:1500]), (images[1500:], labels[1500:])


def initialize(key, sizes=(64, 128, 10)):
    keys = random.split(key, len(sizes) - 1)
    shapes = zip(keys, sizes[:-1], sizes[1:], strict=True)
    return [(random.normal(k, (n, m)) * jnp.sqrt(2 / n), jnp.zeros(m)) for k, n, m in shapes]


def predict(params, images):
    *hidden, (w, b) = params
    for v, c in hidden:
        images = nn.relu(images @ v + c)
    return images @ w + b


def loss(params, images, labels):
    return -jnp.mean(jnp.sum(nn.log_softmax(predict(params, images)) * nn.one_hot(labels, 10), 1))


@effax.jit
def epoch(params, key, images, labels):
    """Gradient descent over all batches of 50, in an order drawn from the key."""
    order = random.permutation(key, len(images)).reshape(-1, 50)

    def step(params, rows):
        slopes = effax.grad(loss)(params, images[rows], labels[rows])
        return effax.tree.map(lambda p, s: p - 0.2 * s, params, slopes), None

    return lax.scan(step, params, order)[0]


def run(epochs):
    """The losses on both sets after each epoch, and the parameters."""
    train, test = load()
    params, losses = initialize(random.key(0)), []
    for i in range(epochs):
        params = epoch(params, random.fold_in(random.key(1), i), *train)
        losses.append([float(loss(params, *part)) for part in (train, test)])
    return np.array(losses), params


if __name__ == "__main__":
    losses, params = run(40)
    images, labels = load()[1]
    guesses = jnp.argmax(predict(params, images), axis=1)
    wrong = np.asarray(guesses != labels)
    shown = np.argsort(~wrong, stable=True)[:12]
    with figure(2) as (left, right):
        left.semilogy(losses, label=["training set", "test set"])
        left.set(xlabel="epoch", ylabel="cross-entropy")
        left.legend()
        tiles = np.zeros((3, 4, 12, 12))
        tiles[:, :, 3:11, 2:10] = np.asarray(images)[shown].reshape(3, 4, 8, 8)
        right.imshow(tiles.transpose(0, 2, 1, 3).reshape(36, 48), cmap="gray_r")
        for i, k in enumerate(shown):
            color = "C3" if wrong[k] else "C2"
            text = f"{labels[k]} as {guesses[k]}" if wrong[k] else f"{labels[k]}"
            right.text(i % 4 * 12 + 2, i // 4 * 12 + 2, text, color=color)
        right.set(title=f"{wrong.sum()} of {len(labels)} wrong")
        right.axis("off")
