"""Flax's nnx: a convolutional net trained, scanned blocks, an ensemble, loops, recurrence, attention.

The numbers asserted are what JAX and Flax give for the same seeds.
"""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


def near(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-4, atol=1e-5)


# ---- a net with batch statistics and dropout: optimizer, metrics, states

x, y = jax.random.normal(jax.random.key(7), (4, 8, 8, 1)), jnp.array([1, 2, 3, 4])


class Net(nnx.Module):
    def __init__(self, rngs):
        # Without a bias: the norm takes it out again, and Adam would make steps of its roundoff.
        self.conv = nnx.Conv(1, 8, (3, 3), use_bias=False, rngs=rngs)
        self.norm, self.drop = nnx.BatchNorm(8, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
        self.hidden, self.scale = nnx.Linear(128, 32, rngs=rngs), nnx.LayerNorm(32, rngs=rngs)
        self.out = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.norm(self.conv(x))), (2, 2), strides=(2, 2))
        x = self.hidden(self.drop(x.reshape(x.shape[0], -1)))
        return self.out(nnx.gelu(self.scale(x)))


def loss_of(net, x, y):
    logits = net(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def step(net, optimizer, metrics):
    (loss, logits), grads = nnx.value_and_grad(loss_of, has_aux=True)(net, x, y)
    metrics.update(loss=loss, logits=logits, labels=y)
    optimizer.update(net, grads)
    return loss


net = Net(nnx.Rngs(0, dropout=1))
optimizer = nnx.Optimizer(net, optax.adamw(1e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
near([step(net, optimizer, metrics) for _ in range(4)], [2.947211, 1.770187, 1.315480, 1.081380])
near(metrics.compute()["loss"], 1.778565)
assert optimizer.step[...] == 4 and net.drop.rngs.count[...] == 4
assert "BatchNorm" in str(net) and "Linear" in nnx.tabulate(net, x, console_kwargs={"width": 200})

net.eval()
graph, params, rest = nnx.split(net, nnx.Param, ...)
assert jnp.all(nnx.merge(graph, params, rest)(x) == net(x))
saved = pickle.dumps(jax.device_get(nnx.to_pure_dict(nnx.state(net))))
abstract = nnx.eval_shape(lambda: Net(nnx.Rngs(0, dropout=1)))
graph, state = nnx.split(abstract)
nnx.replace_by_pure_dict(state, pickle.loads(saved))
restored = nnx.merge(graph, state)
restored.eval()
assert jnp.all(restored(x) == net(x))
nnx.update(net, jax.tree.map(lambda p: p * 0.5, params))
near(net(x)[0, :3], [-0.252034, 0.611158, 0.174715])


# ---- blocks of which the parameters are stacked: made by vmap, run by scan, computed again by remat


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.LayerNorm(8, rngs=rngs)
        self.attend = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
        self.drop, self.calls = nnx.Dropout(0.2, rngs=rngs), nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls[...] += 1
        return x + self.drop(self.attend(self.norm(x)))


class Tower(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(11, 8, rngs=rngs)
        self.blocks = nnx.split_rngs(splits=3)(nnx.vmap(Block, in_axes=0, out_axes=0))(rngs)

    def __call__(self, tokens):
        run = nnx.scan(nnx.remat(lambda b, x: b(x)), in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        return self.embed.attend(run(self.blocks, self.embed(tokens)))


tower, tokens = Tower(nnx.Rngs(0)), jnp.array([[1, 2, 3, 4]])
optimizer = nnx.Optimizer(tower, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)
descend = nnx.jit(
    lambda t, o: o.update(t, nnx.grad(lambda t: loss_of(t, tokens, tokens)[0])(t)),
)
for _ in range(2):
    descend(tower, optimizer)
assert tower.blocks.calls[...].tolist() == [2, 2, 2]
near(tower(tokens)[0, :, 0], [2.477624, 2.487360, 1.093483, -0.689897])


# ---- an ensemble, branches and loops that change what is in modules, a derivative of one's own

make = nnx.vmap(lambda key: nnx.Linear(8, 2, rngs=nnx.Rngs(key)))
ensemble = make(jax.random.split(jax.random.key(0), 3))
each = nnx.vmap(lambda m, x: m(x), in_axes=(0, None))
near(
    each(ensemble, jnp.ones(8)),
    [[-1.222545, 1.365093], [-0.690203, 0.538767], [-1.549775, -0.849946]],
)

block, x = Block(nnx.Rngs(0)), jax.random.normal(jax.random.key(1), (3, 8))
block.eval()
near(nnx.cond(True, lambda b, x: b(x), lambda b, x: x, block, x)[0, :2], [-1.530158, 0.358522])
block, z = nnx.fori_loop(0, 2, lambda i, c: (c[0], c[0](c[1])), (block, x))
block, z = nnx.while_loop(lambda c: c[0].calls[...] < 5, lambda c: (c[0], c[0](c[1])), (block, z))
assert block.calls[...] == 5
near(z[0, :2], [-3.669956, 0.449189])


@nnx.custom_vjp
def clipped(m, x):
    return m(x)


def clipped_forward(m, x):
    return clipped(m, x), (m, x)


def clipped_backward(saved, g):
    (m_grad, _), out_grad = g
    m, x = saved
    m_grad["kernel"][...] = jnp.clip(jnp.outer(x, out_grad), -0.5, 0.5)
    return m_grad, m.kernel @ out_grad


clipped.defvjp(clipped_forward, clipped_backward)
linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
grads = nnx.grad(lambda m: clipped(m, jnp.array([0.25, 4.0])).sum())(linear)
near(grads["kernel"][...], [[0.25, 0.25], [0.5, 0.5]])


# ---- recurrence, a cache for decoding, parameters as operands

rngs = nnx.Rngs(0)
for cell, wanted in ((nnx.LSTMCell, [0.591732, -0.125271]), (nnx.GRUCell, [-0.076312, -0.636168])):
    near(nnx.RNN(cell(8, 4, rngs=rngs))(x[None])[0, -1, :2], wanted)
heads = nnx.MultiHeadAttention(2, 8, decode=True, rngs=rngs)
heads.init_cache((1, 3, 8))
for i in range(3):
    decoded = heads(x[None, i : i + 1])
near(decoded[0, 0, :2], [0.023122, -0.542556])
near(nnx.SpectralNorm(nnx.Linear(8, 2, rngs=rngs), rngs=rngs)(x)[0], [1.072421, -0.677197])

weight = nnx.Param(jnp.arange(6.0).reshape(2, 3))
weight[0, 1] = 5.0
near(jnp.tensordot(1 + weight, jnp.stack([weight, weight])[0].T, 1), [[36, 42], [37, 62]])
assert jax.grad(lambda w: jnp.sum(w * w))(weight)[0, 1] == 10
assert jnp.arange(9)[nnx.Variable(jnp.array(3))] == 3
