"""Train a classifier of digits, and export it for batches of any size.

    python examples/serving/export_model.py model.effax --width 2048

The program takes images, `f32[b, 64]`, and returns probabilities, `f32[b, 10]`. The weights are
constants of the program.
"""

import argparse
from pathlib import Path

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax import export, nn, random

DIGITS = Path(__file__).parents[1] / "data" / "digits.csv.gz"


def digits():
    """Images as rows of 64 numbers from 0 to 1, and their digits."""
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    return table[:, :-1] / 16, table[:, -1].astype(np.int32)


def initial(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [
        (random.normal(k, (m, n)) * (2 / m) ** 0.5, jnp.zeros(n))
        for k, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def logits(params, x):
    for w, b in params[:-1]:
        x = nn.relu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return -(nn.log_softmax(logits(params, x)) * nn.one_hot(y, 10)).sum(axis=1).mean()


@fx.jit
def step(params, x, y, rate):
    return fx.tree.map(lambda p, g: p - rate * g, params, fx.grad(loss)(params, x, y))


def trained(width, epochs):
    """Weights, and the share of the last 297 images that they classify right."""
    x, y = digits()
    params = initial(random.key(0), [64, width, width, 10])
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(1500)
        for rows in np.split(order[:1408], 11):
            params = step(params, x[rows], y[rows], 0.1)
    right = jnp.argmax(logits(params, x[1500:]), axis=1) == y[1500:]
    return params, float(right.mean())


def exported(params):
    """The program for batches of any size."""
    (b,) = export.symbolic_shape("b")
    probabilities = fx.jit(lambda image: nn.softmax(logits(params, image)))
    return export.export(probabilities)(fx.ShapeDtypeStruct((b, 64), "float32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    params, accuracy = trained(options.width, options.epochs)
    data = exported(params).serialize()
    options.out.write_bytes(data)
    print(f"{accuracy:.1%} of 297 images right; {len(data) / 1e6:.1f} MB written to {options.out}")


if __name__ == "__main__":
    main()
