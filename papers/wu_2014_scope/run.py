"""Operations that have a scope, elaborated once: loops and branches under any handler.

Prints claim, measurement and verdict.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax
from effax.extend import effects, traits
from effax.interpreters.functor import lifting

ROOT = Path(__file__).resolve().parents[2]
TRANSFORMS = ROOT / "examples" / "transforms"
sys.path.insert(0, str(TRANSFORMS))
from lines import code_lines  # noqa: E402

SCOPED = ("call", "remat", "cond", "while_loop", "scan", "custom_jvp_call", "custom_vjp_call")

# --------------------------------------------------------------- two handlers, new on this page


class Dual(effax.Interpreter):
    """A value and how it moves."""

    primal: effax.extend.Leaf
    tangent: effax.extend.Leaf

    @classmethod
    def lift(cls, value: Any) -> Any:
        return cls(value, jnp.zeros_like(value))


@Dual.default
def moved(effect: Any, *xs: Any, **how: Any) -> Any:
    """By the derivative of the effect."""
    found = effax.jvp(partial(effect, **how), [x.primal for x in xs], [x.tangent for x in xs])
    return [Dual(*pair) for pair in zip(*found, strict=True)] if effect.multiple else Dual(*found)


@Dual.rule(*traits.discrete)
def decided(*xs: Any, effect: Any, **how: Any) -> Any:
    """Predicates don't move."""
    return effect(*(x.primal for x in xs), **how)


class Products(effax.Interpreter, every=True):
    """Count the products of scalars."""

    count: effax.extend.State = 0


@Products.rule(effects.mul)
def counted(x: Any, y: Any, *, state: Any) -> Any:
    """One more for each element."""
    state.count = state.count + max(jnp.size(x), jnp.size(y))
    return effects.mul(x, y)


# ---------------------------------------------------------------------------------- programs


def scanned(x: Any) -> Any:
    """A loop of known length."""
    return lax.scan(lambda c, a: (jnp.sin(c) * a, c * a), x[0], x)[1]


def branched(x: Any) -> Any:
    """A branch."""
    return lax.cond(jnp.sum(x) > 0, lambda y: y * y, lambda y: y * y * y, x)


def doubled(x: Any) -> Any:
    """A loop of unknown length."""
    return lax.while_loop(lambda c: jnp.sum(c * c) < 100, lambda c: 1.5 * c + 0.1, x)


def nested(x: Any) -> Any:
    """A branch in a loop in a call."""

    def step(c: Any, a: Any) -> Any:
        c = lax.cond(a > 0, lambda z: z * a, lambda z: z + a, c)
        return c, c

    return effax.jit(lambda x: lax.scan(step, 1.0, x)[0] * x)(x)


def flat_scanned(x: Any) -> Any:
    """The same, in Python."""
    c, ys = x[0], []
    for i in range(x.shape[0]):
        ys.append(c * x[i])
        c = jnp.sin(c) * x[i]
    return jnp.stack(ys)


def flat_branched(x: Any) -> Any:
    """The same, at points whose sum is positive."""
    return x * x


def flat_doubled(x: Any) -> Any:
    """The same, as many steps as the point takes."""
    for _ in range(steps(x)):
        x = 1.5 * x + 0.1
    return x


def steps(x: Any) -> int:
    """Count the steps that `doubled` takes."""
    y, n = np.asarray(X), 0
    while np.sum(y * y) < 100:
        y, n = 1.5 * y + 0.1, n + 1
    return n


def flat_nested(x: Any) -> Any:
    """The same, at X."""
    c = 1.0
    for i, a in enumerate(X):
        c = c * x[i] if a > 0 else c + x[i]
    return c * x


X = np.array([0.7, -1.1, 0.4, 1.6])
V = np.array([1.0, 0.5, -2.0, 0.25])
PROGRAMS = {
    scanned: flat_scanned,
    branched: flat_branched,
    doubled: flat_doubled,
    nested: flat_nested,
}


def code(path: Path, *names: str) -> int:
    """Count the code lines of some functions and classes of a file, with their decorators."""
    source, total = path.read_text(encoding="utf-8"), 0
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            decorators = sum((d.end_lineno or d.lineno) - d.lineno + 1 for d in node.decorator_list)
            total += decorators + code_lines(ast.get_source_segment(source, node) or "")
    return total


def own_rules(path: Path) -> tuple[list[str], int]:
    """The scoped operations that a transform has rules of its own for, and their code lines."""
    scopes, lines = [], 0
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        asked = node.decorator_list if isinstance(node, ast.FunctionDef) else [node]
        names = [n.attr for a in asked for n in ast.walk(a) if isinstance(n, ast.Attribute)]
        found = [n for n in names if n in SCOPED]
        if isinstance(node, ast.FunctionDef) and found:
            scopes, lines = scopes + found, lines + code(path, node.name)
        elif isinstance(node, ast.Expr) and "unsure" in names:
            scopes, lines = [*scopes, "cond", "while_loop"], lines + 1
    return scopes, lines


def rows() -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    with effax.enable_x64(True):
        yield from _rows()


def _rows() -> Iterator[tuple[str, str, bool]]:
    here, functor = Path(__file__), Path(lifting.__file__ or "")
    once = code(functor, "lift", "_lift", "lift_call", "lift_cond", "lift_while", "lift_scan")
    new = code(here, "Dual", "moved", "decided"), code(here, "Products", "counted")
    yield (
        "the scopes are elaborated in one place, and a new handler has no line about them",
        f"call, cond, while, scan: {once} lines, once; dual numbers {new[0]} lines and counting "
        f"products {new[1]}, none about scopes",
        once < 300 and not own_rules(here)[0],
    )
    off = []
    for f, flat in PROGRAMS.items():
        found, wanted = (Dual.transform(g)(Dual(X, V)) for g in (f, flat))
        truth = effax.jvp(flat, (jnp.asarray(X),), (jnp.asarray(V),))
        for pair, other in zip((found, wanted), (truth, truth), strict=True):
            off.append(np.max(np.abs(np.asarray(pair.primal) - other[0])))
            off.append(np.max(np.abs(np.asarray(pair.tangent) - other[1])))
    yield (
        "under it a program with scopes means what it means written out",
        f"dual numbers: {len(PROGRAMS)} programs, largest difference {max(off):.0e}",
        max(off) < 1e-9,
    )
    counts = {
        f.__name__: tuple(int(Products.transform(g)(jnp.asarray(X))[1]["count"]) for g in (f, flat))
        for f, flat in PROGRAMS.items()
    }
    # The test of the loop is a product too, made once more than the body.
    counts["doubled"] = (counts["doubled"][0] - 4 * (steps(X) + 1), counts["doubled"][1])
    yield (
        "what a handler keeps is threaded through scopes: one count per step, of one branch",
        f"products with scopes and written out: {counts}",
        all(a == b for a, b in counts.values()),
    )
    table = {path.stem: own_rules(path) for path in sorted(TRANSFORMS.glob("*.py"))}
    table.pop("lines", None)
    free = [name for name, (names, _) in table.items() if not names]
    other = {name: f"{', '.join(n)}: {k} lines" for name, (n, k) in table.items() if n}
    yield (
        "so most transforms of examples/ have none either; others where the meaning differs",
        f"none: {', '.join(free)}; own: {other}",
        len(free) >= 6,
    )
    order = [
        Dual.transform(effax.jit(scanned))(Dual(X, V)).tangent,
        effax.jit(lambda x, v: Dual.transform(scanned)(Dual(x, v)).tangent)(X, V),
        effax.vmap(lambda x, v: Dual.transform(scanned)(Dual(x, v)).tangent)(X[None], V[None])[0],
        Products.transform(lambda x: Dual.transform(scanned)(Dual(x, V)).tangent)(X)[0],
    ]
    yield (
        "handlers under and over one another go through the same scopes",
        "dual numbers over jit, under jit, under vmap, under counting: the same numbers",
        all(np.allclose(order[0], x) for x in order[1:]),
    )
    yield _escape()


def _escape() -> tuple[str, str, bool]:
    kept: list[Any] = []

    def leaks(x: Any) -> Any:
        def step(c: Any, a: Any) -> Any:
            kept.append(c)
            return c * a, c

        lax.scan(step, x[0], x)
        return kept[-1] * 2.0

    try:
        effax.jit(leaks)(X)
    except effax.errors.UnexpectedTracerError as error:
        return ("what belongs to a scope does not leave it", str(error).splitlines()[0][:90], True)
    return ("what belongs to a scope does not leave it", "it left", False)


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        "NOTE  not reproduced: syntax that marks where a scope begins and ends, and `catch` and `once`; "
        "continuations are not captured here"
    )
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
