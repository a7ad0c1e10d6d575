"""Lengths of axes that are unknown when a function is traced, and expressions of them.

A `Dimension` is a polynomial with integer coefficients in unknown lengths, and in quotients and
remainders of such polynomials. `export.symbolic_shape` makes them of text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from effax.effects.errors import InconclusiveDimensionOperation, SymbolicShapeError

Length = Any
"""An integer or a `Dimension`."""

INSTEAD: Final = (
    "programs are staged for known lengths: export the function once for each shape that it will "
    "meet (or pad to the largest, and mask), and choose among them when calling"
)


@dataclass(frozen=True)
class Atom:
    """An unknown length, by its name, or a quotient or remainder of lengths."""

    name: str
    operands: tuple[Length, ...] = ()

    def value(self, lengths: Mapping[str, int]) -> int:
        """The number that it is for these lengths."""
        if not self.operands:
            return lengths[self.name]
        if self.name not in OPERATIONS:
            raise SymbolicShapeError(f"the length {self} is known only when the program runs")
        left, right = (value_of(x, lengths) for x in self.operands)
        return OPERATIONS[self.name](left, right)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.operands))})" if self.operands else self.name


OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}
"""The operations that are no polynomials, by the names that JAX prints."""

_Terms = dict[tuple[Atom, ...], int]


class Dimension:
    """A length that is not known before the program runs; `export.symbolic_shape` makes them.

    It may be added, multiplied, divided and compared for equality. It equals another one where
    they are the same polynomial. `eval_shape` takes shapes with such lengths.

    >>> from effax import export
    >>> b, n = export.symbolic_shape("b, 2*n + 1")
    >>> b * 3 + n - n, n == 2 * export.symbolic_shape("n", scope=b.scope)[0] + 1
    (3*b, True)
    """

    __slots__ = ("scope", "terms")
    symbolic_dimension = True

    def __init__(self, terms: _Terms, scope: Any) -> None:
        self.terms = terms
        self.scope = scope

    def value(self, lengths: Mapping[str, int]) -> int:
        """The number that it is for these lengths of the unknowns.

        Args:
          lengths: a number for the name of each unknown.
        """
        total = 0
        for atoms, factor in self.terms.items():
            for atom in atoms:
                factor *= atom.value(lengths)
            total += factor
        return total

    def unknowns(self) -> set[str]:
        """The names of the unknowns in it."""
        found: set[str] = set()
        for atom in (a for atoms in self.terms for a in atoms):
            inner = [x.unknowns() for x in atom.operands if isinstance(x, Dimension)]
            found |= set().union(*inner) if atom.operands else {atom.name}
        return found

    def _terms_of(self, other: Any) -> _Terms | None:
        if isinstance(other, Dimension):
            if other.scope is not self.scope:
                raise ValueError(
                    f"Invalid mixing of symbolic scopes: {self} and {other} are unknowns of "
                    "different scopes; give symbolic_shape the same scope for both"
                )
            return other.terms
        if isinstance(other, int) or (hasattr(other, "__index__") and not hasattr(other, "shape")):
            return {(): int(other)} if other else {}
        return None

    def _made(self, terms: _Terms) -> Length:
        return length_of({k: v for k, v in terms.items() if v}, self.scope)

    def __add__(self, other: Any) -> Any:
        terms = self._terms_of(other)
        if terms is None:
            return NotImplemented
        found = dict(self.terms)
        for atoms, factor in terms.items():
            found[atoms] = found.get(atoms, 0) + factor
        return self._made(found)

    def __mul__(self, other: Any) -> Any:
        terms = self._terms_of(other)
        if terms is None:
            return NotImplemented
        found: _Terms = {}
        for atoms, factor in self.terms.items():
            for more, by in terms.items():
                key = tuple(sorted((*atoms, *more), key=str))
                found[key] = found.get(key, 0) + factor * by
        return self._made(found)

    def _operation(self, name: str, left: Any, right: Any) -> Any:
        if self._terms_of(left) is None or self._terms_of(right) is None:
            return NotImplemented
        if right == 0:
            raise ZeroDivisionError(f"{left} is divided by 0")
        return Dimension({(Atom(name, (left, right)),): 1}, self.scope)

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, int) and other and all(v % other == 0 for v in self.terms.values()):
            return self._made({k: v // other for k, v in self.terms.items()})
        return self._operation("floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        if isinstance(other, int) and other and all(v % other == 0 for v in self.terms.values()):
            return 0
        return self._operation("mod", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._operation("floordiv", other, self)

    def __rmod__(self, other: Any) -> Any:
        return self._operation("mod", other, self)

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        return self + -other if self._terms_of(other) is not None else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dimension):
            return other.scope is self.scope and other.terms == self.terms
        return False

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def _compare(self, other: Any) -> NoReturn:
        raise InconclusiveDimensionOperation(
            f"the length {self} is compared with {other}: it is known only when the program runs"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def __index__(self) -> int:
        raise SymbolicShapeError(
            f"the length {self} is known only when the program runs, and {INSTEAD}"
        )

    __int__ = __index__

    def __repr__(self) -> str:
        words = []
        for atoms, factor in sorted(self.terms.items(), key=lambda x: (-len(x[0]), str(x[0]))):
            parts = [str(abs(factor))] * (abs(factor) != 1 or not atoms)
            words.append(("- " if factor < 0 else "+ ") + "*".join([*parts, *map(str, atoms)]))
        text = " ".join(words)
        return text.removeprefix("+ ") if text.startswith("+") else text.replace("- ", "-", 1)


def length_of(terms: _Terms, scope: Any) -> Length:
    """Return an integer where terms are a constant, else a `Dimension`."""
    if not terms:
        return 0
    return terms[()] if [*terms] == [()] else Dimension(terms, scope)


def value_of(length: Length, lengths: Mapping[str, int]) -> int:
    """Return what a length is for numbers of the unknowns."""
    return length.value(lengths) if isinstance(length, Dimension) else int(length)


_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def expression(node: ast.expr, text: str, scope: Any) -> Length:
    """Return the length that a piece of the syntax of `text` says; `ValueError` if it says none."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return Dimension({(Atom(name),): 1}, scope)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -expression(inner, text, scope)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            sides = expression(left, text, scope), expression(right, text, scope)
            return _BINARY[type(op)](*sides)
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in OPERATIONS:
            sides = expression(left, text, scope), expression(right, text, scope)
            symbolic = next((x for x in sides if isinstance(x, Dimension)), None)
            return (
                OPERATIONS[name](*sides) if symbolic is None else symbolic._operation(name, *sides)
            )
    raise ValueError(f"the shape {text!r} has {ast.unparse(node)!r}, which is not a length")
