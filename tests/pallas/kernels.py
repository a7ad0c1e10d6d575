"""Kernels that the tests share, each with the function that it computes, in `effax.numpy`."""

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax.experimental import pallas as pl
from effax.experimental.pallas import tpu as pltpu


def like(x, shape=None):
    return fx.ShapeDtypeStruct(x.shape if shape is None else shape, x.dtype)


def gelu_kernel(x_ref, y_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = 0.5 * x * (1 + jnp.tanh(0.8 * (x + 0.045 * x**3))) + y_ref[...]


def gelu(x, y, block=4):
    spec = pl.BlockSpec((block,), lambda i: (i,))
    grid = pl.cdiv(x.size, block)
    return pl.pallas_call(gelu_kernel, like(x), grid=grid, in_specs=[spec, spec], out_specs=spec)(
        x, y
    )


def gelu_plain(x, y):
    return 0.5 * x * (1 + jnp.tanh(0.8 * (x + 0.045 * x**3))) + y


def matmul_kernel(x_ref, y_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref[...])

    acc_ref[...] += pl.dot(x_ref[...], y_ref[...])

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...]


def matmul(x, y, block=4):
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        matmul_kernel,
        like(x, (m, n)),
        grid=(m // block, n // block, k // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
            pl.BlockSpec((block, block), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((block, block), np.float32)],
    )(x, y)


def matmul_plain(x, y):
    return x @ y


def softmax_kernel(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x))
    o_ref[...] = e / jnp.sum(e)


def softmax(x):
    """Of rows, one at each point of the grid, which does not see their axis."""
    spec = pl.BlockSpec((None, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        softmax_kernel, like(x), grid=x.shape[0], in_specs=[spec], out_specs=spec
    )(x)


def softmax_plain(x):
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return e / jnp.sum(e, axis=1, keepdims=True)


def power_kernel(n_ref, x_ref, o_ref):
    """Each block to a power of its own: a loop that reads and writes a reference."""
    o_ref[...] = jnp.ones_like(x_ref[...])

    @pl.loop(0, 3)
    def _(i):
        o_ref[...] = jnp.where(i < n_ref[pl.program_id(0)], o_ref[...] * x_ref[...], o_ref[...])


def norm_kernel(x_ref, w_ref, o_ref):
    x = x_ref[...]
    middle = jnp.mean(x, axis=1, keepdims=True)
    size = jnp.mean(jnp.square(x - middle), axis=1, keepdims=True)
    o_ref[...] = (x - middle) * fx.lax.rsqrt(size + 1e-5) * w_ref[...]


def norm(x, w, rows=2):
    """Of rows, some at each point; the weights are one block, of all points."""
    spec = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        norm_kernel,
        like(x),
        grid=x.shape[0] // rows,
        in_specs=[spec, pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))],
        out_specs=spec,
    )(x, w[None])


def norm_plain(x, w):
    middle = jnp.mean(x, axis=1, keepdims=True)
    size = jnp.mean(jnp.square(x - middle), axis=1, keepdims=True)
    return (x - middle) * fx.lax.rsqrt(size + 1e-5) * w


def chosen(order, x):
    """The blocks of rows that a prefetched array names, each summed up with a row before it."""

    def kernel(order_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.loop(1, 8)
        def _(i):
            o_ref[i, :] = o_ref[i, :] + o_ref[i - 1, :]

    rows = pl.BlockSpec((8, x.shape[1]), lambda i, order: (i, 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(order.size,),
        in_specs=[pl.BlockSpec((8, x.shape[1]), lambda i, order: (order[i], 0))],
        out_specs=rows,
    )
    return pl.pallas_call(kernel, like(x, (8 * order.size, x.shape[1])), grid_spec=spec)(order, x)


POWERS = np.array([2, 0, 3, 1], np.int32)
ORDER = np.array([3, 0, 2, 1], np.int32)


def shuffled_kernel(order_ref, n_ref, x_ref, o_ref):
    power_kernel(n_ref, x_ref, o_ref)


def powers(x):
    """The blocks in another order, each to a power; order and powers are prefetched scalars."""
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(4,),
        in_specs=[pl.BlockSpec((2,), lambda i, order, n: (order[i],))],
        out_specs=pl.BlockSpec((2,), lambda i, order, n: (i,)),
    )
    return pl.pallas_call(shuffled_kernel, like(x), grid_spec=spec)(ORDER, POWERS, x)


def powers_plain(x):
    return (x.reshape(4, 2)[ORDER] ** POWERS[:, None].astype("float32")).reshape(8)


def masked_kernel(x_ref, o_ref):
    """All of the array at each point, of which a part is read that reaches beyond the end."""
    at = pl.ds(pl.program_id(0) * 4, 4)
    inside = pl.program_id(0) * 4 + jnp.arange(4) < x_ref.shape[0]
    x = pl.load(x_ref, at, mask=inside, other=1.0)
    pl.store(o_ref, at, jnp.sin(x) * x, mask=inside)


def masked(x):
    return pl.pallas_call(masked_kernel, like(x), grid=pl.cdiv(x.size, 4))(x)


def masked_plain(x):
    return jnp.sin(x) * x


def drawn(*shapes):
    rng = np.random.default_rng(0)
    return tuple(rng.normal(size=s).astype("float32") for s in shapes)


PAIRS = {
    "gelu": (gelu, gelu_plain, drawn(8, 8)),
    "edge": (gelu, gelu_plain, drawn(7, 7)),
    "matmul": (matmul, matmul_plain, drawn((8, 12), (12, 4))),
    "norm": (norm, norm_plain, drawn((4, 8), 8)),
    "softmax": (softmax, softmax_plain, drawn((3, 5))),
    "powers": (powers, powers_plain, (np.abs(drawn(8)[0]) + 0.5,)),
    "masked": (masked, masked_plain, drawn(6)),
}
"""A kernel, the function that it computes, and arguments."""
