"""Functions of an array that explicit axes cut, each under each transformation, as `explicit_cases`.

Run with JAX 0.10.2 in place of effax, it records the table that `explicit_transforms.py` compares
with:

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m tests.parallel.transformed_cases \\
        > tests/parallel/transformed_types.json
"""

import sys

import numpy as np

from tests.parallel.explicit_cases import answers, mesh_of


def functions(jax):
    """Functions of an array of 8 x 4, cut along x and y, by name."""
    jnp, lax, nn, P = jax.numpy, jax.lax, jax.nn, jax.P
    reshard = jax.sharding.reshard

    def rows(x):
        return reshard(x, P("x"))

    def columns(x):
        return reshard(x, P(None, "y"))

    def ones(*shape, spec=()):
        return jnp.ones(shape, out_sharding=P(*spec))

    def attention(x):
        heads = rows(x.reshape(8, 1, 2, 2, out_sharding=P("x")))
        other = ones(8, 1, 2, 2, spec="x")
        return nn.dot_product_attention(heads, other, other)

    return {
        "sin": jnp.sin,
        "sum": lambda x: x.sum(0),
        "mean": lambda x: x.mean(1),
        "softmax": nn.softmax,
        "product": lambda x: jnp.einsum("ab,bc->ac", x, ones(4, 8, spec="y"), out_sharding=P("x")),
        "transpose": lambda x: x.T,
        "broadcast": lambda x: x[None] * ones(3, 1, 1),
        "spread": lambda x: lax.broadcast(rows(x), [2], out_sharding=P("y", "x")),
        "reshard": lambda x: reshard(x, P(None, "x")),
        "max": lambda x: x.max(1),
        "where": lambda x: jnp.where(x > 2, x, 0.0),
        "cumsum": lambda x: jnp.cumsum(rows(x), 1),
        "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), ones(4, spec="y"), columns(x))[1],
        "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
        "checkpoint": jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
        "concatenate": lambda x: jnp.concatenate([x, x]),
        "reshape": lambda x: x.reshape(8, 2, 2, out_sharding=P("x", "y")),
        "take": lambda x: x.at[jnp.array([0, 2])].get(out_sharding=P(None, "y")),
        "set": lambda x: x.at[jnp.array([0, 2])].set(1.0, out_sharding=P("x", "y")),
        "update": lambda x: lax.dynamic_update_slice(ones(8, 4), columns(x)[:2] * 0, (1, 0)) + x,
        "written": lambda x: (
            lax.dynamic_update_slice(reshard(x, P()), ones(2, 4), (1, 0)) * rows(x)
        ),
        "norm": lambda x: x / jnp.linalg.norm(x, axis=1, keepdims=True) + x,
        "relu": nn.relu,
        "gelu": nn.gelu,
        "silu": nn.silu,
        "stack": lambda x: jnp.stack([x, x]),
        "split": lambda x: jnp.split(rows(x), 2, 1)[0],
        "vmap": jax.vmap(lambda row: row * row.sum()),
        "map": lambda x: lax.map(jnp.sin, columns(x)),
        "loop": lambda x: lax.fori_loop(0, 3, lambda _, v: v * 2, x),
        "outer": lambda x: jnp.einsum("ab,cd->abcd", x, ones(2, 2)),
        "tril": jnp.tril,
        "like": lambda x: x * jnp.zeros_like(x),
        "windows": lambda x: lax.reduce_window(rows(x), -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
        "bits": lambda x: (
            lax.bitcast_convert_type(lax.bitcast_convert_type(x, "int32"), "float32") * x
        ),
        "attention": attention,
        "pieces": lambda x: jax.shard_map(jnp.sin, out_specs=P("x", "y"))(x),
        "pieces of rows": lambda x: jax.shard_map(
            lambda row: row * 2, out_specs=P("x"), axis_names={"x"}
        )(x),
    }


def programs(jax):
    """Each function under each transformation, by their names."""
    P = jax.P
    values = (np.arange(32) % 7 + 1).reshape(8, 4).astype("float32")
    where = jax.NamedSharding(mesh_of(jax), P("x", "y"))

    def lanes(x):
        return jax.sharding.reshard(jax.numpy.stack([x, x]), P(None, "x", "y"))

    def total(function):
        return lambda x: (function(x) ** 2).sum()

    ways = {
        "jit": jax.jit,
        "grad": lambda f: jax.jit(jax.grad(total(f))),
        "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
        "vmap": lambda f: lambda x: jax.jit(jax.vmap(f))(lanes(x)),
        "jacfwd": lambda f: jax.jit(jax.jacfwd(f)),
        "jacrev": lambda f: jax.jit(jax.jacrev(f)),
        "hvp": lambda f: jax.jit(lambda x: jax.jvp(jax.grad(total(f)), (x,), (x,))[1]),
    }

    return {
        f"{how} {name}": lambda way=way, f=f: way(f)(jax.device_put(values, where))
        for name, f in functions(jax).items()
        for how, way in ways.items()
    }


if __name__ == "__main__":
    import json

    import jax

    json.dump(answers(jax, table=programs), sys.stdout, indent=1)
