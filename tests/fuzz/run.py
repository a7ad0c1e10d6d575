"""The fuzz: functions visited one after the other, in an order that a seed gives.

effax is asked beside JAX, or, on an accelerator, beside effax on the CPU.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import large
from tests.fuzz.distort import bare, distorted, revalued, transformed
from tests.fuzz.journal import Journal
from tests.fuzz.judge import Finding, Judge
from tests.fuzz.numpy_beside import NumPyBeside
from tests.fuzz.worker import names_of_laws
from tests.grid.ask import ROOT, Oracle
from tests.grid.case import Case
from tests.grid.play import Entry, drawn

TABLES = """elementwise folding arranging linear making methods special stats nn lax_elements
    lax_shapes lax_folds matrices scipy trees random indices"""
ALONE = ("elementwise", "special", "stats", "lax_elements")
"""Tables of functions each element of whose results follows from one of each operand."""
TRANSFORMS = ("jit", "vmap", "jvp", "vjp")
PATIENCE = 30.0
RENEWED = 20_000  # questions after which processes are started anew: caches grow
LAWS = 40  # visits between two laws
MORE = 3  # further values asked of what is compiled


def tables() -> dict[str, Entry]:
    """All functions that the grid draws, and those that are drawn large."""
    found: dict[str, Entry] = {}
    for name in TABLES.split():
        table: dict[str, Entry] = import_module(f"tests.grid.table_{name}").TABLE
        alone = name in ALONE
        found |= {function: entry._replace(alone=alone) for function, entry in table.items()}
    return found | large.TABLE


OWN = {"EFFAX_CACHE_DIR": str(ROOT / "build/fuzz/cache")}
QUICK = {"XLA_FLAGS": "--xla_backend_optimization_level=0"}
SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Many processes ask one accelerator, which none of them may fill."""


def effax_beside(jax: str) -> tuple[Oracle, Oracle]:
    """effax, and JAX as a Python has it."""
    ours = Oracle(sys.executable, "tests.fuzz.worker", PATIENCE * 2, OWN)
    return ours, Oracle(jax, patience=PATIENCE, environment=QUICK)


def effax_on(platform: str) -> tuple[Oracle, Oracle]:
    """effax on a platform, products as exact as dtypes are, and effax on the CPU."""
    there = {**OWN, **SHARED, "EFFAX_PLATFORMS": f"{platform},cpu"}
    there["EFFAX_DEFAULT_MATMUL_PRECISION"] = "highest"
    ours = Oracle(sys.executable, "tests.fuzz.worker", PATIENCE * 2, there)
    here = {**OWN, **QUICK, "EFFAX_PLATFORMS": "cpu"}
    return ours, Oracle(sys.executable, "tests.fuzz.worker", PATIENCE, here)


class Run:
    """Two processes, a journal, and the functions."""

    def __init__(self, processes: tuple[Oracle, Oracle], journal: Journal) -> None:
        self.numpy = NumPyBeside(PATIENCE)
        self.judge = Judge(*processes, journal.forgive, self.numpy)
        self.journal = journal
        self.table = tables()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *ignored: Any) -> None:
        for process in self.processes():
            process.close()

    def spend(
        self, seconds: float, seed: int, only: str = "*", visits: float = float("inf")
    ) -> None:
        """Ask each function in its turn, until so much time or so many visits are over."""
        end = time.monotonic() + seconds
        turn = self.journal.last_turn(seed)
        while True:
            for name in self.order(seed, turn, only):
                if visits <= 0 or time.monotonic() >= end:
                    return
                self.visit(name, seed, turn)
                visits -= 1
            turn += 1

    def order(self, seed: int, turn: int, only: str) -> Iterator[str]:
        """Functions not yet visited in a turn, with a law now and then."""
        rng = Random(f"{seed} {turn}")
        names = [n for n in self.table if fnmatchcase(n, only)]
        rng.shuffle(names)
        laws = names_of_laws() if only == "*" else []
        before = self.journal.visited(seed, turn)
        for place, name in enumerate(names):
            if laws and place % LAWS == 0:
                yield f"law {rng.choice(laws)}"
            if name not in before:
                yield name

    def visit(self, name: str, seed: int, turn: int) -> list[Finding]:
        """Ask a function a few questions; what is found is written down."""
        rng = Random(f"{seed} {turn} {name}")
        before, cpu = dict(self.judge.asked), self.cpu()
        if name.startswith("law "):
            law = self.judge.law(name.removeprefix("law "), zlib.crc32(f"{seed} {turn}".encode()))
            found = [law] if law else []
        else:
            found = list(self.findings(name, rng, f"fuzz {seed} {turn}"))
        new = [f for f in found if self.journal.add(f)]
        asked = {mode: n - before[mode] for mode, n in self.judge.asked.items() if n > before[mode]}
        spent = round(self.cpu() - cpu, 3)
        self.journal.visit(
            function=name, seed=seed, turn=turn, asked=asked, found=len(new), cpu=spent
        )
        if sum(self.judge.asked.values()) % RENEWED < sum(asked.values()):
            for process in self.processes():
                process.restarted("enough")
        return new

    def findings(self, name: str, rng: Random, salt: str) -> Iterator[Finding]:
        """Drawn cases, each with a few distortions; and bare calls."""
        entry = self.table[name]
        cases = drawn(entry, name, 6, salt)
        for case in rng.sample(cases, min(2, len(cases))):
            yield from self.questions(name, entry, case, rng, eager=0.7)
            for _ in range(5):
                yield from self.questions(name, entry, distorted(case, name, rng), rng, eager=0.3)
        if name.startswith(("jnp.", "lax.", "nn.", "jsp.")):
            for _ in range(2):
                yield from self.questions(name, entry, bare(name, rng), rng, eager=0.2)

    def questions(
        self, name: str, entry: Entry, case: Case, rng: Random, eager: float
    ) -> Iterator[Finding]:
        """All that is asked of a case: types, then perhaps values, derivatives, transformations."""
        found, goes_on = self.judge.types(name, entry, case)
        if found:
            yield found
        if not goes_on:
            return
        if rng.random() < eager:
            for asked in (case, *(revalued(case, rng) for _ in range(MORE))):
                value = self.judge.values(name, entry, asked)
                if value:
                    yield value
                    return
        if entry.smooth and rng.random() < eager / 4:
            wrong = self.judge.difference(name, entry, case)
            if wrong:
                yield wrong
        if rng.random() < eager:
            how = rng.choice(TRANSFORMS)
            if how in ("jvp", "vjp") and not entry.smooth:
                how = "vmap"
            under = transformed(case, how)
            if under is not None:
                yield from self.under(f"{name} {how}", entry, under, rng)

    def under(self, name: str, entry: Entry, case: Case, rng: Random) -> Iterator[Finding]:
        """A transformed case: its types, then its values sometimes."""
        loose = under_transform(entry, name)
        found, goes_on = self.judge.types(name, loose, case)
        if found:
            yield found
        elif goes_on and rng.random() < 0.5:
            for asked in (case, *(revalued(case, rng) for _ in range(MORE))):
                value = self.judge.values(name, loose, asked)
                if value:
                    yield value
                    return

    def recheck(self, only: str = "*") -> None:
        """Ask the findings again, and keep those that are still so, or that `only` leaves out."""
        still = []
        for finding in self.journal.recall():
            if not fnmatchcase(finding.function, only) or self.again(finding):
                still.append(finding)
        self.journal.keep(still)

    def again(self, finding: Finding) -> bool:
        """Whether a case still has a finding."""
        name = finding.function
        if name.startswith("law "):
            law, _, seed = finding.case.code.rpartition("|")
            return self.judge.law(law, int(seed)) is not None
        function, _, how = name.rpartition(" ")
        entry = self.table.get(name) or self.table[function]
        if how in TRANSFORMS:
            entry = under_transform(entry, name)
        found, goes_on = self.judge.types(name, entry, finding.case)
        if found or not goes_on:
            return found is not None
        if finding.kind == "difference":
            return self.judge.difference(name, entry, finding.case) is not None
        return self.judge.values(name, entry, finding.case) is not None

    def cpu(self) -> float:
        """Seconds of processor time of this process and those it asks, and of those that ended."""
        ended = os.times()
        return sum(ended[:4]) + sum(_seconds(asked.process.pid) for asked in self.processes())

    def processes(self) -> tuple[Oracle, ...]:
        """effax, JAX or effax on the CPU, and NumPy."""
        return self.judge.ours, self.judge.theirs, self.numpy.process


def under_transform(entry: Entry, name: str) -> Entry:
    """An entry for cases under a transformation, of which NumPy knows two; JAX's order is another."""
    asked = entry.wide and name.endswith((" jit", " vmap"))
    return entry._replace(wide=asked, slack=entry.slack * 16, alone=False)


def _seconds(pid: int) -> float:
    """Processor time of another process, where the system tells; 0 elsewhere."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
