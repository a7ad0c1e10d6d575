"""A transformer with experts, trained over data, pipe, expert and tensor axes of one mesh.

On eight devices of this machine's CPU:

    python examples/scaling/transformer.py 1 2 2 2
    python examples/scaling/transformer.py 8 1 1 1
    python -m effax.distributed run -n 2 --devices 4 examples/scaling/transformer.py 1 2 2 2 --job

The four numbers are the devices along each axis. The losses are those of one device, whatever they
are: a token's expert takes as many tokens of each sequence as its capacity says, so that no choice
depends on which sequences share a device. Where each collective stands, and what it sends, is in
`plan.py` and in docs/scaling.md.

Layers over stages, one microbatch behind the other: Huang et al. 2019. Heads and hidden units over
`tensor`: Shoeybi et al. 2019. One expert for each token: Fedus, Zoph & Shazeer 2021.
"""

import math
import sys
from typing import NamedTuple

import effax as jax
import effax.numpy as jnp
from effax import lax
from effax.sharding import NamedSharding
from effax.sharding import PartitionSpec as P

AXES = "data", "pipe", "expert", "tensor"
ROWS = "data", "expert"
"""The axes that the sequences of a batch are spread over."""


class Sizes(NamedTuple):
    """The size of a model and of a batch."""

    layers: int = 8
    width: int = 64
    heads: int = 4
    head: int = 16
    experts: int = 4
    hidden: int = 128
    words: int = 96
    length: int = 32
    batch: int = 32
    microbatches: int = 4
    spare: float = 1.25
    """The tokens that an expert takes, as a multiple of its share."""

    @property
    def capacity(self):
        """The tokens of a sequence that one expert takes."""
        return math.ceil(self.spare * self.length / self.experts)


SPECS = {
    "embedding": P(),
    "layers": {
        "into": P("pipe", None, None, "tensor"),
        "out": P("pipe", "tensor"),
        "router": P("pipe"),
        "up": P("pipe", "expert", None, "tensor"),
        "down": P("pipe", "expert", "tensor"),
        "scales": P("pipe"),
    },
}


def shapes(n):
    """The shape of each parameter."""
    return {
        "embedding": (n.words, n.width),
        "layers": {
            "into": (n.layers, 3, n.width, n.heads, n.head),
            "out": (n.layers, n.heads, n.head, n.width),
            "router": (n.layers, n.width, n.experts),
            "up": (n.layers, n.experts, n.width, n.hidden),
            "down": (n.layers, n.experts, n.hidden, n.width),
            "scales": (n.layers, 2, n.width),
        },
    }


def is_shape(x):
    return isinstance(x, tuple)


def initial(key, n):
    """Parameters at random: the same on any mesh, as the keys are."""
    leaves, tree = jax.tree.flatten(shapes(n), is_leaf=is_shape)
    keys = jax.random.split(key, len(leaves))
    drawn = [
        jax.random.normal(k, s) / math.sqrt(n.width) for k, s in zip(keys, leaves, strict=True)
    ]
    parameters = jax.tree.unflatten(tree, drawn)
    parameters["layers"]["scales"] = jnp.ones((n.layers, 2, n.width))
    return parameters


def text(key, n):
    """Sequences of which each word follows from the one before, but for one in ten."""
    first, *rest = jax.random.split(key, n.length)

    def follow(word, k):
        at, where = jax.random.split(k)
        chance = jax.random.randint(at, word.shape, 0, n.words)
        word = jnp.where(
            jax.random.uniform(where, word.shape) < 0.1, chance, (5 * word + 7) % n.words
        )
        return word, word

    start = jax.random.randint(first, (n.batch,), 0, n.words)
    _, words = lax.scan(follow, start, jnp.stack(rest))
    return jnp.concatenate([start[None], words]).T


def normalised(x, scale):
    return scale * x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def attention(w, x):
    """Causal attention; the heads are spread over `tensor`, and their sum is taken there."""
    q, k, v = jnp.einsum("blw,iwhd->iblhd", x, w["into"])
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9))
    return lax.psum(jnp.einsum("bhqk,bkhd,hdw->bqw", weights, v, w["out"]), "tensor")


def experts(w, x, n):
    """Each token through the expert that its router chooses, on the devices that hold it."""
    chances = jax.nn.softmax(x @ w["router"])
    chosen = jax.nn.one_hot(jnp.argmax(chances, -1), n.experts)
    place = (jnp.cumsum(chosen, 1) - 1) * chosen
    takes = chosen[..., None] * jax.nn.one_hot(place.sum(-1).astype(int), n.capacity)[:, :, None]
    sent = jnp.einsum("blec,blw->becw", takes, x)
    sent = lax.all_to_all(sent, "expert", 1, 0, tiled=True)
    inner = jax.nn.gelu(jnp.einsum("becw,ewh->bech", sent, w["up"]))
    found = lax.psum(jnp.einsum("bech,ehw->becw", inner, w["down"]), "tensor")
    found = lax.all_to_all(found, "expert", 0, 1, tiled=True)
    return jnp.einsum("blec,ble,becw->blw", takes, chances, found)


def stage(layers, x, n):
    """The layers that this device holds, one after the other."""

    def layer(x, w):
        x = x + attention(w, normalised(x, w["scales"][0]))
        return x + experts(w, normalised(x, w["scales"][1]), n), None

    return lax.scan(layer, x, layers)[0]


def pipeline(layers, x, n):
    """All stages: microbatches enter at the first, one a tick, and leave at the last."""
    stages, here = lax.axis_size("pipe"), lax.axis_index("pipe")
    rest = jnp.zeros((stages - 1, *x.shape[1:]), x.dtype)

    def tick(received, entering):
        y = stage(layers, jnp.where(here == 0, entering, received), n)
        return lax.ppermute(y, "pipe", [(i, i + 1) for i in range(stages - 1)]), y

    start = lax.pcast(jnp.zeros(x.shape[1:], x.dtype), (*ROWS, "pipe"), to="varying")
    entering = jnp.concatenate([x, lax.pcast(rest, ROWS, to="varying")])
    return lax.scan(tick, start, entering)[1][stages - 1 :]


def loss_of(mesh, n):
    """The mean loss of the next word, over a batch spread over the mesh."""

    def of_device(parameters, words):
        words = words.reshape(n.microbatches, -1, n.length)
        y = pipeline(parameters["layers"], parameters["embedding"][words], n)
        logits = jax.nn.log_softmax(y[:, :, :-1] @ parameters["embedding"].T)
        losses = jnp.take_along_axis(logits, words[:, :, 1:, None], -1)
        last = lax.axis_index("pipe") == lax.axis_size("pipe") - 1
        return lax.pmean(lax.psum(jnp.where(last, -losses.mean(), 0.0), "pipe"), ROWS)

    return jax.shard_map(of_device, mesh=mesh, in_specs=(SPECS, P(ROWS)), out_specs=P())


def trainer(mesh, n, rate=0.03):
    """The jitted step: gradients with momentum."""
    loss = loss_of(mesh, n)

    @jax.jit
    def step(state, words):
        value, slopes = jax.value_and_grad(loss)(state[0], words)
        speed = jax.tree.map(lambda v, g: 0.9 * v - rate * g, state[1], slopes)
        return value, (jax.tree.map(jnp.add, state[0], speed), speed)

    return step


def start(mesh, n, key=0):
    """Parameters, momenta and a batch, in their places."""
    one, other = jax.random.split(jax.random.key(key))
    places = jax.tree.map(
        lambda s: NamedSharding(mesh, s), SPECS, is_leaf=lambda s: isinstance(s, P)
    )
    parameters = jax.device_put(initial(one, n), places)
    words = jax.device_put(text(other, n), NamedSharding(mesh, P(ROWS)))
    return (parameters, jax.tree.map(jnp.zeros_like, parameters)), words


def train(axes, n, steps):
    """The losses of some steps on a mesh of these numbers of devices along `AXES`."""
    mesh = jax.make_mesh(tuple(axes), AXES, devices=jax.devices()[: math.prod(axes)])
    state, words = start(mesh, n)
    step, losses = trainer(mesh, n), []
    for _ in range(steps):
        value, state = step(state, words)
        losses.append(float(value))
    return losses


if __name__ == "__main__":
    axes = [int(x) for x in sys.argv[1:] if x != "--job"] or [1, 2, 2, 2]
    if "--job" in sys.argv:
        jax.distributed.initialize()
    else:
        jax.config.update("num_cpu_devices", math.prod(axes))
    losses = train(axes, Sizes(), 10)
    if jax.process_index() == 0:
        print(*(f"{x:.6f}" for x in losses))
