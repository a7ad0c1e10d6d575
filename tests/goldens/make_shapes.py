"""Writes shapes.json: what JAX says to functions of two arrays of any shapes, fitting or not.

    python -m tests.goldens.make_shapes [name ...]    (from the root)

Run by effax's Python; jax is asked for types in the process that EFFAX_BENCH_JAX names. Of each
function: the type of its result for every pair of `SHAPES`, "" where JAX refuses, and "?" where it
can't be traced. Functions that take no pair are left out.
"""

import json
import sys

from tests.fuzz.judge import CONCRETE
from tests.fuzz.run import tables
from tests.grid.ask import ROOT, Oracle, jax_python
from tests.grid.case import Case, Operand

PATH = ROOT / "tests/goldens/shapes.json"
SHAPES = [(), (0,), (1,), (3,), (3, 3), (2, 3), (3, 0), (2, 1, 3), (1, 2, 3, 3)]
PAIRS = [(left, right) for left in SHAPES for right in SHAPES]
LIKELY = [((), ()), ((3,), (3,)), ((3, 3), (3, 3)), ((3, 3), (3,)), ((3,), (2, 3))]
MODULES = ("jnp.", "lax.", "nn.", "jsp.", "jax.image.", "jax.ops.")


def case(name: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float32") -> Case:
    return Case(f"{name}(a, b)", (Operand(dtype, left), Operand(dtype, right, seed=1)))


def said(oracle: Oracle, asked: Case) -> str:
    """A line of JAX's answer."""
    found = oracle.ask(asked, "types")
    if found.leaves is None:
        return "?" if found.error[0] in CONCRETE else ""
    return "; ".join(str(x) for x in found.leaves)


def main() -> None:
    python = jax_python()
    if python is None:
        raise SystemExit("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    oracle = Oracle(python)
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    for name in tables():
        if not name.startswith(MODULES) or " " in name or (name in known and name not in sys.argv):
            continue
        if any(said(oracle, case(name, *pair)) not in ("", "?") for pair in LIKELY):
            known[name] = [said(oracle, case(name, *pair)) for pair in PAIRS]
            lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in known.items())
            PATH.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    oracle.close()
    print(len(known), "functions")


if __name__ == "__main__":
    main()
