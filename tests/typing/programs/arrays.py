"""Arrays, as users of a type checker meet them.

Lines that end in `# refused` are mistakes, which a checker must find; it must find nothing else.
"""

from typing import assert_type

import numpy as np

import effax
import effax.numpy as jnp


def ordinary(x: effax.Array, w: effax.Array) -> effax.Array:
    y = x + w
    y = -x
    y = x[0]
    y = x.at[0].set(1.0)
    y = x.at[1:, None].add(w, mode="drop")
    y = x.T @ w.mT
    y = x.sum()
    y = x.sum(axis=(0, 1), keepdims=True)
    y = x.reshape(2, -1)
    y = x.reshape((2, 3))
    y = x.mean(axis=0)
    y = x.astype(jnp.float32)
    y = x.astype("bfloat16").astype(np.int32).astype(y.dtype)
    y = 1 + x * 2.0 - np.float32(3) / x**2
    y = x[..., 1:, None, jnp.arange(2)]
    y = x[x > 0]
    y = x.transpose(1, 0).swapaxes(0, 1).ravel().squeeze(0)
    q, r = divmod(x, 2)
    return y + q + r


def results(x: effax.Array) -> None:
    assert_type(x > 0, effax.Array)
    assert_type(x == 0, effax.Array)
    assert_type(x.at[0].get(), effax.Array)
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(float(x), float)
    assert_type(len(x), int)
    assert_type(bool(x.any()), bool)
    assert_type(x.nonzero(), tuple[effax.Array, ...])
    assert_type(x.block_until_ready(), effax.Array)
    assert_type([row for row in x], list[effax.Array])
    assert_type(x if x else -x, effax.Array)
    host: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = np.asarray(x)
    print(host, x.item(), x.tolist(), x.devices(), f"{x.mean():.3f}")


def mistakes(x: effax.Array) -> None:
    x + "a"  # refused
    x @ [1, 2]  # refused
    x["a"]  # refused
    x[0] = 1.0  # refused
    x.summ()  # refused
    x.sum(axes=0)  # refused
    x.reshape("2")  # refused
    x.astype(3)  # refused
    x.at[0].set(1.0, modes="drop")  # refused
    x.shape = (2,)  # refused
    s: str = x.sum()  # refused
    print(s)
