"""Profiles of programs: what ran when, on the host and on the devices; what memory is in use.

A trace is written for TensorBoard and Perfetto, as a directory `plugins/profile/<time>`.

>>> import effax, tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as where:
...     with trace(where):
...         with TraceAnnotation("a product"):
...             _ = (effax.numpy.ones((64, 64)) @ effax.numpy.ones((64, 64))).block_until_ready()
...     [file.suffix for file in sorted(pathlib.Path(where).rglob("*.pb"))]
['.pb']
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from effax.backends.xla import profiling
from effax.backends.xla.profiling import Data as ProfileData
from effax.backends.xla.profiling import Event as ProfileEvent
from effax.backends.xla.profiling import Mark as TraceAnnotation
from effax.backends.xla.profiling import Options as ProfileOptions
from effax.backends.xla.profiling import Plane as ProfilePlane

__all__ = [
    "ProfileData",
    "ProfileEvent",
    "ProfileOptions",
    "ProfilePlane",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]
__dir__ = __all__.copy

P = ParamSpec("P")
R = TypeVar("R")


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Begin to record what the host and the devices do; `stop_trace` writes it.

    Args:
      log_dir: the directory to write into.
      create_perfetto_link: not supported: open the file in ui.perfetto.dev.
      create_perfetto_trace: not supported: `*.trace.json.gz` is written anyway.
      profiler_options: what to record.

    Raises:
      RuntimeError: where a profile is being recorded.
      NotImplementedError: for what is not supported.
    """
    for name, asked in (
        ("create_perfetto_link", create_perfetto_link),
        ("create_perfetto_trace", create_perfetto_trace),
    ):
        if asked:
            raise NotImplementedError(
                f"start_trace({name}=True) is not supported; the directory holds a file "
                "*.trace.json.gz, which ui.perfetto.dev opens"
            )
    profiling.start(os.fspath(log_dir), profiler_options)


def stop_trace() -> None:
    """Write what was recorded since `start_trace`. Raises `RuntimeError` where nothing was."""
    profiling.stop()


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Record what happens in a `with` block.

    Args:
      log_dir: the directory to write into.
      create_perfetto_link, create_perfetto_trace: not supported, see `start_trace`.
      profiler_options: what to record.
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class StepTraceAnnotation(TraceAnnotation):  # type: ignore[misc]
    """A mark around one step of a loop, by which profiles are read step by step.

    >>> for i in range(2):
    ...     with StepTraceAnnotation("train", step_num=i):
    ...         pass
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: Any
) -> Callable[P, R]:
    """Return the function with a mark around each of its calls.

    Args:
      func: the function.
      name: the name of the mark; by default the function's.
      **decorator_kwargs: metadata of the mark, as for `TraceAnnotation`.

    >>> annotate_function(lambda x: x + 1, name="successor")(1)
    2
    """
    label = name or getattr(func, "__qualname__", None) or repr(func)

    @wraps(func)
    def marked(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return marked


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Answer requests for profiles, such as TensorBoard's, on a port.

    Args:
      port: the number of the port.
      requires_backend: ignored; the backends are always started.

    Raises:
      ValueError: where a server of this process runs already.
    """
    return profiling.serve(port)


def stop_server() -> None:
    """Stop the server. Raises `ValueError` where there is none."""
    profiling.stop_serving()


def device_memory_profile(backend: str | None = None) -> bytes:
    """Return what the devices' memory holds, as a compressed profile for `pprof`.

    Args:
      backend: the platform, such as "cpu"; None for the default one.

    >>> import effax, gzip
    >>> x = effax.numpy.ones(1000).block_until_ready()
    >>> len(gzip.decompress(device_memory_profile("cpu"))) > 0
    True
    """
    return gzip.compress(profiling.memory(backend))


def save_device_memory_profile(
    filename: os.PathLike[str] | str, backend: str | None = None
) -> None:
    """Write what lives in the devices' memory into a file; see `device_memory_profile`.

    Args:
      filename: the path of the file.
      backend: the platform, such as "cpu"; None for the default one.
    """
    Path(filename).write_bytes(device_memory_profile(backend))
