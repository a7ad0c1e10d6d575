"""Programs that both libraries can compile: the public surface, written with JAX's names.

Nothing here imports effax, so that a process with JAX alone reads it too.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from tests.accelerators import models, spread
from tests.accelerators.models import Type
from tests.accelerators.table import TABLE
from tests.grid.case import Case, Operand, dtype_of

DTYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "i32": "int32",
    "i8": "int8",
    "u8": "uint8",
    "u32": "uint32",
    "c64": "complex64",
    "bool": "bool",
    "key": "key",
}
NARROW = {"float64": "float32", "complex128": "complex64", "int64": "int32", "uint64": "uint32"}
LANES = 512
MODULES = {"jnp": "numpy", "lax": "lax", "nn": "nn", "jsp": "scipy", "random": "random"}
ALSO = ["lax.linalg", "nn.initializers", "image", "ops", "tree", "sharding", "debug"]
ALSO += ["experimental", "experimental.ode", "experimental.topologies", "scipy.cluster.vq"]
ALSO += ["scipy.fft", "scipy.integrate", "scipy.linalg", "scipy.ndimage", "scipy.signal"]
ALSO += ["scipy.sparse.linalg", "scipy.spatial.transform", "scipy.special", "scipy.stats"]
GOLDENS = Path(__file__).parents[1] / "goldens"
SCALED = ("numpy", "lax_elements", "lax_folds", "lax_shapes", "matrices", "nn", "random")
SCALED += ("scipy", "special", "stats")
"""The files of the grid whose cases are programs of arrays."""


@attrs.frozen
class Program:
    """A program that a library makes: `make(jax, mesh)` is a function of arguments of `types`."""

    family: str
    name: str
    make: Callable[[Any, Any], Callable[..., Any]]
    types: tuple[Any, ...]
    mesh: tuple[int, int] | None = None
    derived: bool = True
    """Whether a gradient is asked for too."""


def library(package: str) -> Any:
    """effax or jax, with the modules that programs name."""
    for module in (*MODULES.values(), *ALSO):
        importlib.import_module(f"{package}.{module}")
    return importlib.import_module(package)


def names(jax: Any) -> dict[str, Any]:
    """Return the names that the code of a line may mention."""
    found = {name: getattr(jax, module) for name, module in MODULES.items()}
    return {"jax": jax, "np": np, **found, **models.functions(jax)}


def _type(text: str) -> Type:
    match = re.fullmatch(r"(\w+)\[([\d,]*)\]", text)
    assert match, text
    dtype, sizes = match.groups()
    return Type(DTYPES[dtype], tuple(int(n) for n in sizes.split(",") if n))


def table() -> Iterator[Program]:
    """The lines of the table."""
    for paragraph in TABLE.strip().split("\n\n"):
        family, *lines = paragraph.splitlines()
        for line in lines:
            code, _, operands = line.rpartition(" | ")
            yield _line(family, line, code, tuple(map(_type, operands.split())))


def _line(family: str, name: str, code: str, types: tuple[Type, ...]) -> Program:
    letters = ", ".join("abcdefgh"[: len(types)])

    def make(jax: Any, mesh: Any) -> Callable[..., Any]:
        function = eval(f"lambda {letters}: ({code})", names(jax))

        def call(*given: Any) -> Any:
            keyed = [
                jax.random.wrap_key_data(x) if t.dtype == "key" else x
                for x, t in zip(given, types, strict=True)
            ]
            return arrays(jax, function(*keyed))

        return call

    real = tuple(Type("uint32", (2,)) if t.dtype == "key" else t for t in types)
    return Program(family, name, make, real)


def arrays(jax: Any, tree: Any) -> list[Any]:
    """The arrays among the results; of keys their words."""
    found = [x for x in jax.tree.leaves(tree) if hasattr(x, "dtype") and hasattr(x, "shape")]
    dtypes = jax.dtypes
    return [
        jax.random.key_data(x) if jax.numpy.issubdtype(x.dtype, dtypes.prng_key) else x
        for x in found
    ]


def grid() -> Iterator[Program]:
    """A recorded case of each public function, in 32 bits, over as many lanes by `vmap`."""
    for part in SCALED:
        chosen: dict[str, Case] = {}
        recorded = json.loads((GOLDENS / f"grid_{part}.json").read_text(encoding="utf-8"))
        for name, parts, leaves, _, traced, _ in recorded:
            case = Case.make(parts)
            if leaves is not None and not traced and _better(case, chosen.get(name)):
                chosen[name] = case
        for name, case in chosen.items():
            yield _lanes(part, name, case)


def _better(case: Case, than: Case | None) -> bool:
    """Whether a case says more: of arrays, of floats, with more elements."""

    def worth(c: Case) -> tuple[Any, ...]:
        mapped = [o for o in c.operands if o.form != "list" and o.form != "scalar"]
        empty = any(0 in o.shape for o in c.operands)
        wide = sum(NARROW.get(o.dtype, o.dtype) == "float32" for o in mapped)
        return bool(mapped), not empty, wide, sum(int(np.prod(o.shape)) for o in mapped)

    return bool(worth(case)[0]) and (than is None or worth(case) > worth(than))


def _lanes(part: str, name: str, case: Case) -> Program:
    narrow = [o._replace(dtype=NARROW.get(o.dtype, o.dtype)) for o in case.operands]
    mapped = [o.form not in ("list", "scalar") for o in narrow]

    def make(jax: Any, mesh: Any) -> Callable[..., Any]:
        function = case.function(names(jax))

        def lane(*given: Any) -> Any:
            rest = iter(given)
            every = zip(narrow, mapped, strict=True)
            return arrays(jax, function(*(next(rest) if m else _plain(o) for o, m in every)))

        return jax.vmap(lane)

    types = tuple(
        Type(o.dtype, (LANES, *o.shape)) for o, m in zip(narrow, mapped, strict=True) if m
    )
    return Program(f"grid: {part}", f"{name}: {case.code}", make, types)


def _plain(operand: Operand) -> Any:
    """A Python scalar or a list."""
    return np.asarray(operand.numpy()).tolist()


def training() -> Iterator[Program]:
    for name, (make, types) in models.TRAINING.items():
        yield Program("training steps", name, _without_mesh(make), tuple(types), derived=False)


def _without_mesh(make: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda jax, mesh: make(jax)


def collectives() -> Iterator[Program]:
    for rows, columns in ((2, 2), (16, 16)):
        for name, (make, types) in spread.programs(rows, columns).items():
            family = f"over {rows * columns} chips"
            yield Program(family, name, make, tuple(types), (rows, columns), derived=False)


def programs(families: Sequence[str] = ()) -> list[Program]:
    """The programs of some families; without families all but the grid's thousand."""
    found = [*table(), *training(), *collectives()]
    if any(name.startswith("grid: ") for name in families):
        found += grid()
    return [x for x in found if not families or x.family in families]


def dtype(of: Type) -> Any:
    return dtype_of(of.dtype)
