"""Derivatives: forward mode, linearization, and reverse mode as its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from effax.api.arguments import as_tuple, flat_function, name_of, normalise
from effax.backends.xla.array import asarray
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current
from effax.effects.program import Variable
from effax.effects.tree import tree_flatten, tree_map, tree_structure, tree_unflatten
from effax.effects.types import (
    ShapedArray,
    float0,
    is_complex,
    is_inexact,
    tangent_dtype,
    typeof,
)
from effax.effects.value import Value
from effax.interpreters.jvp.dual import JVP, moves, tangent_type, zeros
from effax.interpreters.residual import Record
from effax.interpreters.transpose.linear import backward


def jvp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Forward mode on flat values; a tangent may be None. Missing tangents of results are None."""
    handler = JVP()
    ready = [
        p if t is None or isinstance(p, Value) else asarray(p)
        for p, t in zip(primals, tangents, strict=True)
    ]
    duals = [handler.dual(p, t) for p, t in zip(ready, tangents, strict=True)]
    results = handler.run(function, *duals)
    pairs = [handler.split(x) for x in results]
    return [p for p, _ in pairs], [t for _, t in pairs]


class Linearized:
    """What linearization leaves: primal results, and a recorded linear program of the tangents."""

    __slots__ = ("inputs", "primals", "tangents", "tape")

    def __init__(self, function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> None:
        self.tape = Record()
        self.inputs = [
            self.tape.unknown(tangent_type(t)) if moves(t) else None for t in map(typeof, values)
        ]
        with self.tape.installed():
            self.primals, self.tangents = jvp_flat(function, values, self.inputs)

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the results, given the inputs'; evaluated under the present handlers."""
        known: dict[Any, Any] = {
            x: t for x, t in zip(self.inputs, tangents, strict=True) if x is not None
        }
        perform = current.get().perform

        def value(x: Any) -> Any:
            return known[x] if self.tape.owns(x) else x

        for e in self.tape.equations:
            result = perform(e.effect, tuple(map(value, e.inputs)), e.attributes)
            if e.effect.multiple:
                known.update(zip(e.outputs, result, strict=True))
            else:
                known[e.outputs[0]] = result
        return [
            zeros(tangent_type(typeof(p))) if t is None else value(t)
            for p, t in zip(self.primals, self.tangents, strict=True)
        ]

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the inputs, None where there are none, given the results'."""
        from effax.interpreters.transpose.linear import add_cotangents

        known: dict[Variable, Any] = {}
        for x, ct in zip(self.tangents, cotangents, strict=True):
            if ct is not None and self.tape.owns(x):
                known[x] = add_cotangents(known.get(x), ct)
        inputs = [x for x in self.inputs if x is not None]
        given = iter(backward(self.tape, known, inputs))
        return [None if x is None else next(given) for x in self.inputs]


def _float0_zeros(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.zeros(shape, float0)


def _check_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    found = []
    for p, t in zip(primals, tangents, strict=True):
        expected = tangent_type(typeof(p))
        if expected.dtype == float0:
            given = getattr(t, "dtype", None)
            if given != float0:
                raise TypeError(
                    "primal and tangent arguments to jvp do not match: the tangent of an integer "
                    f"or Boolean primal ({typeof(p).str_short()}) must have dtype float0, as "
                    f"np.zeros({expected.shape}, effax.dtypes.float0) has; it has {given}"
                )
            found.append(None)
            continue
        actual = typeof(t)
        if actual.dtype != expected.dtype or actual.shape != expected.shape:
            raise TypeError(
                "primal and tangent arguments to jvp do not match; dtypes and shapes must be "
                f"equal: the primal is {typeof(p).str_short()}, its tangent should be "
                f"{expected.str_short()}, and is {actual.str_short()}"
            )
        found.append(t)
    return found


@filtered
def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function and its directional derivative (forward mode).

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
    tangent_leaves, tangent_tree = tree_flatten((tuple(tangents), {}))
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jvp must have the same tree structure; "
            f"primals have {tree}, tangents {tangent_tree}"
        )
    directions = _check_tangents(leaves, tangent_leaves)
    flat, out = flat_function(fun, tree)
    handler = JVP()
    duals = [handler.dual(p, t) for p, t in zip(leaves, directions, strict=True)]
    results = handler.run(flat, *duals)
    if not has_aux:
        pairs = [handler.split(x) for x in results]
        return (
            tree_unflatten(out[0], [p for p, _ in pairs]),
            tree_unflatten(out[0], [_tangent(p, t) for p, t in pairs]),
        )
    value, aux = _with_aux(fun, tree_unflatten(out[0], results))
    value_leaves, value_tree = tree_flatten(value)
    pairs = [handler.split(x) for x in value_leaves]
    return (
        tree_unflatten(value_tree, [p for p, _ in pairs]),
        tree_unflatten(value_tree, [_tangent(p, t) for p, t in pairs]),
        tree_map(lambda x: handler.split(x)[0], aux),
    )


def _tangent(primal: Any, tangent: Any) -> Any:
    if tangent is not None:
        return tangent
    type = tangent_type(typeof(primal))
    return _float0_zeros(type.shape) if type.dtype == float0 else zeros(type)


def _with_aux(fun: Callable[..., Any], result: Any) -> tuple[Any, Any]:
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(
            f"with has_aux=True, {name_of(fun)} must return a pair (value, auxiliary data); it "
            f"returned {type(result).__name__}"
        )
    return result[0], result[1]


def _split_aux(fun: Callable[..., Any], has_aux: bool) -> tuple[Callable[..., Any], list[Any]]:
    """A function without its auxiliary result, and a list that holds it after the call."""
    kept: list[Any] = []
    if not has_aux:
        return fun, kept

    def value_only(*args: Any, **keywords: Any) -> Any:
        value, aux = _with_aux(fun, fun(*args, **keywords))
        kept[:] = [aux]
        return value

    return value_only, kept


def _plain_aux(aux: Any) -> Any:
    """Auxiliary data as it is outside the differentiation that it was computed in."""
    from effax.interpreters.jvp.dual import Dual

    def strip(x: Any) -> Any:
        return x.primal if type(x) is Dual and not x.handler.live else x

    return tree_map(strip, aux)


@filtered
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function and its derivative there, as a linear function of tangents.

    What depends on the primals alone is computed once; the linear function does only the rest
    (Radul et al. 2023, "You only linearize once").

    Returns:
      `(value, f_jvp)`, or `(value, f_jvp, aux)` with `has_aux`.

    >>> import effax, effax.numpy as jnp
    >>> y, f_jvp = effax.linearize(jnp.sin, 0.0)
    >>> f_jvp(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten((primals, {}))
    value_only, aux = _split_aux(fun, has_aux)
    flat, out = flat_function(value_only, tree)
    done = Linearized(flat, leaves)
    in_tree = tree_structure(primals)
    out_tree = out[0]

    def f_jvp(*tangents: Any) -> Any:
        given, given_tree = tree_flatten(tangents)
        if given_tree != in_tree:
            raise TypeError(
                "linearized function called on tangent values inconsistent with the primal "
                f"values: the primals have tree {in_tree}, the tangents {given_tree}"
            )
        directions = _check_tangents(leaves, given)
        return tree_unflatten(out_tree, done.push(directions))

    value = tree_unflatten(out_tree, done.primals)
    return (value, f_jvp, _plain_aux(aux[0])) if has_aux else (value, f_jvp)


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
    value_only, aux = _split_aux(fun, has_aux)
    flat, out = flat_function(value_only, tree)
    done = Linearized(flat, leaves)
    out_tree = out[0]
    in_tree = tree_structure(primals)
    types = [typeof(x) for x in leaves]
    out_types = [typeof(x) for x in done.primals]

    def f_vjp(cotangent: Any) -> Any:
        given, given_tree = tree_flatten(cotangent)
        if given_tree != out_tree:
            raise ValueError(
                "Tree structure of cotangent input does not match structure of primal output: "
                f"the output has {out_tree}, the cotangent {given_tree}"
            )
        cts = [_check_cotangent(ct, t) for ct, t in zip(given, out_types, strict=True)]
        pulled = done.pull(cts)
        return tree_unflatten(
            in_tree, [_cotangent(ct, t) for ct, t in zip(pulled, types, strict=True)]
        )

    value = tree_unflatten(out_tree, done.primals)
    return (value, f_vjp, _plain_aux(aux[0])) if has_aux else (value, f_vjp)


def _check_cotangent(ct: Any, type: ShapedArray) -> Any:
    expected = tangent_type(type)
    if expected.dtype == float0:
        return None
    found = typeof(ct)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{found.str_short()}, but expected {expected.str_short()}, because the corresponding "
            f"output of the function is {type.str_short()}"
        )
    return ct


def _cotangent(ct: Any, type: ShapedArray) -> Any:
    """A cotangent to give back: an array, zeros where it is None."""
    if ct is None:
        kind = tangent_type(type)
        return _float0_zeros(kind.shape) if kind.dtype == float0 else zeros(kind)
    return ct


def _check_input(x: Any, holomorphic: bool, allow_int: bool, what: str) -> None:
    t = typeof(x)
    if holomorphic:
        if not is_complex(t.dtype):
            raise TypeError(
                f"{what} with holomorphic=True requires inputs with complex dtype, but got "
                f"{t.dtype.name}"
            )
        return
    if is_complex(t.dtype):
        raise TypeError(
            f"{what} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {t.dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex inputs, use vjp"
        )
    if not is_inexact(t.dtype) and not allow_int:
        raise TypeError(
            f"{what} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {t.dtype.name}. Pass floats, or allow_int=True for a float0 "
            "derivative"
        )


def _check_output(x: Any, holomorphic: bool, what: str) -> None:
    t = typeof(x)
    if holomorphic:
        if not is_complex(t.dtype):
            raise TypeError(
                f"{what} with holomorphic=True requires outputs with complex dtype, but got "
                f"{t.dtype.name}"
            )
        return
    if is_complex(t.dtype):
        raise TypeError(
            f"{what} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {t.dtype.name}. For holomorphic differentiation, pass "
            "holomorphic=True; else use vjp"
        )
    if not is_inexact(t.dtype):
        raise TypeError(
            f"{what} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {t.dtype.name}: integers and Booleans have no derivative; "
            "convert the result with .astype(float) if you mean a step function"
        )


def _chosen(argnums: int | Sequence[int], args: Sequence[Any], what: str) -> tuple[int, ...]:
    numbers = as_tuple(argnums)
    for n in numbers:
        if not isinstance(n, (int, np.integer)):
            raise TypeError(f"argnums must be an integer or a tuple of integers, got {argnums}")
    if not args or any(not -len(args) <= n < len(args) for n in numbers):
        raise ValueError(
            f"differentiating with respect to argnums={argnums} requires at least "
            f"{max(numbers, default=0) + 1} positional arguments to be passed by the caller, but "
            f"got only {len(args)} positional arguments"
        )
    return normalise(numbers, len(args), what)


def _with_chosen(
    fun: Callable[..., Any],
    places: Sequence[int],
    args: Sequence[Any],
    keywords: dict[str, Any],
) -> Callable[..., Any]:
    def of_chosen(*chosen: Any) -> Any:
        filled = list(args)
        for i, x in zip(places, chosen, strict=True):
            filled[i] = x
        return fun(*filled, **keywords)

    return of_chosen


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
        places = _chosen(argnums, args, what)
        chosen = tuple(args[i] for i in places)
        leaves, tree = tree_flatten((chosen, {}))
        for x in leaves:
            _check_input(x, holomorphic, allow_int, what)
        value_only, aux = _split_aux(fun, has_aux)
        flat, out = flat_function(_with_chosen(value_only, places, args, keywords), tree)
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
        _check_output(value, holomorphic, what)
        one = np.ones((), tangent_dtype(type.dtype))[()]
        if current.get() is bottom:
            from effax.backends.xla.array import asarray

            one = asarray(one)
        pulled = done.pull([one])
        gradients = [_cotangent(ct, typeof(x)) for ct, x in zip(pulled, leaves, strict=True)]
        gradient, _ = tree_unflatten(tree, gradients)
        if not isinstance(argnums, Sequence):
            gradient = gradient[0]
        (result,) = tree_flatten(value)[0]
        answer = tree_unflatten(out[0], [result])
        return ((answer, _plain_aux(aux[0])), gradient) if has_aux else (answer, gradient)

    return value_and_gradient


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

    def transposed(cotangent: Any) -> Any:
        flat, out = flat_function(fun, tree)
        tape = Record()
        inputs = [tape.unknown(t) for t in types]
        results = tape.run(flat, *inputs)
        given, given_tree = tree_flatten(cotangent)
        if given_tree != out[0]:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out[0]} but got "
                f"{given_tree}"
            )
        known: dict[Variable, Any] = {}
        from effax.interpreters.transpose.linear import add_cotangents

        for x, ct in zip(results, given, strict=True):
            if tape.owns(x):
                known[x] = add_cotangents(known.get(x), _check_cotangent(ct, x.type))
        pulled = backward(tape, known, inputs)
        return tree_unflatten(
            in_tree, [_cotangent(ct, t) for ct, t in zip(pulled, types, strict=True)]
        )

    return transposed


def typeof_like(x: Any) -> ShapedArray:
    """The type of a value, or of what stands for one (`ShapeDtypeStruct`)."""
    if hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "__array__"):
        return ShapedArray(tuple(x.shape), np.dtype(x.dtype), getattr(x, "weak_type", False))
    return typeof(x)
