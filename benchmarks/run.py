"""Costs of effax as ratios to jax, measured in alternating fresh processes of one run.

    python -m benchmarks.run [--rounds 5] [--only dispatch,mlp_step] [--jax-python PATH]

Every round starts one process of effax and one of jax for each group of measurements, in
alternating order, on the CPU. A process reports its fastest sample of nine (what else the machine
does only adds time); the ratio is that of the medians over the rounds, with the range of the
rounds' own ratios. Prints a table and keeps all samples in benchmarks/results/; `--readme` puts the
table into this folder's README.md, and its headlines into the project's. Compare ratios; times are
those of this machine, and whatever else it does.
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
from typing import Any

from benchmarks import report
from benchmarks.whole_runs import RUNS
from benchmarks.workloads import SUBJECTS, WORKLOADS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STARTUP_SUBJECT = "startup"
RUNS_SUBJECT = "runs"
HEADINGS = {
    STARTUP_SUBJECT: "Start",
    **SUBJECTS,
    RUNS_SUBJECT: "Training, from the start of a process to the end of 100 steps",
}
IMPORT = "import"
FLOOR = (
    "jaxlib and NumPy alone are 0.2 of JAX's processor time (156 ms of 773), so that 0.2 is out of "
    "reach; effax is at 0.33 of it: 45 ms for the 70 modules of the import (attrs itself 10, its "
    "ten classes 5), 17 for the 59 of `jit` and `sin`, 13 to trace, to start the CPU client and to "
    "load the executable from the disk, which XLA would compile in 31"
)
TWENTY = (
    "0.19 to 0.21 of JAX's processor time in three measurements: jaxlib and NumPy are 0.11 of it, "
    "45 ms go to the 70 modules of the import, 22 to 56 more, 12 to XLA, which loads 17 "
    "executables from the disk, and 18 to tracing and writing what they are found by"
)
STARTUP: dict[str, tuple[str, float, str]] = {
    IMPORT: ("import and its numpy", 0.5, ""),
    "first": ("process start to first jit result, second run", 0.2, FLOOR),
    "first_cold": ("the same, without effax's cache on disk", 0.5, ""),
    "twenty": ("process start to the first twenty eager operations, second run", 0.2, TWENTY),
    "twenty_cold": ("the same, without effax's cache on disk", 0.5, ""),
}
"""Title, target and reason of a miss; "_cold" is for what ends so."""
TRAININGS: dict[str, tuple[str, str]] = {
    name: row
    for run, (title, _) in RUNS.items()
    for name, row in (
        (f"run_{run}", (title, RUNS_SUBJECT)),
        (f"run_{run}_peak", (f"{title}: peak of the whole process", report.MEMORY_SUBJECT)),
    )
}
"""Title and subject of each training's time, and of its memory."""
REASONS = {
    "run_unet": "compiling takes 0.3 s more of it (that row says why); 0.88 (0.84 to 0.93) the day before",
}
"""The reasons why trainings missed their target."""
HEADLINES = [
    "import",
    "twenty",
    "eager_add",
    "eager_index",
    "eager_zeros",
    "jit_call_2",
    "jit_call_100",
    "lower_1000",
    "lower_transformer",
    "grad_chain",
    "compile_transformer",
    "mlp_step",
    "conv_step",
    "transformer_step",
    "run_mlp",
    "run_gpt",
    "run_lstm",
    "run_ode",
    "sort",
    "max_pool",
    "max_pool_slope",
]
"""The rows that the project's own page shows."""


def default_jax_python() -> str:
    named = os.environ.get("EFFAX_BENCH_JAX")
    known = Path("/work/venv/jax/bin/python")
    return named or (str(known) if known.exists() else sys.executable)


def environment() -> dict[str, str]:
    """The environment of a measuring process: CPU alone; compiled bytecode, as when installed."""
    env = dict(os.environ)
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["JAX_PLATFORMS"] = env["EFFAX_PLATFORMS"] = "cpu"
    return env


def start(python: str, library: str, *words: str, cold: bool = False) -> tuple[float, Any]:
    """Runs child.py; gives the clock at its start and what it printed."""
    env = environment()
    if cold:
        env["EFFAX_EAGER_CACHE"] = "0"
    began = time.time()
    done = subprocess.run(
        [python, "-m", "benchmarks.child", library, *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{python} {library} {' '.join(words)}:\n{done.stderr[-2000:]}")
    return began, json.loads(done.stdout.splitlines()[-1])


def apart(
    python: str, module: str, library: str, name: str, patience: float | None = None
) -> list[Any] | str:
    """The list that a module's `--measure` prints in a fresh process, or how the process failed.

    Raises `subprocess.TimeoutExpired` after so many seconds.
    """
    done = subprocess.run(
        [python, "-m", module, "--measure", library, "--only", name],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=patience,
    )
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:80]
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def startup(python: str, library: str) -> dict[str, Any]:
    """Seconds of each measurement of `STARTUP`, in a process each."""
    found = {IMPORT: start(python, library, IMPORT)[1]}
    for name in [n for n in STARTUP if n != IMPORT]:
        began, done = start(python, library, name.removesuffix("_cold"), cold="_cold" in name)
        found[name] = done - began
    return found


def work(python: str, library: str, names: list[str]) -> dict[str, Any]:
    """Least seconds of each workload (of one of its `per`), all in one process, or the text of what went wrong."""
    _, samples = start(python, library, "work", *names)
    return {n: s if isinstance(s, str) else min(s) / WORKLOADS[n].per for n, s in samples.items()}


_losses: dict[str, float] = {}
"""The first loss of each training that was run."""


def runs(python: str, library: str, chosen: list[str]) -> dict[str, Any]:
    """Seconds and peak bytes of each training, in a process each; all begin at the same loss."""
    found: dict[str, Any] = {}
    for name in chosen:
        began, (done, peak, loss) = start(python, library, "run", name, cold=True)
        wanted = _losses.setdefault(name, loss)
        if abs(loss - wanted) > 1e-3 * abs(wanted):
            raise RuntimeError(f"{library} begins {name} at {loss}, not {wanted}")
        found |= {f"run_{name}": done - began, f"run_{name}_peak": peak}
    return found


def imports(python: str, module: str) -> bool:
    found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    return found.returncode == 0


Group = Callable[[str, str], dict[str, Any]]


def collect(
    pythons: dict[str, str], rounds: int, groups: list[tuple[Group, list[str]]]
) -> dict[str, dict[str, list[Any]]]:
    """measurement -> library -> one number per round (or the text of an error).

    A group is what measures, and the libraries that can.
    """
    results: dict[str, dict[str, list[Any]]] = {}
    for number in range(rounds):
        for group, libraries in groups:
            order = libraries if number % 2 == 0 else libraries[::-1]
            for library in order:
                for name, value in group(pythons[library], library).items():
                    results.setdefault(name, {}).setdefault(library, []).append(value)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return results


def versions_of(python: str, library: str) -> dict[str, str]:
    """Return the versions of the measured library's packages, by name."""
    packages = ("jaxlib", "numpy") if library in ("effax", "jax") else (library, "numpy")
    code = f"import importlib.metadata as m; print(*[m.version(p) for p in {packages}])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(packages, done.stdout.split(), strict=True))


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def machine(pythons: dict[str, str]) -> dict[str, Any]:
    """Describe the place and the means of the measurement."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {library: versions_of(python, library) for library, python in pythons.items()},
    }


def plan(names: list[str], pythons: dict[str, str]) -> list[tuple[Group, list[str]]]:
    """A process for each subject and library; peers only do the workloads that name them."""
    groups: list[tuple[Group, list[str]]] = []
    if set(names) & set(STARTUP):
        groups.append((startup, [n for n in ("effax", "jax") if n in pythons]))
    trained = [n for n in RUNS if f"run_{n}" in names or f"run_{n}_peak" in names]
    if trained:

        def training(python: str, library: str) -> dict[str, Any]:
            return runs(python, library, trained)

        groups.append((training, [n for n in ("effax", "jax", "torch") if n in pythons]))
    for subject in SUBJECTS:
        chosen = [n for n in names if n in WORKLOADS and WORKLOADS[n].subject == subject]
        if not chosen:
            continue

        def group(python: str, library: str, chosen: list[str] = chosen) -> dict[str, Any]:
            if library not in ("effax", "jax"):
                chosen = [n for n in chosen if library in WORKLOADS[n].peers]
            return work(python, library, chosen)

        peers = {peer for n in chosen for peer in WORKLOADS[n].peers}
        groups.append((group, [n for n in pythons if n in ("effax", "jax") or n in peers]))
    return groups


def options_of(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only",
        help=f"of {','.join([*STARTUP, *WORKLOADS, *TRAININGS])}, or {', '.join(HEADINGS)}",
    )
    parser.add_argument("--jax-python", default=default_jax_python())
    parser.add_argument(
        "--peer-python", default=os.environ.get("EFFAX_BENCH_PEERS"), help="with torch, autograd"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="of workloads; processor time of all threads suffers less from what else runs",
    )
    parser.add_argument("--output", type=Path, help="default: results/<time>.json")
    parser.add_argument(
        "--beside", type=Path, help="an earlier record: what is not measured now is taken from it"
    )
    parser.add_argument("--readme", action="store_true", help="write the tables of both README.md")
    options = parser.parse_args(argv)
    names: list[str] = []
    for word in options.only.split(",") if options.only else HEADINGS:
        if word == STARTUP_SUBJECT:
            names += STARTUP
        elif word == RUNS_SUBJECT:
            names += TRAININGS
        elif word in SUBJECTS:
            names += [n for n, w in WORKLOADS.items() if w.subject == word]
        elif word in WORKLOADS or word in STARTUP or word in TRAININGS:
            names.append(word)
        else:
            parser.error(f"no measurement is called {word}; {parser.format_help()}")
    options.names = names
    return options


def libraries(options: argparse.Namespace) -> dict[str, str]:
    """Each library that is there, with the Python that has it."""
    pythons = {"effax": sys.executable}
    if imports(options.jax_python, "jax"):
        pythons["jax"] = options.jax_python
    else:
        print(f"no jax in {options.jax_python} (see --jax-python): effax alone", file=sys.stderr)
    wanted = {peer for n in options.names if n in WORKLOADS for peer in WORKLOADS[n].peers}
    wanted |= {"torch"} if set(options.names) & set(TRAININGS) else set()
    python = options.peer_python or options.jax_python
    for peer in sorted(wanted):
        if imports(python, peer):
            pythons[peer] = python
        else:
            print(f"no {peer} in {python} (see --peer-python): left out", file=sys.stderr)
    return pythons


def main() -> None:
    options = options_of()
    os.environ["EFFAX_BENCH_CLOCK"] = options.clock
    names, pythons = options.names, libraries(options)
    if set(names) & set(STARTUP):
        for library in ("effax", "jax"):  # fill the caches of files, and effax's on disk
            if library in pythons:
                startup(pythons[library], library)
    results = collect(pythons, options.rounds, plan(names, pythons))
    rows = {name: summary(name, samples) for name, samples in results.items() if name in names}
    if options.beside:
        earlier = json.loads(options.beside.read_text())["rows"]
        held = {n: summary(n, row["samples"]) for n, row in earlier.items() if n not in rows}
        rows = {
            n: (rows | held)[n]
            for n in [*STARTUP, *WORKLOADS, *TRAININGS]
            if n in rows or n in held
        }
    record = {"machine": machine(pythons), "clock": options.clock, "rounds": options.rounds}
    record["rows"] = rows
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%S")
    output = options.output or HERE / "results" / f"{moment}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    text = report.table(rows.values(), HEADINGS)
    print(text)
    print(f"{options.rounds} rounds; {record['machine']['cpu']}; all samples in {output}")
    if options.readme:
        others = f" Rows not measured then are of {options.beside.name}." if options.beside else ""
        report.write(f"{told(record)}{others}\n\n{text}", HERE / "README.md")
        shown = report.rows_of([rows[name] for name in HEADLINES if name in rows])
        report.write("\n".join(shown) + "\n", ROOT / "README.md")
    sys.exit(any(row["errors"] for row in rows.values()))


def summary(name: str, samples: dict[str, list[Any]]) -> dict[str, Any]:
    """The row of a measurement."""
    if name in STARTUP:
        title, target, why = STARTUP[name]
        return report.summarize(title, STARTUP_SUBJECT, target, None, why, samples, {})
    if name in TRAININGS:
        title, subject = TRAININGS[name]
        return report.summarize(title, subject, 1.0, None, REASONS.get(name, ""), samples, {})
    w = WORKLOADS[name]
    return report.summarize(
        w.title, w.subject, w.target, w.limit, w.why, samples, w.within, w.factor
    )


def told(record: dict[str, Any]) -> str:
    """When, where and with what it was measured, in words."""
    where, rounds = record["machine"], record["rounds"]
    loads = ", ".join(f"{load:.1f}" for load in where["load"])
    return (
        f"Measured {where['date'][:10]} on {where['cores']} cores of {where['cpu']}, Python "
        f"{where['python']}, jaxlib {where['versions']['effax']['jaxlib']}, {rounds} rounds, load "
        f"at the end {loads}, {record['clock']} time."
    )


if __name__ == "__main__":
    main()
