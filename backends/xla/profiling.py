"""jaxlib's profiler: sessions, marks on the timeline, a server, the memory in use."""

from __future__ import annotations

import threading
from typing import Any, Final

from effax.backends.xla.client import backend, backends
from effax.effects.runtime import _profile_data, _profiler

Data = _profile_data.ProfileData
Event = _profile_data.ProfileEvent
Plane = _profile_data.ProfilePlane
Options = _profiler.ProfileOptions
Mark = _profiler.TraceMe


class _State:
    """The session and the server of this process: jaxlib has at most one of each."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.directory = ""
        self.server: Any = None


_state: Final = _State()


def start(directory: str, options: Any = None) -> None:
    """Begin to record. Raises `RuntimeError` where that is going on."""
    backends()  # starts the profilers of all platforms
    with _state.lock:
        if _state.session is not None:
            raise RuntimeError(
                f"Profile has already been started, into {_state.directory}. "
                "Only one profile may be run at a time: call stop_trace first."
            )
        _state.session = _profiler.ProfilerSession(*([] if options is None else [options]))
        _state.directory = directory


def stop() -> str:
    """Write what was recorded; the directory. Raises `RuntimeError` where nothing was."""
    with _state.lock:
        if _state.session is None:
            raise RuntimeError("No profile started: call start_trace first.")
        session, _state.session = _state.session, None
        session.stop_and_export(_state.directory)
        return _state.directory


def serve(port: int) -> Any:
    """Begin to answer requests for profiles. Raises `ValueError` where that is going on."""
    backends()
    with _state.lock:
        if _state.server is not None:
            raise ValueError("Only one profiler server can be active at a time.")
        _state.server = _profiler.start_server(port)
        return _state.server


def stop_serving() -> None:
    """Answer no more. Raises `ValueError` where nothing answers."""
    with _state.lock:
        if _state.server is None:
            raise ValueError("No active profiler server.")
        _state.server = None  # the server stops when nothing refers to it


def memory(platform: str | None = None) -> bytes:
    """Return what the devices' memory holds, in pprof's format."""
    return backend(platform).heap_profile()
