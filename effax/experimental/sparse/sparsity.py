"""The handler of `sparsify`: its values are sparse arrays, and its rules are in `sparse_rules`.

The handler is a `Lifting`. So calls, branches, loops and custom rules need no code here, except
for the words of a refusal: the functor carries sparse values through them as their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NoReturn

from effax.effects.contexts import put
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import MissingRuleError, describe, user_frame
from effax.effects.facts import POINTWISE
from effax.effects.handler import Carrier, current
from effax.effects.rows import control, conversion, custom, kernel, shape, sharding, solving
from effax.effects.types import ShapedArray, typeof
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.broadcasts import Broadcast
from effax.experimental.sparse.custom_rules import lift_custom, lift_solve
from effax.experimental.sparse.pointwise import by_element
from effax.experimental.sparse.sparse_rules import BROADCASTING, RULES
from effax.experimental.sparse.structures import (
    DENSE,
    SparseStructureError,
    Unlike,
    structure_of,
    with_data,
)
from effax.interpreters.functor.lifting import PLAIN, Lifting
from effax.interpreters.functor.meanings import meanings


class SparseValue(Carrier):
    """A value under `sparsify`: a sparse array, or a dense one whose broadcast is deferred."""

    __slots__ = ("array", "type")

    array: Any
    type: ShapedArray

    def __init__(self, handler: Any, array: Any) -> None:
        self.handler = handler
        self.array = array
        data = array.operand if type(array) is Broadcast else array.data
        self.type = typeof(data).update(shape=array.shape)

    def concrete(self) -> Any:
        """The elements of a broadcast array, where they are known; those of a sparse one are not
        made dense.
        """
        if type(self.array) is not Broadcast:
            return None
        token = put(current, self.handler.outer)
        try:
            found = self.array.dense()
        finally:
            current.reset(token)
        return found.concrete() if isinstance(found, Carrier) else found

    def contents(self) -> dict[str, Any]:
        """The parts of a sparse array, by name."""
        names = ("operand",) if type(self.array) is Broadcast else ("data", "indices", "indptr")
        return {n: getattr(self.array, n) for n in names if hasattr(self.array, n)}


class Sparsify(Lifting):
    """One installation of `sparsify`."""

    __slots__ = ()

    carrier = SparseValue
    label = "sparsify"
    reason = "Under sparsify, the elements of a sparse array are never made dense silently."
    remedy = "make it dense by sparse.todense"
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = RULES
    overrides: ClassVar[dict[Effect, Callable[..., Any]]] = {
        custom.custom_jvp_call: lift_custom,
        custom.custom_vjp_call: lift_custom,
        solving.linear_solve: lift_solve,
    }

    # ------------------------------------------------------------------ what the functor asks

    def mode(self, value: Any) -> Any:
        """Return the structure of a sparse value."""
        if not self.owns(value):
            return PLAIN
        return DENSE if type(value.array) is Broadcast else structure_of(value.array)

    def join(self, one: Any, other: Any) -> Any:
        """The structure that holds values of both.

        Raises `Unlike` if there is none.
        """
        if one == other:
            return one
        dense = PLAIN, DENSE
        if one in dense and other in dense:
            return DENSE
        if one in dense or other in dense:
            raise Unlike(f"{one or DENSE} and {other or DENSE}")
        return one.join(other)

    def widen(self, one: Any, other: Any) -> Any:
        """Refuse a loop that adds elements in each step."""
        raise Unlike(f"{one} and {other}")

    def leaves(self, value: Any, mode: Any) -> Sequence[Any]:
        """The parts of a value, in that structure."""
        if mode is DENSE:
            return (self.dense(value),)
        found: Sequence[Any] = mode.parts(value.array)
        return found

    def value(self, mode: Any, leaves: Sequence[Any]) -> Any:
        """The value of these parts."""
        return leaves[0] if mode is DENSE else SparseValue(self, mode.make(leaves))

    def leaf_types(self, mode: Any, type: ShapedArray) -> Sequence[ShapedArray]:
        """The types of the parts."""
        found: Sequence[ShapedArray] = mode.types(type)
        return found

    def leaf_count(self, mode: Any, type: ShapedArray) -> int:
        """Count the parts."""
        found: int = mode.count
        return found

    def value_leaf(self, mode: Any) -> int | None:
        """The place of the array itself, where it is dense."""
        return 0 if mode is DENSE else None

    # --------------------------------------------------------------------------- answering

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Answer effects on sparse values, and defer the broadcast of a dense value."""
        if effect is shape.broadcast_in_dim and not self.owns(operands[0]):
            (x,) = operands
            wide = effect.result_type(x, **attributes).shape
            if wide != typeof(x).shape:
                return SparseValue(self, Broadcast(x, wide, attributes["dims"]))
        return super().perform(effect, operands, attributes)

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Answer by the effect's rule, or the functor; refuse all else."""
        sparse = any(self.owns(x) and type(x.array) is not Broadcast for x in operands)
        if not sparse or effect not in BROADCASTING:
            operands = tuple(map(self.dense, operands))
        if not sparse:
            return effect(*operands, **attributes)
        if effect.first_order and effect not in RULES and effect not in meanings:
            return self.by_element(effect, operands, attributes)
        try:
            return super().handle(effect, operands, attributes)
        except Unlike as error:
            _refuse_unlike(effect, error)

    def by_element(
        self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        """Apply a function of elements that is 0 at 0; refuse any other effect."""
        sparse = [x for x in operands if self.owns(x)]
        rest = [x for x in operands if not self.owns(x)]
        fits = POINTWISE in effect.facts and not effect.answerable and len(sparse) == 1
        if not fits or any(type(x) not in LITERALS for x in rest):
            return self.missing(effect, operands, attributes)
        at = next(i for i, x in enumerate(operands) if x is sparse[0])
        result = by_element(effect, sparse[0].array, operands, at, attributes)
        return self.adopt(result, effect, operands, attributes)

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """Call a rule with the sparse arrays; matrices of one format keep it."""
        given = [x.array if self.owns(x) else x for x in operands]
        kinds: set[Any] = {type(x) for x in given if isinstance(x, JAXSparse)}
        result = rule(*given, **attributes)
        if len(kinds) == 1 and BCOO not in kinds and _is_matrix(result):
            result = kinds.pop().from_bcoo(result)
        return self.adopt(result, effect, operands, attributes)

    def adopt(
        self, result: Any, effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]
    ) -> Any:
        """Make a value of a rule's result, with the dtype that the effect's signature says."""
        if not isinstance(result, JAXSparse):
            return result
        if not result.shape:  # a sparse scalar saves nothing
            return result.todense()
        expected = effect.result_type(*operands, **attributes)
        found = typeof(result.data)
        if (found.dtype, found.weak_type) != (expected.dtype, expected.weak_type):
            data = conversion.convert_element_type(
                result.data, dtype=expected.dtype, weak_type=expected.weak_type
            )
            result = with_data(result, data)
        return SparseValue(self, result)

    def missing(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Refuse an effect that has no sparse meaning."""
        error = MissingRuleError(f"sparse rule for {effect.name} is not implemented.")
        shown = ", ".join(
            repr(x.array if self.owns(x) else effect.operand_type(x)) for x in operands
        )
        error.add_note(
            f"sparsify: {effect.name}({shown}), at {describe(user_frame())}, has no sparse rule; "
            "make the operands dense by sparse.todense"
        )
        raise error

    # ------------------------------------------------------------------------- at the borders

    def enter(self, x: Any) -> Any:
        """An argument of the function: a sparse array becomes a value."""
        return SparseValue(self, x) if isinstance(x, JAXSparse) else x

    def leave(self, x: Any) -> Any:
        """A result of the function: a value becomes an array."""
        if not self.owns(x):
            return x
        return x.array.dense() if type(x.array) is Broadcast else x.array

    def dense(self, x: Any) -> Any:
        """A broadcast array, broadcast now; other values as they are."""
        return x.array.dense() if self.owns(x) and type(x.array) is Broadcast else x


def _is_matrix(x: Any) -> bool:
    return isinstance(x, BCOO) and (x.n_batch, x.n_sparse, x.n_dense) == (0, 2, 0)


_UNLIKE: Final = {
    control.cond: "sparsified true_fun output must have same type structure as sparsified "
    "false_fun output",
    control.while_loop: "sparsified body_fun output must have same type structure as its input",
    control.scan: "sparsified scan carry output must have same type structure as its input",
}


def _refuse_unlike(effect: Effect, error: Unlike) -> NoReturn:
    """Raise `SparseStructureError` for branches or steps with results of unlike structures."""
    found = _UNLIKE.get(effect, f"sparsify: {effect.name} results must have one type structure")
    raise SparseStructureError(
        f"{found}, got {error}; return the same format with as many elements, or make all of them "
        "dense by sparse.todense"
    ) from None


def _refuse_cutting(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> NoReturn:
    """Raise `MissingRuleError` for an effect that cuts its operands along their axes."""
    raise MissingRuleError(
        f"sparsify: {effect.name} cuts arrays into parts along their axes, which the elements of a "
        "sparse array do not have; make the operands dense by sparse.todense"
    )


Sparsify.overrides |= dict.fromkeys((kernel.kernel, sharding.shard_map), _refuse_cutting)
