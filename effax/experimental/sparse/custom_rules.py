"""Functions with a derivative of their own: under `sparsify`, their rules get sparse values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

from effax.effects.effect import Effect
from effax.effects.errors import MissingRuleError, UnsupportedDerivativeError
from effax.effects.rows import custom, shape, solving
from effax.effects.types import ShapedArray, float0, tangent_dtype
from effax.experimental.sparse.bcoo import JAXSparse
from effax.experimental.sparse.elements import bcoo_extract
from effax.experimental.sparse.structures import DENSE, same_positions
from effax.experimental.sparse.vectors import by_position
from effax.interpreters.functor.lifting import (
    PLAIN,
    Lifted,
    Lifting,
    leaves_of,
    lift,
    rebuild,
)


def lift_custom(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Perform the call on the parts of sparse values, with a rule made of the author's."""
    program = attributes["program"]
    modes = tuple(map(handler.mode, operands))
    lifted = lift(program, handler, modes)
    key = "sparse rule", attributes["rule"]
    rule = lifted.program.memo.get(key)
    if rule is None:
        kind = SparseJvp if effect is custom.custom_jvp_call else SparseVjp
        rule = kind(attributes["rule"], type(handler), modes, program.in_types, lifted)
        lifted.program.memo[key] = rule
    parts = [y for x, m in zip(operands, modes, strict=True) for y in leaves_of(handler, x, m)]
    results = effect(
        *lifted.captured,
        *parts,
        **{**attributes, "program": lifted.program, "rule": rule},
    )
    return rebuild(handler, results, lifted.out_modes, program.out_types, lifted.state_mode)


def lift_solve(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Perform a linear solve with sparse arrays in its programs, whose vectors are dense.

    The four programs are lifted each, so derivatives solve the transposed system as before.

    Raises `MissingRuleError` for a right-hand side, or a result of a program, that is sparse.
    """
    *parts, b = solving.sections(operands, attributes["consts"])
    programs, given, counts = dict(attributes), [], []
    if any(handler.mode(x) is not PLAIN for x in b):
        _refuse_sparse_vectors()
    for name, own in zip(solving.Counts._fields, parts, strict=True):
        program, modes = attributes[name], tuple(map(handler.mode, own))
        if program is None:
            counts.append(0)
            continue
        lifted = lift(program, handler, modes + (PLAIN,) * len(b))
        if any(m is not PLAIN and m is not DENSE for m in lifted.out_modes):
            _refuse_sparse_vectors()
        leaves = flat([leaves_of(handler, x, m) for x, m in zip(own, modes, strict=True)])
        programs[name] = lifted.program
        given += [*lifted.captured, *leaves]
        counts.append(len(lifted.captured) + len(leaves))
    found: list[Any] = effect(*given, *b, **{**programs, "consts": solving.Counts(*counts)})
    return found


def _refuse_sparse_vectors() -> NoReturn:
    """Raise `MissingRuleError`."""
    raise MissingRuleError(
        "sparsify: a linear solve takes sparse matrices, but no sparse vectors; make the "
        "right-hand side and the results of matvec and solve dense by sparse.todense"
    )


class _SparseRule:
    """A rule for the inputs of a lifted body: what it captured, then the parts of the operands."""

    __slots__ = ("handler", "lifted", "modes", "rule", "types")

    def __init__(
        self,
        rule: Any,
        handler: type[Lifting],
        modes: Sequence[Any],
        types: Sequence[Any],
        lifted: Lifted,
    ) -> None:
        self.rule = rule
        self.handler = handler
        self.modes = modes
        self.types = types
        self.lifted = lifted

    def operands(self, ins: Sequence[Any]) -> list[list[Any]]:
        """The inputs of each operand; the first of each is that of its elements."""
        return split(ins[len(self.lifted.captured) :], self.modes)

    def only_operands_move(self, moving: Sequence[bool]) -> None:
        """Raise `UnsupportedDerivativeError` where a captured value is differentiated."""
        if any(moving[: len(self.lifted.captured)]):
            self.refuse("is differentiated by a value that it captures")

    def refuse(self, what: str) -> NoReturn:
        """Raise `UnsupportedDerivativeError`."""
        name = self.lifted.program.name
        raise UnsupportedDerivativeError(
            f"sparsify: the custom rule of {name} {what}; differentiate inside of sparsify, as "
            f"sparsify(grad(f)), or make the operands of {name} dense by sparse.todense"
        )


class SparseJvp(_SparseRule):
    """A forward rule: the tangent of a sparse value is at the positions of the value."""

    __slots__ = ()

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the parts of the results, and their tangents."""
        inner = self.handler()
        self.only_operands_move([t is not None for t in tangents])
        ps, ts = [], []
        for mode, own, (t, *_) in zip(
            self.modes,
            self.operands(primals),
            self.operands(tangents),
            strict=True,
        ):
            ps.append(value(inner, mode, own))
            ts.append(None if t is None else value(inner, mode, [t, *own[1:]]))
        results, moved = inner.run(self.rule, ps, ts)
        parts: list[Any] = []
        directions: list[Any] = []
        for x, t, mode in zip(results, moved, self.lifted.out_modes, strict=True):
            found = leaves_of(inner, x, mode)
            parts += found
            directions += [self._direction(inner, x, t, mode), *[None] * (len(found) - 1)]
        return parts, directions

    def _direction(self, inner: Any, x: Any, t: Any, mode: Any) -> Any:
        """The tangent of a result's elements."""
        if t is None:
            return None
        found = inner.leave(t)
        if mode is PLAIN or mode is DENSE:
            return found
        if not isinstance(found, JAXSparse):
            self.refuse("gives a dense tangent of a sparse result")
        if not same_positions(inner.leave(x), found):
            self.refuse("gives a tangent at other positions than its result")
        return inner.leaves(t, mode)[0]


class SparseVjp(_SparseRule):
    """A reverse rule: the cotangent of a sparse value is at the positions of the value."""

    __slots__ = ("saved",)

    optimize_remat = False
    """Residuals depend on the structures that `forward` finds, so it is always called."""

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """Return the parts of the results; those of residuals, then the positions of all else."""
        inner: Any = self.handler()
        self.only_operands_move(moving)
        own = self.operands(primals)
        ps = [value(inner, m, x) for m, x in zip(self.modes, own, strict=True)]
        flags = [any(x) for x in self.operands(moving)]
        results, residuals = inner.run(self.rule.forward, ps, flags)
        found = [
            leaves_of(inner, x, m) for x, m in zip(results, self.lifted.out_modes, strict=True)
        ]
        modes = tuple(map(inner.mode, residuals))
        leaves = [leaves_of(inner, x, m) for x, m in zip(residuals, modes, strict=True)]
        # Positions that several values share are one residual, so that the backward function finds
        # them shared, too, and sums and products of such values keep them.
        unique, order = distinct(flat([*leaves, *(x[1:] for x in (*own, *found))]))
        # JVP's rule calls `backward_of` right after `forward`, which takes these from here.
        self.saved = modes, order
        return flat(found), unique

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> SparseBackward:
        """The backward function between results and operands that move, after `forward`."""
        return SparseBackward(self, moving, wanted)


class SparseBackward:
    """A backward function on the parts of sparse values."""

    __slots__ = ("inner", "memo", "owner", "results", "saved", "wanted")

    def __init__(self, owner: SparseVjp, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> None:
        self.owner = owner
        self.wanted = wanted
        self.memo: dict[Any, Any] = {}
        self.saved = owner.saved
        places = range(len(owner.lifted.program.outputs))
        results = split(places, owner.lifted.out_modes)
        self.results = tuple(i for i, (data, *_) in enumerate(results) if data in moving)
        self.inner = owner.rule.backward_of(
            self.results,
            tuple(data for data, *_ in owner.operands(wanted)),
        )

    @property
    def symbolic(self) -> bool:
        """Whether the rule takes None for cotangents that are zero."""
        return bool(self.inner.symbolic)

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of all inputs that move."""
        owner, (modes, order) = self.owner, self.saved
        inner: Any = owner.handler()
        rest = iter([residuals[i] for i in order])
        values = [value(inner, m, list(islice(rest, _count(m)))) for m in modes]
        positions = [
            list(islice(rest, _count(m) - 1)) for m in (*owner.modes, *owner.lifted.out_modes)
        ]
        n, given = len(owner.modes), []
        for i, ct in zip(self.results, cotangents, strict=True):
            parts = [ct, *positions[n + i]]
            given.append(None if ct is None else value(inner, owner.lifted.out_modes[i], parts))
        answers = iter(inner.run(self.inner, values, given))
        found = self._of_captured()
        for mode, (moves, *_), own, type_ in zip(
            owner.modes, owner.operands(self.wanted), positions, owner.types, strict=False
        ):
            if moves:
                found.append(_at_positions(inner.leave(next(answers)), mode, own, type_))
        return found

    def _of_captured(self) -> list[Any]:
        """Zeros, as no captured value moves."""
        count = len(self.owner.lifted.captured)
        types = self.owner.lifted.program.in_types[:count]
        return [
            shape.full(t.shape, 0, tangent_dtype(t.dtype))
            for t, w in zip(types, self.wanted, strict=False)
            if w and tangent_dtype(t.dtype) != float0
        ]


def _at_positions(ct: Any, mode: Any, positions: Sequence[Any], type: ShapedArray) -> Any:
    """Return the cotangent of an operand's elements, given that of the operand."""
    if ct is None or mode is PLAIN or mode is DENSE:
        return ct.todense() if isinstance(ct, JAXSparse) else ct
    data, *_ = mode.types(type)
    like = mode.make([shape.full(data.shape, 0, data.dtype), *positions])
    if isinstance(ct, JAXSparse):
        if same_positions(like, ct):
            return ct.data
        ct = ct.todense()
    return bcoo_extract(by_position(like), ct, assume_unique=True).data


def split(leaves: Sequence[Any], modes: Sequence[Any]) -> list[list[Any]]:
    """Return the leaves of each value, given those of all in a row."""
    rest = iter(leaves)
    return [list(islice(rest, _count(mode))) for mode in modes]


def _count(mode: Any) -> int:
    count: int = 1 if mode is PLAIN else mode.count
    return count


def value(inner: Lifting, mode: Any, leaves: Sequence[Any]) -> Any:
    """Return the value of its leaves."""
    return leaves[0] if mode is PLAIN else inner.value(mode, leaves)


def flat(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the leaves of all values in a row."""
    return [x for own in parts for x in own]


def distinct(leaves: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Return each of the leaves once, and the place of every leaf among them."""
    places: dict[int, int] = {}
    order = tuple([places.setdefault(id(x), len(places)) for x in leaves])
    known = {id(x): x for x in leaves}
    return [known[i] for i in places], order
