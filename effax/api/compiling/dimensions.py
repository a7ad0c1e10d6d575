"""Lengths of axes that are unknown when a function is traced, and expressions of them.

A `Dimension` is a polynomial with integer coefficients in unknown lengths, and in quotients,
remainders, maxima and minima of such polynomials. `export.symbolic_shape` makes them of text
(`dimension_text`); what follows from a scope's constraints is found in `dimension_facts`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from effax.effects.errors import InconclusiveDimensionOperation, SymbolicShapeError
from effax.effects.rows.shape import dimension_as_value
from effax.effects.types import register_type, typeof
from effax.effects.value import greatest, smallest

Length = Any
"""An integer or a `Dimension`."""

INSTEAD: Final = (
    "Python needs a number here: compute with the length itself, loop by lax.scan or "
    "lax.fori_loop, or export the function at fixed sizes"
)


@dataclass(frozen=True)
class Atom:
    """An unknown length, by its name, or a quotient or remainder of lengths."""

    name: str
    operands: tuple[Length, ...] = ()

    def value(self, lengths: Mapping[str, Length]) -> Length:
        """The number, or the other length, that it is for these lengths."""
        if not self.operands:
            return lengths[self.name]
        if self.name not in OPERATIONS:
            raise SymbolicShapeError(f"the length {self} is known only when the program runs")
        left, right = (value_of(x, lengths) for x in self.operands)
        return OPERATIONS[self.name](left, right)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The place among atoms: smaller ones first, then by name. It is the order of JAX."""
        inner = tuple(map(_length_key, self.operands))
        return (1 + sum(key[0] for key in inner), self.name, inner)

    def __str__(self) -> str:
        return (
            f"{self.name}({', '.join(map(_printed, self.operands))})"
            if self.operands
            else self.name
        )


OPERATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": greatest,
    "min": smallest,
}
"""The operations that are no polynomials, by the names that JAX prints."""

_NUMBERS: Final = (float, complex, np.generic, np.ndarray)
"""The numbers with which a length is computed as an array: they make no length of it."""

_STEPS: Final = 64
"""A division of polynomials ends after this many steps: terms that are rewritten may come again."""

Term = tuple[Atom, ...]
"""A product of atoms, in their order; the empty one is 1."""
Terms = dict[Term, int]
"""The factor of each term of a sum."""


def ordered(atoms: Iterable[Atom]) -> Term:
    """The product of some atoms."""
    return tuple(sorted(atoms, key=lambda a: a.key))


def term_key(term: Term) -> tuple[Any, ...]:
    """The place of a term among others: constants first, then the shorter ones."""
    powers = sorted(((a.key, n) for a, n in Counter(term).items()), reverse=True)
    return (sum(1 + n * key[0] for key, n in powers), tuple(powers))


def _printed(length: Any) -> str:
    return f"- {-length}" if isinstance(length, int) and length < 0 else str(length)


def _length_key(length: Any) -> tuple[Any, ...]:
    if not isinstance(length, Dimension):
        own = length if isinstance(length, int) else id(length)
        return (1, ((term_key(()), own),))
    parts = [(term_key(term), n) for term, n in length.sorted_terms()]
    return (sum(1 + abs(n) * key[0] for key, n in parts), tuple(parts))


class Dimension:
    """A length that is not known before the program runs; `export.symbolic_shape` makes them.

    It may be added, multiplied, divided and compared. It equals another one where both are the
    same polynomial, after the equations of its scope. An order is decided from the scope's
    constraints, where each unknown is 1 or more. `eval_shape` takes shapes with such lengths.

    Raises:
      InconclusiveDimensionOperation: for a comparison that is true for some lengths only.

    >>> from effax import export
    >>> b, n = export.symbolic_shape("b, 2*n + 1", constraints=["b >= 6"])
    >>> b * 3 + n - n, n == 2 * export.symbolic_shape("n", scope=b.scope)[0] + 1
    (3*b, True)
    >>> b > 5, n < 3 * n, (b + 1) // 3 >= 2
    (True, True, True)
    """

    __slots__ = ("_hash", "scope", "terms")
    __array_ufunc__ = None  # scalars of NumPy leave operators to this class
    symbolic_dimension = True

    def __init__(self, terms: Terms, scope: Any) -> None:
        self.terms = terms
        self.scope = scope
        self._hash: int | None = None

    def value(self, lengths: Mapping[str, Length]) -> Length:
        """The number, or the other length, that it is for these lengths of the unknowns.

        Args:
          lengths: a number for the name of each unknown, or a length of another scope.
        """
        total: Length = 0
        for atoms, factor in self.terms.items():
            product: Length = factor
            for atom in atoms:
                product = product * atom.value(lengths)
            total = total + product
        return total

    def unknowns(self) -> set[str]:
        """The names of the unknowns in it."""
        found: set[str] = set()
        for atom in (a for atoms in self.terms for a in atoms):
            inner = [x.unknowns() for x in atom.operands if isinstance(x, Dimension)]
            found |= set().union(*inner) if atom.operands else {atom.name}
        return found

    def sorted_terms(self) -> list[tuple[Term, int]]:
        """The terms with their factors, the largest first and the constant last."""
        return sorted(self.terms.items(), key=lambda x: term_key(x[0]), reverse=True)

    def _terms_of(self, other: Any) -> Terms | None:
        if isinstance(other, Dimension):
            if other.scope is not self.scope:
                raise ValueError(
                    f"Invalid mixing of symbolic scopes: {self} and {other} are of different "
                    f"scopes, {self.scope} and {other.scope}; give symbolic_shape the same scope "
                    "for both"
                )
            return other.terms
        n = _integer(other)
        return None if n is None else {(): n} if n else {}

    def _made(self, terms: Terms) -> Length:
        return length_of(terms, self.scope)

    def __add__(self, other: Any) -> Any:
        terms = self._terms_of(other)
        if terms is None:
            return self._number() + other if isinstance(other, _NUMBERS) else NotImplemented
        found = dict(self.terms)
        for atoms, factor in terms.items():
            found[atoms] = found.get(atoms, 0) + factor
        return self._made(found)

    def __mul__(self, other: Any) -> Any:
        terms = self._terms_of(other)
        if terms is None:
            return self._number() * other if isinstance(other, _NUMBERS) else NotImplemented
        found: Terms = {}
        for atoms, factor in self.terms.items():
            for more, by in terms.items():
                key = ordered((*atoms, *more))
                found[key] = found.get(key, 0) + factor * by
        return self._made(found)

    def __pow__(self, power: Any) -> Any:
        if isinstance(power, Dimension):
            return self._number() ** power._number()
        n = _integer(power)
        if n is None or n < 0:
            kind = "non-integer" if n is None else "negative"
            raise ValueError(
                f"Symbolic dimension cannot be raised to {kind} powers: '{self}' ** '{power}'; "
                "effax.numpy.power of it takes any power, and is an array"
            )
        found: Any = 1
        for _ in range(n):
            found = self * found
        return found

    def __rpow__(self, base: Any) -> Any:
        return base ** self._number()

    def operation(self, name: str, left: Any, right: Any) -> Any:
        """One of `OPERATIONS` on two lengths of which this is one.

        `max` and `min` are the operand that the constraints say; a quotient stays as it is.
        """
        if self._terms_of(left) is None or self._terms_of(right) is None:
            return NotImplemented
        left, right = (x if isinstance(x, Dimension) else int(x) for x in (left, right))
        if name in ("floordiv", "mod"):
            if not isinstance(right, Dimension) and right == 0:
                raise ZeroDivisionError(f"{left} is divided by 0")
            return self._made({(Atom(name, (left, right)),): 1})
        low, high = self.scope.facts.bounds(left - right)
        if low >= 0 or high <= 0:
            return left if (low >= 0) == (name == "max") else right
        return self._made({(Atom(name, (left, right)),): 1})

    def __divmod__(self, other: Any) -> Any:
        if self._terms_of(other) is None:
            return self._with_array(divmod, other)
        by = other if isinstance(other, Dimension) else _integer(other)
        found = None if by == 0 else _divided(self, by)
        if found is not None:
            return found
        return self.operation("floordiv", self, by), self.operation("mod", self, by)

    def __floordiv__(self, other: Any) -> Any:
        if self._terms_of(other) is None:
            return self._with_array(operator.floordiv, other)
        return self.__divmod__(other)[0]

    def __mod__(self, other: Any) -> Any:
        if self._terms_of(other) is None:
            return self._with_array(operator.mod, other)
        return self.__divmod__(other)[1]

    def __rfloordiv__(self, other: Any) -> Any:
        if self._terms_of(other) is None:
            return self._with_array(lambda x, y: y // x, other)
        return self.operation("floordiv", other, self) if _integer(other) else 0

    def __rmod__(self, other: Any) -> Any:
        if self._terms_of(other) is None:
            return self._with_array(lambda x, y: y % x, other)
        return self.operation("mod", other, self) if _integer(other) else 0

    def __rdivmod__(self, other: Any) -> Any:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def _with_array(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        """An operation with numbers that are no lengths: the result is an array."""
        return operation(self._number(), other) if isinstance(other, _NUMBERS) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return self._number() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._number()

    def __float__(self) -> float:
        raise InconclusiveDimensionOperation(
            f"the length {self} is known only when the program runs, so float() of it, and "
            "functions of the module math, have no value; effax.numpy takes the length itself, as "
            "in jnp.sqrt(x.shape[0])"
        )

    def bit_length(self) -> int:
        """Raise, as `float` of it: the number of bits is not known before the program runs."""
        raise InconclusiveDimensionOperation(
            f"the number of bits of the length {self} is known only when the program runs; export "
            "the function at fixed sizes"
        )

    def __bool__(self) -> bool:
        low, high = self.scope.facts.bounds(self)
        if low > 0 or high < 0:
            return True
        raise InconclusiveDimensionOperation(
            f"whether the length {self} is zero is inconclusive{self.scope.facts.described()}: "
            "compare it with a number, or add a constraint: symbolic_shape(..., constraints=[...])"
        )

    def _number(self) -> Any:
        """The length as an array of rank 0 of the program that is being staged."""
        return dimension_as_value(length=self, dtype=typeof(self).dtype, weak_type=True)

    def __neg__(self) -> Any:
        return self * -1

    def __sub__(self, other: Any) -> Any:
        known = self._terms_of(other) is not None or isinstance(other, _NUMBERS)
        return self + -other if known else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dimension):
            return other.scope is self.scope and other.terms == self.terms
        return False

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.terms.items()), id(self.scope)))
        return self._hash

    def __ge__(self, other: Any) -> Any:
        return self._decided(self - other, 0, ">=", other)

    def __gt__(self, other: Any) -> Any:
        return self._decided(self - other, 1, ">", other)

    def __le__(self, other: Any) -> Any:
        return self._decided(other - self, 0, "<=", other)

    def __lt__(self, other: Any) -> Any:
        return self._decided(other - self, 1, "<", other)

    def _decided(self, difference: Length, least: int, sign: str, other: Any) -> bool:
        low, high = self.scope.facts.bounds(difference)
        if low >= least:
            return True
        if high < least:
            return False
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension comparison '{self}' {sign} '{other}' is inconclusive"
            f"{self.scope.facts.described()}: it is true for some lengths and not for others, or "
            "that is too hard to decide. Compare lengths that are always or never in this order, "
            "or add a constraint that says which holds: symbolic_shape(..., constraints=[...])"
        )

    def __index__(self) -> int:
        raise SymbolicShapeError(
            f"the length {self} is known only when the program runs, but {INSTEAD}"
        )

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"the length {self} is known only when the program runs, so int() of it is unknown; "
            "compute with the length itself"
        )

    def __repr__(self) -> str:
        words = []
        for atoms, factor in self.sorted_terms():
            powers = [f"{a}^{n}" if n > 1 else str(a) for a, n in Counter(atoms).items()]
            parts = [str(abs(factor))] * (abs(factor) != 1 or not atoms)
            words.append(("- " if factor < 0 else "+ ") + "*".join([*parts, *powers]))
        return " ".join(words).removeprefix("+ ")


register_type(Dimension, lambda x: typeof(1))


def _integer(x: Any) -> int | None:
    """The integer that a number of Python's or NumPy's is, if it is one."""
    if isinstance(x, int):
        return int(x)
    if hasattr(x, "shape") and not isinstance(x, np.generic | np.ndarray):
        return None  # an array of effax, perhaps traced
    try:
        return operator.index(x)
    except TypeError:
        return None


def _divided(top: Length, by: Length) -> tuple[Length, Length] | None:
    """Divide polynomials, the leading term first; None where an integer quotient has no end.

    By a number, the remainder is one of the constants; by a length, there must be none.
    """
    leading, factor = by.sorted_terms()[0] if isinstance(by, Dimension) else ((), int(by))
    quotient: Length = 0
    for _ in range(_STEPS):
        if not isinstance(top, Dimension):
            break
        term, n = top.sorted_terms()[0]
        left = Counter(term)
        left.subtract(leading)
        if n % factor or min(left.values(), default=0) < 0:
            return None
        step = length_of({ordered(left.elements()): n // factor}, top.scope)
        quotient += step
        top = top - step * by
    if isinstance(top, Dimension):
        return None
    if isinstance(by, Dimension):
        return (quotient, 0) if top == 0 else None
    return quotient + top // factor, top % factor


def length_of(terms: Terms, scope: Any) -> Length:
    """Return the length that terms add up to: an integer where they are constant.

    The equations of the scope are applied.
    """
    terms = {term: factor for term, factor in terms.items() if factor}
    terms = scope.facts.normal(terms)
    if not terms:
        return 0
    return terms[()] if [*terms] == [()] else Dimension(terms, scope)


def value_of(length: Length, lengths: Mapping[str, Length]) -> Length:
    """Return what a length is for numbers of the unknowns, or for lengths of another scope."""
    return length.value(lengths) if isinstance(length, Dimension) else int(length)
