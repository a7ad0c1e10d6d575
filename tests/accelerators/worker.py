"""One library's compilations for chips that are not there, a line of JSON each.

    python -m tests.accelerators.worker effax|jax [--families ...] [--every N --first I]

`jax` needs a Python that has it beside libtpu and CUDA's plugin; effax is not imported then.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from tests.accelerators.models import Type
from tests.accelerators.public import Program, dtype, library, programs

CHIPS = ("TPU v5e", "H200")
COMPILED, REFUSED, FAILED = "compiled", "refused", "failed"
ALONE = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_LOG_DIR": "disabled",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
_TARGET = re.compile(r'custom_call_target="([^"]+)"')


@attrs.frozen
class Result:
    """The outcome of a program on a chip, "value" or "gradient", and the figures XLA gives."""

    family: str
    name: str
    which: str
    chip: str
    word: str
    why: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    temporaries: int = 0
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.family, self.name, self.which, self.chip


class Worker:
    """Compiles with one library, `import effax as jax`."""

    def __init__(self, package: str, config: str) -> None:
        self.jax = library(package)
        self.config = config
        self.devices = cache(self._devices)
        self.mesh = cache(self._mesh)
        errors = self.jax.errors
        self.refusals: tuple[type[BaseException], ...] = (NotImplementedError,)
        if package == "effax":
            self.refusals += (errors.EffaxError,)

    def _devices(self, chip: str, count: int) -> list[Any]:
        """So many chips of a kind."""
        describe = self.jax.experimental.topologies.get_topology_desc
        if chip == "TPU v5e":
            side = max(2, math.isqrt(count))
            return describe(f"v5e:{side}x{side}", platform="tpu").devices
        hosts = max(1, count // 8)
        shape = f"1x{hosts}x{min(count, 8)}"
        return describe(
            topology_name="", platform="cuda", target_config=self.config, topology=shape
        ).devices

    def _mesh(self, chip: str, shape: tuple[int, int]) -> Any:
        some = np.array(self.devices(chip, math.prod(shape))).reshape(shape)
        return self.jax.sharding.Mesh(some, ("data", "model"))

    def arguments(self, chip: str, program: Program) -> tuple[Any, tuple[Any, ...]]:
        """The mesh, and the types of the arguments where they lie."""
        sharding = self.jax.sharding
        mesh = program.mesh and self.mesh(chip, program.mesh)

        def one(of: Type) -> Any:
            if mesh is None:
                where = sharding.SingleDeviceSharding(self.devices(chip, 1)[0])
            else:
                where = sharding.NamedSharding(mesh, sharding.PartitionSpec(*of.spec))
            return self.jax.ShapeDtypeStruct(of.shape, dtype(of), sharding=where)

        leaf = {"is_leaf": lambda x: isinstance(x, Type)}
        return mesh, self.jax.tree.map(one, program.types, **leaf)

    def gradient(self, program: Program, mesh: Any) -> Callable[..., Any]:
        """The gradient of the results' square sum by all that is inexact.

        Of a plain sum, the compiler would fold the gradient of a linear function to a constant.
        """
        jnp = self.jax.numpy
        function = program.make(self.jax, mesh)
        at = tuple(i for i, t in enumerate(program.types) if jnp.issubdtype(dtype(t), jnp.inexact))

        def total(*args: Any) -> Any:
            found = [y for y in function(*args) if jnp.issubdtype(y.dtype, jnp.inexact)]
            return sum(jnp.sum(jnp.real(y * jnp.conj(y))) for y in found)

        return self.jax.grad(total, at)  # type: ignore[no-any-return]

    def moves(self, program: Program, args: Any) -> bool:
        """Whether some result of a program is inexact."""
        jnp = self.jax.numpy
        found = self.jax.eval_shape(program.make(self.jax, None), *args)
        return any(jnp.issubdtype(y.dtype, jnp.inexact) for y in self.jax.tree.leaves(found))

    def ask(
        self, program: Program, chip: str, which: Sequence[str] = ("value", "gradient")
    ) -> Iterator[Result]:
        """The results of a program on a chip."""
        mesh, args = self.arguments(chip, program)
        if "value" in which:
            yield self.compile(program, "value", chip, program.make(self.jax, mesh), args)
        inexact = [self.jax.numpy.issubdtype(dtype(t), np.inexact) for t in leaves(program.types)]
        if "gradient" in which and program.derived and any(inexact):
            try:
                if not self.moves(program, args):
                    return
                self.jax.eval_shape(self.gradient(program, mesh), *args)
            except Exception:  # no derivative; whether there should be one is asked elsewhere
                return
            yield self.compile(program, "gradient", chip, self.gradient(program, mesh), args)

    def compile(self, program: Program, which: str, chip: str, function: Any, args: Any) -> Result:
        about = (program.family, program.name, which, chip)
        start = time.perf_counter()
        try:
            lowered = self.jax.jit(function).lower(*args)
        except Exception as error:
            word = REFUSED if isinstance(error, self.refusals) else FAILED
            return Result(*about, word, said(error))
        try:
            compiled = lowered.compile()
        except Exception as error:
            return Result(*about, FAILED, said(error))
        raw = compiled.runtime_executable()
        seconds = time.perf_counter() - start
        flops, moved = costs(raw)
        temporaries = raw.get_compiled_memory_stats().temp_size_in_bytes
        targets = set(_TARGET.findall(raw.hlo_modules()[0].to_string()))
        foreign = sorted(t for t in targets if t.startswith(("lapack_", "cpu_")))
        if foreign:
            return Result(*about, FAILED, f"calls of the CPU's: {foreign}")
        return Result(*about, COMPILED, "", flops, moved, temporaries, seconds)


def report(x: Result) -> str:
    """The program, the chip and which of the two."""
    return f"{x.chip}: {x.which} of {x.name}"


def said(error: Exception) -> str:
    """The first line of what an error says."""
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[0]}"[:300]


def leaves(types: Any) -> list[Type]:
    """The types in nested lists, tuples and dicts."""
    if isinstance(types, Type):
        return [types]
    inside = types.values() if isinstance(types, dict) else types
    return [x for y in inside for x in leaves(y)]


@cache
def counter() -> Any:
    """A client that counts the operations of a GPU's program, whose own makes no estimates."""
    from jaxlib import xla_client

    return xla_client.make_cpu_client()


def costs(raw: Any) -> tuple[float, float]:
    """Floating-point operations, and bytes read and written."""
    from jaxlib import _jax

    try:
        found = raw.cost_analysis()
    except _jax.JaxRuntimeError:
        found = _jax.hlo_module_cost_analysis(counter(), raw.hlo_modules()[0])
    return found.get("flops", 0.0), found.get("bytes accessed", 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.accelerators.worker")
    parser.add_argument("package", choices=["effax", "jax"])
    parser.add_argument("--config", required=True, help="the GPU's `GpuTargetConfigProto`")
    parser.add_argument("--families", nargs="*")
    parser.add_argument("--only", help="a part of a program's name")
    parser.add_argument("--known", type=Path, help="a file of results that are not asked again")
    parser.add_argument("--chips", nargs="*", default=CHIPS)
    parser.add_argument("--which", nargs="*", default=["value", "gradient"])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    for name, value in ALONE.items():
        os.environ.setdefault(name, value)
    warnings.simplefilter("ignore")
    worker = Worker(given.package, given.config)
    chosen = programs(given.families)
    chosen = [x for x in chosen if not given.only or given.only in x.name]
    if given.known and given.known.exists():
        lines = given.known.read_text(encoding="utf-8").splitlines()
        known = {tuple(json.loads(line)[:2]) for line in lines}
        chosen = [x for x in chosen if (x.family, x.name) not in known]
    if given.families:
        chosen.sort(key=lambda x: given.families.index(x.family))
    for program in chosen[given.first % given.every :: given.every]:
        for chip in given.chips:
            for result in worker.ask(program, chip, given.which):
                print(json.dumps(attrs.astuple(result)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
