"""Shapes with unknown lengths, by JAX's names; `export` and `eval_shape` take them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

from effax.api.compiling.dimension_facts import Facts
from effax.api.compiling.dimension_text import expression, parsed
from effax.api.compiling.dimensions import Atom, Dimension, Length, length_of, value_of
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.effects.value import is_symbolic_length

_COMPARISONS: Final[dict[type, Callable[[int, int], bool]]] = {
    ast.GtE: operator.ge,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
}


def is_symbolic_dim(p: Any) -> bool:
    """Return whether a length is an expression of unknowns.

    Args:
      p: the length.

    >>> is_symbolic_dim(3)
    False
    """
    return is_symbolic_length(p)


class SymbolicScope:
    """Unknown lengths, and what holds between them. Only those of one scope can be added.

    Comparisons of lengths are decided from the constraints, and from each unknown being 1 or more.
    An equation with a single term on its left, `"4*a == b"` or `"mod(b, 4) == 0"`, also replaces
    that term wherever it appears.

    Args:
      constraints_str: comparisons of lengths by `>=`, `<=` or `==`, such as `"2*a >= b"`.

    Raises:
      ValueError: for a constraint that is no such comparison, or contradicts those before it.

    >>> b, = symbolic_shape("b", scope=SymbolicScope(["b >= 2"]))
    >>> b.scope
    SymbolicScope(['b >= 2'])
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(
                "The symbolic constraints should be a sequence of strings. Got "
                f"{constraints_str!r}; write [{constraints_str!r}]"
            )
        self.facts = Facts(self)
        self._texts = tuple(constraints_str)
        self._constraints = []
        self.differences: dict[str, str] = {}
        """The condition on the difference of its sides that each constraint is, for messages."""
        for text in self._texts:
            compare, left, right = found = _constraint(text, self)
            self._constraints.append(found)
            if compare is operator.le:
                left, right = right, left
            self.differences[text] = str(left - right)
            self.facts.assume(left, right, compare is operator.eq, text)
        self.facts.settle()
        # A constraint may speak of an unknown that a later equation replaces.
        self._constraints += [
            (compare, *(length_of(x.terms, self) if is_symbolic_dim(x) else x for x in sides))
            for compare, *sides in self._constraints
        ]

    def allows(self, lengths: Mapping[str, int]) -> bool:
        """Whether numbers for the unknowns satisfy the constraints that speak of them.

        Args:
          lengths: a number for the name of each unknown; each is at least 1.
        """
        return all(
            compare(value_of(left, lengths), value_of(right, lengths))
            for _, compare, left, right in self.comparisons(lengths.keys())
        )

    def comparisons(
        self, names: Set[str]
    ) -> Iterator[tuple[str, Callable[[int, int], bool], Length, Length]]:
        """Yield the constraints that compare lengths of some unknowns only.

        Args:
          names: the names of the unknowns.

        Yields:
          The text of a constraint, its comparison (of the module `operator`), and its two sides.
        """
        for i, (compare, left, right) in enumerate(self._constraints):
            sides = [x for x in (left, right) if isinstance(x, Dimension)]
            if all(x.unknowns() <= names for x in sides):
                yield self._texts[i % len(self._texts)], compare, left, right

    @property
    def constraints(self) -> tuple[str, ...]:
        """The constraints, as they were written."""
        return self._texts

    def replaced(self, names: Set[str]) -> Iterator[tuple[str, Length]]:
        """Yield the unknowns that equations replace by lengths of some unknowns only.

        Args:
          names: the names of the unknowns.

        Yields:
          The name of an unknown, and the length in its place.
        """
        sides = [x for _, *both in self._constraints for x in both if isinstance(x, Dimension)]
        for name in sorted(set[str]().union(*(x.unknowns() for x in sides)) - names):
            length = length_of({(Atom(name),): 1}, self)
            if not isinstance(length, Dimension) or length.unknowns() <= names:
                yield name, length

    def linked(self, names: Set[str]) -> set[str]:
        """Return the other unknowns that constraints compare with some.

        An equation that replaces an unknown does not count as one.

        Args:
          names: the names of the unknowns.
        """
        found: set[str] = set()
        for _, *both in self._constraints[len(self._texts) :]:
            sides = [x.unknowns() for x in both if isinstance(x, Dimension)]
            together = set[str]().union(*sides)
            if together & names:
                found |= together - names
        return found

    def __repr__(self) -> str:
        return f"SymbolicScope({list(self._texts)})"


def _constraint(
    text: str, scope: SymbolicScope
) -> tuple[Callable[[int, int], bool], Length, Length]:
    if not isinstance(text, str):
        raise ValueError(f"SymbolicScope: a constraint must be a text, got {text!r}")
    try:
        node: ast.expr | None = parsed(text)
    except SyntaxError:
        node = None
    if isinstance(node, ast.Compare) and [*map(type, node.ops)] in [[k] for k in _COMPARISONS]:
        compare = _COMPARISONS[type(node.ops[0])]
        left, right = (expression(x, text, scope) for x in (node.left, node.comparators[0]))
        return compare, left, right
    raise ValueError(
        f"SymbolicScope: the constraint {text!r} must compare two lengths by >=, <= or =="
    )


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """Return the shape that a text says, with its lengths separated by commas.

    A length is a number, the name of an unknown, or an expression of these by `+`, `-`, `*`, `//`,
    `%`, `^` (a power), `floordiv`, `mod`, `max` and `min`.

    Args:
      shape_spec: the text; None means "...".
      constraints: comparisons that hold between the unknowns, for a scope of their own.
      scope: the scope of the unknowns; a new one where None.
      like: a shape, from which `_` takes a length and `...` the rest. Numbers must agree with it.

    Raises:
      ValueError: for a text that is no shape or not like `like`, and where both `constraints` and
        `scope` are given.

    >>> symbolic_shape("2, _, ...", like=(2, 3, 4))
    (2, 3, 4)
    >>> import effax
    >>> b, n = symbolic_shape("b, 2*n")
    >>> double = lambda x: effax.numpy.concatenate([x, x], axis=1)
    >>> effax.eval_shape(double, effax.ShapeDtypeStruct((b, n, 3), "float32")).shape
    (b, 4*n, 3)
    """
    if not isinstance(shape_spec, str | None):
        raise ValueError(
            f"polymorphic shape spec should be None or a string. Found {shape_spec!r}; write "
            '"b, 3" for an unknown length and 3'
        )
    scope = _one_scope(constraints, scope)
    spec = "..." if shape_spec is None else shape_spec.strip()
    if spec.startswith("(") and spec.endswith(")"):
        spec = spec[1:-1].strip()
    spec = spec.removesuffix(",")
    try:
        nodes = parsed(f"({spec},)" if spec else "()").elts  # type: ignore[attr-defined]
    except SyntaxError:
        raise ValueError(
            f"syntax error in symbolic shape {shape_spec!r}: it is not a list of lengths, as in "
            "'b, 2*n + 1, 3'"
        ) from None
    dots = [isinstance(x, ast.Constant) and x.value is ... for x in nodes]
    if any(dots[:-1]):
        raise ValueError(
            f"syntax error in symbolic shape {shape_spec!r}: '...' must stand at the end"
        )
    lengths = [
        _taken(i, shape_spec, like)
        if isinstance(x, ast.Name) and x.id == "_"
        else expression(x, str(shape_spec), scope)
        for i, x in enumerate(nodes[:-1] if dots and dots[-1] else nodes)
    ]
    if dots and dots[-1]:
        rank = len(_needed(shape_spec, like))
        if rank < len(lengths):
            raise _too_few(shape_spec, len(lengths), rank)
        lengths += [_taken(i, shape_spec, like) for i in range(len(lengths), rank)]
    for i, (length, known) in enumerate(zip(lengths, like or (), strict=False)):
        if not is_symbolic_dim(length) and length != known:
            raise ValueError(
                f"syntax error in symbolic shape {shape_spec!r}: the length {length} at {i} is a "
                f"different size than that of like={like!r}, {known}; write '_' to take it from "
                "there"
            )
    return tuple(lengths)


def _needed(spec: Any, like: Sequence[int | None] | None) -> Sequence[int | None]:
    if like is None:
        raise ValueError(
            f"syntax error in symbolic shape {spec!r}: '_' and '...' stand for lengths of `like`, "
            "but no 'like' shape was given; pass like="
        )
    return like


def _one_scope(constraints: Sequence[str], scope: SymbolicScope | None) -> SymbolicScope:
    """The scope of new unknowns: the one given, or a new one with the constraints."""
    if scope is None:
        return SymbolicScope(constraints)
    if constraints:
        raise ValueError(
            "Cannot specify both a `scope` and `constraints`: a scope has its own, as in "
            "SymbolicScope(constraints)"
        )
    return scope


def _too_few(spec: Any, parsed: int, rank: int) -> ValueError:
    return ValueError(
        f"syntax error in symbolic shape {spec!r}: '_' and '...' can't be resolved, because we "
        f"parsed {parsed} already and 'like' shape has only {rank} dimensions"
    )


def _taken(i: int, spec: Any, like: Sequence[int | None] | None) -> Length:
    known = _needed(spec, like)
    if i >= len(known):
        raise _too_few(spec, i, len(known))
    if known[i] is None:
        raise ValueError(
            f"syntax error in symbolic shape {spec!r}: its length {i} is that of like={like!r}, "
            "which is None there; give it a name"
        )
    length: Length = known[i]
    return length if is_symbolic_dim(length) else int(length)


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Return types with the shapes of `symbolic_shape` as `ShapeDtypeStruct`s.

    Raises what `symbolic_shape` raises.

    Args:
      args: a pytree of arrays or types.
      shapes_specs: a tree of texts that may end above the leaves of `args`: a text holds for all
        below it.
      constraints: comparisons that hold between the unknowns, for a scope of their own.
      scope: the scope of the unknowns; a new one where None.

    >>> import effax.numpy as jnp
    >>> symbolic_args_specs((jnp.ones((2, 3)),), "2, ...")
    (ShapeDtypeStruct(shape=(2, 3), dtype=float32),)
    """
    from effax.effects.tree import broadcast_prefix

    scope = _one_scope(constraints, scope)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    leaves, tree = tree_flatten(args)
    specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    types = [x if isinstance(x, ShapeDtypeStruct) else typeof(x) for x in leaves]
    return tree_unflatten(
        tree,
        [
            ShapeDtypeStruct(symbolic_shape(spec, scope=scope, like=t.shape), t.dtype)
            for spec, t in zip(specs, types, strict=True)
        ],
    )
