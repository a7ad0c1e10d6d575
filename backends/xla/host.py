"""Effects answered by the host where nothing is staged: callbacks, checks, many places at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.dispatch import host_rules
from effax.backends.xla.executable import effects_barrier
from effax.backends.xla.execution_errors import in_words
from effax.effects.errors import UnexpectedTracerError
from effax.effects.failures import Site, require
from effax.effects.handler import Carrier
from effax.effects.rows import collective
from effax.effects.rows.callback import (
    Inspection,
    answer,
    debug_callback,
    innermost,
    io_callback,
    pure_callback,
)
from effax.effects.rows.check import check, debug_check
from effax.effects.types import typeof


def call_at_once(
    *operands: Any, callback: Any, result_types: Any = (), ordered: bool = False, **_: Any
) -> list[Array]:
    """Ask the callback. What it raises is the cause of a `JaxRuntimeError`, as in a program."""
    arrays = [as_numpy(x) for x in operands]  # refuses values that are not arrays, as anywhere else
    try:
        return show_at_once(*arrays, callback=callback, result_types=result_types, ordered=ordered)
    except UnexpectedTracerError:
        raise
    except Exception as error:
        raise XlaRuntimeError(in_words(error)) from error


def show_at_once(
    *operands: Any, callback: Any, result_types: Any = (), ordered: bool = False, **_: Any
) -> list[Array]:
    """Ask the callback; its exceptions are raised as they are, so that a debugger can quit."""
    if ordered:
        effects_barrier()
    asking = innermost(callback)
    if isinstance(asking, Inspection):
        asking.told(asarray(operands[-1]).sharding)
        return []
    arrays = [x if type(x) is np.ndarray else as_numpy(x) for x in operands]
    results = answer(callback, arrays, result_types)
    return [asarray(x, t) for x, t in zip(results, result_types, strict=True)]


def check_at_once(holds: Any, *payload: Any, site: Site) -> list[Array]:
    """Raise `JaxRuntimeError` unless the claim holds."""
    require(site, as_numpy(holds), [asarray(x) for x in payload])
    return []


def pass_over(*operands: Any, **_: Any) -> list[Array]:
    """A check for debugging is made under checkify only."""
    return []


def as_numpy(x: Any) -> np.ndarray[Any, Any]:
    """The elements of a value that is known."""
    if isinstance(x, Carrier):
        raise UnexpectedTracerError.escaped(x)
    return x.host() if type(x) is Array else np.asarray(x, typeof(x).dtype)


def run_parallel(*operands: Any, **attributes: Any) -> list[Array]:
    """Perform a program at many places at once, now."""
    from effax.backends.xla import parallel

    return parallel.run_parallel(*operands, **attributes)


host_rules.update(dict.fromkeys((pure_callback, io_callback), call_at_once))
host_rules[debug_callback] = show_at_once
host_rules[check] = check_at_once
host_rules[debug_check] = pass_over
host_rules[collective.parallel] = run_parallel
