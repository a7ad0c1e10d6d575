"""Eager operations and calls of compiled functions, on small arrays: only the way there counts."""

from benchmarks.workloads.workload import Call, workload


@workload("eager x + y, float32[3]", 0.7)
def eager_add(jax, jnp, np):
    x, y = jnp.arange(3.0), jnp.ones(3)
    np.testing.assert_array_equal(x + y, [1, 2, 3])
    return lambda: x + y


@workload("eager jnp.sin(x), float32[3]")
def eager_sin(jax, jnp, np):
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jnp.sin(x), np.sin(np.arange(3.0)), rtol=1e-6)
    return lambda: jnp.sin(x)


@workload("eager x[1], float32[3]", 0.2)
def eager_index(jax, jnp, np):
    x = jnp.arange(3.0)
    assert float(x[1]) == 1.0
    return lambda: x[1]


def cached_call(jax, jnp, np, count: int) -> Call:
    total = jax.jit(lambda *args: sum(args[1:], args[0]))
    args = [jnp.full(3, float(i)) for i in range(count)]
    np.testing.assert_array_equal(total(*args), np.full(3, sum(range(count))))
    return lambda: total(*args)


@workload("cached jit call, 1 argument", 1.0)
def jit_call_1(jax, jnp, np):
    return cached_call(jax, jnp, np, 1)


@workload("cached jit call, 2 arguments", 1.0)
def jit_call_2(jax, jnp, np):
    return cached_call(jax, jnp, np, 2)


@workload("cached jit call, 10 arguments", 1.0)
def jit_call_10(jax, jnp, np):
    return cached_call(jax, jnp, np, 10)


@workload("cached jit call, a dict of 10 arrays", 1.0)
def jit_call_dict(jax, jnp, np):
    double = jax.jit(lambda tree: {k: v * 2 for k, v in tree.items()})
    tree = {f"w{i}": jnp.full(3, float(i)) for i in range(10)}
    np.testing.assert_array_equal(double(tree)["w7"], [14, 14, 14])
    return lambda: double(tree)["w0"]
