"""Memory of compiled programs: results and intermediates; and what gradients keep."""

import contextlib
import importlib
import io
import math
import re
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import programs
from benchmarks.workloads.training import LOSSES
from benchmarks.workloads.workload import PROGRAMS, workload

LARGEST = {"powers_large"}
"""Programs that are left out: they say what smaller ones of their shape do."""
WHY = {"sixth_derivative": programs.QUOTIENT}
"""Reasons of misses, which are those of the run time."""
BYTES = {"bool": 1, "bf16": 2, "f16": 2}


def _enter_program(name: str, title: str, make: Callable[..., Any]) -> None:
    @workload(title, 1.0, name=f"{name}_memory", why=WHY.get(name, ""))
    def allocated(jax: Any, jnp: Any, np: Any) -> int:
        """By the compiler's own account."""
        function, *args = make(jax, jnp, np)
        stats = function.lower(*args).compile().memory_analysis()
        return int(stats.temp_size_in_bytes + stats.output_size_in_bytes)


def _enter_residuals(name: str, title: str, make: Callable[..., Any]) -> None:
    @workload(f"residuals of the {title}", 1.0, name=f"{name}_residuals")
    def kept(jax: Any, jnp: Any, np: Any) -> int:
        """Return the bytes that the gradient's linear part keeps, but for the arguments."""
        loss, *args = make(jax, jnp, np)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            _printer(jax)(jax.jit(loss), *args)
        lines = printed.getvalue().splitlines()
        return sum(_bytes_of(line) for line in lines if "from the argument" not in line)


def _printer(jax: Any) -> Callable[..., None]:
    """The library's function that prints residuals."""

    return importlib.import_module(f"{jax.__name__}.ad_checkpoint").print_saved_residuals


def _bytes_of(line: str) -> int:
    """Of a residual that begins with its type, as `f32[8,64]`."""
    found = re.match(r"(\w+)\[([\d, ]*)\]", line)
    if found is None:
        raise ValueError(f"no type in the line {line!r}")
    element, lengths = found.groups()
    each = BYTES.get(element) or int(re.sub(r"\D", "", element)) // 8
    return each * math.prod(int(n) for n in lengths.split(",") if n.strip())


for _name, (_title, _make) in list(PROGRAMS.items()):
    if _name not in LARGEST:
        _enter_program(_name, _title, _make)
for _name, (_title, _make) in LOSSES.items():
    _enter_residuals(_name, _title, _make)
