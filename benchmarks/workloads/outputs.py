"""Run time of large results where freed pages are kept (the switch keep_freed_memory; JAX has none)."""

from benchmarks.workloads.workload import blocking, workload


@workload("x + x*x + x*x*x, float32[4000, 4000] (expected: 1.9 to 3.5 ×)", 1.0)
def powers_kept(jax, jnp, np):
    if hasattr(jax.config, "keep_freed_memory"):
        jax.config.update("keep_freed_memory", True)
    host = np.random.default_rng(0).standard_normal((4000, 4000), "f4")
    function, x = jax.jit(lambda x: x + x * x + x * x * x), jnp.array(host)
    np.testing.assert_allclose(function(x), host + host**2 + host**3, rtol=1e-4, atol=1e-5)
    return blocking(function, x)
