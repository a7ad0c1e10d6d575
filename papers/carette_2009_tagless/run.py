"""One text, many meanings: an object language by functions, with no tags left when it is staged.

Prints claim, measurement and verdict.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax
from effax.extend import effects, traits

# ------------------------------------------------------------------ the texts, written once


def power(x: Any, n: int) -> Any:
    """The paper's example: n is known to Python, x is not."""
    return 1.0 if n == 0 else x * power(x, n - 1)


def gib(n: int, x: Any, y: Any) -> Any:
    """Gibonacci: as Fibonacci, from any two numbers."""
    return x if n == 0 else gib(n - 1, y, x + y)


def loop(x: Any) -> Any:
    """With a loop and a branch of the object language."""
    x = lax.fori_loop(0, 3, lambda i, c: c * x + 1.0, x)
    return lax.cond(x > 2.0, lambda y: y * y, lambda y: -y, x)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "power 7": lambda x: power(x, 7),
    "gib 10": lambda x: gib(10, x, x),
    "loop": loop,
}

# ----------------------------------------------------------------------- meanings, as handlers


class Size(effax.Interpreter):
    """The size of the term that a value is: one more than its parts have."""

    value: effax.extend.Leaf
    size: effax.extend.Leaf(dtype="int32")  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]

    @classmethod
    def lift(cls, value: Any) -> Any:
        return cls(value, jnp.ones(jnp.shape(value), "int32"))


@Size.default
def size_of(effect: Any, *xs: Any, **how: Any) -> Any:
    """One for the effect, and the sizes of its operands."""
    y = effect(*(x.value for x in xs), **how)
    return Size(y, 1 + sum(x.size for x in xs) + jnp.zeros(jnp.shape(y), "int32"))


@Size.rule(*traits.comparing)
def size_of_choice(*xs: Any, effect: Any) -> Any:
    """A predicate is plain."""
    return effect(*(x.value for x in xs))


class Text(effax.Interpreter):
    """The term itself, as text."""

    value: effax.extend.Leaf
    text: effax.extend.Static

    @classmethod
    def lift(cls, value: Any) -> Any:
        known = not isinstance(value, effax.extend.Carrier) and not jnp.shape(value)
        return cls(value, f"{float(value):g}" if known else "?")

    @classmethod
    def join_static(cls, name: str, one: str, other: str) -> str:
        return one if one == other else "?"


@Text.default
def text_of(effect: Any, *xs: Any, **how: Any) -> Any:
    """The name of the effect, before its operands."""
    y = effect(*(x.value for x in xs), **how)
    return Text(y, f"{effect.name}({', '.join(x.text for x in xs)})")


class Known(effax.Interpreter):
    """Partial evaluation: what is known is a number of Python's, and one is not multiplied by."""

    value: effax.extend.Leaf


@Known.rule(effects.mul, lift=False)
def known_product(x: Any, y: Any) -> Any:
    """One is the identity."""
    for one, other in ((x, y), (y, x)):
        if type(one) in (int, float) and one == 1:
            return other
    return Known(effects.mul(*(z.value if isinstance(z, Known) else z for z in (x, y))))


@Known.default
def known_otherwise(effect: Any, *xs: Any, **how: Any) -> Any:
    """Everything else happens."""
    return Known(effect(*(x.value for x in xs), **how))


def text(f: Callable[[Any], Any]) -> str:
    """A program as text."""
    found = Text.transform(f)(Text(jnp.float32(2), "x"))
    return str(found.text)


def evaluated(f: Callable[[Any], Any], x: float) -> float:
    """By the compiler, one effect after the other."""
    return float(f(jnp.float32(x)))


def defined(f: Callable[[Any], Any], x: float) -> float:
    """By the reference, which is NumPy."""
    from effax.backends.reference.evaluate import evaluate_program

    program = effax.make_program(f)(jnp.float32(x))
    return float(evaluate_program(program, np.float32(x))[0])


def operations(f: Callable[[Any], Any]) -> Counter[str]:
    """Count each effect in the staged program."""
    return Counter(e.effect.name for e in effax.make_program(f)(jnp.float32(2)).equations)


def seconds(f: Callable[[Any], Any], x: Any) -> float:
    """The least time of a call."""
    effax.block_until_ready(f(x))
    times = []
    for _ in range(30):
        start = time.perf_counter()
        effax.block_until_ready(f(x))
        times.append(time.perf_counter() - start)
    return min(times)


def rows() -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    by_python = {"power 7": 128.0, "gib 10": 2.0 * 89, "loop": ((2 * 2 + 1) * 2 + 1) * 2 + 1}
    by_python["loop"] = by_python["loop"] ** 2
    numbers = {n: (evaluated(f, 2.0), defined(f, 2.0)) for n, f in TEXTS.items()}
    yield (
        "one text is evaluated by different interpreters, to the same numbers",
        f"compiler and reference: {numbers}",
        all(set(pair) == {by_python[n]} for n, pair in numbers.items()),
    )
    sizes = {
        n: int(Size.transform(f)(Size(jnp.float32(2), jnp.int32(1))).size) for n, f in TEXTS.items()
    }
    yield (
        "the same text has a size: the paper's L",
        f"{sizes}; 7 products of x and a one make 15",
        sizes["power 7"] == 15 and all(s > 1 for s in sizes.values()),
    )
    shown = text(TEXTS["power 7"])
    yield (
        "and it is printed",
        shown,
        shown == "mul(x, " * 7 + "1" + ")" * 7,
    )
    staged = operations(TEXTS["power 7"])
    yield (
        "staged power has no interpretive operations: no test of n, no call, no tag",
        f"{dict(staged)}",
        staged == {"mul": 7},
    )
    partly = operations(lambda x: Known.transform(TEXTS["power 7"])(Known(x)).value)
    yield (
        "a partial evaluator that knows that 1 is the identity of products leaves 6",
        f"{dict(partly)}",
        partly == {"mul": 6},
    )
    inner = lambda x: Known.transform(TEXTS["power 7"])(Known(x)).value  # noqa: E731
    nested = int(Size.transform(inner)(Size(jnp.float32(2), jnp.int32(1))).size)
    yield (
        "interpreters compose: the size of what is partially evaluated",
        f"{nested}: 6 products of 7 variables",
        nested == 13,
    )
    x = jnp.float32(1.01)
    slow, fast = seconds(lambda x: power(x, 50), x), seconds(effax.jit(lambda x: power(x, 50)), x)
    yield (
        "so the staged program costs what the products do, not what the interpreter does",
        f"power 50: {slow * 1e6:.0f} us one by one, {fast * 1e6:.0f} us staged",
        fast < slow,
    )
    refused = []
    for wrong in (lambda x: jnp.float32(1) + "x", lambda x: lax.cond(x, jnp.sin, jnp.cos, x + "")):
        try:
            effax.make_program(wrong)(jnp.float32(2))
        except TypeError as error:
            refused.append(str(error).splitlines()[0])
    yield (
        "what is not well typed has no meaning under any interpreter",
        f"{len(refused)} of 2 texts are refused when staged",
        len(refused) == 2,
    )


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        "NOTE  not reproduced: typing by the host (Python checks when it runs), functions as values "
        "of the object language, call by name and CPS interpreters"
    )
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
