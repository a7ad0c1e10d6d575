"""Gradients through training: each input's own weight decay is learnt from the validation set."""

import numpy as np
from _figure import figure

import effax
import effax.numpy as jnp
from effax import lax, random

INPUTS, USED = 30, 6


def data(key, count):
    """A sum of a few inputs, with noise; the other inputs say nothing."""
    one, other = random.split(key)
    x = random.normal(one, (count, INPUTS))
    true = jnp.where(jnp.arange(INPUTS) < USED, 1.5 - 0.2 * jnp.arange(INPUTS), 0.0)
    return x, x @ true + 1.0 * random.normal(other, (count,))


def trained(decays, x, y, steps=200):
    """The weights after gradient descent with these logarithms of weight decays."""

    def loss(w):
        return jnp.mean((x @ w - y) ** 2) + jnp.sum(jnp.exp(decays) * w**2)

    def step(w, _):
        return w - 0.05 * effax.grad(loss)(w), None

    return lax.scan(step, jnp.zeros(INPUTS), length=steps)[0]


def validation(decays, train, other):
    w = trained(decays, *train)
    return jnp.mean((other[0] @ w - other[1]) ** 2), w


@effax.jit
def better(decays, train, other):
    (value, w), slope = effax.value_and_grad(validation, has_aux=True)(decays, train, other)
    return jnp.clip(decays - 3.0 * slope, -9.0, 1.5), value, w


def run(rounds):
    """Errors on the validation set and on a third one, decays and weights."""
    keys = random.split(random.key(0), 3)
    train, other, test = data(keys[0], 40), data(keys[1], 200), data(keys[2], 1000)
    decays, errors = jnp.full(INPUTS, -3.0), []
    for _ in range(rounds):
        decays, value, w = better(decays, train, other)
        errors.append((float(value), float(jnp.mean((test[0] @ w - test[1]) ** 2))))
    return np.array(errors), np.array(decays), np.array(w)


if __name__ == "__main__":
    errors, decays, w = run(150)
    with figure(2) as (left, right):
        left.plot(errors, label=["validation", "test"])
        left.axhline(1.0, color="0.7", linestyle=":", label="the noise's")
        left.set(xlabel="round", ylabel="squared error")
        left.legend()
        right.bar(np.arange(INPUTS), np.exp(decays), color=["C2"] * USED + ["C3"] * (INPUTS - USED))
        right.set(xlabel="input (green: used)", ylabel="weight decay learnt", yscale="log")
