"""Flax: a convolutional net with batch statistics and dropout, a scanned transformer, an RNN."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2)).reshape((x.shape[0], -1))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        return nn.Dense(10)(nn.gelu(nn.LayerNorm()(nn.Dense(32)(x))))


net, key = Net(), jax.random.key(0)
x, y = jax.random.normal(key, (4, 16, 16, 1)), jnp.array([1, 2, 3, 4])
variables = net.init({"params": key, "dropout": key}, x, True)
optimizer = optax.adamw(1e-2)
state = optimizer.init(variables["params"])


@jax.jit
def step(variables, state, key):
    def loss(params):
        given = {"params": params, "batch_stats": variables["batch_stats"]}
        logits, more = net.apply(given, x, True, rngs={"dropout": key}, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), more

    params = variables["params"]
    (value, more), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, state = optimizer.update(grads, state, params)
    return {"params": optax.apply_updates(params, updates), **more}, state, value


losses = []
for i in range(8):
    variables, state, value = step(variables, state, jax.random.fold_in(key, i))
    losses.append(float(value))
assert losses[-1] < 0.5 * losses[0], losses


class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(h, h)
        return x + nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(32)(nn.LayerNorm()(x)))), None


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, x):
        blocks = nn.scan(
            nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3
        )
        return blocks()(x, None)[0]


x = jnp.ones((2, 5, 16))
params = Transformer().init(key, x)
grads = jax.grad(lambda p: Transformer().apply(p, x).sum())(params)
kernels = grads["params"]["ScanCheckpointBlock_0"]["Dense_0"]["kernel"]
assert kernels.shape == (3, 32, 16) and jnp.all(jnp.isfinite(kernels))
rnn = nn.RNN(nn.LSTMCell(8))
assert rnn.apply(rnn.init(key, x), x).shape == (2, 5, 8)
assert "Dense_1" in nn.tabulate(net, key, console_kwargs={"width": 200})(
    jnp.ones((1, 8, 8, 1)), False
)
