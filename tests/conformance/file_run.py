"""One test file of JAX's, run in as many processes as its crashes and hangs demand."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent

OUTCOMES = ("passed", "failed", "skipped", "internal", "timeout", "crashed")
_print_lock = threading.Lock()


def say(*args):
    with _print_lock:
        print(*args, flush=True)


def child_env(args, progress: str, done: str) -> dict[str, str]:
    env = dict(os.environ)
    for k in list(env):
        if k.startswith("PYTEST_") or k.startswith("HARNESS_"):
            del env[k]
    path = [str(HERE), str(HERE / "site")] + [p for p in args.path.split(os.pathsep) if p]
    if env.get("PYTHONPATH"):
        path.append(env["PYTHONPATH"])
    env.update(
        PYTHONPATH=os.pathsep.join(path),
        PYTHONHASHSEED="0",
        PYTHONDONTWRITEBYTECODE="1",
        HARNESS_TARGET=args.target,
        HARNESS_NATIVE="1" if args.native else "0",
        HARNESS_PROGRESS=progress,
        HARNESS_DONE=done,
        HARNESS_TEST_TIMEOUT=str(args.test_timeout),
        HARNESS_MAX_PER_TEST=str(args.max_per_test),
        HARNESS_SAMPLE=str(args.sample),
        HARNESS_SALT=args.salt,
        HARNESS_PART=args.part,
        HARNESS_ONLY=os.path.abspath(args.only) if args.only else "",
        JAX_NUM_GENERATED_CASES=str(args.num_cases),
        JAX_ENABLE_X64="1" if args.x64 else "0",
        JAX_SKIP_SLOW_TESTS="0" if args.slow else "1",
    )
    env.setdefault("JAX_PLATFORMS", "cpu")
    return env


def read_events(path: pathlib.Path) -> list[dict]:
    events = []
    if path.exists():
        with open(path) as f:
            for line in f:
                # A process that died may have left half of its last line.
                with contextlib.suppress(json.JSONDecodeError):
                    events.append(json.loads(line))
    return events


class FileRun:
    """One test file: as many pytest processes as crashes and hangs demand."""

    def __init__(self, args, name: str, root: pathlib.Path):
        self.args, self.name, self.root = args, name, root
        self.tests: dict[str, dict] = {}
        self.collect_errors: list[dict] = []
        self.notes: list[str] = []
        self.collected = 0
        self.time = self.cpu = 0.0

    def run(self):
        path = self.root / "tests" / f"{self.name}.py"
        if not path.exists():
            self.collect_errors.append(
                dict(id=self.name, error="no such test file in this JAX revision")
            )
            return self
        start = time.time()
        deadline = start + self.args.timeout
        for attempt in range(self.args.max_restarts + 1):
            finished = self._one_process(path, attempt, deadline)
            if finished or time.time() > deadline:
                break
        else:
            self.notes.append(f"gave up after {self.args.max_restarts} restarts")
        self.time = time.time() - start
        return self

    def _one_process(self, path, attempt, deadline) -> bool:
        work = self.root / "work"
        progress = work / f"{self.name}.{attempt}.jsonl"
        done = work / f"{self.name}.{attempt}.done.json"
        log = work / f"{self.name}.{attempt}.log"
        done.write_text(json.dumps(list(self.tests)))
        cmd = [
            self.args.python,
            "-m",
            "pytest",
            "-c",
            str(self.root / "pytest.ini"),
            "--rootdir",
            str(self.root),
            "-p",
            "conformance_plugin",
            "-p",
            "no:logging",  # its handlers keep records from stderr, where some tests look for them
            "--continue-on-collection-errors",
            "-q",
            "--no-header",
            "--tb=short",
            "--disable-warnings",
            str(path),
        ]
        if self.args.k:
            cmd += ["-k", self.args.k]
        if self.args.pytest_args:
            cmd += self.args.pytest_args.split()
        with open(log, "wb") as out:
            proc = subprocess.Popen(
                cmd,
                cwd=self.root / "work",
                stdout=out,
                stderr=subprocess.STDOUT,
                env=child_env(self.args, str(progress), str(done)),
                start_new_session=True,
            )
        why = self._watch(proc, progress, deadline)
        events = read_events(progress)
        running = None
        finished = False
        collected = False
        status = None
        for e in events:
            kind = e["event"]
            if kind == "collected":
                collected = True
                self.collected = max(self.collected, e["n"] + len(self.tests))
            elif kind == "collect_error":
                self.collect_errors.append(e)
            elif kind == "collect_skip":
                self.notes.append(f"module skipped: {e['reason']}")
            elif kind == "start":
                running = e["id"]
            elif kind == "result":
                rec = {
                    k: e[k]
                    for k in ("outcome", "dur", "error", "reason", "detail", "phase")
                    if k in e
                }
                if rec["outcome"] == "failed" and "TestTimeout" in rec.get("error", ""):
                    rec["outcome"] = "timeout"
                self.tests[e["id"]] = rec
                running = None
            elif kind == "finish":
                finished = True
                status = e["status"]
                self.cpu += e.get("cpu", 0.0)
        if finished and why is None and status != 3:
            return True
        tail = log.read_bytes()[-3000:].decode(errors="replace")
        if running is not None:
            outcome = "timeout" if why else "crashed"
            self.tests[running] = dict(
                outcome=outcome,
                dur=0.0,
                detail=tail,
                error=why or f"process died, exit status {proc.returncode}",
            )
            say(f"  {self.name}: {running}: {outcome} ({self.tests[running]['error']})")
            return False
        if finished and status != 3:
            return True
        self.notes.append(
            why or f"process ended with status {proc.returncode} outside any test: {tail[-500:]}"
        )
        if not collected and not self.collect_errors:
            self.collect_errors.append(
                dict(
                    id=self.name,
                    error=f"process died at collection ({why or proc.returncode})",
                    detail=tail,
                )
            )
        return True

    def _watch(self, proc, progress, deadline) -> str | None:
        """Waits; kills a process that is late or makes no progress."""
        limit = self.args.test_timeout
        stall = (limit + 60) if limit else float("inf")
        last_size, last_change = -1, time.time()
        while True:
            try:
                proc.wait(timeout=1.0)
                return None
            except subprocess.TimeoutExpired:
                pass
            size = progress.stat().st_size if progress.exists() else -1
            now = time.time()
            if size != last_size:
                last_size, last_change = size, now
            why = None
            if now > deadline:
                why = f"file time limit of {self.args.timeout:g} s reached"
                self.notes.append(why)
            elif now - last_change > max(stall, 120 if size < 0 else 0):
                why = f"no progress for {now - last_change:.0f} s"
            if why:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(proc.pid, signal.SIGKILL)
                proc.wait()
                return why

    def summary(self) -> dict:
        counts = collections.Counter(t["outcome"] for t in self.tests.values())
        internals = collections.Counter(
            t.get("reason", "?") for t in self.tests.values() if t["outcome"] == "internal"
        )
        out = {o: counts.get(o, 0) for o in OUTCOMES}
        out["collection_errors"] = len(self.collect_errors)
        out["not_run"] = max(0, self.collected - len(self.tests))
        runnable = out["passed"] + out["failed"] + out["timeout"] + out["crashed"]
        out["runnable"] = runnable
        out["pass_rate"] = round(out["passed"] / runnable, 4) if runnable else None
        out["seconds"] = round(self.time, 1)
        out["cpu_seconds"] = round(self.cpu, 1)
        out["failures"] = [
            dict(
                id=k,
                outcome=t["outcome"],
                error=t.get("error", ""),
                **({"detail": t["detail"]} if self.args.details and "detail" in t else {}),
            )
            for k, t in self.tests.items()
            if t["outcome"] in ("failed", "timeout", "crashed")
        ]
        out["collect_errors"] = [
            {k: e[k] for k in ("id", "error", "detail") if k in e} for e in self.collect_errors
        ]
        out["missing_internals"] = dict(internals.most_common())
        out["slowest"] = [
            [k, t["dur"]] for k, t in sorted(self.tests.items(), key=lambda kv: -kv[1]["dur"])[:5]
        ]
        if self.notes:
            out["notes"] = self.notes
        if not self.args.no_tests:
            out["tests"] = {k: t["outcome"] for k, t in self.tests.items()}
        return out
