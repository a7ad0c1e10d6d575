"""Optimizers of Optax on a quadratic: each comes near its minimum."""

import jax
import jax.numpy as jnp
import optax

TARGET = jnp.array([1.0, -2.0, 0.5])


def loss(x):
    return jnp.sum((x - TARGET) ** 2)


for optimizer in (
    optax.sgd(0.1, momentum=0.9, nesterov=True),
    optax.adam(optax.cosine_decay_schedule(0.3, 200)),
    optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1, weight_decay=0.0)),
    optax.adafactor(0.3),
    optax.lion(0.02),
    optax.rmsprop(0.05),
):

    @jax.jit
    def step(carry, _, optimizer=optimizer):
        x, state = carry
        updates, state = optimizer.update(jax.grad(loss)(x), state, x)
        return (optax.apply_updates(x, updates), state), loss(x)

    x = jnp.zeros(3)
    (x, _), losses = jax.lax.scan(step, (x, optimizer.init(x)), None, length=200)
    assert losses[-1] < 0.05 < losses[0], losses[-1]

lbfgs = optax.lbfgs()
value_and_grad = optax.value_and_grad_from_state(loss)
x, state = jnp.zeros(3), lbfgs.init(jnp.zeros(3))
for _ in range(5):
    value, grad = value_and_grad(x, state=state)
    updates, state = lbfgs.update(grad, state, x, value=value, grad=grad, value_fn=loss)
    x = optax.apply_updates(x, updates)
assert loss(x) < 1e-8
