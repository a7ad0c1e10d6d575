"""Start a job on this machine, watch its processes, and end or restart all of them together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import IO, Any, Final

from effax.distributed.service import Service
from effax.distributed.watchdog import LOST

HEARTBEAT: Final = 10
"""Seconds without a sign of life after which a process of a job on this machine is lost."""
_SHUTDOWN: Final = 300
_KILLED: Final = 128
"""Added to the number of a signal, as shells do, to make an exit code of it."""
_DIES_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Supervisor:
    """A command to be run in `count` processes with `devices` CPU devices each.

    `grace` is how many seconds processes have to end by themselves, when one has failed, and how
    many after SIGTERM.
    """

    def __init__(
        self, command: Sequence[str], count: int, devices: int | None, grace: float
    ) -> None:
        self.command = list(command)
        self.count = count
        self.devices = devices
        self.grace = grace
        self._asked: int | None = None
        self._news = ""

    def run(self, restarts: int = 0) -> int:
        """Run the job, again after a failure up to `restarts` times, and return its exit code."""
        before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        try:
            for attempt in range(restarts + 1):
                code = self._run_once(attempt)
                if code == 0 or self._asked is not None:
                    break
                if attempt < restarts:
                    _say(f"restart {attempt + 1} of {restarts}")
            return code
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: Any) -> None:
        self._asked = number

    def _run_once(self, attempt: int) -> int:
        port = free_port()
        folder = tempfile.mkdtemp(prefix="effax-")
        self._news = os.path.join(folder, "news")
        service = Service(f"[::]:{port}", self.count, HEARTBEAT, _SHUTDOWN, survives=False)
        children: list[subprocess.Popen[bytes]] = []
        try:
            for index in range(self.count):
                children.append(self._start(index, port, attempt))
            return self._watch(children)
        finally:
            for child in children:
                _kill(child, signal.SIGKILL)
                child.wait()
            service.end()
            shutil.rmtree(folder, ignore_errors=True)

    def _start(self, index: int, port: int, attempt: int) -> subprocess.Popen[bytes]:
        told = {
            "EFFAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
            "EFFAX_NUM_PROCESSES": self.count,
            "EFFAX_PROCESS_ID": index,
            "EFFAX_COORDINATION_SERVED": 1,
            "EFFAX_HEARTBEAT_TIMEOUT_SECONDS": HEARTBEAT,
            "EFFAX_SUPERVISOR": os.getpid(),
            "EFFAX_SUPERVISOR_NEWS": self._news,
            "EFFAX_RESTARTS": attempt,
        }
        if self.devices is not None:
            told["EFFAX_NUM_CPU_DEVICES"] = self.devices
        return subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONUNBUFFERED": "1", **os.environ, **{k: str(v) for k, v in told.items()}},
            start_new_session=True,  # processes that it starts are ended with it
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )

    def _watch(self, children: Sequence[subprocess.Popen[bytes]]) -> int:
        """Pass on what processes print until all have ended; end all when one has failed."""
        output = Output()
        for index, child in enumerate(children):
            output.add(child.stdout, f"[{index}] ", sys.stdout.buffer)
            output.add(child.stderr, f"[{index}] ", sys.stderr.buffer)
        code = 0
        forwarded = False
        patience = Patience(self.grace)
        while True:
            output.pass_on(0.1)
            running = [child for child in children if child.poll() is None]
            if code == 0:
                code = self._first_failure(children)
                if code and running:
                    patience.begin()
            if self._asked is not None and not forwarded:
                forwarded = True
                patience.begin(politely=True)
                for child in running:
                    _kill(child, signal.SIGTERM)
            if not running:
                output.finish()
                return code or (_KILLED + self._asked if self._asked is not None else 0)
            number = patience.lost()
            if number is not None:
                _say(f"ending {len(running)} processes by {signal.Signals(number).name}")
                for child in running:
                    _kill(child, number)

    def _first_failure(self, children: Sequence[subprocess.Popen[bytes]]) -> int:
        failed = [(i, c.returncode) for i, c in enumerate(children) if c.returncode]
        if not failed:
            return 0
        # Of several failures, report one that is not due to the loss of another process.
        index, code = min(failed, key=lambda found: found[1] == LOST)
        signalled = code < 0
        how = (
            f"was ended by {signal.Signals(-code).name}" if signalled else f"ended with code {code}"
        )
        _say(f"process {index} {how}")
        self._tell(f"process {index} of {self.count} {how}")
        return _KILLED - code if signalled else int(code)

    def _tell(self, text: str) -> None:
        """Tell the processes that run, which ask for it every half second."""
        with open(self._news + ".new", "w", encoding="utf-8") as news:
            news.write(text)
        os.replace(self._news + ".new", self._news)


class Patience:
    """When processes that do not end by themselves are ended: asked first, then killed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._next: list[tuple[float, signal.Signals]] = []

    def begin(self, politely: bool = False) -> None:
        """Count from now; `politely` where they have been asked already."""
        now = time.monotonic()
        asked = [] if politely else [(now + self.seconds, signal.SIGTERM)]
        kill = self.seconds * (1 if politely else 2)
        self._next = [*asked, (now + kill, signal.SIGKILL)]

    def lost(self) -> signal.Signals | None:
        """Return the signal that is due, once each."""
        if self._next and time.monotonic() >= self._next[0][0]:
            return self._next.pop(0)[1]
        return None


class Output:
    """Lines of several pipes, passed on as they come with what says whose they are."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, pipe: IO[bytes] | None, prefix: str, to: Any) -> None:
        """Pass on the lines of a pipe."""
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, selectors.EVENT_READ, (bytearray(), prefix.encode(), to))

    def pass_on(self, seconds: float) -> bool:
        """Pass on what there is, waiting so long for something; whether pipes are open."""
        if not self._selector.get_map():
            time.sleep(seconds)
            return False
        for key, _ in self._selector.select(seconds):
            kept, prefix, to = key.data
            data = os.read(key.fd, 1 << 16)
            kept += data
            lines = kept.split(b"\n")
            del kept[: len(kept) - len(lines[-1])]
            if not data:
                self._selector.unregister(key.fileobj)
                lines += [b""] if lines[-1] else []
            for line in lines[:-1]:
                to.write(prefix + line + b"\n")
            to.flush()
        return True

    def finish(self) -> None:
        """Pass on the rest. A pipe may be held open by what a process has left behind."""
        end = time.monotonic() + 1
        while self.pass_on(0.05) and time.monotonic() < end:
            pass


def free_port() -> int:
    """Return a port of this machine that nothing listens at now."""
    with socket.socket() as listening:
        listening.bind(("", 0))
        return int(listening.getsockname()[1])


def _say(text: str) -> None:
    print(f"[effax] {text}", file=sys.stderr, flush=True)


def _kill(child: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def _die_with_parent() -> None:
    """Have the kernel kill this process when the supervisor dies in whatever way."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
