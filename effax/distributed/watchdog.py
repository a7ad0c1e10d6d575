"""Threads that learn when another process of the job is lost, and end this one by name.

A collective over a process that has died never returns: its neighbours get an error from the
network, the others wait for ever inside the runtime, where no exception reaches them. So they
first raise `ProcessLostError` in the main thread, and end the process where that is not enough.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import Final, NoReturn

from effax.backends.xla import agreement
from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.processes import Job
from effax.effects.errors import EffaxError, ProcessLostError, ProgramDisagreementError

LOST: Final = 75
"""The exit code of a process that ends because another was lost (EX_TEMPFAIL: try again)."""
PERIOD: Final = 0.5
"""Seconds between two questions."""
OFTEN: Final = 20
"""Questions after which the order of programs is compared while they are run."""
HEARING: Final = 1.0
"""Seconds in which a main thread that runs Python raises what it is told to."""
GRACE: Final = 5.0
"""Seconds that it then has to end by itself."""
_COLLECTIVES: Final = ("gloo", "nccl")


class Watchdog:
    """Two threads that ask, every half second, whether all processes of a job are well.

    One asks the coordination service which are alive, and is kept waiting for an answer while one
    is dying. The other reads what processes and the supervisor say by themselves. `error` says
    what was lost, once something is.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.error: EffaxError | None = None
        self._incarnations: dict[int, int] = {}
        self._looks = 0
        self._ending = threading.Event()
        self._noticed = threading.Event()
        self._first = threading.Lock()
        parent = os.environ.get("EFFAX_SUPERVISOR")
        self._parent = int(parent) if parent else None
        self._news = os.environ.get("EFFAX_SUPERVISOR_NEWS")
        self._threads = [
            threading.Thread(target=self._watch, args=(look,), name="effax watchdog", daemon=True)
            for look in (self._who_is_alive, self._what_is_said)
        ]

    def start(self) -> None:
        """Begin to watch."""
        for thread in self._threads:
            thread.start()

    def _watch(self, look: Callable[[], EffaxError | None]) -> None:
        while not self._ending.wait(PERIOD):
            try:
                found = look()
            except XlaRuntimeError as error:
                found = self._loss(f"the coordination service does not answer: {error}")
            if found is not None and not self._ending.is_set():
                self._end_program(found)

    def _loss(self, text: str) -> ProcessLostError:
        return ProcessLostError(f"lost to process {self.job.index}: {text}")

    def _who_is_alive(self) -> EffaxError | None:
        alive = self.job.alive()
        for index, incarnation in alive.items():
            if self._incarnations.setdefault(index, incarnation) != incarnation:
                return self._loss(f"{self.job.describe(index)} ended, and was started again")
        missing = set(range(self.job.count)) - set(alive)
        if missing:
            missing -= {int(index) for index in self.job.under("ended")}
        if not missing:
            return None
        names = ", ".join(map(self.job.describe, sorted(missing)))
        return self._loss(
            f"{names} ended, or gave no sign of life for {self.job.heartbeat} s; the computation "
            "with it can't be continued"
        )

    def _what_is_said(self) -> EffaxError | None:
        if self._parent is not None and os.getppid() != self._parent:
            return self._loss("`python -m effax.distributed run`, which started it, has ended")
        for index, text in self.job.under("failed").items():
            kind, _, about = text.partition(": ")
            if int(index) != self.job.index:
                if kind == ProgramDisagreementError.__name__:
                    return ProgramDisagreementError(about)
                return self._loss(f"{self.job.describe(int(index))} failed with {text}")
        if self._news is not None and os.path.exists(self._news):
            with open(self._news, encoding="utf-8") as news:
                return self._loss(news.read())
        different = self._disagreement()
        if not different:
            return None
        self.job.put(f"failed/{self.job.index}", f"ProgramDisagreementError: {different}")
        return ProgramDisagreementError(different)

    def _disagreement(self) -> str:
        """Compare the programs that were run, where none is or some time has passed."""
        self._looks += 1
        if not agreement.is_waiting() and self._looks % OFTEN:
            return ""
        agreement.tell_launches(self.job)
        return agreement.different_order(self.job)

    def _end_program(self, error: EffaxError) -> NoReturn:
        with self._first:
            self.error = error
            self._noticed.set()
            main = threading.main_thread()
            if _raise_in(main, type(error), str(error)).wait(HEARING):
                main.join(GRACE)
            # Exit even if the main thread has ended: other threads may wait for the lost process.
            self.exit()

    def exit(self) -> NoReturn:
        """End the process now."""
        sys.stdout.flush()
        name = f"effax.errors.{type(self.error).__name__}"
        print(f"{name}: {self.error}", file=sys.stderr, flush=True)
        os._exit(LOST if isinstance(self.error, ProcessLostError) else 1)

    def explain(self, error: Exception) -> None:
        """Raise `ProcessLostError` if a runtime's error comes of a process that was lost.

        The network notices before the coordination service does: wait until that knows.
        """
        text = str(error).lower()
        if any(word in text for word in _COLLECTIVES):
            self._noticed.wait(self.job.heartbeat + GRACE)
            if self.error is not None:
                raise type(self.error)(str(self.error)) from error

    def end(self) -> None:
        """Ask no more."""
        self._ending.set()

    def join(self, seconds: float) -> None:
        """Wait until the threads have ended."""
        for thread in self._threads:
            thread.join(seconds)


def _raise_in(thread: threading.Thread, kind: type[EffaxError], message: str) -> threading.Event:
    """Raise an error in a thread, when it next runs Python; what is set when it has."""
    heard = threading.Event()

    class RaisedError(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(message)
            heard.set()

    # The interpreter itself makes the exception, from a class without arguments.
    RaisedError.__name__ = RaisedError.__qualname__ = kind.__name__
    RaisedError.__module__ = "effax.errors"
    identity = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(RaisedError))
    return heard
