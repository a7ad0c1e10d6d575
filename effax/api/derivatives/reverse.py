"""Reverse mode: linearization, transposed. `vjp`, `grad`, `value_and_grad`, `linear_transpose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from effax.api.calling.arguments import flat_function, name_of, positions, wearing
from effax.api.calling.differentiable import (
    as_value,
    check_cotangent,
    check_inputs,
    check_output,
    chosen,
    cotangent_of,
    cotangent_of_kind,
    plain_aux,
    refuse_references,
    split_aux,
    typeof_like,
    with_chosen,
)
from effax.api.calling.float0 import directions_like
from effax.api.calling.signatures import Parameters, leaf_names
from effax.api.derivatives.forward import Linearized
from effax.api.derivatives.linear_functions import LinearFunction
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.buffer import put
from effax.eager.deferred import DeferredJVP, Differentiated, may_defer
from effax.eager.whole import remembered
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.contexts import put as put_handler
from effax.effects.dtypes import is_inexact, is_integer
from effax.effects.effect import REFERENCES
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current, innermost
from effax.effects.interning import keep
from effax.effects.rows.conversion import number
from effax.effects.rows.state import Ref
from effax.effects.tree import tree_flatten, tree_structure, tree_unflatten, treedef_is_leaf
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.functor.discharge import distinct
from effax.interpreters.residual import Record
from effax.interpreters.transpose.linear import NotLinearError

P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def vjp(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = ...,
    reduce_axes: Sequence[Any] = ...,
) -> tuple[R, Callable[..., Any]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Any] = ...,
) -> tuple[R, Callable[..., Any], Aux]: ...
@overload
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = ...,
    reduce_axes: Sequence[Any] = ...,
) -> tuple[Any, ...]: ...
@filtered
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """Return the value of a function, and a function from its cotangents to those of the arguments.

    Reverse mode: the linearized function, transposed. That function takes a cotangent of the
    value's tree, shapes and dtypes, and returns a tuple, one entry an argument.

    Args:
      fun: a function of pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      reduce_axes: accepted for JAX's sake; must be empty.

    Returns:
      `(value, f_vjp)`, or `(value, f_vjp, aux)` with `has_aux`.

    >>> import effax, effax.numpy as jnp
    >>> y, f_vjp = effax.vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> f_vjp(1.0)
    (Array(5., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    refuse_axes("vjp", reduce_axes)
    leaves, tree = tree_flatten((primals, {}))
    value_only, aux = split_aux(fun, has_aux)
    flat, out = flat_function(value_only, tree)
    # Checked first, because this error names the arguments.
    if not REFERENCES.isdisjoint(map(type, leaves)):
        distinct(leaves, name_of(fun), lambda: leaf_names(Parameters.of(fun), tree))
    done = Linearized(flat, leaves)
    out_tree = out[0]
    f_vjp = VJP(done, [typeof(x) for x in leaves], tree_structure(primals), out_tree, name_of(fun))
    value = tree_unflatten(out_tree, done.primals)
    return (value, f_vjp, plain_aux(aux[0])) if has_aux else (value, f_vjp)


def refuse_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    """Raise `NotImplementedError` where cotangents are to be summed over named axes."""
    if reduce_axes:
        raise NotImplementedError(
            f"reduce_axes argument to {name} is deprecated: it must be empty, and was "
            f"{tuple(reduce_axes)}; psum the gradient along these axes instead"
        )


class VJP(LinearFunction):
    """The function returned by `vjp`, from a cotangent of the value to those of the arguments."""

    __slots__ = ()

    @filtered
    def __call__(self, *cotangents: Any) -> Any:
        """The cotangents of the arguments, a tuple, given that of the value.

        Raises `ValueError` where the cotangent's tree, shapes or dtypes are not the value's.
        """
        if len(cotangents) != 1:
            raise TypeError(
                f"the function returned by effax.vjp applied to {self._name} was called with "
                f"{len(cotangents)} arguments, but takes one: the cotangent of the value, of the "
                "same tree (a tuple, if the value is one)"
            )
        return tree_unflatten(self._in_tree, self._pulled(cotangents[0]))

    def _pulled(self, cotangent: Any) -> list[Any]:
        given = directions_like(self._out_tree, cotangent)
        if given is None:
            raise ValueError(
                "unexpected tree structure of argument to vjp function: the cotangent must have "
                f"that of the output, {self._out_tree}, but has {tree_structure(cotangent)}"
            )
        cts = [check_cotangent(ct, t) for ct, t in zip(given, self._out_types, strict=True)]
        pulled = self._done.pull(cts)
        return [cotangent_of(ct, t) for ct, t in zip(pulled, self._types, strict=True)]

    def with_refs(self, *accumulators: Any) -> Callable[[Any], Any]:
        """The same function, that adds cotangents to references in place of returning them.

        `accumulators` has the tree of the arguments. Where it has a reference, the cotangent is
        added to it, and the result has a `GradRef` there; elsewhere the cotangent is returned.

        Raises `ValueError` where the trees differ, or a reference has not the argument's type.

        >>> import effax
        >>> total = effax.new_ref(0.0)
        >>> _, f_vjp = effax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> f_vjp.with_refs(total, True)(1.0)
        (GradRef(), Array(2., dtype=float32, weak_type=True))
        >>> total
        Ref(3., dtype=float32, weak_type=True)
        """
        places, tree = tree_flatten(accumulators)
        if tree != self._in_tree:
            raise ValueError(
                f"with_refs: expected the structure of the function's arguments, {self._in_tree}, "
                f"but got {tree}; pass True for each argument whose cotangent is to be returned"
            )

        def accumulate(cotangent: Any) -> Any:
            pulled = self._pulled(cotangent)
            found = [_accumulated(x, ct) for x, ct in zip(places, pulled, strict=True)]
            return tree_unflatten(self._in_tree, found)

        return accumulate


class GradRef:
    """Stands for a cotangent that was added to a reference."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "GradRef()"


def _accumulated(accumulator: Any, cotangent: Any) -> Any:
    if not isinstance(accumulator, Ref):
        return cotangent
    from effax.api.references.references import addupdate

    addupdate(accumulator, ..., cotangent)
    return GradRef()


def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, tuple[R, Any]]:
    """Return a function that computes the value and the gradient of a scalar function.

    Args:
      fun: a function whose result (first result, with `has_aux`) is a scalar.
      argnums: which positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      holomorphic: whether `fun` is promised to be holomorphic.
      allow_int: whether integer arguments are allowed; their gradient is `float0` zeros.
      reduce_axes: accepted for JAX's sake; must be empty.

    Returns:
      A function of the same arguments that returns `(value, gradient)`, or
      `((value, aux), gradient)`; the gradient is a tuple when `argnums` is.

    Raises:
      TypeError: when the result is no real scalar or an argument is not real.

    >>> import effax
    >>> effax.value_and_grad(lambda x: x ** 2)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    refuse_axes("grad", reduce_axes)
    argnums = positions(argnums)
    what = "grad"

    @wearing(fun, annotated=False)
    @filtered
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        places = chosen(argnums, args, what)
        leaves, tree = tree_flatten((tuple(args[i] for i in places), {}))
        check_inputs(fun, places, leaves, tree, holomorphic, allow_int, what)
        value_only, aux = split_aux(fun, has_aux)
        flat, out = flat_function(with_chosen(value_only, places, args, keywords), tree)
        done = _linearized(flat, leaves, aux)
        if len(done.primals) != 1 or not treedef_is_leaf(out[0]) or done.primals[0] is None:
            if tree_unflatten(out[0], done.primals) is None:
                raise TypeError(
                    "Gradient only defined for scalar-output functions. Output was None: does "
                    f"{name_of(fun)} return its result?"
                )
            count = len(done.primals)
            raise TypeError(
                "Gradient only defined for scalar-output functions. Output was a pytree with "
                f"{count} {'leaf' if count == 1 else 'leaves'}: {out[0]}; use has_aux=True for "
                "further results, or vjp for cotangents of all of them"
            )
        (value,) = done.primals
        type = typeof(value)
        if type.shape:
            raise TypeError(
                "Gradient only defined for scalar-output functions. "
                f"Output had shape: {type.shape}. Reduce it to a scalar, or use jacrev or vjp"
            )
        check_output(value, holomorphic, what)
        if isinstance(done, Linearized):
            pulled = done.pull([_one(type)])
        else:
            pulled = done.gradient
        gradients = [cotangent_of(ct, typeof(x)) for ct, x in zip(pulled, leaves, strict=True)]
        gradient, _ = tree_unflatten(tree, gradients)
        if not isinstance(argnums, Sequence):
            gradient = gradient[0]
        return ((value, plain_aux(aux[0])), gradient) if has_aux else (value, gradient)

    return value_and_gradient


def _linearized(
    function: Callable[..., Sequence[Any]], values: Sequence[Any], aux: list[Any]
) -> Linearized | Differentiated:
    """A function linearized at values, or its first result differentiated, which is all one asks.

    `aux` is empty, or holds after the call what else the function computed.
    """
    if not may_defer():
        return Linearized(function, values)
    refuse_references(values)
    handler = DeferredJVP(values)
    try:
        token = put_handler(current, handler)
        try:
            results = function(*handler.arguments)
        finally:
            current.reset(token)
        leaves, tree = tree_flatten(plain_aux(aux) if aux else aux)
        everything = [*results, *leaves]
        done: Linearized | Differentiated | None = handler.differentiated(everything)
        if done is None:
            done = Linearized.of(*handler.recorded(everything))
    finally:
        handler.close()
    count = len(results)
    aux[:] = tree_unflatten(tree, done.primals[count:])
    del done.primals[count:]
    if isinstance(done, Linearized):
        del done.tangents[count:]
    return done


def _one(type: ShapedArray) -> Any:
    """The cotangent of a scalar by itself."""
    if innermost() is not bottom:
        # A strong 1 is a literal in the equations that use it; gradients become weak in the end.
        return number(1, type.strong())
    key = trace_key(), type
    found = _ones.get(key)
    if found is None or config.guarded:
        host = np.ones((), type.dtype)
        one = asarray(host, type)
        keep(_ones, key, (host, one.spec))
        return one
    host, spec = found
    return Array(put(host, type, spec.placement), spec)


_ones: dict[Any, Any] = remembered()


@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = ...,
    has_aux: Literal[False] = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: Sequence[Any] = ...,
) -> Callable[P, Any]: ...
@overload
def grad(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: Sequence[Any] = ...,
) -> Callable[P, tuple[Any, Aux]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: Sequence[Any] = ...,
) -> Callable[P, Any]: ...
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[P, Any]:
    """Return a function that computes the gradient of a scalar function; see `value_and_grad`.

    Args:
      fun: a function whose result (first result, with `has_aux`) is a scalar.
      argnums: which positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      holomorphic: whether `fun` is promised to be holomorphic.
      allow_int: whether integer arguments are allowed; their gradient is `float0` zeros.
      reduce_axes: accepted for JAX's sake; must be empty.

    >>> import effax, effax.numpy as jnp
    >>> effax.grad(jnp.tanh)(2.0)
    Array(0.07065082, dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wearing(fun, annotated=False)
    @filtered
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, grads = both(*args, **keywords)
        return (grads, value[1]) if has_aux else grads

    return gradient


@filtered
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], Any]:
    """Return the transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of arrays.
      *primals: examples of its arguments; only their types matter.
      reduce_axes: accepted for JAX's sake; must be empty.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the arguments.

    Raises:
      UnsupportedDerivativeError, MissingRuleError: when an effect in the way is not linear.
      TypeError: where some of the arguments and results are integers, and some are not.

    >>> import effax
    >>> effax.linear_transpose(lambda x: 3.0 * x, 0.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    refuse_axes("linear_transpose", reduce_axes)
    leaves, tree = tree_flatten((primals, {}))
    refuse_references(leaves)
    types = [typeof_like(x) for x in leaves]
    flat, out = flat_function(fun, tree)
    recording = Record()
    inputs = [recording.unknown(t) for t in types]
    results = recording.run(flat, *inputs)
    _check_linear(types, [typeof(x) for x in results])
    done = Linearized.of(inputs, [(x, x) for x in results], recording.finish())
    return Transpose(done, types, tree_structure(primals), out[0], name_of(fun))


def _check_linear(types: Sequence[ShapedArray], out_types: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` where cotangents of the results are no cotangents of the arguments."""
    dtypes = {t.dtype for t in (*types, *out_types)}
    if not (all(map(is_inexact, dtypes)) or all(map(is_integer, dtypes))):
        ins, outs = ([t.dtype.name for t in ts] for ts in (types, out_types))
        raise TypeError(
            "linear_transpose only supports functions between floats or complex numbers, and "
            f"functions from integers to integers; this one maps {ins} to {outs}"
        )


class Transpose(LinearFunction):
    """The map of `linear_transpose`: from a cotangent of the result to those of the arguments."""

    __slots__ = ()

    @filtered
    def __call__(self, cotangent: Any) -> Any:
        """The cotangents of the arguments, a tuple.

        Raises `TypeError` where the cotangent's tree, shapes or dtypes are not the result's.
        """
        given, given_tree = tree_flatten(cotangent)
        if given_tree != self._out_tree:
            raise TypeError(
                "cotangent tree does not match function output, expected "
                f"{self._out_tree} but got {given_tree}"
            )
        cts = [_dual(ct, t) for ct, t in zip(given, self._out_types, strict=True)]
        try:
            pulled = self._done.pull(cts)
        except NotLinearError as error:
            raise error.of_transpose() from None
        found = [cotangent_of_kind(ct, t) for ct, t in zip(pulled, self._types, strict=True)]
        return tree_unflatten(self._in_tree, found)


def _dual(ct: Any, type: ShapedArray) -> Any:
    """A cotangent of a linear function's result; raises `TypeError` for one of another type."""
    found = typeof(ct)
    if found.shape != type.shape or found.dtype != type.dtype:
        raise TypeError(
            "cotangent type does not match function output, expected "
            f"{type.str_short()} but got {found.str_short()}"
        )
    return as_value(ct)
