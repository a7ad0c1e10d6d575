"""The laws of the library asked of the 25 programs of research.md, E3: a table law by program.

python -m tests.laws.e3_matrix prints it. JAX 0.10 gives 828 of 875 true and 47 undefined there.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax.effects import config
from effax.effects.errors import EffaxError
from effax.effects.rows import control, elementwise, shape, transcendental
from effax.effects.tree import tree_leaves
from effax.effects.types import ShapedArray, float64, is_float
from effax.interpreters.stage import stage
from effax.laws.check import hold
from effax.laws.law import LAWS, Case, Law, NotDefined, Violation
from effax.laws.sketch import Sketch, SketchValue, Step
from tests.programs.e3 import PROGRAMS

VECTOR = ShapedArray((5,), float64)


def _sketch(function: Any, types: tuple[ShapedArray, ...], name: str) -> Sketch:
    """A function as a sketch of one step; the arrays that it mentions are written out in it."""
    staged = stage(lambda *xs: tree_leaves(function(*xs)), types, name)
    constants = [np.asarray(x) for x in staged.captured]

    def closed(*xs: Any) -> list[Any]:
        return list(staged.program.run(*map(_written_out, constants), *xs))

    program, n = stage(closed, types, name).program, len(types)
    operands = tuple(SketchValue(i) for i in range(n))
    results = len(program.outputs)
    step = Step(control.call, operands, {"program": program, "name": name}, results)
    return Sketch(types, (step,), tuple(SketchValue(n + i) for i in range(results)), name)


def _written_out(x: Any) -> Any:
    """A small array as its numbers, put together."""
    numbers = [shape.full((1,), v.item(), x.dtype) for v in x.ravel()]
    return shape.reshape(shape.concatenate(*numbers, axis=0), shape=x.shape)


@cache
def sketches(name: str, backwards: bool) -> tuple[Sketch, Sketch, Sketch | None]:
    """The program, one that fits behind it, and the program as a step if it gives what it takes."""
    made = PROGRAMS[name]
    make = made.twin if backwards and name == "while_loop" and made.twin else made.make
    with config.enable_x64(True):
        f = _sketch(make(effax, jnp), (VECTOR,), name)
        types = f.program().out_types
        behind = _sketch(lambda *xs: [_wave(x) for x in xs], tuple(types), "g")
    return f, behind, f if f.types == tuple(types) == (VECTOR,) else None


def _wave(x: Any) -> Any:
    return elementwise.mul(transcendental.sin(x), 0.5) if is_float(x.dtype) else x


def ask(law: Law, name: str, seed: int = 3) -> str | None:
    """Return a law's verdict on a program (true, false or undefined) with the reason, or None."""
    f, g, loop = sketches(name, "no while" in law.needs)
    if "loop" in law.needs and loop is None:
        return None
    case = Case(f, g, loop or f, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hold(law, case)
    except NotDefined:
        return None
    except ValueError:
        if "text" in law.needs:
            return None  # rules are Python functions, which text does not hold
        raise
    except Violation as error:
        return f"false: {error}"
    except EffaxError as error:
        return f"undefined: {error}"
    return "true"


def matrix(laws: Any = None, programs: Any = None) -> dict[tuple[str, str], str]:
    """The verdict of each law on each program that it speaks of."""
    found = {}
    for name in programs or PROGRAMS:
        for law in laws or LAWS.values():
            verdict = ask(law, name)
            if verdict is not None:
                found[law.identifier, name] = verdict
    return found


def main() -> None:
    found = matrix()
    words = [verdict.split(":")[0] for verdict in found.values()]
    for (law, program), verdict in found.items():
        if verdict != "true":
            print(f"{law:40} {program:24} {verdict[:200]}")
    print(", ".join(f"{words.count(w)} {w}" for w in ("true", "false", "undefined")))
    assert np.all([w == "true" for w in words])


if __name__ == "__main__":
    main()
