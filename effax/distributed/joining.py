"""Joining a job of several processes, and leaving it."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from effax.backends.xla import agreement, client, execution_errors, processes
from effax.distributed.clusters import find
from effax.distributed.watchdog import Watchdog
from effax.effects import config
from effax.effects.errors import EffaxError, ProgramDisagreementError

if TYPE_CHECKING:
    from effax.distributed.service import Service

_log: Final = logging.getLogger("effax")
_JAXS: Final = (
    "COORDINATOR_ADDRESS",
    "COORDINATOR_BIND_ADDRESS",
    "COORDINATOR_PORT",
    "LOCAL_DEVICE_IDS",
)
_HOOKS: Final[list[bool]] = []
_IN_EXIT: Final = 30
"""Seconds that a process may take to end after its program has failed."""


class _Membership:
    """The state made by `initialize`: a watchdog, and the coordination service in the first
    process.
    """

    def __init__(self) -> None:
        self.joined = False
        self.failed = False
        self.shutdown_timeout = 0
        self.service: Service | None = None
        self.watchdog: Watchdog | None = None


_membership: Final = _Membership()


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Make this process one of a job, before anything else is asked of effax.

    Every process of the job calls it; then `effax.devices()` are the devices of all of them.
    What is not given is found in the environment, in this order: what `python -m
    effax.distributed run` sets, Open MPI, Slurm, Cloud TPU, a Kubernetes job (docs/processes.md).

    Args:
      coordinator_address: "host:port" of process 0, where the coordination service runs.
      num_processes: the number of processes.
      process_id: the number of this one, from 0.
      local_device_ids: the GPUs that this process uses; by default all, under Slurm and Open MPI
        the one of its rank on the machine.
      cluster_detection_method: the name of the only environment to ask: "run", "ompi", "slurm",
        "gketpu", "gcetpu" or "k8s"; "deactivate" for none.
      initialization_timeout: seconds to wait for all processes here, and wherever they later meet
        and no other bound is given.
      heartbeat_timeout_seconds: seconds without a sign of life after which a process is lost.
      shutdown_timeout_seconds: seconds that `shutdown` waits for the others.
      coordinator_bind_address: where the service listens; by default the port of
        `coordinator_address` on all interfaces.
      slice_index: the former name of `partition_index`.
      partition_index: accepted; the runtime finds the partitions of devices itself.

    Raises:
      RuntimeError: where it was called before, or after a device was asked for.
      ValueError: where address, number or index are neither given nor found.
      ProcessTimeoutError: where the others did not come in time.

    >>> initialize(num_processes=1, process_id=0)  # alone, there is nobody to meet
    >>> is_initialized()
    True
    >>> shutdown()
    """
    if _membership.joined:
        raise RuntimeError("distributed.initialize should only be called once.")
    environment = _environment()
    address = coordinator_address or environment.get("EFFAX_COORDINATOR_ADDRESS")
    alone = num_processes == 1 and process_id in (None, 0) and address is None
    if alone:
        _membership.joined = True
        return
    client.refuse_if_started("distributed.initialize")
    given = (address, num_processes, process_id)
    known = find(given, cluster_detection_method, local_device_ids, environment)
    if known.local_device_ids is not None:
        visible = ",".join(map(str, known.local_device_ids))
        for platform in ("cuda", "rocm"):
            config.update(f"{platform}_visible_devices", visible)
    proxies = [name for name in environment if name.lower().endswith("_proxy")]
    if proxies and not known.address.startswith(("localhost:", "127.0.0.1:")):
        _log.warning(
            "distributed.initialize: %s may keep this process from reaching the coordination "
            "service at %s; unset what is not needed",
            ", ".join(proxies),
            known.address,
        )
    heartbeat = int(
        environment.get("EFFAX_HEARTBEAT_TIMEOUT_SECONDS", "") or heartbeat_timeout_seconds
    )
    if known.index == 0 and not known.served:
        from effax.distributed.service import Service

        bind = coordinator_bind_address or environment.get("EFFAX_COORDINATOR_BIND_ADDRESS")
        _membership.service = Service(
            bind or "[::]:" + known.address.rpartition(":")[2],
            known.count,
            heartbeat,
            shutdown_timeout_seconds,
        )
    job = processes.Job(known.address, known.index, known.count, initialization_timeout, heartbeat)
    try:
        job.connect(shutdown_timeout_seconds)
    except EffaxError:
        _end_service()
        raise
    processes.enter(job)
    _membership.joined = True
    _membership.failed = False
    _membership.shutdown_timeout = shutdown_timeout_seconds
    _membership.watchdog = Watchdog(job)
    _membership.watchdog.start()
    execution_errors.explainers.append(_membership.watchdog.explain)
    _hook()


def _environment() -> dict[str, str]:
    """The variables, those that JAX reads among them, where effax's own say nothing."""
    told = {name: os.environ.get(f"JAX_{name}") for name in _JAXS}
    return {f"EFFAX_{name}": text for name, text in told.items() if text} | dict(os.environ)


def is_initialized() -> bool:
    """Return whether `initialize` was called, and `shutdown` was not since.

    >>> is_initialized()
    False
    """
    return _membership.joined


def shutdown() -> None:
    """Leave the job, when all processes have come here; does nothing in a process without one.

    It is called when the interpreter ends, too. Raises `ProcessTimeoutError` where the others did
    not come in time, and `ProgramDisagreementError` where they have run other programs, or in
    another order; the job is left in any case.

    >>> shutdown()
    """
    job = processes.current()
    _membership.joined = False
    if job is None:
        return
    try:
        agreement.tell_launches(job)
        job.wait("shutdown", _membership.shutdown_timeout)
        different = agreement.different_order(job)
        if different:
            raise ProgramDisagreementError(different)
        _wait_for_the_last(job)
    except BaseException:
        _leave(job, orderly=False)
        raise
    _leave(job)


def _wait_for_the_last(job: processes.Job) -> None:
    """Wait until the service, if it is this process's child, serves nobody else.

    The runtime aborts a process that is connected when the service ends.
    """
    end = time.monotonic() + _IN_EXIT
    assert _membership.watchdog is not None
    _membership.watchdog.end()
    if _membership.service is not None:
        while set(job.alive()) - {job.index} and time.monotonic() < end:
            time.sleep(0.02)


def _leave(job: processes.Job, orderly: bool = True) -> None:
    """End the watchdog, the connection and the service, which others may need a while longer."""
    watchdog = _membership.watchdog
    processes.forget()
    if watchdog is not None:
        job.put(f"ended/{job.index}", "")
        watchdog.end()
        execution_errors.explainers.remove(watchdog.explain)
        _membership.watchdog = None
    try:
        job.leave()
    finally:
        if watchdog is not None:
            # A thread that returns from the runtime after Python has ended would abort the process.
            watchdog.join(_IN_EXIT)
        _end_service(now=orderly)


def _end_service(now: bool = True) -> None:
    if _membership.service is not None:
        _membership.service.end(now)
        _membership.service = None


# ------------------------------------------------------------------------------ how a process ends


def _hook() -> None:
    """Leave the job when the interpreter ends, and note whether the program has failed."""
    if _HOOKS:
        return
    _HOOKS.append(True)
    atexit.register(_at_exit)
    before = sys.excepthook

    def note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        _membership.failed = True
        job = processes.current()
        if job is not None and not _lost():
            text = str(error).partition("\n")[0][:500]
            job.put(f"failed/{job.index}", f"{kind.__name__}: {text}")
        return before(kind, error, trace)

    sys.excepthook = note


def _lost() -> bool:
    return _membership.watchdog is not None and _membership.watchdog.error is not None


def _at_exit() -> None:
    job = processes.current()
    if job is None:
        return
    if _lost():
        # Programs that wait for the lost process never end, and the interpreter's exit would wait
        # for them.
        assert _membership.watchdog is not None
        _membership.watchdog.exit()
    if not _membership.failed:
        try:
            shutdown()
        except ProgramDisagreementError as error:
            # The results are wrong, so the process must not exit with success.
            sys.stdout.flush()
            print(f"effax.errors.ProgramDisagreementError: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        except EffaxError as error:
            warnings.warn(f"at the end of process {job.index}: {error}", stacklevel=1)
        return
    import faulthandler

    # The others do not reach a barrier, and running programs may never end.
    faulthandler.dump_traceback_later(_IN_EXIT, exit=True)
    _leave(job, orderly=False)
