"""BlackJAX, JAXopt, Mctx, Jraph and Chex: a sampler, solvers, a search, a graph net, checks."""

import blackjax
import chex
import jax
import jax.numpy as jnp
import jaxopt
import jraph
import mctx

# A normal distribution by NUTS, its step adapted.
logdensity = lambda x: -0.5 * jnp.sum(x**2)  # noqa: E731
warmup = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = warmup.run(jax.random.key(0), jnp.ones(2), 200)
step = jax.jit(blackjax.nuts(logdensity, **parameters).step)


def one(state, key):
    state, _ = step(key, state)
    return state, state.position


_, drawn = jax.lax.scan(one, state, jax.random.split(jax.random.key(1), 500))
assert jnp.abs(drawn.mean(0)).max() < 0.3 and jnp.abs(drawn.var(0) - 1).max() < 0.4

# Least squares by four solvers, and a derivative through one of them.
x = jax.random.normal(jax.random.key(0), (20, 3))
w = jnp.array([1.0, -2.0, 0.5])
loss = lambda v: jnp.mean((x @ v - x @ w) ** 2)  # noqa: E731
for solver in (jaxopt.LBFGS, jaxopt.GradientDescent, jaxopt.BFGS, jaxopt.NonlinearCG):
    found = solver(fun=loss, maxiter=100).run(jnp.zeros(3)).params
    assert jnp.abs(found - w).max() < 1e-2, solver
near = jaxopt.GradientDescent(fun=lambda v, s: jnp.sum((v - s) ** 2), maxiter=50)
chex.assert_trees_all_close(
    jax.grad(lambda s: near.run(jnp.zeros(3), s).params.sum())(jnp.ones(3)), jnp.ones(3), rtol=1e-3
)


# A tree search that learns which of three actions pays.
def recurrent(params, key, action, embedding):
    zeros = jnp.zeros(2)
    out = mctx.RecurrentFnOutput(
        reward=0.1 * action, discount=zeros + 0.9, prior_logits=jnp.zeros((2, 3)), value=zeros
    )
    return out, embedding


root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.zeros(2))
policy = mctx.gumbel_muzero_policy(None, jax.random.key(0), root, recurrent, num_simulations=16)
assert policy.action.tolist() == [2, 2]

# Messages along two edges.
graph = jraph.GraphsTuple(
    n_node=jnp.array([3]), n_edge=jnp.array([2]), nodes=jnp.ones((3, 4)), edges=jnp.ones((2, 1)),
    globals=jnp.ones((1, 2)), senders=jnp.array([0, 1]), receivers=jnp.array([2, 2]),
)  # fmt: skip
net = jraph.GraphNetwork(
    update_node_fn=lambda n, sent, received, g: n + received.sum(1, keepdims=True),
    update_edge_fn=lambda e, s, r, g: e * 2,
    update_global_fn=lambda n, e, g: g,
)
assert jax.jit(net)(graph).nodes[:, 0].tolist() == [1, 1, 5]


@chex.dataclass
class Pair:
    x: chex.Array
    y: int


chex.assert_trees_all_equal(
    jax.tree.map(lambda v: v * 2, Pair(x=jnp.ones(2), y=1)).x, 2 * jnp.ones(2)
)
