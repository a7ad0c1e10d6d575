"""Times every operation of NumPy's vocabulary at 10^6 elements, and prints the worst ratios first.

    python -m benchmarks.sweep [--rounds 3] [--only sin,sort] [--jax-python PATH] [--peer-python PATH]

A row is an expression over `np`, which is the numpy of the library measured: effax and jax compile
it, NumPy and torch evaluate it, and a library that lacks a name leaves its cell out. Each round
starts a process for each library, and all run with the same allocator, which keeps freed pages, so
that the figures are of the operations and not of page faults. Figures are processor time, the
least of some calls and rounds, so that threads and other processes don't count for or against one.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks.run import default_jax_python, imports

ROOT = Path(__file__).resolve().parent.parent
SERIES = 0.01
"""Seconds that a series of calls takes, about."""
ALLOCATOR = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
"""glibc's settings that keep freed pages."""
PEERS = ("numpy", "torch")

# What is called on which operands: x, y any floats, p, q positive, u in (-1, 1), i, j integers, d
# small integers but not 0, n naturals, b, c truth values; X, P, I, B the same as 1000 x 1000.
CALLS = {
    "x": "sin cos tan sinh cosh tanh arctan arcsinh exp exp2 expm1 abs sign floor ceil trunc rint"
    " square negative positive signbit isnan isinf isfinite degrees radians i0 sinc cbrt"
    " nan_to_num round reciprocal modf frexp spacing sort argsort flip ravel copy diff ediff1d"
    " cumsum cumprod argmax argmin max min sum mean std var prod any all median ptp nansum nanmean"
    " nanmax nanvar nanargmax count_nonzero unique gradient cummax flatnonzero real conj angle"
    " fft.fft fft.rfft",
    "p": "sqrt log log2 log10 log1p arccosh",
    "u": "arcsin arccos arctanh",
    "x,y": "add subtract multiply maximum minimum fmax fmin arctan2 hypot copysign logaddexp"
    " logaddexp2 nextafter fmod remainder floor_divide divide true_divide heaviside greater less"
    " equal not_equal isclose dot vdot inner kron_ divmod array_equal allclose concatenate_",
    "p,y": "power float_power",
    "i": "abs negative invert square sign sort argsort cumsum max sum argmax bitwise_count prod"
    " sin sqrt mean exp float32_ unique bincount_ any",
    "i,j": "add multiply bitwise_and bitwise_xor maximum gcd lcm less equal",
    "i,d": "floor_divide remainder fmod divmod true_divide left_shift_ power_",
    "n,k": "left_shift right_shift power",
    "b": "logical_not sum any all argmax cumsum count_nonzero invert",
    "b,c": "logical_and logical_or logical_xor equal",
    "X": "transpose fliplr flipud tril triu diag trace rot90 linalg.norm",
    "S": "linalg.inv linalg.det linalg.qr linalg.svd linalg.eigvalsh",
}
AXES = "sum prod max min mean std var any all argmax argmin cumsum cumprod sort argsort median flip"
EXPRESSIONS = [
    *(
        f"np.{name}({operands})"
        for operands, names in CALLS.items()
        for name in names.split()
        if not name.endswith("_")
    ),
    *(f"np.{name}(X, axis={axis})" for name in AXES.split() for axis in (0, 1)),
    *(
        f"np.{name}({operand}, axis={a})"
        for name in ("sum", "max", "argmax", "cumsum", "sort")
        for operand in "IB"
        for a in (0, 1)
        if (name, operand) not in {("max", "B"), ("sort", "B")}
    ),
    *[
        "x**2",
        "x**3",
        "x**-1",
        "x**0.5",
        "p**0.5",
        "p**1.5",
        "2**x",
        "x + 1",
        "-x * y + p",
        "x > 0",
        "x % 3",
        "i % 7",
        "i // 7",
        "i % d",
        "i // d",
        "x // 0.5",
        "X @ X",
        "X.T @ X",
        "X @ X.T",
        "X @ x[:1000]",
        "np.matmul(I, I)",
        'np.einsum("ij,jk->ik", X, X)',
        'np.einsum("ij,ij->i", X, X)',
        'np.einsum("ij->j", X)',
        "np.outer(x[:1000], y[:1000])",
        "np.tensordot(X, X, 1)",
        "np.kron(X[:50, :50], X[:20, :20])",
        "np.where(b, x, y)",
        "np.where(x > 0, x, 0)",
        "np.clip(x, -1, 1)",
        "np.select([b, c], [x, y], 0)",
        "np.concatenate([x, y])",
        "np.stack([x, y])",
        "np.stack([x, y], axis=1)",
        "np.hstack([X, X])",
        "np.vstack([X, X])",
        "np.split(X, 4)",
        "np.tile(X, (2, 2))",
        "np.repeat(x, 3)",
        "np.repeat(X, 2, axis=0)",
        "np.repeat(X, 2, axis=1)",
        "np.roll(x, 17)",
        "np.roll(X, 17, axis=0)",
        "np.roll(X, 17, axis=1)",
        "np.rot90(X)",
        "np.pad(X, 3)",
        'np.pad(X, 3, mode="reflect")',
        'np.pad(X, 3, mode="edge")',
        "np.broadcast_to(x, (4, 1000000)) + 1",
        "np.swapaxes(x.reshape(100, 100, 100), 0, 2) + 1",
        "np.moveaxis(x.reshape(100, 100, 100), 0, 2) + 1",
        "np.transpose(x.reshape(100, 100, 100), (1, 0, 2)) + 1",
        "X.T + X",
        "X.T + 1",
        "X.reshape(-1)[::-1]",
        "x[::2]",
        "X[:, ::2]",
        "X[::2]",
        "x[k0]",
        "X[k0[:1000] % 1000]",
        "X[:, k0[:1000] % 1000]",
        "np.take(x, k0)",
        "np.take_along_axis(X, A, axis=1)",
        "np.take_along_axis(X, A, axis=0)",
        "np.searchsorted(np.sort(p), q)",
        "np.searchsorted(p[:1000], q)",
        "np.digitize(x, p[:20])",
        "np.interp(x, g, g)",
        "np.bincount(n, length=64)",
        "np.histogram(x, bins=50)",
        "np.percentile(x, 30)",
        "np.quantile(X, 0.3, axis=0)",
        "np.quantile(X, 0.3, axis=1)",
        "np.nanmedian(x)",
        "np.partition(x, 1000)",
        "np.argpartition(x, 1000)",
        "np.lexsort((x, n))",
        "np.sort(n)",
        "np.isin(n, k[:20])",
        "np.convolve(x[:20000], y[:500])",
        "np.correlate(x[:20000], y[:500])",
        "np.cov(X[:100])",
        "np.corrcoef(X[:100])",
        "np.cross(x[:999999].reshape(-1, 3), y[:999999].reshape(-1, 3))",
        "np.vander(x[:1000], 50)",
        "np.polyval(x[:8], y)",
        "np.trapezoid(x)",
        "np.logspace(0, 1, 1000000)",
        "np.linspace(0, 1, 1000000)",
        "np.arange(1000000)",
        "np.zeros((1000, 1000))",
        "np.eye(1000)",
        "np.tri(1000)",
        "np.meshgrid(x[:1000], y[:1000])",
        "np.diagonal(X)",
        "np.fft.fft2(X)",
        "np.fft.fft(X)",
        "np.fft.irfft(x + 1j)",
        "np.linalg.solve(S, x[:300])",
        "np.linalg.solve(S, X[:300, :300])",
        "np.linalg.cholesky(C)",
        "np.linalg.eigh(C)",
        'x.astype("int32")',
        'i.astype("float32")',
        'x.astype("float16")',
        'x.astype("float16").astype("float32")',
        'x.astype("bool")',
        'b.astype("float32")',
        'x.view("int32")',
        "np.packbits(b)",
        "np.sum(X, axis=(0, 1))",
        "np.sum(x.reshape(100, 100, 100), axis=1)",
        "np.sum(x.reshape(100, 100, 100), axis=(0, 2))",
        "np.max(x.reshape(100, 100, 100), axis=1)",
        "np.sum(x > 0)",
        'np.mean(x.astype("float16"))',
        "np.linalg.norm(X, axis=1)",
        "np.linalg.norm(X, axis=0)",
        "np.exp(X - np.max(X, axis=1, keepdims=True))",
        "np.exp(z)",
        "np.abs(z)",
        "z * z",
        "z / z",
        "np.log(z)",
        "np.sqrt(z)",
        "np.angle(z)",
        "np.sum(z)",
    ],
]


def operands(np, library: str) -> dict:
    """The operands by name, as arrays of the library."""
    import numpy

    draw = numpy.random.default_rng(0)
    size = 1_000_000
    made = {"x": draw.standard_normal(size), "y": draw.standard_normal(size)}
    made |= {"p": draw.uniform(0.1, 9, size), "q": draw.uniform(1, 9, size)}
    made |= {"u": draw.uniform(-1, 1, size), "g": numpy.linspace(-3, 3, 1000)}
    made["S"] = draw.standard_normal((300, 300)) / 17 + 2 * numpy.eye(300)
    made["C"] = made["S"] @ made["S"].T
    made["z"] = made["x"] + 1j * made["y"]
    bounds = {"i": (-(10**9), 10**9), "j": (-(10**9), 10**9), "d": (1, 100), "n": (0, 50)}
    bounds |= {"k": (0, 8), "k0": (0, size), "A": (0, 1000)}
    made |= {name: draw.integers(*ends, size) for name, ends in bounds.items()}
    made["A"] = made["A"].reshape(1000, 1000)
    made |= {name: draw.integers(0, 2, size) > 0 for name in "bc"}
    narrow = {"f8": "f4", "c16": "c8", "i8": "i4", "b1": "?"}
    made = {name: v.astype(narrow[v.dtype.str[1:]]) for name, v in made.items()}
    made |= {upper: made[upper.lower()].reshape(1000, 1000) for upper in "XPIB"}
    if library == "numpy":
        return made
    enter = np.from_numpy if library == "torch" else np.asarray
    return {name: enter(value) for name, value in made.items()}


def processor_seconds(call) -> float:
    """Processor time of a call: the least of some series, as clocks of threads lag behind."""

    def series(count: int) -> float:
        start = time.process_time()
        for _ in range(count):
            call()
        return (time.process_time() - start) / count

    call()
    count = max(1, min(1000, int(SERIES / max(series(1), 1e-5))))
    return min(series(count) for _ in range(5))


def child(library: str, expressions: list[str]) -> None:
    """Prints the seconds of each expression, and the errors of those that the library has not."""
    compiles = library in ("effax", "jax")
    top = importlib.import_module(library)
    np = importlib.import_module(f"{library}.numpy") if compiles else top
    names = operands(np, library)
    seconds, errors = {}, {}
    for text in expressions:
        used = [n for n in names if n in compile(text, text, "eval").co_names]
        function = eval(f"lambda {', '.join(used)}: {text}", {"np": np})
        given = [names[n] for n in used]
        if compiles:
            function = waiting(top, top.jit(function))
        try:
            seconds[text] = processor_seconds(partial(function, *given))
        except Exception as error:  # a name that it lacks, or takes otherwise
            errors[text] = f"{type(error).__name__}: {str(error)[:80]}"
    print(json.dumps([seconds, errors]))


def waiting(top, function):
    return lambda *args: top.block_until_ready(function(*args))


def measured(pythons: dict[str, str], rounds: int, only: str) -> dict[str, dict[str, float]]:
    """library -> expression -> the least seconds of all rounds; what ours fails at is an error."""
    found: dict[str, dict[str, float]] = {library: {} for library in pythons}
    platforms = {"JAX_PLATFORMS": "cpu", "EFFAX_PLATFORMS": "cpu"}
    for number in range(rounds):
        for library in list(pythons)[:: 1 if number % 2 == 0 else -1]:
            done = subprocess.run(
                [pythons[library], "-W", "ignore", "-m", "benchmarks.sweep"]
                + ["--child", library, "--only", only],
                cwd=ROOT,
                env={**os.environ, **ALLOCATOR, **platforms},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            seconds, errors = json.loads(done.stdout.splitlines()[-1])
            for text, value in seconds.items():
                found[library][text] = min(value, found[library].get(text, value))
            if library in ("effax", "jax") and number == 0:
                for text, error in errors.items():
                    print(f"{library} fails at {text}: {error}", file=sys.stderr)
    return found


def report(found: dict[str, dict[str, float]]) -> str:
    """A line an expression, the worst ratio to jax or to a peer's 1.2 first."""
    others = [library for library in found if library != "effax"]
    allowed = {"jax": 1.0} | dict.fromkeys(PEERS, 1.2)
    lines = []
    for text, ours in found["effax"].items():
        ratios = {o: ours / found[o][text] for o in others if text in found[o]}
        worst = max((ratio / allowed[o] for o, ratio in ratios.items()), default=0.0)
        cells = " ".join(f"{ratios[o]:7.2f}" if o in ratios else " " * 7 for o in others)
        lines.append((worst, f"{worst:6.2f} {cells} {ours * 1e3:9.3f} ms  {text}"))
    heading = f"{'worst':>6} {' '.join(f'{o:>7}' for o in others)} {'effax':>9}"
    return "\n".join([heading, *(line for _, line in sorted(lines, reverse=True))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of expressions, separated by ;")
    parser.add_argument("--jax-python", default=default_jax_python())
    parser.add_argument("--peer-python", default=os.environ.get("EFFAX_BENCH_PEERS"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted = [word for word in options.only.split(";") if word]
    if options.child:
        chosen = [e for e in EXPRESSIONS if not wanted or any(word in e for word in wanted)]
        return child(options.child, chosen)
    peers = options.peer_python or options.jax_python
    places = {"jax": options.jax_python} | dict.fromkeys(PEERS, peers)
    there = {library: python for library, python in places.items() if imports(python, library)}
    print(report(measured({"effax": sys.executable} | there, options.rounds, options.only)))
    return None


if __name__ == "__main__":
    main()
