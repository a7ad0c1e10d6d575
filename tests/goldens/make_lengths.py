"""Writes lengths.json: how JAX compares symbolic lengths, bounds them and prints them.

    env -u PYTHONPATH $EFFAX_BENCH_JAX tests/goldens/make_lengths.py    (from the root)

For each scope of `SCOPES`: every expression as text, its bounds, and each pair of expressions
compared in four ways. An answer is a text: of the value, or the name of the error. `REFUSED` are
shapes and constraints that JAX does not take, with the error's name.
"""

import json
from pathlib import Path

PATH = Path(__file__).with_name("lengths.json")
A, AB, ABC = "a", "a, b", "a, b, c"

# The names of a scope, its constraints, and expressions of the names. Many are those that
# JAX's own tests ask about; `hi` and `lo` are max_dim and min_dim.
SCOPES = [
    (A, [], ["1", "2", "a", "-a", "5 - a", "a % 5", "2*a - 3", "a*a - 2", "a // 2", "-5 - a % (-5)"]),
    (A, [], ["a - 5 % a", "(a + 4) // -2", "11 // (a + 1)", "-11 // (a + 1)", "-11 // (-a)"]),
    (A, [], ["a - a // 2", "a - 2*(a // 2)", "(a + 6) - 3*((a + 6) // 4)", "a", "0", "1"]),
    (A, [], ["(3*a - 2) // 3", "(3*a - 2) % 3", "divmod(3*a + 5, 3)[0]", "a*2 // a", "3 // a", "a"]),
    (A, [], ["hi(a, 5)", "hi(5, a)", "lo(a, 5)", "lo(a, -2)", "hi(a, a + 2)", "lo(a, a - 2)", "a"]),
    (A, [], ["hi(a % 2 - 1, 0)", "hi(15 - a, 0)", "hi(15 - a, 0) // 3", "lo(15 - a, 20)", "14", "a"]),
    (AB, [], ["a + b", "2*a*b", "4*a + b + 3", "8", "9", "a + 2*b - a", "3*a*b*b + 5*a - 7", "b - a"]),
    (AB, [], ["(a*a - b*b) // (a + b)", "(3*a*a*b + 2*b*b*a) // (a*b)", "a // b", "a % b", "a", "b"]),
    (AB, [], ["(2*a*b + b*b) // (a + b)", "-2 * ((-b) // 2)", "b", "b % (a - 2)", "(b + 1) // (a + 1)"]),
    (AB, [], ["hi(a, b)", "lo(a, b)", "a", "b", "hi(a, b) - a", "b - hi(b - a, 0)", "hi(1 - b, 0)"]),
    (AB, [], ["(b - hi(0, b - a)) // 2", "0", "hi(lo(a, b + 10), b)", "b", "b + 10", "hi(-b + 1, 0) // 2"]),
    (AB, [], ["-1*hi(-1, a - 2*b - 2) + hi(-1, a - 2) + 1", "0", "a*b", "a*a*b + a*b*b", "a"]),
    ("b", ["b >= 6"], ["b", "5", "6", "7", "b // 2", "b - 6", "hi(b, 4)", "b % 6"]),
    (AB, ["a >= 5", "b <= 16"], ["a", "b", "a - b", "16 - b", "4", "5", "16", "17", "a + b"]),
    (A, ["2*a >= 5", "3*a <= 10"], ["5*a - 2", "a", "3", "13"]),
    (A, ["a >= 4", "max(a, 2) >= 6"], ["hi(a, 2)", "a", "6", "5"]),
    (AB, ["a >= 4", "3 >= b"], ["a", "b", "hi(a, b)", "lo(a, b)", "a // 3", "a + b", "1"]),
    (AB, ["a >= b"], ["a", "b", "a - b", "2*a", "0"]),
    (ABC, ["a + 2 <= b", "b <= a + 5", "a + b >= c"], ["b", "b - a", "b - a - 7", "c - 2*a - 5", "a", "0"]),
    (AB, ["2*a + 3*b >= 10"], ["a + b - 2", "a", "b", "2"]),
    (AB, ["-2*a + 3*b >= 10"], ["a + 2*b", "a", "b", "9"]),
    (AB, ["-2*a + -3*b >= -10"], ["-1*a + 2*b", "a", "b", "3"]),
    (AB, ["2*a + -3*b >= 10"], ["-1*a + 2*b", "a", "b"]),
    (AB, ["a >= 5", "b <= 16", "a >= 10", "b <= 10"], ["a", "b", "10"]),
    ("a, b, c, d", ["b == a", "c == a + b", "d == 5"], ["a", "b", "c", "d", "a + b + c + d", "2*b"]),
    (ABC, ["max(a, b) == c"], ["hi(a, b) - c + 3", "a", "c", "3"]),
    (AB, ["max(a, b) == 5", "min(a, b) == 3"], ["hi(a, b)", "lo(a, b)", "a", "b", "3"]),
    (AB, ["min(a, b) == b - min(b, 2)"], ["lo(b, 2)", "b", "2"]),
    ("a, b, c, d", ["floordiv(d, 2) == a + 5", "floordiv(c, 3) == a + 3", "b == a + 1"],
     ["b", "a + 1", "d // 2", "a + 5", "c // 3", "b + 2"]),
    ("a, b, c, d", ["b == a", "c >= b + 3", "floordiv(d, 2) == floordiv(max(c, a), 3) + 2"],
     ["hi(c, a)", "c", "d // 2 - c // 3"]),
    ("a, b, c, d", ["b == a", "c >= b + 3", "max(d, a) == b + 3"], ["hi(c, a)", "d - b", "c", "d"]),
    ("b, t", ["128*floordiv(t + mod(-1*t, 128), 128) == t + mod(-1*t, 128)"],
     ["128*((t + -t % 128) // 128)", "t + -t % 128", "128*b*((t + -t % 128) // 128)"]),
    ("s", ["floordiv(s + 1, 2) == - floordiv(- s, 2)"], ["(s + 1) // 2", "-((-s) // 2)"]),
    (A, ["mod(a + mod(a, 2), -2) == 0"], ["divmod(a + a % 2, -2)[1]", "-2*divmod(a + a % 2, -2)[0]", "a + a % 2"]),
    ("b, c", ["mod(b, 4) == 0"], ["b", "4*(b // 4)", "b*c", "b // 4 * c * 2 * 2", "3*(b // 4)", "b % 4", "b // 4"]),
    ("a, d", ["a >= 4*d + m", "a <= 4*d + m", "m >= 0", "m <= 3"], ["a - 4*d", "a - 2*d", "a", "d"]),
    ("a, d", ["4*d == a - m", "m >= 0", "m <= 3"], ["a - 4*d", "a", "d"]),
    ("a, d, m", ["m >= 0", "m <= 3", "a == 4*d + m"], ["a - 4*d", "a - 2*d", "a", "d", "m"]),
    (AB, ["4*a == b"], ["a", "b", "3*a", "4*a", "5*a", "9*a", "2*b"]),
    ("a, b, c, d", ["a >= b", "b >= c", "c >= d"], ["a - d", "a", "d", "0"]),
    (AB, ["2*a >= 3", "-2*a >= -5"], ["a", "2", "b"]),
    (AB, ["2*a >= 2*b + 3", "-2*a + 2*b >= -5"], ["a - b - 2", "b - a + 2", "a", "b"]),
    ("a, b, c", [], ["a*b*c", "c*b^2".replace("^", "**"), "2*a + 3*b + 5*c - 1", "a + b - a*b + a*b*a"]),
]  # fmt: skip
PRINTED = [
    "2*b*a", "-2 * b * a^2 + b^2", "a - b", "b - a", "-1 * a", "a + -1", "+ a - b", "+ 2",
    "3 * a * mod(a + 2, b + 2)", "3 * floordiv(a + 2, b + 2) * 2", "max(a, b)", "b + 3*a",
    "a*b + a^2 + b + a", "mod(a, 4) + floordiv(a, 4) + a", "2*a^2 - 3*a - 1", "- mod(a, 4) + 3",
    "a*floordiv(b, 8)*mod(b, 4)", "a*b^2 + a^2*b + a*b", "floordiv(4*a, 2)", "floordiv(3*b, a)",
]  # fmt: skip
REFUSED = [
    *(dict(shape_spec=s) for s in (
        "2.5", "a + a a", "a ^ a", "a; a", "_", "...", "a ;", ")(", "2a", "a@", "'a'",
        "('a', ...)", "mod(a)", "floordiv(a, b, c)", "..., 3",
    )),
    dict(shape_spec="3", like=(4,)),
    dict(shape_spec="b, 3", like=(None, 4)),
    dict(shape_spec="b, 3", like=(None, 3)),
    dict(shape_spec="b, ..."),
    dict(shape_spec="b, 6, c, _", like=(4, 6, 7)),
    dict(shape_spec="b, 7, c, ...", like=(4, 7)),
    dict(shape_spec="a", constraints="a <= a - 1"),
    *(dict(shape_spec="a", constraints=[c]) for c in (
        "a != 0", "a == a + 1", "a <= a - 1", "a <= 0", "a >= a + 1", "a <= a + 1", "a", "a > 2",
    )),
    dict(shape_spec="a, b", constraints=["a >= b + 1", "b >= a"]),
    dict(shape_spec="a, b", constraints=["2*a == 3"]),
]  # fmt: skip


def answers(symbolic_shape, max_dim, min_dim, bounds):
    """The answers of a library, by scope."""

    def said(ask):
        try:
            return str(ask())
        except Exception as error:
            return type(error).__name__

    def compared(shape):
        # JAX sees some contradictions in the first comparison only.
        return shape if all(x >= 1 for x in shape) else None

    found = []
    for names, constraints, expressions in SCOPES:
        lengths = symbolic_shape(names, constraints=constraints)
        known = dict(zip(names.split(", "), lengths, strict=True), hi=max_dim, lo=min_dim)
        values = [eval(e, known) for e in expressions]
        found.append(
            {
                "text": list(map(str, values)),
                "bounds": [said(lambda x=x: bounds(x)) for x in values],
                "compared": [
                    [said(lambda x=x, y=y: (x == y, x != y)) for y in values] for x in values
                ],
                "at least": [[said(lambda x=x, y=y: x >= y) for y in values] for x in values],
                "less": [[said(lambda x=x, y=y: x < y) for y in values] for x in values],
                "greater": [[said(lambda x=x, y=y: x > y) for y in values] for x in values],
                "at most": [[said(lambda x=x, y=y: x <= y) for y in values] for x in values],
            }
        )
    return {
        "scopes": found,
        "printed": [said(lambda t=t: symbolic_shape(t)[0]) for t in PRINTED],
        "refused": [said(lambda k=k: compared(symbolic_shape(**k))) for k in REFUSED],
        "other": [
            said(lambda: symbolic_shape("a")[0] + symbolic_shape("a")[0]),
            said(lambda: symbolic_shape("a")[0] >= symbolic_shape("a")[0]),
            said(lambda: symbolic_shape("a")[0] % symbolic_shape("a")[0]),
            said(lambda: symbolic_shape("a")[0] == symbolic_shape("a")[0]),
            said(lambda: int(symbolic_shape("a")[0])),
            said(lambda: symbolic_shape("a")[0] ** 3),
            said(lambda: symbolic_shape("a")[0] ** -1),
            said(lambda: symbolic_shape("a")[0] // 0),
            said(lambda: (0 // symbolic_shape("a")[0], 7 % symbolic_shape("a")[0])),
        ],
    }


def main() -> None:
    import jax
    from jax import export
    from jax._src import core
    from jax._src.export import shape_poly

    best = shape_poly.BoundsPrecision.BEST
    found = answers(
        export.symbolic_shape,
        core.max_dim,
        core.min_dim,
        lambda x: list(map(float, shape_poly._bounds_decision(x, best))),
    )
    text = json.dumps({"jax": jax.__version__, **found}, indent=None)
    PATH.write_text(text.replace('{"text"', '\n{"text"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
