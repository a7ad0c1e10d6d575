"""A library's answer to a case, and a process in which JAX is asked while a test runs.

`answer(library, case)` is the same for effax and for JAX: leaves with dtype, weak type and
elements, or the classes of the error; and what happens when the call is only traced. JAX's process
is `python -m tests.grid.ask`, under a Python that has jax: EFFAX_BENCH_JAX names it.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import select
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tests.grid.case import PYTHON, Case, Operand, dtype_of

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"jnp": "numpy", "lax": "lax", "nn": "nn", "jsp": "scipy", "random": "random"}
ALSO = [f"scipy.{name}" for name in "special linalg stats signal ndimage fft".split()]  # noqa: SIM905
ALSO += [f"scipy.{name}" for name in "integrate interpolate cluster.vq spatial.transform".split()]  # noqa: SIM905
ALSO += [f"scipy.{name}" for name in "optimize sparse.linalg".split()]  # noqa: SIM905
ALSO += ["lax.linalg", "nn.initializers", "image", "ops", "tree", "tree_util", "flatten_util"]


class Leaf(NamedTuple):
    """An array of a result. What is no array is the text of its repr."""

    dtype: str
    weak: bool
    values: np.ndarray[Any, Any]


class Answer(NamedTuple):
    """The leaves of a result, or the classes of the error; and the error when traced, if any."""

    leaves: list[Leaf | str] | None
    error: list[str]
    traced: list[str]


class Library(NamedTuple):
    """The parts in which effax and JAX differ."""

    names: dict[str, Any]
    top: Any
    weaken: Callable[[Any], Any]

    def operand(self, operand: Operand, values: np.ndarray[Any, Any]) -> Any:
        if operand.form == "host":
            return values
        if operand.form == "list":
            return values.tolist()
        if operand.form == "scalar":
            kind = (
                "bool" if values.dtype == bool else {"i": "int", "u": "int"}.get(values.dtype.kind)
            )
            return PYTHON[kind or ("complex" if values.dtype.kind == "c" else "float")](values)
        array = self.names["jnp"].asarray(values)
        return self.weaken(array) if operand.form == "weak" else array


def names_of(package: str) -> dict[str, Any]:
    """The names that code mentions: the modules of effax or of jax."""
    for module in ALSO:
        importlib.import_module(f"{package}.{module}")
    found = {name: importlib.import_module(f"{package}.{m}") for name, m in MODULES.items()}
    return {**found, "jax": importlib.import_module(package)}


def effax_library() -> Library:
    import effax
    from effax.effects.rows.conversion import convert_element_type

    def weaken(x: Any) -> Any:
        return convert_element_type(x, dtype=x.dtype, weak_type=True)

    return Library(names_of("effax"), effax, weaken)


def jax_library() -> Library:
    import jax
    from jax._src.lax.lax import _convert_element_type

    def weaken(x: Any) -> Any:
        return _convert_element_type(x, x.dtype, weak_type=True)

    return Library(names_of("jax"), jax, weaken)


def leaf(x: Any) -> Leaf | str:
    """A part of a result, by which two libraries are compared."""
    if hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, type):
        return Leaf(str(x.dtype), bool(getattr(x, "weak_type", False)), np.asarray(x))
    return re.sub(r"\bjax\b", "effax", re.sub(r" at 0x[0-9a-f]+", "", repr(x)))


def classes(error: BaseException) -> list[str]:
    """The public names of an error's classes, the nearest first."""
    return [c.__name__ for c in type(error).__mro__ if not c.__name__.startswith("_")][:-2]


def operands(library: Library, case: Case, lane: int = 0) -> list[Any]:
    return [library.operand(o, o.numpy(lane)) for o in case.operands]


def answer(library: Library, case: Case, also_traced: bool = True) -> Answer:
    """Return a library's answer to a case."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), library.top.enable_x64(case.x64):
        warnings.simplefilter("ignore")
        function = case.function(library.names)
        given = operands(library, case)
        leaves: list[Leaf | str] | None = None
        error, traced = [], []
        try:
            leaves = [leaf(x) for x in library.top.tree.leaves(function(*given))]
        except Exception as raised:
            error = classes(raised)
        if leaves is not None and also_traced:
            try:
                library.top.eval_shape(lambda *xs: arrays(library, function(*xs)), *given)
            except Exception as raised:
                traced = classes(raised)
    return Answer(leaves, error, traced)


def eager(library: Library, case: Case) -> Answer:
    """Return a library's answer to a case; nothing is traced."""
    return answer(library, case, also_traced=False)


def types(library: Library, case: Case) -> Answer:
    """Return a library's answer in types alone, as `float32*[2,3]`: nothing is compiled."""
    with warnings.catch_warnings(), library.top.enable_x64(case.x64):
        warnings.simplefilter("ignore")
        try:
            found = _jitted(library, case).eval_shape(*_kinds(library, case))
        except Exception as raised:
            return Answer(None, classes(raised), [])
    return Answer([_spelled(x) for x in found], [], [])


def compiled(library: Library, case: Case) -> Answer:
    """Return a library's answer under jit: one program for a case, and for others of its types."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), library.top.enable_x64(case.x64):
        warnings.simplefilter("ignore")
        jitted = _jitted(library, case)
        try:
            return Answer([leaf(x) for x in jitted(*operands(library, case))], [], [])
        except Exception as raised:
            return Answer(None, classes(raised), [])


def _kinds(library: Library, case: Case) -> list[Any]:
    """The operands of a case; of arrays the types, which cost nothing to make."""
    return [
        library.top.ShapeDtypeStruct(
            o.shape,
            library.top.dtypes.canonicalize_dtype(dtype_of(o.dtype)),
            weak_type=o.form == "weak",
        )
        if o.form in ("array", "weak")
        else library.operand(o, o.numpy())
        for o in case.operands
    ]


COMPILED: dict[Any, Any] = {}
"""The jitted functions of the last cases, by all but their values."""


def _jitted(library: Library, case: Case) -> Any:
    key = case.code, case.x64, tuple((o.dtype, o.shape, o.form) for o in case.operands)
    if key not in COMPILED:
        while len(COMPILED) >= 16:
            del COMPILED[next(iter(COMPILED))]
        function = case.function(library.names)
        COMPILED[key] = library.top.jit(lambda *xs: arrays(library, function(*xs)))
    return COMPILED[key]


def _spelled(x: Any) -> str:
    weak = bool(getattr(x, "weak_type", False) and x.dtype != bool)
    return f"{x.dtype}{'*' * weak}{list(x.shape)}"


def arrays(library: Library, tree: Any) -> list[Any]:
    """The leaves of a result that a traced function may return."""
    return [x for x in library.top.tree.leaves(tree) if hasattr(x, "dtype") and hasattr(x, "shape")]


CRASH = "Crash"


class Oracle:
    """A library in its own process, which is started again when it ends or does not answer.

    Args:
      python: the interpreter to start.
      module: the module to run, which calls `serve`.
      patience: seconds to wait for an answer; then it is a `TimeoutError`.
      environment: variables of the process beside those of this one.
    """

    def __init__(
        self,
        python: str,
        module: str = "tests.grid.ask",
        patience: float = 120.0,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.python, self.module, self.patience = python, module, patience
        self.environment = {**os.environ, **environment}
        self.environment |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.python, "-m", self.module],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def ask(self, case: Case, mode: str = "answer") -> Answer:
        """The library's answer to a case. The error is `TimeoutError` where there is none in time,
        and `CRASH` where the process ended; both leave a fresh process behind."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(pickle.dumps((*case, mode)))
            if not select.select([self.process.stdout], [], [], self.patience)[0]:
                return self.restarted("TimeoutError")
            size = int.from_bytes(self.read(8), "little")
            leaves, error, traced = pickle.loads(self.read(size))
        except (EOFError, BrokenPipeError):
            return self.restarted(CRASH)
        made = leaves if leaves is None else [x if isinstance(x, str) else Leaf(*x) for x in leaves]
        return Answer(made, error, traced)

    def restarted(self, why: str) -> Answer:
        """An answer that says why there is none, after a new start."""
        self.close()
        self.start()
        return Answer(None, [why], [])

    def read(self, size: int) -> bytes:
        """So many bytes of what the process says."""
        assert self.process.stdout
        parts = b""
        while len(parts) < size:
            some = self.process.stdout.read(size - len(parts))
            if not some:
                raise EOFError("the process of the oracle has ended")
            parts += some
        return parts

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


def jax_python() -> str | None:
    """A Python that has jax, if this machine has one."""
    here = str(ROOT / ".venv-bench/bin/python")
    for python in (os.environ.get("EFFAX_BENCH_JAX"), here, "/work/venv/jax/bin/python"):
        if python and Path(python).exists():
            return python
    return None


Mode = Callable[[Any, Case], Answer]
MODES: dict[str, Mode] = {"answer": answer, "eager": eager, "types": types, "compiled": compiled}


def serve(library: Any, modes: Mapping[str, Mode]) -> None:
    """Answer cases from stdin until it ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed must not mix with answers
    while True:
        try:
            code, given, x64, mode = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        case = Case(code, tuple(Operand(*o) for o in given), x64)
        found = modes[mode](library, case)
        leaves = found.leaves and [x if isinstance(x, str) else tuple(x) for x in found.leaves]
        said = pickle.dumps((leaves if leaves else found.leaves, found.error, found.traced))
        out.write(len(said).to_bytes(8, "little") + said)
        out.flush()


if __name__ == "__main__":
    serve(jax_library(), MODES)
