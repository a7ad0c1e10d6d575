"""Programs over many chips, written once over `jax`, which is either library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.accelerators.models import Type


def _mapped(jax: Any, mesh: Any, inside: Any, outside: Any) -> Callable[..., Any]:
    P = jax.sharding.PartitionSpec

    def spec(names: Any) -> Any:
        return P(*names)

    def decorate(f: Any) -> Any:
        return jax.shard_map(
            f, mesh=mesh, in_specs=tuple(map(spec, inside)), out_specs=spec(outside)
        )

    return decorate


def product(jax: Any, mesh: Any) -> Any:
    return lambda x, w: jax.nn.relu(x @ w)


def data_parallel(jax: Any, mesh: Any) -> Any:
    jnp = jax.numpy

    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)

    return step


def tensor_parallel(jax: Any, mesh: Any) -> Any:
    """The gradient of a block of attention and one of a perceptron."""
    jnp = jax.numpy

    def loss(qkv: Any, out: Any, up: Any, down: Any, x: Any) -> Any:
        heads = mesh.shape["model"] * 2
        q, k, v = (y.reshape(*y.shape[:2], heads, -1) for y in jnp.split(x @ qkv, 3, -1))
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + y.reshape(x.shape) @ out
        x = x + jax.nn.gelu(x @ up) @ down
        return jnp.mean(x * x)

    return jax.grad(loss, (0, 1, 2, 3))


def summed(jax: Any, mesh: Any) -> Any:
    @_mapped(jax, mesh, [("data", "model")], (None, "model"))
    def f(x: Any) -> Any:
        return jax.lax.psum(jax.numpy.sin(x), "data")

    return f


def gathered(jax: Any, mesh: Any) -> Any:
    @_mapped(jax, mesh, [("data", None), (None, None)], ("data", None))
    def f(x: Any, w: Any) -> Any:
        whole = jax.lax.all_gather(x, "data", tiled=True)
        return jax.lax.psum_scatter(whole @ w, "data", tiled=True) / whole.shape[0]

    return f


def exchanged(jax: Any, mesh: Any) -> Any:
    @_mapped(jax, mesh, [("data", None)], (None, "data"))
    def f(x: Any) -> Any:
        return jax.lax.all_to_all(x, "data", 1, 0, tiled=True)

    return f


def around(jax: Any, mesh: Any) -> Any:
    @_mapped(jax, mesh, [("data", None)], ("data", None))
    def f(x: Any) -> Any:
        n = mesh.shape["data"]
        return jax.lax.ppermute(x, "data", [(i, (i + 1) % n) for i in range(n)]) + x

    return f


def maximum(jax: Any, mesh: Any) -> Any:
    @_mapped(jax, mesh, [("data", "model")], (None, None))
    def f(x: Any) -> Any:
        return jax.lax.pmax(x, ("data", "model"))

    return f


def cumulative(jax: Any, mesh: Any) -> Any:
    return lambda x: jax.numpy.cumsum(x, 0)


def in_order(jax: Any, mesh: Any) -> Any:
    return lambda x: jax.numpy.sort(x, 1)


def ragged(jax: Any, mesh: Any) -> Any:
    P = jax.sharding.PartitionSpec
    row = P("data")

    def f(x: Any, out: Any, *sizes: Any) -> Any:
        sizes = [y[0] for y in sizes]
        return jax.lax.ragged_all_to_all(x[0], out[0], *sizes, axis_name="data")[None]

    return jax.shard_map(f, mesh=mesh, in_specs=(row,) * 6, out_specs=row)


def _f32(spec: Any, *shape: int) -> Type:
    return Type("float32", shape, spec)


def programs(rows: int, columns: int) -> dict[str, tuple[Callable[..., Any], list[Type]]]:
    """Functions of the library and a mesh of so many rows and columns; types of the arguments."""
    width = 32 * columns
    many = 64 * rows
    sizes = [Type("int32", (rows, rows), ("data",))] * 4
    return {
        "product": (
            product,
            [_f32(("data", None), many, width), _f32((None, "model"), width, width)],
        ),
        "data parallel": (
            data_parallel,
            [_f32((), 64, 64), _f32((("data", "model"), None), 8 * rows * columns, 64)],
        ),
        "tensor parallel": (
            tensor_parallel,
            [
                _f32((None, "model"), width, 3 * width),
                _f32(("model", None), width, width),
                _f32((None, "model"), width, 4 * width),
                _f32(("model", None), 4 * width, width),
                _f32(("data", None, None), 2 * rows, 16, width),
            ],
        ),
        "psum": (summed, [_f32(("data", "model"), many, width)]),
        "all_gather, psum_scatter": (gathered, [_f32(("data", None), many, 64), _f32((), 64, 64)]),
        "all_to_all": (exchanged, [_f32(("data", None), many, 64 * rows)]),
        "ppermute": (around, [_f32(("data", None), many, 128)]),
        "pmax": (maximum, [_f32(("data", "model"), many, width)]),
        "cumsum along a sharded axis": (cumulative, [_f32(("data", None), many, 128)]),
        "sort along another axis": (in_order, [_f32(("data", None), many, 128)]),
        "ragged_all_to_all": (
            ragged,
            [_f32(("data",), rows, 64, 32), _f32(("data",), rows, 64, 32), *sizes],
        ),
    }
