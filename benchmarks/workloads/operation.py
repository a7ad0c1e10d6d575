"""One operation as a row of a table: how it is compiled, what is expected, and who else does it."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.workloads.workload import blocking, workload

MILLION = 1_000_000


F4 = 2.0**-22
"""An error of two units of float32."""


SAME = "XLA is given the same operation by both libraries; the rest is what else the machine did"
"""Why a row is not below 1."""


class Row(NamedTuple):
    """An operation and who else does it; what it is given is named, in `INPUTS`.

    `ours` is compiled; `numpy` and `torch` are called with the same arrays, and NumPy's result is
    the one expected, within `error` of the greatest. Where there is none, `check` is asked.
    `factor` is what the issue found to be possible over XLA's plain operation.
    """

    name: str
    title: str
    factor: float | None
    given: str
    ours: Callable[..., Any]
    numpy: Callable[..., Any] | None = None
    torch: Callable[..., Any] | None = None
    check: Callable[..., Any] | None = None
    error: float = 0.0
    why: str = ""


def _normal(*shape: int) -> Callable[[Any], Any]:
    return lambda rng: rng.standard_normal(shape).astype("f4")


def _halved(*shape: int) -> Callable[[Any], Any]:
    def make(rng: Any) -> Any:
        import ml_dtypes

        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)

    return make


def _integers(low: int, high: int, *shape: int) -> Callable[[Any], Any]:
    return lambda rng: rng.integers(low, high, shape).astype("i4")


def _regular(n: int) -> Callable[[Any], Any]:
    """A matrix far from singular, with a triangle that is too."""
    return lambda rng: (rng.standard_normal((n, n)) / n + 2 * _identity(n)).astype("f4")


def _identity(n: int) -> Any:
    import numpy as np

    return np.eye(n)


INPUTS: dict[str, Callable[[Any], Any]] = {
    "x": _normal(MILLION),
    "square": _normal(1000, 1000),
    "wide": _normal(2000, 2000),
    "other": _normal(2000, 2000),
    "positive": lambda rng: rng.uniform(0.1, 10, MILLION).astype("f4"),
    "exponents": lambda rng: rng.uniform(-3, 3, MILLION).astype("f4"),
    "angles": lambda rng: rng.uniform(-100, 100, MILLION).astype("f4"),
    "whole": _integers(-(10**9), 10**9, MILLION),
    "divisors": _integers(1, 1000, MILLION),
    "regular": _regular(1000),
    "small": _regular(100),
    "columns": _normal(100, 20_000),
    "block": _normal(1000, 1000),
    "images": _normal(32, 64, 64, 16),
    "logits": _normal(1000, 1000),
    "signal": lambda rng: rng.standard_normal((256, 4096)).astype("f4").astype("c8"),
    "pictures": _normal(32, 32, 32, 16),
    "kernels": _normal(3, 3, 16, 32),
    "square_bfloat16": _halved(1000, 1000),
    "few_bfloat16": _halved(4000),
    "square_float16": lambda rng: rng.standard_normal((1000, 1000)).astype("f2"),
    "positive_large": lambda rng: rng.uniform(0.1, 10, 10 * MILLION).astype("f4"),
    "exponents_large": lambda rng: rng.uniform(-3, 3, 10 * MILLION).astype("f4"),
    "vector_bfloat16": _halved(1024),
    "matrix_bfloat16": _halved(1024, 4096),
    "x_float16": lambda rng: rng.standard_normal(MILLION).astype("f2"),
    "little": lambda rng: (rng.standard_normal((64, 64)) / 8).astype("f4"),
    "lefts": _normal(256, 64),
    "cube": _normal(64, 64, 64),
    "rights": _normal(256, 64),
    "tall": _normal(4096, 1024),
    "choices": _normal(100_000, 16),
    "few": _integers(-(10**9), 10**9, 100_000),
    "maps": _normal(8, 28, 28, 64),
    "filters": _normal(3, 3, 1, 64),
    "series": _normal(8, 512, 256),
    "taps": _normal(4, 1, 256),
    "planes": _normal(8, 28, 28, 128),
    "bundles": _normal(3, 3, 4, 128),
    "blocks": _normal(2, 16, 16, 16, 16),
    "cubes": _normal(3, 3, 3, 16, 32),
    "queries": _normal(1, 2048, 4, 64),
    "keys": _normal(1, 2048, 4, 64),
    "values": _normal(1, 2048, 4, 64),
}


def _inputs(row: Row, np: Any) -> list[Any]:
    return [INPUTS[name](np.random.default_rng(0)) for name in row.given.split()]


def _compiled(row: Row, lib: Any, jnp: Any, np: Any) -> Callable[[], Any]:
    given = _inputs(row, np)
    function, arrays = lib.jit(partial(row.ours, lib)), [jnp.array(x) for x in given]
    found = np.asarray(function(*arrays))
    if row.numpy is not None:
        expected = row.numpy(np, *given)
        scale = np.abs(expected).max() if row.error else 1.0
        np.testing.assert_allclose(found, expected, rtol=row.error, atol=row.error * scale)
    if row.check is not None:
        row.check(np, found, *given)
    return blocking(function, *arrays)


def _by_numpy(row: Row) -> Callable[[], Any]:
    import numpy as np

    return partial(row.numpy, np, *_inputs(row, np))


def _by_torch(row: Row) -> Callable[[], Any]:
    import numpy as np
    import torch

    return partial(row.torch, torch, *map(torch.from_numpy, _inputs(row, np)))


def enter(rows: Iterable[Row], module: str) -> None:
    """Put the rows into the table of workloads, under the subject that the module is."""
    for row in rows:
        _enter(row, module)


def _enter(row: Row, module: str) -> None:
    peers = {}
    if row.numpy is not None:
        peers["numpy"] = partial(_by_numpy, row)
    if row.torch is not None:
        peers["torch"] = partial(_by_torch, row)
    title = row.title if row.factor is None else f"{row.title} (expected: {row.factor} ×)"

    def make(jax: Any, jnp: Any, np: Any) -> Callable[[], Any]:
        return _compiled(row, jax, jnp, np)

    make.__module__ = module
    workload(title, 1.0, why=row.why, name=row.name, **peers)(make)
