"""Symbolic lengths compared, bounded and printed: JAX's recorded answers, and their meaning.

An order that JAX decides is decided in the same way; where JAX can't tell, effax may know more,
and what it says holds for all lengths tried that satisfy the constraints.
"""

import itertools
import json
import random
import time

import pytest

import effax
from effax import core, export
from effax.errors import InconclusiveDimensionOperation
from effax.export import SymbolicScope, symbolic_shape
from tests.goldens.make_lengths import PATH, PRINTED, REFUSED, SCOPES, answers

UNKNOWN = "InconclusiveDimensionOperation"
JAX = json.loads(PATH.read_text(encoding="utf-8"))
INFINITY = float("inf")


def bounds(x):
    return (
        list(map(float, x.scope.facts.bounds(x))) if export.is_symbolic_dim(x) else [float(x)] * 2
    )


@pytest.fixture(scope="module")
def ours():
    return answers(symbolic_shape, core.max_dim, core.min_dim, bounds)


@pytest.mark.parametrize(("kind", "asked"), [("printed", PRINTED), ("refused", REFUSED)])
def test_texts_are_read_and_printed_as_by_jax(ours, kind, asked):
    assert dict(zip(map(str, asked), ours[kind], strict=True)) == dict(
        zip(map(str, asked), JAX[kind], strict=True)
    )


def test_operations_end_as_in_jax(ours):
    assert ours["other"] == JAX["other"]


@pytest.mark.parametrize("i", range(len(SCOPES)))
def test_what_jax_knows_is_known(ours, i):
    expressions = SCOPES[i][2]
    mine, theirs = ours["scopes"][i], JAX["scopes"][i]
    assert mine["text"] == theirs["text"]
    assert mine["compared"] == theirs["compared"]
    inf = {"inf": INFINITY}
    for e, x, y in zip(expressions, mine["bounds"], theirs["bounds"], strict=True):
        (low, high), (jax_low, jax_high) = eval(x, inf), eval(y, inf)
        assert jax_low <= low <= high <= jax_high, e
    for order in ("at least", "less", "greater", "at most"):
        for row, jax_row in zip(mine[order], theirs[order], strict=True):
            for x, y in zip(row, jax_row, strict=True):
                assert x == y or y == UNKNOWN


@pytest.mark.parametrize("i", range(len(SCOPES)))
def test_what_is_known_is_true(i):
    """Each decision and each bound holds for small lengths that satisfy the constraints."""
    names, constraints, expressions = SCOPES[i]
    names = sorted({*names.split(", "), *("m" for c in constraints if "m >=" in c)})
    scope = SymbolicScope(constraints)
    lengths = symbolic_shape(", ".join(names), scope=scope)
    known = dict(zip(names, lengths, strict=True), hi=core.max_dim, lo=core.min_dim)
    values = [eval(e, known) for e in expressions]
    tried = 0
    pool = range(1, 17) if len(names) < 4 else (1, 2, 4, 5, 6, 7, 8, 12, 13, 14)
    for numbers in itertools.product(pool, repeat=len(names)):
        found = dict(zip(names, numbers, strict=True))
        if not scope.allows(found):
            continue
        tried += 1
        try:
            exact = [eval(e, {**found, "hi": max, "lo": min}) for e in expressions]
        except ZeroDivisionError:
            continue
        for e, x, n in zip(expressions, values, exact, strict=True):
            low, high = bounds(x)
            assert low <= n <= high, (e, found)
            assert not export.is_symbolic_dim(x) or x.value(found) == n, (e, found)
    assert tried


def test_bounds_of_random_expressions_hold():
    draw = random.Random(0)

    def expression(depth):
        if not depth:
            return draw.choice(["a", "b", "c", str(draw.randrange(1, 9))])
        left, right = expression(depth - 1), expression(draw.randrange(depth))
        k = draw.choice([-3, -2, 2, 3, 4])
        return draw.choice(
            [
                f"({left} + {right})",
                f"({left} - {k}*{right})",
                f"floordiv({left}, {k})",
                f"mod({left}, {k})",
                f"max({left}, {right})",
                f"min({left}, {right})",
                f"({left} * {right})",
            ]
        )

    meaning = {"max": max, "min": min, "mod": lambda x, k: x % k, "floordiv": lambda x, k: x // k}
    samples = list(itertools.product((1, 2, 3, 5, 8, 13), repeat=3))
    for _ in range(120):
        sides = [expression(2) for _ in range(2)]
        constraint = f"{expression(1)} >= {expression(1)}"
        texts = [f"{side} {sign} {k}" for side in sides for sign, k in (("+", 0), ("-", 1))]
        try:
            scope = SymbolicScope([constraint])
        except ValueError:
            holds = [
                s for s in samples if eval(constraint, meaning, dict(zip("abc", s, strict=True)))
            ]
            assert not holds, constraint
            continue
        for text in texts:
            (length,) = symbolic_shape(text, scope=scope)
            low, high = bounds(length)
            for s in samples:
                numbers = dict(zip("abc", s, strict=True))
                if scope.allows(numbers):
                    assert low <= eval(text, meaning, numbers) <= high, (constraint, text, numbers)


def test_equations_replace_terms():
    a, b, c, d = symbolic_shape(
        "a, b, c, d", constraints=["b == a + 1", "d == 5", "mod(c, 4) == 0"]
    )
    assert (b - a, d, c % 4, 4 * (c // 4) == c) == (1, 5, 0, True)
    assert hash(4 * (c // 4)) == hash(c)
    b, n, k = symbolic_shape("b, n, k", constraints=["mod(n, 4) == 0", "n == 2*k"])
    assert (b * n, 2 * k) == (2 * b * k, n)
    specs = export.symbolic_args_specs(
        (effax.numpy.ones(4), effax.numpy.ones(4)), ["a*2", "b*2"], constraints=["a == b"]
    )
    assert specs[0].shape == specs[1].shape


def test_errors_say_what_is_known():
    (a,) = symbolic_shape("a", constraints=["a >= 5", "a <= 10"])
    with pytest.raises(InconclusiveDimensionOperation, match="constraints a >= 5, a <= 10: it is"):
        a >= 6  # noqa: B015
    with pytest.raises(ValueError, match="mixing of symbolic scopes"):
        a + symbolic_shape("a", constraints=["a <= 10"])[0]
    with pytest.raises(ValueError, match="Unsatisfiable constraint: a <= 0, with lengths of 1"):
        symbolic_shape("a", constraints=["a <= 0"])
    with pytest.raises(ValueError, match="Unsatisfiable constraint"):
        chain = "a1 >= a3 + 1", "a3 >= a2 + 4", "a1 <= a4 + 2", "a4 <= a2 + 2"
        symbolic_shape("a1", constraints=chain)
    with pytest.raises(TypeError):
        a >= "x"  # noqa: B015
    with pytest.raises(ValueError, match="should be None or a string"):
        symbolic_shape((2, 3))
    with pytest.raises(ValueError, match="a different size"):
        export.symbolic_args_specs((effax.numpy.ones((2, 3)),), "b, 4")


def test_many_constraints_are_fast():
    names = [f"n{i}" for i in range(12)]
    start = time.perf_counter()
    lengths = symbolic_shape(
        ", ".join(names), constraints=[f"{x} >= {y} + 1" for x, y in itertools.pairwise(names)]
    )
    assert lengths[0] > lengths[-1] + 10
    assert lengths[0] >= 12
    assert time.perf_counter() - start < 10
