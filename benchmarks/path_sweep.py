"""Times each fast path against the plain form, at every size, dtype and axis where it is taken.

    python -m benchmarks.path_sweep [--only cumsum,pow] [--sizes 1000,100000] [--write]

The rule: a fast path is never slower than 1.1 of the plain form. An operation is compiled twice, with
all paths and without the one asked about; where both texts are the same, the path is not taken,
and there is nothing to measure. It stands alone, or between a producer and a consumer with which
XLA may fuse it. Figures are the least of alternating series, by the clock, since XLA's threads
spin while they wait for each other: nothing may run beside it. What seems slower is measured
again, as often as `PATIENCE` says. `--write` puts the table into PATHS.md.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import isqrt, prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import effax
import effax.numpy as jnp
import effax.scipy as jsp
from benchmarks.run import processor
from effax import lax
from effax.effects.config import fast_paths

HERE = Path(__file__).resolve().parent
RULE = 1.1
PATIENCE = 4
SERIES = 0.004
"""Seconds that a series of calls takes, at least."""
ROUNDS = 5
CLEAR, SLOW = 0.5, 0.05
"""A ratio, and seconds of a plain call, from which one round is enough."""
LENGTHS = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)

FLOATS = "float16 bfloat16 float32"
WHOLE = "int8 int16 int32 uint8 uint16 uint32"
ONE = "float32"

ALONG = "jnp.{0}(x) jnp.{0}(X,axis=0) jnp.{0}(X,axis=1)"
SCANS = "lax.{0}(x) lax.{0}(X,axis=0) lax.{0}(X,axis=1)"
OPERATIONS: dict[str, tuple[str, str]] = {
    **{name: (SCANS.format(name), f"{FLOATS} int32") for name in ("cumsum", "cumprod")},
    **{name: (SCANS.format(name), f"{FLOATS} int32") for name in ("cummax", "cummin")},
    "cumlogsumexp": (SCANS.format("cumlogsumexp"), FLOATS),
    "associative_scan": (
        "lax.associative_scan(jnp.maximum,x) lax.associative_scan(jnp.add,X)",
        ONE,
    ),
    "div": ("x//d", WHOLE),
    "rem": ("x%d", WHOLE),
    "rem_float": ("x%d x//d", FLOATS),
    "pow": ("jnp.power(p,y)", FLOATS),
    "cbrt": ("jnp.cbrt(x)", FLOATS),
    **{name: (f"jnp.{name}(x)", FLOATS) for name in ("sin", "cos", "tan")},
    **{name: (f"jnp.{name}(u)", FLOATS) for name in ("asin", "acos", "atan")},
    "atan2": ("jnp.arctan2(x,y)", FLOATS),
    **{name: (ALONG.format(name), f"{FLOATS} {WHOLE}") for name in ("argmax", "argmin")},
    "reduce_max": (ALONG.format("max"), f"{FLOATS} {WHOLE}"),
    "reduce_min": (ALONG.format("min"), f"{FLOATS} {WHOLE}"),
    "fold": (
        "jnp.argmax(jnp.atan(x)) jnp.argmax(jnp.atan(X),axis=0) jnp.argmax(jnp.atan(X),axis=1) "
        "jnp.max(jnp.atan(X),axis=1) jnp.min(noise(X),axis=1) jnp.argmin(noise(X),axis=1) "
        "jnp.argmax(nn.softplus(X),axis=1)",
        ONE,
    ),
    "sort_bits": (ALONG.format("sort"), FLOATS),
    "sort_packed": (ALONG.format("argsort"), f"{FLOATS} int32"),
    "triangular_solve": ("jsp.linalg.solve_triangular(T,S) jsp.linalg.solve_triangular(T,v)", ONE),
    "convolution": (
        "conv(I,D,groups=I.shape[3]) conv(I,G,groups=I.shape[3]//2) conv(I[...,:3],K[:,:,:3])",
        FLOATS,
    ),
    "select_and_scatter_add": ("pooled_slope(I)", FLOATS),
}
"""Expressions that each path is for, apart by blanks, and dtypes.

x, y, d, p, u are vectors: any numbers (twice), none of them 0, positive ones, and of (-1, 1); X is
a matrix, square, tall or wide; T a triangular one with right-hand sides S and v; I images, D, G
and K kernels for each feature, for pairs of them, and for all.
"""


class Found(NamedTuple):
    """The times of one operation, in seconds."""

    path: str
    what: str
    dtype: str
    size: int
    fast: float
    plain: float

    @property
    def ratio(self) -> float:
        """The path's time over the plain form's."""
        return self.fast / self.plain


def conv(images: Any, kernel: Any, groups: int = 1) -> Any:
    """A convolution of 3 x 3 of images whose last axis is the features."""
    return lax.conv_general_dilated(
        images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )  # fmt: skip


def noise(x: Any) -> Any:
    """Random numbers of the operand's shape and dtype, added to it."""
    return x + effax.random.normal(effax.random.key(0), x.shape, x.dtype)


def pooled_slope(images: Any) -> Any:
    """The gradient of a max-pool of 2 x 2."""

    def pooled(x: Any) -> Any:
        lowest = jnp.array(-jnp.inf, x.dtype)
        return lax.reduce_window(x, lowest, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()

    return effax.grad(pooled)(images)


def operands(size: int, dtype: str, rows: int) -> dict[str, Any]:
    """Arrays of about so many elements, for the names in expressions."""
    rng = np.random.default_rng(0)

    def numbers(*shape: int, low: float = -4, high: float = 4) -> Any:
        low = 0 if dtype.startswith("uint") and low < 0 else low
        return jnp.asarray(rng.uniform(low, high, shape)).astype(dtype)

    n = max(2, isqrt(size) // 4)
    side = max(4, isqrt(size // 32))
    features = 8
    return {
        "x": numbers(size), "y": numbers(size), "d": numbers(size, low=1, high=9),
        "p": numbers(size, low=0.1), "u": numbers(size, low=-1, high=1),
        "X": numbers(rows, max(1, size // rows)),
        "T": numbers(n, n) + n * jnp.eye(n, dtype=dtype), "S": numbers(n, n), "v": numbers(n),
        "I": numbers(2, side, side, features), "D": numbers(3, 3, 1, features),
        "G": numbers(3, 3, 2, features), "K": numbers(3, 3, features, features),
    }  # fmt: skip


def cases(path: str, sizes: tuple[int, ...]) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield expressions with dtypes, sizes and operands."""
    texts, dtypes = OPERATIONS[path]
    for text in texts.split():
        for dtype in dtypes.split():
            for size in sizes:
                if size > 1_000_000 and not {"x", "X"} & set(text):
                    continue
                if "X" not in text:
                    yield text, dtype, size, operands(size, dtype, 1)
                    continue
                for rows in {isqrt(size), 8, max(1, size // 8)}:
                    if 1 < rows < size:
                        given = operands(size, dtype, rows)
                        yield f"{text}, {rows} rows", dtype, size, given


def compiled(function: Callable[..., Any], given: dict[str, Any], path: str) -> list[Any]:
    """Executables with a path and without it; none where the path is not taken."""
    lowered = []
    for paths in ("all", f"-{path}"):
        with fast_paths(paths):
            lowered.append(effax.jit(function).lower(given))
    if lowered[0].as_text() == lowered[1].as_text():
        return []
    made = []
    for paths, one in zip(("all", f"-{path}"), lowered, strict=True):
        with fast_paths(paths):  # which are chosen again when it is compiled
            made.append(one.compile())
    return made


def function_of(text: str, among: bool) -> Callable[[dict[str, Any]], Any]:
    """The function that an expression says; `among` others, a producer and a consumer."""
    code = compile(text.partition(", ")[0], text, "eval")
    here = {"jnp": jnp, "lax": lax, "jsp": jsp, "nn": effax.nn, "noise": noise}
    here |= {"conv": conv, "pooled_slope": pooled_slope}

    def function(given: dict[str, Any]) -> Any:
        if among:
            given = {k: v + v if prod(v.shape) and k in "xXI" else v for k, v in given.items()}
        result = eval(code, here | given)
        return result * 3 + 1 if among else result

    return function


def seconds(calls: tuple[Callable[[], Any], ...]) -> list[float]:
    """The least time of each call, of series that alternate."""
    counts, least = [], [float("inf")] * len(calls)
    for call in calls:
        call().block_until_ready()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < SERIES:
            call().block_until_ready()
            n += 1
        counts.append(n)
    for _ in range(ROUNDS):
        for i, (call, n) in enumerate(zip(calls, counts, strict=True)):
            start = time.perf_counter()
            for _ in range(n):
                call().block_until_ready()
            least[i] = min(least[i], (time.perf_counter() - start) / n)
        if least[1] > SLOW and least[0] < CLEAR * least[1]:
            break
    return least


def measured(path: str, sizes: tuple[int, ...]) -> Iterator[Found]:
    """Yield the times of all operations for which a path is taken."""
    for text, dtype, size, given in cases(path, sizes):
        for among in (False, True):
            function = function_of(text, among)
            executables = compiled(function, given, path)
            if not executables:
                continue
            calls = tuple([partial(executable, given) for executable in executables])
            times = seconds(calls)
            for _ in range(PATIENCE):
                if times[0] <= RULE * times[1]:
                    break
                times = [min(a, b) for a, b in zip(times, seconds(calls), strict=True)]
            yield Found(path, text + " among others" * among, dtype, size, *times)


def page(found: list[Found]) -> str:
    """The table: for each path how often it is taken, and the middle and the worst of its ratios."""
    lines = [
        "# Fast paths and plain forms",
        "",
        "Made by `python -m benchmarks.path_sweep --write`: the time of each fast path over that of the plain form, "
        f"wherever it is taken, at 10 to 10^7 elements. A ratio above {RULE} breaks the rule.",
        "",
        f"Measured {time.strftime('%Y-%m-%d')} on {os.cpu_count()} cores of {processor()}.",
        "",
        "| path | taken | middle | worst | where | more than the rule |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for path in dict.fromkeys(f.path for f in found):
        mine = sorted((f for f in found if f.path == path), key=lambda f: f.ratio)
        worst, over = mine[-1], sum(f.ratio > RULE for f in mine)
        where = f"`{worst.what}` {worst.dtype} {worst.size}"
        lines.append(
            f"| {path} | {len(mine)} | {mine[len(mine) // 2].ratio:.2f} | {worst.ratio:.2f} | {where} | {over} |"
        )
    over = sorted((f for f in found if f.ratio > RULE), key=lambda f: -f.ratio)
    if over:
        lines += ["", "Above the rule:", ""]
        lines += [
            f"- {f.path}: `{f.what}` {f.dtype}, {f.size} elements: {f.fast * 1e6:.0f} µs, plain {f.plain * 1e6:.0f} ({f.ratio:.2f})"
            for f in over
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(OPERATIONS))
    parser.add_argument("--sizes", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    sizes = tuple(map(int, asked.sizes.split(",")))
    found: list[Found] = []
    for path in asked.only.split(","):
        for f in measured(path, sizes):
            found.append(f)
            mark = " <" if f.ratio > RULE else ""
            print(f"{f.path:12} {f.ratio:6.2f} {f.dtype:8} {f.size:9} {f.what}{mark}", flush=True)
        if asked.write:
            (HERE / "PATHS.md").write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
