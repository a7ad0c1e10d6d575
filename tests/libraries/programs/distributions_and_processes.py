"""Distrax, TensorFlow Probability, FlowJAX, OTT, tinygp: densities, flows, transport, a process.

The numbers asserted are what JAX gives, or SciPy.
"""

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats
import tinygp
from ott.geometry import pointcloud
from ott.problems.linear import linear_problem
from ott.solvers.linear import sinkhorn
from tensorflow_probability.substrates import jax as tfp

key = jax.random.key(0)


def near(found, wanted):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-4, atol=1e-5)


# ---- distrax: densities, bijectors, samples under vmap and grad

mixture = distrax.MixtureSameFamily(
    distrax.Categorical(probs=jnp.array([0.3, 0.7])),
    distrax.Normal(jnp.array([-1.0, 2.0]), jnp.array([0.5, 1.0])),
)
x = np.linspace(-3, 4, 9)
wanted = np.log(0.3 * scipy.stats.norm.pdf(x, -1, 0.5) + 0.7 * scipy.stats.norm.pdf(x, 2, 1))
near(mixture.log_prob(jnp.asarray(x, "float32")), wanted)
folded = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Lambda(jnp.exp))
near(folded.log_prob(jnp.float32(2.0)), scipy.stats.lognorm.logpdf(2, 1))
near(jax.grad(lambda s: distrax.Normal(0.0, s).entropy())(2.0), 0.5)
assert abs(float(mixture.sample(seed=key, sample_shape=4000).mean()) - 1.1) < 0.1

# ---- TensorFlow Probability: densities, a chain

tfd = tfp.distributions
near(tfd.StudentT(5.0, 0.0, 1.0).log_prob(1.5), scipy.stats.t.logpdf(1.5, 5))
near(tfd.Dirichlet([2.0, 3.0, 4.0]).log_prob([0.2, 0.3, 0.5]),
     scipy.stats.dirichlet.logpdf([0.2, 0.3, 0.5], [2, 3, 4]))  # fmt: skip
chain = tfp.mcmc.sample_chain(
    300,
    jnp.float32(0.0),
    kernel=tfp.mcmc.HamiltonianMonteCarlo(tfd.Normal(3.0, 1.0).log_prob, 0.4, 5),
    num_burnin_steps=100,
    trace_fn=None,
    seed=jax.random.PRNGKey(1),
)
assert abs(float(chain.mean()) - 3) < 0.4

# ---- OTT: a plan of transport between points, differentiated

one, other = jax.random.normal(key, (12, 2)), jax.random.normal(jax.random.key(1), (10, 2)) + 1.0


def cost(points):
    problem = linear_problem.LinearProblem(pointcloud.PointCloud(points, other, epsilon=0.5))
    return sinkhorn.Sinkhorn()(problem).reg_ot_cost


slope = jax.jit(jax.grad(cost))(one)
step = np.zeros((12, 2), "float32")
step[3, 1] = 1e-2
near(slope[3, 1] * 2e-2, float(cost(one + step) - cost(one - step)))

# ---- tinygp: a process conditioned, its likelihood differentiated

times = jnp.linspace(0.0, 4.0, 20)
observed = jnp.sin(times)


def likelihood(scale):
    kernel = tinygp.kernels.ExpSquared(scale)
    return tinygp.GaussianProcess(kernel, times, diag=1e-2).log_probability(observed)


kernel = np.exp(-0.5 * (np.subtract.outer(times, times) / 1.3) ** 2) + 1e-2 * np.eye(20)
near(likelihood(1.3), scipy.stats.multivariate_normal(np.zeros(20), kernel).logpdf(observed))
slope = jax.grad(likelihood)(1.3)
near(slope * 2e-2, float(likelihood(1.31) - likelihood(1.29)))
