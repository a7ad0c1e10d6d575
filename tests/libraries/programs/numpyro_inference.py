"""NumPyro: a regression by NUTS and by variational inference, and predictions from it."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide

x = jax.random.normal(jax.random.PRNGKey(0), (50, 2))
y = x @ jnp.array([1.0, -1.0]) + 0.1 * jax.random.normal(jax.random.PRNGKey(1), (50,))


def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, s), obs=y)


chain = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
chain.run(jax.random.PRNGKey(2), x, y)
samples = chain.get_samples()
assert jnp.abs(samples["w"].mean(0) - jnp.array([1.0, -1.0])).max() < 0.1
drawn = Predictive(model, samples)(jax.random.PRNGKey(3), x)["y"]
assert drawn.shape == (100, 50) and jnp.abs(drawn.mean(0) - y).mean() < 0.15

guide = autoguide.AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
found = svi.run(jax.random.PRNGKey(0), 300, x, y, progress_bar=False)
assert jnp.abs(found.params["w_auto_loc"] - jnp.array([1.0, -1.0])).max() < 0.1
