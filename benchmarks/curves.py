"""The growth of costs with program size, for effax and jax: time per unit, and the exponent fitted.

    python -m benchmarks.curves [--only scan_depth,closure] [--jax-python PATH] [--write]

Each curve runs in a process of its own per library and counts processor time, the least of a few
calls. A size that would take more than some seconds is left out. The exponent is the slope of the
last three points, log over log: 1 where time is in proportion to size, 2 where it is quadratic.
`--write` puts the table into CURVES.md, and the lines into CURVES.svg.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

from benchmarks.drawing import drawn
from benchmarks.growth import CURVES
from benchmarks.report import seconds
from benchmarks.run import apart, default_jax_python, imports, machine, told

HERE = Path(__file__).resolve().parent
CALLS = 3
TOO_LONG = 1.0
"""Seconds of one call after which no larger size is tried."""

Points = list[tuple[int, float]]


def measured(library: str, name: str) -> Points:
    """In this process: size and seconds of each size of a curve."""
    from benchmarks.child import load

    jax, jnp = load(library)
    import numpy as np

    sys.setrecursionlimit(100_000)
    found: Points = []
    for n in CURVES[name].sizes:
        call = CURVES[name].make(jax, jnp, np, n)
        best = math.inf
        for _ in range(CALLS):
            start = time.process_time()
            call()
            taken = time.process_time() - start
            best = min(best, taken)
            if taken > TOO_LONG / CALLS:
                break
        found.append((n, best))
        if best > TOO_LONG:
            break
    return found


def in_process(python: str, library: str, name: str) -> Points | str:
    """The points of a curve from a fresh process, or what went wrong there."""
    found = apart(python, "benchmarks.curves", library, name)
    return found if isinstance(found, str) else [(n, t) for n, t in found]


def exponent(points: Points) -> float:
    """The slope of the last three points in logarithms, by least squares."""
    last = [(math.log(n), math.log(t)) for n, t in points[-3:]]
    x, y = (sum(p[i] for p in last) / len(last) for i in (0, 1))
    spread = sum((p[0] - x) ** 2 for p in last)
    return sum((p[0] - x) * (p[1] - y) for p in last) / spread if spread else math.nan


def table(found: dict[str, dict[str, Points | str]]) -> str:
    """A row a curve: time per unit from the least size to the greatest, and the exponent."""
    lines = [
        "| what | n | effax, each | exponent | jax, each | exponent |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, by_library in found.items():
        chosen = CURVES[name]
        row = [chosen.title, f"{chosen.sizes[0]} to {chosen.sizes[-1]}"]
        for library in ("effax", "jax"):
            points = by_library.get(library, "not there")
            if isinstance(points, str):
                row += [f"failed: {points}" if library in by_library else "", ""]
                continue
            (least, first), (most, last) = points[0], points[-1]
            short = "" if most == chosen.sizes[-1] else f" at {most}"
            row.append(f"{seconds(first / least)} → {seconds(last / most)}{short}")
            row.append(f"{exponent(points):.2f}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


PAGE = """# How costs grow

Time to trace, differentiate and lower programs of growing size, divided by the size: `python -m benchmarks.curves --write`
makes this page. The exponent is the slope of the last three sizes in logarithms, 1 where time is in proportion to size. A size
that would take more than {limit:.0f} s is left out; the size reached stands behind the time then.

![The same as lines](CURVES.svg)

{told}

{table}
What is not in proportion:

- *jvp and grad n times*: n nested derivatives of sin x · x trace about 2^n equations in either library, of which effax keeps
  159 at n = 9 and JAX lowers 245 lines (118 and 362 ms). Derivatives of high order are for `effax.experimental.jet`.
- *branches n deep, derivatives*: each level hands the index of every level inside it to the one around it, so the operands are
  quadratic in number, with a small factor; equations are not.
- *vmap n times*: ranks grow, and types are longer to write.
"""


def write(found: dict[str, dict[str, Points | str]], how: str) -> None:
    """The page and the picture of the curves found so far."""
    page = PAGE.format(limit=TOO_LONG, told=how, table=table(found))
    (HERE / "CURVES.md").write_text(page)
    (HERE / "CURVES.svg").write_text(drawn({CURVES[n].title: by for n, by in found.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help=",".join(CURVES))
    parser.add_argument("--jax-python", default=default_jax_python())
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write CURVES.md and CURVES.svg")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(CURVES)
    if options.measure:
        print(json.dumps(measured(options.measure, names[0])))
        return
    pythons = {"effax": sys.executable}
    if imports(options.jax_python, "jax"):
        pythons["jax"] = options.jax_python
    found: dict[str, dict[str, Points | str]] = {}
    for name in names:
        found[name] = {lib: in_process(python, lib, name) for lib, python in pythons.items()}
        print(table({name: found[name]}).splitlines()[-1], flush=True)
        if options.write:
            write(found, told({"machine": machine(pythons), "rounds": CALLS}))


if __name__ == "__main__":
    main()
