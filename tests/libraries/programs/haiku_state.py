"""Haiku: state, dropout, an LSTM unrolled, attention, vmap of modules."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax


def net(x, train):
    x = hk.BatchNorm(True, True, 0.9)(hk.Conv2D(4, 3)(x), train)
    x = hk.Flatten()(jax.nn.relu(x))
    x = hk.dropout(hk.next_rng_key(), 0.1, x) if train else x
    return hk.nets.MLP([16, 3])(x)


f, x = hk.transform_with_state(net), jnp.ones((2, 8, 8, 1))
params, state = f.init(jax.random.PRNGKey(0), x, True)
optimizer = optax.sgd(0.1)
moments = optimizer.init(params)


@jax.jit
def step(params, state, moments, key):
    def loss(params):
        out, after = f.apply(params, state, key, x, True)
        return (out**2).mean(), after

    (value, state), grads = jax.value_and_grad(loss, has_aux=True)(params)
    updates, moments = optimizer.update(grads, moments)
    return optax.apply_updates(params, updates), state, moments, value


losses = []
for i in range(5):
    params, state, moments, value = step(params, state, moments, jax.random.PRNGKey(i))
    losses.append(float(value))
assert losses[-1] < 0.1 * losses[0], losses

key, xs = jax.random.PRNGKey(1), jnp.ones((4, 2, 3))


def shape_of(function):
    g = hk.without_apply_rng(hk.transform(function))
    return jax.jit(g.apply)(g.init(key, xs), xs).shape


def unrolled(xs):
    core = hk.LSTM(5)
    return hk.dynamic_unroll(core, xs, core.initial_state(2))[0]


def attention(x):
    return hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x, x, x)


assert shape_of(unrolled) == (4, 2, 5)
assert shape_of(attention) == (4, 2, 8)
assert shape_of(lambda x: hk.vmap(lambda a: hk.Linear(3)(a), split_rng=False)(x)) == (4, 2, 3)
