"""A workload, and the table that workloads are written in.

A workload is `make(jax, jnp, np) -> call`: it builds its inputs, asserts with NumPy that the
result is right, and returns the function without arguments that is timed, or a number of bytes.
Work of less than a millisecond is dispatched without waiting (the harness waits once after a
series); the rest waits for each result.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Call = Callable[[], Any]


class Workload(NamedTuple):
    """One row of the table.

    `target`: the greatest ratio effax / jax that an issue allows, or None where it names none.
    `within`: the greatest ratio to a peer, where an issue names one.
    `limit`: the greatest time that it allows, in seconds, or None.
    `processor`: whether time of the processor is counted, of all threads, not that on the wall:
    for work that waits for nothing, on a machine that does other work too.
    `factor`: whether `make` gives a pair of calls, and the first's time over the second's counts,
    in either library; `limit` is then the greatest factor.
    `per`: of how many things (equations) a call is: the table shows the time of one.
    `why`: where the target is missed, the reason, from a profile.
    `peers`: the same work by other libraries; `peers["numpy"]()` gives the call that is timed.
    `subject`: the heading that the row stands under, the name of its module.
    """

    make: Callable[[Any, Any, Any], Call | int]
    title: str
    target: float | None
    why: str
    peers: Mapping[str, Callable[[], Call]]
    subject: str
    within: Mapping[str, float]
    limit: float | None = None
    per: int = 1
    processor: bool = False
    factor: bool = False


WORKLOADS: dict[str, Workload] = {}
PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {}
"""Titles and makers of the programs whose memory is measured too: `(function, *arguments)`."""


def workload(
    title: str,
    target: float | None = None,
    *,
    why: str = "",
    name: str | None = None,
    within: Mapping[str, float] = MappingProxyType({}),
    limit: float | None = None,
    per: int = 1,
    processor: bool = False,
    factor: bool = False,
    **peers: Callable[[], Call],
):
    """Enters `make` in the table, under its own name or `name`."""

    def register(make):
        key = name or make.__name__
        if key in WORKLOADS:
            raise ValueError(f"two workloads are called {key}")
        subject = make.__module__.rpartition(".")[2]
        WORKLOADS[key] = Workload(
            make, title, target, why, peers, subject, within, limit, per, processor, factor
        )
        return make

    return register


def blocking(fn: Callable, *args: Any) -> Call:
    """`fn(*args)`, waiting for the result; a pytree waits for its first leaf's executable."""

    def call():
        result = fn(*args)
        while isinstance(result, tuple | list | dict):
            result = next(iter(result.values())) if isinstance(result, dict) else result[0]
        return result.block_until_ready()

    return call


def program(title: str, *, why: str = ""):
    """Enters a maker of `(compiled function, *arguments)`, which asserts that results are right."""

    def register(make):
        def timed(jax, jnp, np):
            return blocking(*make(jax, jnp, np))

        timed.__module__ = make.__module__
        PROGRAMS[make.__name__] = title, make
        workload(title, 1.0, why=why, name=make.__name__)(timed)
        return make

    return register
