"""Drawers for hypothesis: dtypes, shapes, values, arguments; put together they are a `Case`.

A drawer is a function of a `Grid`, which has the operands, and the dotted name of a public
function; it returns the code of a call:

>>> def softmaxes(g, name):
...     a = g.array(g.shape(), g.dtype("f"))
...     return f"{name}({a}{g.words(axis=lambda: g.axes(a))})"
>>> cases(softmaxes, "nn.softmax").example()  # doctest: +SKIP
Case(code='nn.softmax(a, axis=-1)', operands=(Operand('float16', (2, 3), 'edges', 7),), x64=False)

`g.pick` of anything, `g.chance(p)`, `g.dtype("bif c")`, `g.shape()`, `g.broadcast()`, `g.array(...)`
and `g.operand(...)` (an array, or a weak one, a Python scalar, a host array), `g.words(...)` for
keyword arguments, of which each may be left out. A drawer should sometimes draw what is wrong:
the oracle says which class of error it is.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.grid.case import Case, Operand

# Per letter: dtypes with and without 64 bits. Often drawn ones stand more than once.
BITS = {
    "b": (["bool"], []),
    "i": (["int32", "int8", "int16", "uint8", "uint16", "uint32", "int32"], ["int64", "uint64"]),
    "f": (["float32", "float16", "bfloat16", "float32"], ["float64"]),
    "c": (["complex64"], ["complex128"]),
    "4": (["int4", "uint4", "int4", "uint4", "int2", "uint2"], []),
    "8": (
        [
            "float8_e4m3fn",
            "float8_e5m2",
            "float8_e4m3b11fnuz",
            "float8_e5m2fnuz",
            "float8_e4m3fnuz",
        ],
        [],
    ),
}
WEAK = {"int32": "int", "int64": "int", "float32": "float", "float64": "float"}
WEAK |= {"complex64": "complex", "complex128": "complex"}
SHAPES = [(3,), (2, 3), (), (4,), (0,), (1,), (3, 1), (2, 0), (0, 3), (3, 2), (2, 1, 3), (2, 3, 2)]
SHAPES += [(1, 1), (5,), (3, 3)]
BROADCASTS = [
    ((2, 3), (2, 3)),
    ((2, 3), ()),
    ((), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), ()),
    ((3,), (3,)),
    ((0,), (1,)),
    ((2, 0), ()),
    ((2, 1, 3), (4, 1)),
    ((2,), (3,)),  # wrong
]
VALUES = ["normal", "edges", "extreme", "normal", "few"]


class Grid:
    """Draws the parts of one case."""

    def __init__(self, draw: Callable[[Any], Any], x64: bool) -> None:
        self.draw = draw
        self.x64 = x64
        self.operands: list[Operand] = []

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def usually(self, percent: int) -> bool:
        """The same for what is the rule: the simplest case is one of it."""
        return not self.chance(100 - percent)

    def order(self, *items: Any) -> list[Any]:
        """All of these, in any order."""
        return self.draw(st.permutations(items))  # type: ignore[no-any-return]

    def dtype(self, kinds: str = "bifc48") -> str:
        """The name of a dtype of some kinds: b, i, f, c, 4 (of four bits) and 8 (floats of eight)."""
        kind = self.pick(*kinds)
        narrow, wide = BITS[kind]
        return self.pick(*narrow, *(wide * 2 if self.x64 else []))

    def shape(self, least: int = 0, most: int = 3, *, empty: bool = True) -> tuple[int, ...]:
        """A shape with so many axes."""
        fit = [s for s in SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
        return self.pick(*fit)

    def broadcast(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two shapes; seldom such as do not broadcast."""
        pair = self.pick(*BROADCASTS)
        return pair if self.pick(True, False) else pair[::-1]

    def array(self, shape: Sequence[int], dtype: str, *kinds: str, form: str = "array") -> str:
        """One more operand: its name. `kinds` are those of `case.KINDS` to choose from."""
        kind = self.pick(*(kinds or VALUES))
        seed = self.draw(st.integers(0, 99))
        self.operands.append(Operand(dtype, tuple(shape), kind, seed, form))
        return string.ascii_lowercase[len(self.operands) - 1]

    def operand(self, shape: Sequence[int], dtype: str, *kinds: str) -> str:
        """The same in some form: sometimes weakly typed, a Python scalar, NumPy's, or a list."""
        form = "array"
        if self.chance(35):
            form = self.pick("weak", "scalar", "host", "list")
        if form in ("weak", "scalar") and dtype not in WEAK:
            form = "host"
        if form == "scalar" and shape != ():
            form = "weak"
        if form == "list" and not (self.chance(15) and dtype in WEAK):
            form = "array"
        return self.array(shape, dtype, *kinds, form=form)

    def last(self) -> Operand:
        return self.operands[-1]

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.operands[string.ascii_lowercase.index(name)].shape

    def axis(self, name: str, *, wrong: int = 4) -> str:
        """One axis of an operand, from either end; seldom one too many."""
        rank = len(self.shape_of(name))
        if not rank or self.chance(wrong):
            return str(self.pick(rank, -rank - 1) if self.chance(50) or not rank else 0)
        return str(self.integer(-rank, rank - 1))

    def axes(self, name: str) -> str:
        """None, an axis, or a tuple of some; seldom a wrong one, or one twice."""
        rank = len(self.shape_of(name))
        form = self.pick("one", "tuple", "none", "one")
        if form == "none":
            return "None"
        if form == "one" and rank:
            return self.axis(name)
        count = self.integer(0, rank)
        order = self.draw(st.permutations(range(rank)))[:count]
        chosen = [a - rank if self.pick(False, True) else a for a in order]
        if chosen and self.chance(4):
            chosen.append(chosen[0])
        return repr(tuple(chosen))

    def words(self, percent: int = 45, /, **options: Any) -> str:
        """Keyword arguments, each there or not: `, axis=0`. An option is a text, or a list of some,
        or a function that draws one, called only if it is there."""
        found = []
        for name, option in options.items():
            if self.chance(percent):
                if callable(option):
                    option = option()
                elif isinstance(option, list):
                    option = self.pick(*option)
                found.append(f", {name}={option}")
        return "".join(found)

    def name_of(self, dtype: str) -> str:
        """A dtype as it is given in a call."""
        plain = [f"jnp.{dtype if dtype != 'bool' else 'bool_'}", f"'{dtype}'"]
        if dtype in WEAK:
            plain.append(WEAK[dtype])
        return self.pick(*plain)


def cases(drawer: Callable[[Grid, str], str], name: str) -> st.SearchStrategy[Case]:
    """Cases of one public function, by its drawer."""

    @st.composite
    def drawn(draw: Any) -> Case:
        grid = Grid(draw, x64=draw(st.booleans()))
        code = drawer(grid, name)
        return Case(code, tuple(grid.operands), grid.x64)

    return drawn()


def named(words: str, module: str = "jnp") -> list[str]:
    """Names in a module: `named("sin cos")` is `["jnp.sin", "jnp.cos"]`."""
    return [f"{module}.{word}" for word in words.split()]
