"""The cost of performing an effect, by the number of handlers on the stack.

Prints claim, measurement and verdict. Calls of Python functions are counted, which is exact; the
times beside them are the least of several repeats.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import extend
from effax.effects.contexts import put
from effax.effects.handler import current
from effax.interpreters.jvp.dual import JVP

DEPTHS = (1, 2, 4, 8, 16, 32, 64)

tick = extend.Effect("tick_of_the_paper", family="paper", typing=lambda x: x)


class Token(extend.Carrier):
    """A carrier that a counter owns; its rank is the place of its handler in the stack."""

    __slots__ = ("rank",)

    type = extend.typeof(np.float32(0))

    def __init__(self, handler: Any, rank: int) -> None:
        self.handler = handler
        self.rank = rank


class Counter(extend.Handler):
    """A tail-resumptive handler: it answers with the count, and keeps no continuation."""

    __slots__ = ("count",)

    carrier = Token

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.count = 0

    def handle(self, effect: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> int:
        """One more."""
        self.count += 1
        return self.count


def by_evidence(effect: Any, *operands: Any, **attributes: Any) -> Any:
    """The same answer without the walk: carriers are the evidence, for they know their handler.

    Of several the innermost handler answers, as it does when the stack is walked.
    """
    owner = max((x for x in operands if isinstance(x, Token)), key=lambda x: x.rank).handler
    token = put(current, owner.outer)
    try:
        return owner.handle(effect, operands, attributes)
    finally:
        current.reset(token)


def entered(f: Callable[..., Any], *args: Any) -> int:
    """Count the Python functions that a call enters."""
    calls = 0

    def seen(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(seen)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return calls - 1


def nanoseconds(f: Callable[..., Any], *args: Any, number: int) -> float:
    """The time of a call."""
    timer = timeit.Timer(lambda: f(*args))
    return 1e9 * min(timer.repeat(5, number)) / number


def measured(
    f: Callable[..., Any], below: bool, between: type, number: int
) -> tuple[list[int], list[float]]:
    """Calls and times for each depth: `between` are handlers under the owner, or else over it."""
    counts, times = [], []
    for depth in DEPTHS:
        with ExitStack() as stack:
            others = range(depth - 1)
            if below:
                for _ in others:
                    stack.enter_context(between().installed())
            owner = stack.enter_context(Counter().installed())
            if not below:
                for _ in others:
                    stack.enter_context(between().installed())
            x = Token(owner, depth if below else 1)
            assert f(tick, x) == 1 and owner.count == 1
            counts.append(entered(f, tick, x))
            times.append(nanoseconds(f, tick, x, number=number))
    return counts, times


def walked(effect: Any, *operands: Any) -> Any:
    """Perform, as effects are."""
    return effect(*operands)


def told(counts: list[int], times: list[float]) -> str:
    """The measurement in words."""
    slope = np.polyfit(DEPTHS, times, 1)[0]
    return (
        f"calls {', '.join(map(str, counts))}; ns {', '.join(f'{t:.0f}' for t in times)} "
        f"at depths {', '.join(map(str, DEPTHS))}; {slope:.1f} ns for each handler more"
    )


def agree() -> bool:
    """Whether both ways ask the same handler, for all pairs of owners in a stack of four."""
    with ExitStack() as stack:
        owners = [stack.enter_context(Counter().installed()) for _ in range(4)]
        asked = []
        for way in (walked, by_evidence):
            for i, one in enumerate(owners):
                for j, other in enumerate(owners):
                    before = [h.count for h in owners]
                    way(tick, Token(one, i), Token(other, j))
                    asked.append([h.count - b for h, b in zip(owners, before, strict=True)])
    return asked[:16] == asked[16:]


def equations(depth: int) -> str:
    """The program of a function that is staged under handlers which own nothing of it."""
    with ExitStack() as stack:
        for _ in range(depth):
            stack.enter_context(JVP().installed())
        return str(effax.make_program(lambda x: jnp.sin(x) * x)(np.float32(2)))


def rows(number: int = 2000) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    counts, times = measured(walked, True, Counter, number)
    yield (
        "handlers outside the one that answers cost nothing",
        told(counts, times),
        len(set(counts)) == 1,
    )
    for name, between in (("handlers", Counter), ("handlers of jvp", JVP)):
        counts, times = measured(walked, False, between, number)
        yield (
            f"nor do {name} inside it that own no operand",
            f"{told(counts, times)}: the stack is walked, one call for each",
            len(set(counts)) == 1,
        )
    counts, times = measured(by_evidence, False, Counter, number)
    yield (
        "with evidence, the handler that a carrier holds, they would not",
        told(counts, times),
        len(set(counts)) == 1,
    )
    yield (
        "and the same handler would answer",
        "16 pairs of operands, owned anywhere in a stack of four",
        agree(),
    )
    yield (
        "nothing of the stack is left in a staged program",
        "the program staged under 64 handlers is that staged under none",
        equations(0) == equations(64),
    )


VERDICTS = (True, False, False, True, True, True)
"""The README's verdicts on each claim."""


def main() -> int:
    """Print the table; 1 if a verdict is not that of the README."""
    results = list(rows(20000 if "--large" in sys.argv else 2000))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  not reproduced: evidence vectors for effects without operands; and time in Koka")
    return 0 if tuple(holds for *_, holds in results) == VERDICTS else 1


if __name__ == "__main__":
    raise SystemExit(main())
