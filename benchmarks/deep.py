"""Unrolled programs at the depths where users wait: what they take to compile, to run, and in memory.

    python -m benchmarks.deep [--only layers_48,leapfrog] [--patience 900] [--jax-python PATH] [--write]

Each program is compiled once, in a process of its own per library; a library that has not finished
after `--patience` seconds is stopped, and the table says so. Compiling, with tracing and lowering,
counts processor time of all threads; running is the least of some calls, by the clock. `--write`
puts the table into DEEP.md.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import models
from benchmarks.report import seconds
from benchmarks.run import apart, default_jax_python, machine, told

HERE = Path(__file__).resolve().parent
CALLS = 20
SECONDS = 5.0
"""Calls of a compiled program, or as many as that takes."""

Made = tuple[Callable[..., Any], Any, Any]


class Deep(NamedTuple):
    """`make(jax, jnp, np)` gives a loss, what it is differentiated by, and other operands.

    Targets are the greatest ratios to JAX of compiling, of running and of memory.
    """

    title: str
    make: Callable[[Any, Any, Any], Made]
    compiling: float
    running: float
    memory: float = 1.02
    why: str = ""
    """The reason of a miss, from a profile."""


class Taken(NamedTuple):
    """Seconds of compiling and of running, bytes, and a number that both libraries find."""

    compiling: float
    running: float
    memory: float
    value: float


def transformer(layers: int) -> Callable[[Any, Any, Any], Made]:
    return lambda jax, jnp, np: (
        models.transformer(jax, jnp, layers),
        *models.transformer_inputs(np, layers),
    )


def leapfrog(jax: Any, jnp: Any, np: Any) -> Made:
    return models.leapfrog(jax, jnp, 500), *models.leapfrog_inputs(np)


def recurrent(jax: Any, jnp: Any, np: Any) -> Made:
    params, xs = models.recurrent_inputs(np, 200)
    return models.recurrent(jnp), params, xs


def network(jax: Any, jnp: Any, np: Any) -> Made:
    return models.network(jnp), *models.network_inputs(np, 50)


def resnet(jax: Any, jnp: Any, np: Any) -> Made:
    return models.resnet_50(jax, jnp), *models.resnet_50_inputs(np)


FIRST = (
    "the first layer takes 3.4 s in either library, of which most goes to LLVM; one more takes 0.35 "
    "to 0.5 s here, and in JAX the more, the more there are"
)
PROGRAMS = {
    "layers_6": Deep("6 transformer layers", transformer(6), 0.35, 1.0, why=FIRST),
    "layers_12": Deep("12 transformer layers", transformer(12), 0.35, 1.0, why=FIRST),
    "layers_24": Deep("24 transformer layers", transformer(24), 0.35, 1.0),
    "layers_48": Deep("48 transformer layers", transformer(48), 0.05, 0.3),
    "network": Deep(
        "a network of 50 tanh layers",
        network,
        0.35,
        1.0,
        why="ten kernels take the time, once for all layers, in either library",
    ),
    "resnet": Deep(
        "ResNet-50, 2 images of 64 x 64",
        resnet,
        0.35,
        1.0,
        why="nearly the same program goes to the same compiler, and its time to convolutions of many "
        "shapes, none of which XLA's CPU backend fuses; 9 MB of the memory go to the forms that "
        "convolutions have here",
    ),
    "recurrent": Deep("200 steps of a recurrent network", recurrent, 0.35, 1.0),
    "leapfrog": Deep("500 steps of leapfrog", leapfrog, 0.35, 1.0),
}


def measured(library: str, name: str) -> Taken:
    """In this process: the loss and gradient of a program, compiled and called."""
    from benchmarks.child import load

    jax, jnp = load(library)
    import numpy as np

    sys.setrecursionlimit(100_000)
    loss, params, rest = PROGRAMS[name].make(jax, jnp, np)
    start = time.process_time()
    step = jax.jit(jax.value_and_grad(loss)).lower(params, rest).compile()
    compiling = time.process_time() - start
    given = jax.device_put((params, rest))
    value, slopes = jax.block_until_ready(step(*given))
    along = sum(float(jnp.vdot(x, x)) for x in jax.tree.leaves(slopes))
    running, begun = [], time.perf_counter()
    while len(running) < CALLS and time.perf_counter() - begun < SECONDS:
        start = time.perf_counter()
        jax.block_until_ready(step(*given))
        running.append(time.perf_counter() - start)
    stats = step.memory_analysis()
    return Taken(compiling, min(running), float(stats.temp_size_in_bytes), float(value) + along)


def in_process(python: str, library: str, name: str, patience: float) -> Taken | str:
    """The figures of a program from a fresh process, or why there are none."""
    try:
        found = apart(python, "benchmarks.deep", library, name, patience)
    except subprocess.TimeoutExpired:
        return f"more than {patience:.0f} s"
    return f"failed: {found}" if isinstance(found, str) else Taken(*found)


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.3g} MB"


def _cells(ours: Taken | str, theirs: Taken | str, field: str, target: float) -> list[str]:
    """One measure of a program in both libraries, the ratio, and whether it meets the target."""
    shown = _megabytes if field == "memory" else seconds
    cells = [x if isinstance(x, str) else shown(getattr(x, field)) for x in (ours, theirs)]
    if isinstance(ours, str) or isinstance(theirs, str):
        return [*cells, ""]
    ratio = getattr(ours, field) / getattr(theirs, field)
    figure = f"{ratio:.2f} of {target}"
    return [*cells, figure if ratio <= target else f"**{figure}**"]


def table(found: dict[str, tuple[Taken | str, Taken | str]]) -> str:
    """A row for each measure of a program."""
    lines = ["| what | | effax | jax | ratio of target |", "|---|---|--:|--:|--:|"]
    for name, (ours, theirs) in found.items():
        deep = PROGRAMS[name]
        for field in ("compiling", "running", "memory"):
            title = deep.title if field == "compiling" else ""
            cells = _cells(ours, theirs, field, getattr(deep, field))
            lines.append(f"| {' | '.join([title, field, *cells])} |")
    reasons = [f"- {PROGRAMS[name].title}: {PROGRAMS[name].why}" for name in found]
    return "\n".join([*lines, "", *[line for line in reasons if not line.endswith(": ")]]) + "\n"


PAGE = """# Deep programs

Loss and gradient of unrolled programs, compiled once in a process of its own: `python -m benchmarks.deep --write` makes this
page. Compiling, with tracing and lowering, is processor time of all threads; running is the least of up to {calls} calls, by the
clock; memory is that of intermediates, by the compiler's account. A ratio above its target is bold. Where JAX has not finished
in time, it was stopped.

{told}

{table}"""


def checked(found: dict[str, tuple[Taken | str, Taken | str]], name: str) -> None:
    """The two libraries found the same loss and the same size of the gradient."""
    ours, theirs = found[name]
    if isinstance(ours, str) or isinstance(theirs, str):
        return
    if abs(ours.value - theirs.value) > 1e-2 * abs(theirs.value):
        raise RuntimeError(f"{name}: effax finds {ours.value}, jax {theirs.value}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help=",".join(PROGRAMS))
    parser.add_argument("--patience", type=float, default=900.0, help="seconds of a process")
    parser.add_argument("--jax-python", default=default_jax_python())
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write DEEP.md")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(PROGRAMS)
    if options.measure:
        print(json.dumps(measured(options.measure, names[0])))
        return
    pythons = {"effax": sys.executable, "jax": options.jax_python}
    found: dict[str, tuple[Taken | str, Taken | str]] = {}
    for name in names:
        ours, theirs = (in_process(p, lib, name, options.patience) for lib, p in pythons.items())
        found[name] = ours, theirs
        checked(found, name)
        print(table({name: found[name]}), flush=True)
        if options.write:
            how = told({"machine": machine(pythons), "clock": "wall", "rounds": 1})
            page = PAGE.format(calls=CALLS, told=how, table=table(found))
            (HERE / "DEEP.md").write_text(page)


if __name__ == "__main__":
    main()
