"""Events of this process, for programs that watch others: counts, durations, spans, numbers.

The library tells, under JAX's names, of each trace and compilation: what it took to trace
(`/jax/core/compile/jaxpr_trace_duration`) and to compile
(`/jax/core/compile/backend_compile_duration`), with the name of the function as `fun_name`, and
whether an executable was found on disk (`/jax/compilation_cache/cache_hits`, `.../cache_misses`).
Programs may tell of events of their own. `effax.stats()` has the same as a table.

>>> import effax
>>> from effax import monitoring
>>> seen = []
>>> def listener(event, duration, **metadata):
...     seen.append((event.rpartition("/")[2], metadata.get("fun_name")))
>>> monitoring.register_event_duration_secs_listener(listener)
>>> _ = effax.jit(lambda x: 3 * x)(2.0)
>>> seen[0]
('jaxpr_trace_duration', '<lambda>')
>>> monitoring.unregister_event_duration_listener(listener)
"""

from __future__ import annotations

from collections.abc import Callable

from effax.backends.xla import events

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]
__dir__ = __all__.copy

Listener = Callable[..., None]


def record_event(event: str, **kwargs: str | int) -> None:
    """Report an event: listeners are called as `listener(event, **kwargs)`."""
    events.tell("event", event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Report how long something took: listeners are called as `listener(event, duration, ...)`."""
    events.tell("duration", event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Report when something began and ended: `listener(event, start_time, end_time, ...)`."""
    events.tell("time_span", event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Report a number: listeners are called as `listener(event, value, **kwargs)`."""
    events.tell("scalar", event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Register a function that `record_event` calls.

    Args:
      callback: a function to be called as `callback(event, **kwargs)`.
    """
    events.listen("event", callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Register a function that `record_event_duration_secs` calls.

    Args:
      callback: a function to be called as `callback(event, duration, **kwargs)`.
    """
    events.listen("duration", callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Register a function that `record_event_time_span` calls.

    Args:
      callback: a function to be called as `callback(event, start_time, end_time, **kwargs)`.
    """
    events.listen("time_span", callback)


def register_scalar_listener(callback: Listener) -> None:
    """Register a function that `record_scalar` calls.

    Args:
      callback: a function to be called as `callback(event, value, **kwargs)`.
    """
    events.listen("scalar", callback)


def unregister_event_listener(callback: Listener) -> None:
    """Call a function of `register_event_listener` no more.

    Args:
      callback: the function.

    Raises:
      ValueError: for a function that is not registered.
    """
    events.forget("event", callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Call a function of `register_event_duration_secs_listener` no more.

    Args:
      callback: the function.

    Raises:
      ValueError: for a function that is not registered.
    """
    events.forget("duration", callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Call a function of `register_event_time_span_listener` no more.

    Args:
      callback: the function.

    Raises:
      ValueError: for a function that is not registered.
    """
    events.forget("time_span", callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Call a function of `register_scalar_listener` no more.

    Args:
      callback: the function.

    Raises:
      ValueError: for a function that is not registered.
    """
    events.forget("scalar", callback)


def clear_event_listeners() -> None:
    """Remove all listeners, to any kind of event."""
    events.clear()
