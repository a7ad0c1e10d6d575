"""Writes keys.json: what jax.random does with keys of every implementation.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_keys     (from the root, in a venv with jax)

`STREAMS` are expressions over the modules `jax`, `jnp`, `lax`, `random` and a key `k`, whose results
are recorded for each implementation; those that a generator refuses are recorded by the class of
the error. `STRUCTURE` are expressions over an array of six keys, `ks`, and one, `k`: what is
recorded is the shape, the dtype and the words of the results, or the class of the error.
tests/random/test_key_types.py evaluates the same expressions with effax.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

IMPLEMENTATIONS = ("threefry2x32", "rbg", "unsafe_rbg")
STREAMS = """
random.key_data(k)
random.key_data(random.key(-3, impl=random.key_impl(k)))
random.key_data(random.split(k, 3))
random.key_data(random.split(k, (2, 2)))
random.key_data(random.fold_in(k, 7))
random.key_data(random.clone(k))
random.bits(k, (5,))
random.bits(k, (2, 3), "uint8")
random.bits(k, (5,), "uint16")
random.uniform(k, (3, 2))
random.uniform(k, (3,), "float16")
random.uniform(k, (3,), "bfloat16").astype("float32")
random.normal(k, (5,))
random.normal(k, (2,), "complex64")
random.truncated_normal(k, -1.0, 1.0, (3,))
random.randint(k, (5,), 0, 10)
random.randint(k, (4,), -5, 5, "int8")
random.bernoulli(k, 0.3, (6,))
random.exponential(k, (3,))
random.gumbel(k, (3,))
random.laplace(k, (3,))
random.logistic(k, (3,))
random.cauchy(k, (3,))
random.permutation(k, 9)
random.choice(k, 7, (4,))
random.choice(k, 7, (4,), replace=False)
random.categorical(k, jnp.zeros(5), shape=(4,))
random.rademacher(k, (4,))
random.gamma(k, 2.5, (3,))
random.beta(k, 2.0, 3.0, (2,))
random.dirichlet(k, jnp.ones(3))
random.t(k, 3.0, (2,))
random.poisson(k, 3.0, (4,))
random.binomial(k, 10, 0.4, (3,))
random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2))
random.orthogonal(k, 2)
random.ball(k, 3)
random.maxwell(k, (2,))
random.pareto(k, 2.0, (2,))
random.weibull_min(k, 1.0, 2.0, (2,))
random.geometric(k, 0.3, (3,))
random.triangular(k, 0.0, 0.5, 1.0, (2,))
random.lognormal(k, 1.0, (2,))
random.rayleigh(k, 1.0, (2,))
random.wald(k, 1.0, (2,))
random.multinomial(k, 5.0, jnp.ones(3) / 3)
jax.vmap(lambda k: random.bits(k, (3,)))(random.split(k, 3))
jax.vmap(lambda k: random.uniform(k, (2,)))(random.split(k, 3))
jax.vmap(lambda k: random.key_data(random.split(k)))(random.split(k, 3))
jax.vmap(lambda k: random.key_data(random.fold_in(k, 3)))(random.split(k, 3))
jax.vmap(lambda d: random.key_data(random.fold_in(k, d)))(jnp.arange(3))
jax.vmap(jax.vmap(lambda k: random.bits(k, (2,))))(random.split(k, (2, 2)))
lax.scan(lambda c, x: (random.split(c)[0], random.bits(x)), k, random.split(k, 3))[1]
random.key_data(lax.fori_loop(0, 3, lambda i, c: random.fold_in(c, i), k))
jax.jit(lambda k: random.uniform(k, (3,)))(k)
""".strip().splitlines()
STRUCTURE = """
k
ks
ks[0]
ks[-2]
ks[1:5:2]
ks[::-1]
ks[None]
ks[..., None]
ks[jnp.array([0, 2])]
ks[jnp.array([True, False, True, False, False, True])]
ks[9]
list(ks)[4]
ks.reshape(2, 3)
ks.reshape((3, -1))
ks.reshape(2, 3).T
ks.reshape(2, 3).transpose(1, 0)
ks.reshape(2, 3).ravel()
ks.reshape(2, 3).flatten()
ks.reshape(1, 6, 1).squeeze()
ks.reshape(1, 6, 1).squeeze(-1)
ks.reshape(4, 2)
ks == ks
ks[0] == ks
ks != ks[::-1]
k == 1
k == random.key_data(k)
k + k
k * 2
2 - k
-k
k < k
ks.at[0].set(k)
ks.at[1:3].set(ks[:2])
ks.at[jnp.array([1, 4])].get()
ks.at[0].set(1)
jnp.array([k, k])
jnp.asarray(ks)
jnp.array(ks)
jnp.copy(ks)
jnp.stack([k, ks[0]])
jnp.stack([ks, ks], axis=-1)
jnp.stack([k, random.key(0, impl="rbg" if random.key_impl(k) != "rbg" else "unsafe_rbg")])
jnp.stack([k, 1])
jnp.concatenate([ks, ks])
jnp.concatenate([ks[:, None], ks[:, None]], axis=-1)
jnp.concat([ks[:1], ks[3:]])
jnp.vstack([ks, ks])
jnp.hstack([ks, ks])
jnp.append(ks, ks[:1])
jnp.expand_dims(ks, -1)
jnp.expand_dims(k, 0)
jnp.squeeze(ks[None])
jnp.broadcast_to(k, (2, 3))
jnp.broadcast_arrays(k, ks)[0]
jnp.where(True, k, ks[1])
jnp.where(jnp.arange(6) < 3, ks, ks[::-1])
jnp.where(jnp.arange(6) < 3, ks, k)
jnp.where(jnp.arange(6) < 3, ks, 0)
jnp.select([jnp.arange(6) < 3], [ks], k)
jnp.take(ks, jnp.array([[0, 1], [5, 2]]))
jnp.take(ks, jnp.array([0, 100]))
jnp.take(ks.reshape(2, 3), 1, axis=1)
jnp.take_along_axis(ks, jnp.array([3, 0]), 0)
jnp.compress(jnp.array([True, False, True, False, False, True]), ks)
jnp.roll(ks, 2)
jnp.flip(ks)
jnp.repeat(ks[:2], 3)
jnp.tile(ks[:2], 2)
jnp.swapaxes(ks.reshape(2, 3), 0, 1)
jnp.moveaxis(ks.reshape(2, 3), -1, 0)
jnp.rot90(ks.reshape(2, 3))
jnp.split(ks, 2)[1]
jnp.array_split(ks, 4)[0]
jnp.ravel(ks.reshape(2, 3))
jnp.reshape(ks, (3, 2))
jnp.transpose(ks.reshape(2, 3))
jnp.atleast_2d(k)
jnp.zeros_like(ks)
jnp.full_like(ks, k)
jnp.array_equal(ks, ks)
jnp.shape(ks)
jnp.ndim(ks)
jnp.size(ks)
jnp.sum(ks)
jnp.sort(ks)
jnp.sin(k)
lax.add(k, k)
lax.select(True, k, ks[0])
lax.dynamic_slice(ks, (1,), (2,))
lax.dynamic_index_in_dim(ks, 2, keepdims=False)
lax.dynamic_update_slice(ks, ks[:2], (3,))
lax.dynamic_update_index_in_dim(ks, k, 2, 0)
lax.slice(ks, (1,), (4,))
lax.broadcast(k, (2,))
lax.rev(ks, (0,))
lax.concatenate([ks, ks], 0)
lax.expand_dims(ks, (1,))
lax.cond(True, lambda a, b: a, lambda a, b: b, k, ks[0])
lax.switch(1, [lambda a, b: a, lambda a, b: b], k, ks[0])
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, ks[c[0]]), (0, k))[1]
lax.scan(lambda c, x: (x, c), k, ks)
lax.map(lambda x: x, ks)
lax.stop_gradient(ks)
jax.jit(lambda a, b: jnp.stack([a, b]))(k, ks[0])
jax.jit(lambda a: jnp.where(jnp.arange(6) < 3, a, a[::-1]))(ks)
jax.jit(lambda a: a.at[0].set(a[1]))(ks)
jax.vmap(lambda a: a)(ks)
jax.vmap(lambda a: a, in_axes=1)(ks.reshape(2, 3))
jax.vmap(lambda a: a, in_axes=-1)(ks.reshape(2, 3))
jax.vmap(lambda a: a, out_axes=-1)(ks.reshape(2, 3))
jax.vmap(lambda a: a, in_axes=1)(ks)
jax.vmap(lambda a: a, out_axes=2)(ks)
jax.vmap(lambda a: jnp.stack([a, k]))(ks)
jax.vmap(lambda i: ks[i])(jnp.array([2, 4]))
jax.vmap(lambda i: ks.at[i].set(k))(jnp.array([2, 4]))
jax.vmap(lambda p, a: jnp.where(p, a, k))(jnp.array([True, False]), ks[:2])
jax.grad(lambda x, a: x * random.uniform(a[1]))(2.0, ks)
jax.grad(lambda a: 1.0)(k)
""".strip().splitlines()


def plain(x: Any, modules: dict[str, Any]) -> Any:
    """A result as JSON holds it: arrays, keys, and tuples of them."""
    if isinstance(x, list | tuple) and not all(isinstance(y, int) for y in x):
        return [plain(y, modules) for y in x]
    if isinstance(x, list | tuple | int):
        return list(x) if isinstance(x, list | tuple) else x
    shape, dtype = list(x.shape), str(x.dtype)
    if dtype.startswith("key"):
        x = modules["random"].key_data(x)
    array = np.asarray(x)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return {"shape": shape, "dtype": dtype, "values": array.tolist()}


def outcome(text: str, modules: dict[str, Any], names: dict[str, Any]) -> Any:
    """Return the value of an expression, or the name of its error's class."""
    try:
        return plain(eval(text, {**modules, **names}), modules)
    except Exception as error:
        return f"raises {type(error).__name__}"


def names(random: Any, implementation: str) -> dict[str, Any]:
    """The key and the keys that the expressions are about."""
    k = random.key(5, impl=implementation)
    return {"k": k, "ks": random.split(random.key(9, impl=implementation), 6)}


def main() -> None:
    import jax
    import jax.numpy as jnp
    from jax import lax, random

    modules = {"jax": jax, "jnp": jnp, "lax": lax, "random": random}
    recorded = [
        {"impl": i, "kind": kind, "text": text, "outcome": outcome(text, modules, names(random, i))}
        for i in IMPLEMENTATIONS
        for kind, texts in (("stream", STREAMS), ("structure", STRUCTURE))
        for text in texts
        if kind == "stream" or i != "unsafe_rbg"
    ]
    lines = ",\n".join(json.dumps(r) for r in recorded)
    (Path(__file__).parent / "keys.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
