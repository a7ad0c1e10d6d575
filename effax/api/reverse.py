"""Reverse mode: linearization, transposed. `vjp`, `grad`, `value_and_grad`, `linear_transpose`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from effax.api.arguments import flat_function
from effax.api.differentiable import (
    check_cotangent,
    check_input,
    check_output,
    chosen,
    cotangent_of,
    plain_aux,
    split_aux,
    typeof_like,
    with_chosen,
)
from effax.api.forward import Linearized
from effax.backends.xla.array import asarray
from effax.effects.conversion import number
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current
from effax.effects.program import Variable
from effax.effects.tree import tree_flatten, tree_structure, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.residual import Record
from effax.interpreters.transpose.linear import add_cotangents, backward


@filtered
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """The value of a function, and a function from cotangents of it to those of its arguments.

    Reverse mode: the linearized function, transposed. It takes a cotangent of the value's tree,
    shapes and dtypes, and returns a tuple, one entry an argument.

    Returns:
      `(value, f_vjp)`, or `(value, f_vjp, aux)` with `has_aux`.

    >>> import effax, effax.numpy as jnp
    >>> y, f_vjp = effax.vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> f_vjp(1.0)
    (Array(5., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, tree = tree_flatten((primals, {}))
    value_only, aux = split_aux(fun, has_aux)
    flat, out = flat_function(value_only, tree)
    done = Linearized(flat, leaves)
    out_tree = out[0]
    in_tree = tree_structure(primals)
    types = [typeof(x) for x in leaves]
    out_types = [typeof(x) for x in done.primals]

    @filtered
    def f_vjp(cotangent: Any) -> Any:
        given, given_tree = tree_flatten(cotangent)
        if given_tree != out_tree:
            raise ValueError(
                "Tree structure of cotangent input does not match structure of primal output: "
                f"the output has {out_tree}, the cotangent {given_tree}"
            )
        cts = [check_cotangent(ct, t) for ct, t in zip(given, out_types, strict=True)]
        pulled = done.pull(cts)
        return tree_unflatten(
            in_tree, [cotangent_of(ct, t) for ct, t in zip(pulled, types, strict=True)]
        )

    value = tree_unflatten(out_tree, done.primals)
    return (value, f_vjp, plain_aux(aux[0])) if has_aux else (value, f_vjp)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that gives both the value and the gradient of a scalar function.

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
    if reduce_axes:
        raise NotImplementedError("reduce_axes is not supported; psum the gradient instead")
    what = "grad"

    @wraps(fun, assigned=("__name__", "__doc__", "__module__"), updated=())
    @filtered
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        places = chosen(argnums, args, what)
        leaves, tree = tree_flatten((tuple(args[i] for i in places), {}))
        for x in leaves:
            check_input(x, holomorphic, allow_int, what)
        value_only, aux = split_aux(fun, has_aux)
        flat, out = flat_function(with_chosen(value_only, places, args, keywords), tree)
        done = Linearized(flat, leaves)
        if len(done.primals) != 1 or done.primals[0] is None:
            raise TypeError(
                "Gradient only defined for scalar-output functions. "
                f"Output was a pytree with {len(done.primals)} leaves: {out[0]}; use has_aux=True "
                "for further results, or vjp for cotangents of all of them"
            )
        (value,) = done.primals
        type = typeof(value)
        if type.shape:
            raise TypeError(
                "Gradient only defined for scalar-output functions. "
                f"Output had shape: {type.shape}. Reduce it to a scalar, or use jacrev or vjp"
            )
        check_output(value, holomorphic, what)
        pulled = done.pull([_one(type)])
        gradients = [cotangent_of(ct, typeof(x)) for ct, x in zip(pulled, leaves, strict=True)]
        gradient, _ = tree_unflatten(tree, gradients)
        if not isinstance(argnums, Sequence):
            gradient = gradient[0]
        (result,) = tree_flatten(value)[0]
        answer = tree_unflatten(out[0], [result])
        return ((answer, plain_aux(aux[0])), gradient) if has_aux else (answer, gradient)

    return value_and_gradient


def _one(type: ShapedArray) -> Any:
    """The cotangent of a scalar by itself, as weak as the scalar."""
    if current.get() is bottom:
        return asarray(np.ones((), type.dtype), type)
    return number(1, type)


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function that gives the gradient of a scalar function; see `value_and_grad`.

    >>> import effax, effax.numpy as jnp
    >>> effax.grad(jnp.tanh)(2.0)
    Array(0.07065082, dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun, assigned=("__name__", "__doc__", "__module__"), updated=())
    @filtered
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, grads = both(*args, **keywords)
        return (grads, value[1]) if has_aux else grads

    return gradient


@filtered
def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
) -> Callable[[Any], Any]:
    """The transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of arrays.
      *primals: examples of its arguments; only their types matter.
      reduce_axes: accepted for JAX's sake; must be empty.

    Returns:
      A function from a cotangent of the result to a tuple of cotangents of the arguments.

    Raises:
      UnsupportedDerivativeError, MissingRuleError: when an effect in the way is not linear.

    >>> import effax
    >>> effax.linear_transpose(lambda x: 3.0 * x, 0.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    leaves, tree = tree_flatten((primals, {}))
    types = [typeof_like(x) for x in leaves]
    in_tree = tree_structure(primals)

    @filtered
    def transposed(cotangent: Any) -> Any:
        flat, out = flat_function(fun, tree)
        recording = Record()
        inputs = [recording.unknown(t) for t in types]
        results = recording.run(flat, *inputs)
        tape = recording.finish()
        given, given_tree = tree_flatten(cotangent)
        if given_tree != out[0]:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out[0]} but got "
                f"{given_tree}"
            )
        known: dict[Variable, Any] = {}
        for x, ct in zip(results, given, strict=True):
            if tape.owns(x):
                known[x] = add_cotangents(known.get(x), check_cotangent(ct, x.type))
        pulled = backward(tape, known, inputs)
        return tree_unflatten(
            in_tree, [cotangent_of(ct, t) for ct, t in zip(pulled, types, strict=True)]
        )

    return transposed
