"""The coordination service of a job, in a process of its own, which outlives any of the job.

jaxlib aborts every process of a job as soon as the service can't be reached. So it is not run in
process 0, whose death then is reported as that of any other. It ends when its parent says so, and a
while after its parent has died: long enough for the others to be told.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Final

from effax.backends.xla import processes
from effax.backends.xla.client import XlaRuntimeError

_READY: Final = "ready"
_END: Final = "end"
_END_SOON: Final = "end soon"
_AFTERWARDS: Final = 10
"""Seconds that the service stays when the others must have noticed that its parent is dead."""


class Service:
    """The coordination service at an address, as a child of this process.

    Args:
      address: where it listens, as "[::]:1234".
      count: the number of processes of the job.
      heartbeat: seconds without a sign of life after which one of them is lost.
      shutdown: seconds that the end of the job may take.
      survives: whether it stays for a while when this process has died.

    Raises:
      RuntimeError: where it can't be started, as for an address in use.
    """

    def __init__(
        self, address: str, count: int, heartbeat: int, shutdown: int, survives: bool = True
    ) -> None:
        linger = heartbeat + _AFTERWARDS if survives else 0
        numbers = map(str, (count, heartbeat, shutdown, linger))
        # The child must find effax in the same place.
        path = os.pathsep.join(part or os.getcwd() for part in sys.path)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "effax.distributed.service", address, *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self._child.stdout is not None
        answer = self._child.stdout.readline().strip()
        self._child.stdout.close()
        if answer != _READY:
            self._child.wait()
            raise RuntimeError(
                f"the coordination service can't be started at {address}: "
                f"{answer or f'it ended with code {self._child.returncode}'}; give another port"
            )

    def end(self, now: bool = True) -> None:
        """End it now, or where others are still to be told of the end of this process, soon."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already
            self._child.stdin.write(_END if now else _END_SOON)
            self._child.stdin.close()
        if now:
            self._child.wait()

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._child.pid


def main(address: str, count: str, heartbeat: str, shutdown: str, linger: str) -> None:
    """Serve until the standard input ends."""
    # A terminal or a scheduler sends this process the signals of its job too; it must end last.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        service = processes.serve(address, int(count), int(heartbeat), int(shutdown))
    except XlaRuntimeError as error:
        print(str(error).partition("\n")[0], flush=True)
        return
    print(_READY, flush=True)
    # A reader of the job's output must not wait for this process, which may run longer.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    time.sleep({_END: 0, _END_SOON: _AFTERWARDS}.get(sys.stdin.read(), int(linger)))
    service.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
