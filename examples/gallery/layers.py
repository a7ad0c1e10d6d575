"""The program of a network's gradient, as `visualize` draws it: layers once, dear boxes in red."""

import sys

import effax
import effax.numpy as jnp


def loss(params, x, y):
    """The error of a network whose layers are scopes."""
    for i, layer in enumerate(params):
        with effax.named_scope(f"layer{i}"):
            x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean((x - y) ** 2)


def drawing(layers=4, width=64):
    """The drawing of the gradient for so many layers of a width."""
    params = [{"w": jnp.ones((width, width)), "b": jnp.ones(width)} for _ in range(layers)]
    batch = jnp.ones((32, width))
    return effax.visualize(effax.grad(loss), params, batch, batch, color="flops")


if __name__ == "__main__":
    drawing().save(sys.argv[1] if len(sys.argv) > 1 else "layers.png")
