"""Clients of PJRT: which back-ends there are, made when the first device is asked for."""

from __future__ import annotations

import gc
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, Final

from effax.backends.xla import memory
from effax.effects import config
from effax.effects.errors import ForkedProcessError
from effax.effects.runtime import _jax, utils
from effax.effects.runtime import jaxlib_version as jaxlib_version

VERSION: Final = tuple(int(part) for part in re.findall(r"\d+", jaxlib_version)[:3])
"""The version of jaxlib as integers, for the few places where versions differ."""

XlaRuntimeError: Final = _jax.JaxRuntimeError
"""The error that XLA's compiler and runtime raise."""

_ALIASES: Final = {"gpu": ("cuda", "rocm")}
_DEVICE_COUNT: Final = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


class Backend:
    """A client of PJRT with the names it goes by: "cuda" loads it, "gpu" is its platform."""

    __slots__ = ("client", "name", "platform")

    absent = False
    """Whether its devices are not there: it compiles, and runs nothing."""

    def __init__(self, name: str, client: Any) -> None:
        self.name = name
        self.client = client
        self.platform: str = client.platform

    @property
    def version(self) -> str:
        """The version of the platform, as the plugin states it."""
        return str(self.client.platform_version)

    def heap_profile(self) -> bytes:
        """Return what the devices' memory holds, as a compressed profile of pprof's."""
        found: bytes = self.client.heap_profile()
        return found

    def __repr__(self) -> str:
        return f"Backend({self.name!r})"


_log: Final = logging.getLogger("effax")
_lock: Final = threading.RLock()
_backends: Final[dict[str, Backend]] = {}
_failures: Final[dict[str, str]] = {}
_distributed: Final[dict[str, Any]] = {}
_forks_watched: Final[list[bool]] = []
_forked: Final[list[int]] = []


def backend(platform: str | None = None) -> Backend:
    """The back-end of a platform; without one, the default back-end.

    The default is the first of the setting `platforms` (`EFFAX_PLATFORMS`), else the first of TPU,
    CUDA and CPU that there is. Raises `RuntimeError` where there is none of that name, or where it
    can't be started.
    """
    if not _backends:
        _start()
    if platform is None:
        platform = config.read("platform_name")
        if platform is None:
            return next(iter(_backends.values()))
    for name in (platform, *_ALIASES.get(platform, ())):
        if name in _backends:
            return _backends[name]
    available = list(_backends)
    if platform in _failures:
        raise RuntimeError(
            f"Backend '{platform}' failed to initialize: {_failures[platform]}. "
            f"Available backends are {available}"
        )
    if platform in _ALIASES:
        raise RuntimeError(
            f"Unknown backend: '{platform}' requested, but no platforms that are instances of "
            f"{platform} are present. Platforms present are: {','.join(available)}"
        )
    device = ". For one of its devices, pass a Device, such as effax.devices()[0]"
    raise RuntimeError(
        f"Unknown backend {platform}. Available backends are {available}"
        f"{device if ':' in str(platform) else ''}"
    )


def backends() -> tuple[Backend, ...]:
    """All back-ends that started, the default one first."""
    if not _backends:
        _start()
    return tuple(_backends.values())


def is_started() -> bool:
    """Whether the back-ends exist already; then their number of devices is fixed."""
    return bool(_backends)


def set_num_cpu_devices(n: int) -> None:
    """Make the CPU appear as `n` devices. Raises `RuntimeError` once a device was asked for."""
    config.update("num_cpu_devices", n)


def join_processes(
    client: Any, process_index: int, process_count: int, collectives: Any = None
) -> None:
    """Make the back-ends those of one of many processes.

    `client` is a connected client of jaxlib's distributed runtime; `collectives` is what the CPU
    communicates by (gloo). Raises `RuntimeError` once a device was asked for.
    """
    refuse_if_started("joining other processes")
    _distributed.update(
        client=client, index=process_index, count=process_count, collectives=collectives
    )


def has_joined() -> bool:
    """Whether this process is one of several (`join_processes`)."""
    return bool(_distributed)


def refuse_if_started(what: str) -> None:
    """Raise `RuntimeError` where the back-ends exist already."""
    if _backends:
        raise RuntimeError(
            f"{what} must happen before backends are initialized, i.e. before any operation is "
            "executed or any device asked for. Do it immediately after `import effax`."
        )


def _watch_num_cpu_devices(n: int) -> None:
    if n != config.read("num_cpu_devices"):
        refuse_if_started("setting num_cpu_devices")


config.watch("num_cpu_devices", _watch_num_cpu_devices)
config.watch("platforms", lambda value: refuse_if_started("setting platforms"))


def _watch_keep_freed_memory(keep: bool) -> None:
    if keep:
        memory.keep_freed_pages()
    elif config.read("keep_freed_memory"):
        raise RuntimeError(
            "keep_freed_memory can't be switched off again: the C library of this process has "
            "been told to keep its pages; start another process without it."
        )


config.watch("keep_freed_memory", _watch_keep_freed_memory)


def _num_cpu_devices() -> int:
    n = int(config.read("num_cpu_devices"))
    if n < 1:
        forced = _DEVICE_COUNT.findall(os.environ.get("XLA_FLAGS", ""))
        n = int(forced[-1]) if forced else 1
    return n


def _start() -> None:
    """Make the clients: those asked for, or those there are."""
    with _lock:
        if _backends:
            return
        if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
            # Otherwise each client announces itself on stderr.
            utils.absl_set_min_log_level(1)
        asked = config.read("platforms")
        started = _start_asked(asked) if asked else _start_found()
        if _free_hosts_memory not in gc.callbacks:
            gc.callbacks.append(_free_hosts_memory)
        if not _forks_watched and hasattr(os, "register_at_fork"):
            _forks_watched.append(True)
            os.register_at_fork(before=_warn_of_fork, after_in_child=_forget_compiled)
        for name, made in started.items():
            _log.info("started the back-end %s: %d devices", name, made.client.device_count())
        # Published last and at once, so that another thread sees all back-ends or none.
        _backends.update(started)


def _free_hosts_memory(phase: str, info: dict[str, int]) -> None:
    """Let go of NumPy arrays that deleted buffers lay in: the runtime keeps them until asked."""
    if phase == "start":
        _jax.collect_garbage()


def _warn_of_fork() -> None:
    warnings.warn(
        "os.fork() was called. os.fork() is incompatible with multithreaded code, and effax is "
        "multithreaded, so this will likely lead to a deadlock. Start processes that compute with "
        'multiprocessing.get_context("spawn").',
        RuntimeWarning,
        stacklevel=2,
    )


def _forget_compiled() -> None:
    """In a forked child: let no call find what was compiled, so that each meets `refuse_fork`."""
    _forked.append(os.getpid())
    config.renew()


def refuse_fork() -> None:
    """Raise `ForkedProcessError` in a process that was forked after the back-ends had started.

    Their threads stayed with the parent. Asked where something is compiled or copied to a device:
    no call that finds its executable gets here.
    """
    if _forked:
        raise ForkedProcessError(
            f"process {os.getpid()} was forked from one in which effax had computed already, and "
            "the threads of the runtime were left behind, so nothing can be computed here: start "
            'it by multiprocessing.get_context("spawn") or "forkserver", or fork before the first '
            "computation"
        )


def _start_asked(asked: str) -> dict[str, Backend]:
    makers = _makers()
    started = {}
    for platform in filter(None, (part.strip() for part in asked.split(","))):
        names = [name for name in _ALIASES.get(platform, (platform,)) if name in makers]
        reason = f"Backend '{platform}' is not in the list of known backends: {sorted(makers)}."
        for name in names:
            try:
                started[name] = Backend(name, makers[name]())
                break
            except (RuntimeError, ImportError, OSError) as error:
                reason = str(error)
        else:
            raise RuntimeError(
                f"Unable to initialize backend '{platform}': {reason} "
                "(set EFFAX_PLATFORMS='' to automatically choose an available backend)"
            )
    return started


def _start_found() -> dict[str, Backend]:
    started = {}
    for name, make in _makers().items():
        try:
            started[name] = Backend(name, make())
        except (RuntimeError, ImportError, OSError) as error:
            if name == "cpu":
                raise
            _failures[name] = str(error)
            warnings.warn(
                f"the plugin for {name} is installed, but can't be used: {error}", stacklevel=2
            )
    return started


def _makers() -> dict[str, Callable[[], Any]]:
    """Return the functions that make clients, by name, the most preferred first."""
    from effax.backends.xla import plugins

    found: dict[str, Callable[[], Any]] = {}
    if plugins.tpu_library() is not None:
        found["tpu"] = lambda: plugins.tpu_client(_distributed)
    if plugins.cuda_package() is not None:
        found["cuda"] = lambda: plugins.cuda_client(_distributed)
    found["cpu"] = _cpu_client
    return found


def _without_tracebacks() -> None:
    """Each call into the runtime would record a Python traceback for its buffers: 0.6 µs of 5.

    The switch is the process's; where jax is loaded it is left as jax has it.
    """
    if "jax" not in sys.modules:
        _jax.set_tracebacks_enabled(False)


def _cpu_client() -> Any:
    _without_tracebacks()
    if config.read("keep_freed_memory"):
        memory.keep_freed_pages()
    n = _num_cpu_devices()
    options: dict[str, Any] = {"num_devices": n}
    if _distributed:
        options |= {
            "distributed_client": _distributed["client"],
            "node_id": _distributed["index"],
            "num_nodes": _distributed["count"],
            "collectives": _distributed["collectives"],
        }
    asynchronous = bool(config.read("cpu_enable_async_dispatch"))
    if n == 1:
        return _jax.get_tfrt_cpu_client(asynchronous=asynchronous, **options)
    # A collective occupies one thread of the pool per device until all devices have joined. With
    # fewer than two threads per device, two launches in flight wait for each other forever. The
    # pool is sized here, so that child processes need not see the variable.
    before = os.environ.get("NPROC")
    os.environ["NPROC"] = str(max(32, 4 * n))
    try:
        return _jax.get_tfrt_cpu_client(asynchronous=asynchronous, **options)
    finally:
        if before is None:
            del os.environ["NPROC"]
        else:
            os.environ["NPROC"] = before
