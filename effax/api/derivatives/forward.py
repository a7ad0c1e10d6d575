"""Forward mode: `jvp`, and `linearize`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from effax.api.calling.arguments import flat_function, name_of
from effax.api.calling.differentiable import (
    as_value,
    check_tangent,
    check_tangents,
    float0_zeros,
    plain_aux,
    refuse_references,
    split_aux,
    with_aux,
)
from effax.api.calling.float0 import directions_like
from effax.api.derivatives.linear_functions import LinearFunction
from effax.effects.frames import filtered
from effax.effects.handler import bottom, innermost
from effax.effects.program import Variable
from effax.effects.rows.custom import custom_linear
from effax.effects.rows.state import Ref, Window, ref_get, ref_set
from effax.effects.tree import tree_flatten, tree_map, tree_structure, tree_unflatten
from effax.effects.types import ShapedArray, float0, typeof
from effax.interpreters.custom_linear import closed
from effax.interpreters.jvp.dual import DUAL, JVP, moves, tangent_type, zeros
from effax.interpreters.residual import Record
from effax.interpreters.transpose.linear import add_cotangents, backward

R = TypeVar("R")
Aux = TypeVar("Aux")


def jvp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Forward mode on flat values; a tangent may be None. Missing tangents of results are None."""
    handler = JVP()
    results = handler.run(function, *_duals(handler, primals, tangents))
    pairs = [handler.split(x) for x in results]
    return [p for p, _ in pairs], [t for _, t in pairs]


def _duals(handler: JVP, primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Dual numbers; a Python number that moves is an array, as no effect is of numbers alone."""
    return [
        p if t is None else _dual(handler, p, t) for p, t in zip(primals, tangents, strict=True)
    ]


def _dual(handler: JVP, primal: Any, tangent: Any) -> Any:
    if not isinstance(primal, Ref):
        return handler.dual(as_value(primal), tangent)

    def read() -> Any:
        return handler.dual(ref_get(primal), ref_get(tangent))

    def write(value: Any) -> None:
        for ref, x in zip((primal, tangent), handler.leaves(value, DUAL), strict=True):
            ref_set(ref, x)

    return Window(handler, primal.type.inner_aval, read, write)


class Linearized:
    """The result of linearization: primal results, and the tangents' linear program."""

    __slots__ = ("inputs", "needed", "primals", "tangents", "tape")

    needed: list[Any] | None

    def __init__(self, function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> None:
        refuse_references(values)
        self.needed = None
        recording = Record()
        self.inputs = [
            recording.unknown(tangent_type(t)) if moves(t) else None for t in map(typeof, values)
        ]
        try:
            with recording.installed():
                self.primals, self.tangents = jvp_flat(function, values, self.inputs)
        finally:
            self.tape = recording.finish()

    @classmethod
    def of(cls, inputs: list[Any], pairs: Sequence[tuple[Any, Any]], tape: Any) -> Linearized:
        """Build one from parts: unknown inputs, results with their tangents, the tape."""
        self = object.__new__(cls)
        self.inputs, self.tape, self.needed = inputs, tape, None
        self.primals = [p for p, _ in pairs]
        self.tangents = [t for _, t in pairs]
        return self

    def push(self, tangents: Sequence[Any], types: Sequence[ShapedArray]) -> list[Any]:
        """The tangents of results of these types, given the inputs', under the present handlers."""
        known: dict[Any, Any] = {
            x: t for x, t in zip(self.inputs, tangents, strict=True) if x is not None
        }
        perform = innermost().perform

        def value(x: Any) -> Any:
            return known[x] if self.tape.owns(x) else x

        for e in self._needed():
            operands, attributes = tuple(map(value, e.inputs)), e.attributes
            if e.effect is custom_linear and innermost() is not bottom:
                operands, attributes = closed(operands, attributes)
            result = perform(e.effect, operands, attributes)
            if e.effect.multiple:
                known.update(zip(e.outputs, result, strict=True))
            else:
                known[e.outputs[0]] = result
        return [
            _zero(type) if t is None else value(t)
            for type, t in zip(types, self.tangents, strict=True)
        ]

    def _needed(self) -> list[Any]:
        """The equations that some tangent of a result depends on, or that can be observed."""
        if self.needed is None:
            owns = self.tape.owns
            live = {t for t in self.tangents if t is not None and owns(t)}
            found = []
            for e in reversed(self.tape.equations):
                if live.isdisjoint(e.outputs) and not e.row:
                    continue
                found.append(e)
                live.update(x for x in e.inputs if owns(x))
            self.needed = found[::-1]
        return self.needed

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the inputs, None where there are none, given the results'."""
        known: dict[Variable, Any] = {}
        for x, ct in zip(self.tangents, cotangents, strict=True):
            if ct is not None and self.tape.owns(x):
                known[x] = add_cotangents(known.get(x), ct)
        inputs = [x for x in self.inputs if x is not None]
        given = iter(backward(self.tape, known, inputs))
        return [None if x is None else next(given) for x in self.inputs]


@overload
def jvp(
    fun: Callable[..., R], primals: Any, tangents: Any, has_aux: Literal[False] = ...
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]], primals: Any, tangents: Any, *, has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = ...
) -> tuple[Any, ...]: ...
@filtered
def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the value of `fun` and its directional derivative (forward mode).

    Args:
      fun: a function of pytrees of arrays.
      primals: a tuple or list of its arguments.
      tangents: the direction: of the same trees, shapes and dtypes (`float0` for integers).
      has_aux: whether `fun` returns a pair, the second of which is not differentiated.

    Returns:
      `(value, tangent)`, or `(value, tangent, aux)`.

    Raises:
      TypeError: where primals and tangents differ in tree, shape or dtype.

    >>> import effax, effax.numpy as jnp
    >>> effax.jvp(jnp.square, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jvp must be tuples or lists; "
            f"found {type(primals).__name__} and {type(tangents).__name__}"
        )
    leaves, tree = tree_flatten((tuple(primals), {}))
    tangent_leaves = directions_like(tree, (tuple(tangents), {}))
    if tangent_leaves is None:
        raise TypeError(
            "primal and tangent arguments to jvp must have the same tree structure; "
            f"primals have {tree_structure(tuple(primals))}, tangents "
            f"{tree_structure(tuple(tangents))}"
        )
    directions = check_tangents(leaves, tangent_leaves)
    flat, out = flat_function(fun, tree)
    handler = JVP()
    results = handler.run(flat, *_duals(handler, leaves, directions))
    if not has_aux:
        pairs = [handler.split(x) for x in results]
        return (
            tree_unflatten(out[0], [p for p, _ in pairs]),
            tree_unflatten(out[0], [_tangent(p, t) for p, t in pairs]),
        )
    value, aux = with_aux(fun, tree_unflatten(out[0], results))
    value_leaves, value_tree = tree_flatten(value)
    pairs = [handler.split(x) for x in value_leaves]
    return (
        tree_unflatten(value_tree, [p for p, _ in pairs]),
        tree_unflatten(value_tree, [_tangent(p, t) for p, t in pairs]),
        tree_map(lambda x: handler.split(x)[0], aux),
    )


def _tangent(primal: Any, tangent: Any) -> Any:
    return _zero(typeof(primal)) if tangent is None else tangent


def _zero(primal_type: ShapedArray) -> Any:
    type = tangent_type(primal_type)
    return float0_zeros(type.shape) if type.dtype == float0 else zeros(type)


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = ...) -> tuple[Any, ...]: ...
@filtered
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value of a function and its derivative there, as a linear function of tangents.

    What depends on the primals alone is computed once; the linear function does only the rest
    (Radul et al. 2023, "You only linearize once").

    Args:
      fun: a function of pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.

    Returns:
      `(value, f_jvp)`, or `(value, f_jvp, aux)` with `has_aux`.

    >>> import effax, effax.numpy as jnp
    >>> y, f_jvp = effax.linearize(jnp.sin, 0.0)
    >>> f_jvp(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten((primals, {}))
    value_only, aux = split_aux(fun, has_aux)
    flat, out = flat_function(value_only, tree)
    done = Linearized(flat, leaves)
    out_tree = out[0]
    types, in_tree = [typeof(x) for x in leaves], tree_structure(primals)
    f_jvp = Pushforward(done, types, in_tree, out_tree, name_of(fun))
    value = tree_unflatten(out_tree, done.primals)
    return (value, f_jvp, plain_aux(aux[0])) if has_aux else (value, f_jvp)


class Pushforward(LinearFunction):
    """The linear map of `linearize`: from tangents of the arguments to the tangent of the value."""

    __slots__ = ()

    @filtered
    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the value.

        Raises `TypeError` where the tangents' tree is not the arguments', `ValueError` where
        shapes or dtypes are not.
        """
        given = directions_like(self._in_tree, tangents)
        if given is None:
            raise TypeError(
                "linearized function called on tangent values inconsistent with the primal values: "
                f"the primals have tree {self._in_tree}, the tangents {tree_structure(tangents)}"
            )
        directions = [_direction(p, t) for p, t in zip(self._types, given, strict=True)]
        return tree_unflatten(self._out_tree, self._done.push(directions, self._out_types))


def _direction(primal: ShapedArray, tangent: Any) -> Any:
    try:
        return check_tangent(primal, tangent)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values: {error}"
        ) from None
