"""The processes of one job: the coordination service that they meet at, and what they say there.

A job is one program that runs in several processes, each with devices of its own. The service keeps
keys and values, barriers, and the list of processes that are alive; it belongs to jaxlib, and runs
in a process of its own (`effax.distributed.service`), so that any process of the job may die.
"""

from __future__ import annotations

import os
import re
import socket
import zlib
from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla import client as clients
from effax.backends.xla.client import XlaRuntimeError
from effax.effects.errors import ProcessLostError, ProcessTimeoutError
from effax.effects.runtime import _jax, utils

_TIMED_OUT: Final = re.compile(r"timed out task names:\s*((?:\d+\s*)+)")
_MILLISECONDS: Final = 1000


def quiet(level: int) -> None:
    """Print no messages of the runtime below a level, unless the user chose one."""
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        utils.absl_set_min_log_level(level)


def serve(address: str, count: int, heartbeat: int, shutdown: int) -> Any:
    """Start the coordination service of a job of `count` processes; its `shutdown` ends it."""
    quiet(2)
    # Recoverable: a lost process is reported by `alive`, and does not abort the others.
    return _jax.get_distributed_runtime_service(
        address,
        count,
        heartbeat_timeout=heartbeat,
        shutdown_timeout=shutdown,
        recoverable=True,
    )


class Job:
    """The job that this process belongs to, connected to its coordination service.

    `index` is this process among `count`; `patience` is how many seconds a wait for other processes
    takes at most where nothing else is said.
    """

    def __init__(self, address: str, index: int, count: int, patience: int, heartbeat: int) -> None:
        self.address = address
        self.index = index
        self.count = count
        self.patience = patience
        self.heartbeat = heartbeat
        self.client: Any = None
        self._numbers: dict[str, int] = {}
        self._preemption: Any = None

    def connect(self, shutdown: int) -> None:
        """Wait until all processes have come, and make the back-ends those of the job.

        Raises `ProcessTimeoutError` where some did not come in time.
        """
        clients.refuse_if_started("distributed.initialize")
        quiet(1)
        self.client = _jax.get_distributed_runtime_client(
            self.address,
            self.index,
            init_timeout=self.patience,
            shutdown_timeout=shutdown,
            heartbeat_timeout=self.heartbeat,
            use_compression=True,
        )
        try:
            self.client.connect()
        except XlaRuntimeError as error:
            raise ProcessTimeoutError(
                f"distributed.initialize: process {self.index} of {self.count} waited "
                f"{self.patience} s at {self.address} for the others. {_absent(error)}Check "
                "whether all of them were started, with the same address and number of processes, "
                "and whether a proxy or a firewall is between them"
            ) from error
        self.put(f"process/{self.index}", f"{socket.gethostname()}, pid {os.getpid()}")
        collectives = _jax.make_gloo_tcp_collectives(self.client)
        clients.join_processes(self.client, self.index, self.count, collectives)

    # -- keys and values

    def put(self, key: str, value: str) -> None:
        """Set a value that all processes can read."""
        self.client.key_value_set(f"effax/{key}", value, allow_overwrite=True)

    def put_bytes(self, key: str, value: bytes) -> None:
        """Set a value of bytes, at most a few megabytes."""
        self.client.key_value_set_bytes(f"effax/{key}", value, allow_overwrite=True)

    def get(self, key: str, what: str, seconds: float | None = None) -> str:
        """Return a value, when it is there. Raises `ProcessTimeoutError`, which says `what`."""
        seconds = self.patience if seconds is None else seconds
        try:
            found = self.client.blocking_key_value_get(f"effax/{key}", int(seconds * _MILLISECONDS))
        except XlaRuntimeError as error:
            _refuse_unless_late(error)
            raise ProcessTimeoutError(
                f"process {self.index} of {self.count} waited {seconds:g} s for {what}, in vain"
            ) from error
        return str(found)

    def get_bytes(self, key: str, seconds: float) -> bytes | None:
        """Return a value of bytes when it is there, or None where it does not come in time."""
        try:
            milliseconds = int(seconds * _MILLISECONDS)
            return bytes(self.client.blocking_key_value_get_bytes(f"effax/{key}", milliseconds))
        except XlaRuntimeError as error:
            _refuse_unless_late(error)
            return None

    def find(self, key: str) -> str | None:
        """Return a value if it is there."""
        try:
            return str(self.client.key_value_try_get(f"effax/{key}"))
        except XlaRuntimeError as error:
            if "NOT_FOUND" not in str(error):
                raise
            return None

    def under(self, prefix: str) -> dict[str, str]:
        """Return the values whose keys begin with a prefix and a slash, by the rest of the key."""
        found = self.client.key_value_dir_get(f"effax/{prefix}/")
        return {key.rpartition("/")[2]: value for key, value in found}

    # -- one another

    def number(self, name: str) -> int:
        """Count the calls with a name, so that no two meetings have the same identifier."""
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return self._numbers[name]

    def group(self, among: Sequence[int] | None) -> list[int]:
        """The processes that meet, in order: those `among`, by default all."""
        return list(range(self.count)) if among is None else sorted(among)

    def wait(
        self, name: str, seconds: float | None = None, among: Sequence[int] | None = None
    ) -> None:
        """Wait until all processes, or those `among`, have come here.

        Raises `ProcessTimeoutError`, which names those that have not come in time.
        """
        seconds = self.patience if seconds is None else seconds
        group = self.group(among)
        meeting = f"{name}:{group}"
        unique = f"{meeting}:{self.number(meeting)}"
        try:
            self.client.wait_at_barrier(unique, int(seconds * _MILLISECONDS), process_ids=group)
        except XlaRuntimeError as error:
            _refuse_unless_late(error)
            raise ProcessTimeoutError(
                f"process {self.index} of {self.count} waited {seconds:g} s at {name!r} for the "
                f"others. {_absent(error, self)}They may be in another part of the program, or "
                "stopped"
            ) from error

    def compare(
        self,
        name: str,
        value: str,
        seconds: float | None = None,
        among: Sequence[int] | None = None,
    ) -> dict[int, str]:
        """Return what processes say here that do not say the same as the first of them.

        All processes, or those `among`, call it the same number of times with a name. The result
        is the same in each: empty where they agree, else what each of the others said, and the
        first's own. Raises `ProcessTimeoutError`.
        """
        group = self.group(among)
        leader = group[0]
        this = f"{name}/{zlib.crc32(repr(group).encode())}"
        this += f"/{self.number(this)}"
        if self.index == leader:
            self.put(f"{this}/said/{leader}", value)
        elif self.get(f"{this}/said/{leader}", self.describe(leader), seconds) != value:
            self.put(f"{this}/differs/{self.index}", value)
        self.wait(name, seconds, among)
        found = {int(index): text for index, text in self.under(f"{this}/differs").items()}
        if found:
            found[leader] = value if self.index == leader else self.get(f"{this}/said/{leader}", "")
        return dict(sorted(found.items()))

    def alive(self) -> dict[int, int]:
        """Return the processes that are alive, with a number that changes when one is restarted.

        All that are alive must ask, and each gets the same answer: the call returns when they have
        asked, or are known to be dead.
        """
        found: dict[int, int] = self.client.get_live_nodes(list(range(self.count)))
        return found

    def describe(self, index: int) -> str:
        """Describe a process by its index, host and process number."""
        about = self.under("process").get(str(index))
        return f"process {index} of {self.count}" + (f" ({about})" if about else "")

    # -- preemption

    def reached_preemption(self, step: int) -> bool:
        """Whether this is the step at which all processes save, one having been told to leave."""
        if self._preemption is None:
            # Made on first use, because from then on SIGTERM does not end the process.
            self._preemption = _jax.create_preemption_sync_manager()
            self._preemption.initialize(self.client)
        return bool(self._preemption.reached_sync_point(step))

    # -- the end

    def leave(self) -> None:
        """Disconnect from the service."""
        if self._preemption is not None:
            self._preemption.shutdown()
            self._preemption = None
        try:
            self.client.shutdown()
        except XlaRuntimeError as error:
            raise ProcessLostError(
                f"process {self.index} of {self.count} could not take leave of the coordination "
                f"service at {self.address}, which has ended: {error}"
            ) from error


def _refuse_unless_late(error: XlaRuntimeError) -> None:
    if "DEADLINE_EXCEEDED" not in str(error):
        raise error


def _absent(error: XlaRuntimeError, job: Job | None = None) -> str:
    """Name the processes that an error of the service calls late, in a sentence."""
    found = _TIMED_OUT.search(str(error))
    if found is None:
        return ""
    late = [int(index) for index in found[1].split()]
    names = [f"process {index}" if job is None else job.describe(index) for index in late]
    return f"Not there: {', '.join(names)}. "


_current: Final[list[Job]] = []


def current() -> Job | None:
    """The job of this process; None where it runs alone."""
    return _current[-1] if _current else None


def enter(job: Job) -> None:
    """Make a job that of this process."""
    _current[:] = [job]


def forget() -> None:
    """Belong to no job any more; the back-ends stay."""
    _current.clear()
