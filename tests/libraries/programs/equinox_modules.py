"""Equinox: modules as trees, filtered transforms, state, errors at run time, checkpointed loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(0)
model = eqx.nn.MLP(2, 1, 16, 2, key=key)
x = jax.random.normal(key, (32, 2))
y = x[:, :1] * x[:, 1:]
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state):
    def loss(model):
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    value, grads = eqx.filter_value_and_grad(loss)(model)
    updates, state = optimizer.update(grads, state, model)
    return eqx.apply_updates(model, updates), state, value


losses = []
for _ in range(60):
    model, state, value = step(model, state)
    losses.append(float(value))
assert losses[-1] < 0.3 * losses[0], losses[-1]

assert eqx.nn.Conv2d(1, 2, 3, key=key)(jnp.ones((1, 8, 8))).shape == (2, 6, 6)
norm, stats = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, axis_name="b", mode="ema")
out, stats = jax.vmap(norm, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, stats)
assert out.shape == (32, 2)
heads = eqx.nn.MultiheadAttention(2, 4, key=key)
assert heads(jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))).shape == (3, 4)
try:
    eqx.filter_jit(lambda x: eqx.error_if(x, x < 0, "it is negative"))(jnp.array(-1.0))
except Exception as error:
    assert "it is negative" in str(error)
else:
    raise AssertionError("nothing was raised")


def power(x):
    loop = eqx.internal.while_loop(
        lambda c: c[0] < 5,
        lambda c: (c[0] + 1, c[1] * x),
        (0, 1.0),
        kind="checkpointed",
        max_steps=9,
    )
    return loop[1]


assert jax.grad(power)(2.0) == 80
