"""Costs of effax as ratios to jax, measured in alternating fresh processes of one run.

    python -m benchmarks.run [--rounds 5] [--only eager_add,mlp_step] [--jax-python PATH]

Every round starts one process of effax and one of jax for each group of measurements, in
alternating order, on the CPU. A process reports its fastest sample of nine (what else the machine
does only adds time); the ratio is that of the medians over the rounds, with the range of the
rounds' own ratios. Prints a table and writes it
with all samples to benchmarks/results/. Compare ratios; times are those of this machine, and
whatever else it does.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
IMPORT, FIRST, FIRST_COLD = "import", "first", "first_cold"
STARTUP: dict[str, tuple[str, float | None]] = {
    IMPORT: ("import and its numpy", 0.5),
    FIRST: ("process start to first jit result", 0.7),
    FIRST_COLD: ("the same, without effax's cache on disk", None),
}


def default_jax_python() -> str:
    named = os.environ.get("EFFAX_BENCH_JAX")
    known = Path("/work/venv/jax/bin/python")
    return named or (str(known) if known.exists() else sys.executable)


def start(python: str, library: str, *words: str, cold: bool = False) -> tuple[float, Any]:
    """Runs child.py; gives the clock at its start and what it printed."""
    env = dict(os.environ)
    # Both start from compiled bytecode, as installed packages do.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["JAX_PLATFORMS"] = env["EFFAX_PLATFORMS"] = "cpu"
    if library == "effax":
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH", "")]))
        if cold:
            env["EFFAX_EAGER_CACHE"] = "0"
    began = time.time()
    done = subprocess.run(
        [python, str(HERE / "child.py"), library, *words],
        cwd=HERE,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{python} {library} {' '.join(words)}:\n{done.stderr[-2000:]}")
    return began, json.loads(done.stdout.splitlines()[-1])


def startup(python: str, library: str) -> dict[str, Any]:
    """Seconds of each measurement of `STARTUP`, in a process each."""
    _, imported = start(python, library, "import")
    began, warm = start(python, library, "first")
    began_cold, cold = start(python, library, "first", cold=True)
    return {IMPORT: imported, FIRST: warm - began, FIRST_COLD: cold - began_cold}


def work(python: str, library: str, names: list[str]) -> dict[str, Any]:
    """Least seconds of each workload, all in one process, or the text of what went wrong."""
    if not names:
        return {}
    _, samples = start(python, library, "work", *names)
    return {n: s if isinstance(s, str) else min(s) for n, s in samples.items()}


def has_jax(python: str) -> bool:
    found = subprocess.run([python, "-c", "import jax"], capture_output=True, check=False)
    return found.returncode == 0


def collect(
    pythons: dict[str, str], rounds: int, groups: list[Callable[[str, str], dict[str, Any]]]
) -> dict[str, dict[str, list[Any]]]:
    """library -> measurement -> one number per round (or the text of an error)."""
    results: dict[str, dict[str, list[Any]]] = {library: {} for library in pythons}
    order = list(pythons)
    for number in range(rounds):
        for group in groups:
            for library in order:
                for name, value in group(pythons[library], library).items():
                    results[library].setdefault(name, []).append(value)
        order.reverse()
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return results


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def summarize(
    title: str, target: float | None, ours: list[Any], theirs: list[Any]
) -> dict[str, Any]:
    """One row of the table."""
    row: dict[str, Any] = {"title": title, "target": target, "effax": ours, "jax": theirs}
    errors = [v for v in (*ours, *theirs) if isinstance(v, str)]
    if errors:
        row["error"] = errors[0]
    elif theirs:
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        row["ratio"] = median(ours) / median(theirs)
        row["range"] = [min(ratios), max(ratios)]
        row["met"] = None if target is None else row["ratio"] <= target
    return row


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| what | effax | jax | ratio (range of rounds) | target | |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for row in rows.values():
        if "error" in row:
            lines.append(f"| {row['title']} | failed: {row['error'].splitlines()[0]} | | | | |")
            continue
        theirs = seconds(median(row["jax"])) if row["jax"] else ""
        ratio = "{ratio:.2f} ({range[0]:.2f} to {range[1]:.2f})".format(**row) if theirs else ""
        target = f"≤ {row['target']}" if row["target"] else ""
        met = {True: "met", False: "**missed**", None: ""}[row.get("met")]
        ours = seconds(median(row["effax"]))
        lines.append(f"| {row['title']} | {ours} | {theirs} | {ratio} | {target} | {met} |")
    return "\n".join(lines)


def machine(pythons: dict[str, str]) -> dict[str, Any]:
    """Where and with what it was measured."""
    version = "import jaxlib, numpy; print(jaxlib.__version__, numpy.__version__)"
    versions = {
        library: subprocess.run(
            [python, "-c", version], capture_output=True, text=True, check=False
        ).stdout.split()
        for library, python in pythons.items()
    }
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    ) if Path("/proc/cpuinfo").exists() else platform.processor()  # fmt: skip
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "jaxlib, numpy": versions,
    }


def main() -> None:
    sys.path.insert(0, str(HERE))
    from workloads import WORKLOADS

    titles = STARTUP | {name: (w.title, w.target) for name, w in WORKLOADS.items()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help=f"of {','.join([*STARTUP, *WORKLOADS])}")
    parser.add_argument("--jax-python", default=default_jax_python())
    parser.add_argument("--output", type=Path, help="default: results/<time>.json")
    options = parser.parse_args()

    only = options.only.split(",") if options.only else list(titles)
    unknown = [name for name in only if name not in titles]
    if unknown:
        parser.error(
            f"no measurement is called {', '.join(unknown)}; there are {', '.join(titles)}"
        )
    names = [name for name in only if name in WORKLOADS]

    pythons = {"effax": sys.executable}
    if has_jax(options.jax_python):
        pythons["jax"] = options.jax_python
    else:
        print(f"no jax in {options.jax_python} (see --jax-python): effax alone", file=sys.stderr)

    groups: list[Callable[[str, str], dict[str, Any]]] = []
    if set(only) & set(STARTUP):
        groups.append(startup)
        for library, python in pythons.items():  # fill the caches of files, and effax's on disk
            startup(python, library)
    groups.append(lambda python, library: work(python, library, names))

    results = collect(pythons, options.rounds, groups)
    rows = {
        name: summarize(*titles[name], results["effax"][name], results.get("jax", {}).get(name, []))
        for name in titles
        if name in only
    }
    record = {"machine": machine(pythons), "rounds": options.rounds, "rows": rows}
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%S")
    output = options.output or HERE / "results" / f"{moment}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(table(rows))
    print(f"\n{options.rounds} rounds; {record['machine']['cpu']}; all samples in {output}")
    sys.exit(any("error" in row for row in rows.values()))


if __name__ == "__main__":
    main()
