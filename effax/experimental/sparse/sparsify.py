"""`sparsify`: a function of dense arrays, applied to sparse ones.

The function is staged for dense arrays of the operands' shapes. Its equations are then performed
one by one: those with a sparse operand by a rule of the table below, the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.api.calling.arguments import wearing
from effax.api.compiling.staging import make_jaxpr
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.program import Equation, Program, Variable, written_out
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.elements import bcoo_concatenate, bcoo_multiply_dense
from effax.experimental.sparse.products import bcoo_dot_general
from effax.experimental.sparse.rearranging import (
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_transpose,
)
from effax.experimental.sparse.vectors import by_position


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function that takes sparse arrays where `f` takes dense ones.

    What `f` does to them must have a sparse meaning: products, sums of sparse arrays, functions
    that keep zeros, and what moves elements about.

    Args:
      f: a function of trees of arrays.
      use_tracer: accepted; functions are staged.

    Returns:
      A function of trees of arrays, dense and sparse. What comes of sparse operands is sparse,
      but for products with dense ones; matrices keep their format.

    Raises:
      NotImplementedError: when called, for an operation that has no sparse meaning here.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> sparsify(lambda m, v: jnp.sin(m).T @ v)(m, jnp.array([1.0, 0.0]))
    Array([0.        , 0.84147096], dtype=float32)
    """

    @wearing(f, annotated=False)
    def of_sparse(*args: Any, **keywords: Any) -> Any:
        values, tree = tree_flatten((args, keywords), lambda x: isinstance(x, JAXSparse))
        if not any(isinstance(x, JAXSparse) for x in values):
            return f(*args, **keywords)
        made: list[Any] = []

        def flat(*dense: Any) -> list[Any]:
            given, named = tree_unflatten(tree, dense)
            leaves, out = tree_flatten(f(*given, **named))
            made[:] = [out]
            return leaves

        types = [
            ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, JAXSparse) else x for x in values
        ]
        program: Any = make_jaxpr(flat)(*types)
        return tree_unflatten(made[0], _run(program, [*program.consts, *values]))

    return of_sparse


def _run(program: Program, values: Sequence[Any]) -> list[Any]:
    """Perform a program's equations on values of which some are sparse."""
    environment: dict[Any, Any] = dict(zip(program.inputs, values, strict=True))

    def read(x: Any) -> Any:
        return environment[x] if isinstance(x, Variable) else written_out(x)

    for equation in program.equations:
        operands = [read(x) for x in equation.inputs]
        if any(isinstance(x, JAXSparse) for x in operands):
            results = _perform(equation, operands)
        else:
            result = equation.effect(*operands, **equation.attributes)
            results = result if equation.effect.multiple else [result]
        environment.update(zip(equation.outputs, results, strict=True))
    return [read(x) for x in program.outputs]


def _perform(equation: Equation, operands: list[Any]) -> list[Any]:
    name, params = equation.effect.name, equation.params
    if name == "call":
        return _run(params["program"], operands)
    rule = RULES.get(name)
    if rule is None:
        raise NotImplementedError(
            f"sparsify: {name} of {operands}, at {equation.place}, has no sparse rule; compute it "
            "from dense arrays (todense), or from the data of a BCOO"
        )
    formats: dict[Any, None] = dict.fromkeys(type(x) for x in operands if isinstance(x, JAXSparse))
    result = rule(*map(by_position, operands), **params)
    kind, *more = formats
    if more or kind is BCOO or not isinstance(result, BCOO) or not _is_matrix(result):
        return [result]
    return [kind.from_bcoo(result)]  # the format of all sparse operands


def _is_matrix(x: BCOO) -> bool:
    return (x.n_batch, x.n_sparse, x.n_dense) == (0, 2, 0)


def _by_element(name: str) -> Callable[..., Any]:
    """Return the rule of a function that is 0 at 0; a linear one sees each element by itself."""

    def rule(x: BCOO, **params: Any) -> BCOO:
        from effax import lax

        found = x if name in _LINEAR else x._each_once()
        attributes = {"new_dtype": params["new_dtype"]} if "new_dtype" in params else {}
        if name == "integer_pow":
            attributes = {"y": params["y"]}
            if params["y"] <= 0:
                raise NotImplementedError(f"sparsify: the power {params['y']} of 0 is not 0")
        return found.like(getattr(lax, name)(found.data, **attributes))

    return rule


def _add(x: Any, y: Any, **_: Any) -> Any:
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return x + y
    raise NotImplementedError("sparsify: the sum of a sparse and a dense array is dense")


def _sub(x: Any, y: Any, **_: Any) -> Any:
    return _add(x, -y)


def _mul(x: Any, y: Any, **_: Any) -> Any:
    if isinstance(x, BCOO):
        return x * y if isinstance(y, BCOO) else x.like(bcoo_multiply_dense(x, y))
    return _mul(y, x)


def _div(x: Any, y: Any, **_: Any) -> Any:
    if isinstance(y, BCOO):
        raise NotImplementedError("sparsify: a quotient by a sparse array divides by 0")
    return x / y


def _concatenate(*operands: Any, dimension: int, **_: Any) -> Any:
    if not all(isinstance(x, BCOO) for x in operands):
        raise NotImplementedError("sparsify: concatenate takes sparse arrays alone, or none")
    return bcoo_concatenate(operands, dimension=dimension)


def _dot_general(x: Any, y: Any, **params: Any) -> Any:
    numbers, dtype = params["dimension_numbers"], params["preferred_element_type"]
    return bcoo_dot_general(x, y, dimension_numbers=numbers, preferred_element_type=dtype)


def _reduce_sum(x: BCOO, *, axes: Sequence[int], **_: Any) -> Any:
    found = bcoo_reduce_sum(x, axes=axes)
    return found if found.shape else found.todense()


def _slice(x: BCOO, **params: Any) -> BCOO:
    names = ("start_indices", "limit_indices", "strides")
    return bcoo_slice(x, **{name: params[name] for name in names})


_LINEAR: Final = ("neg", "real", "imag", "conj", "convert_element_type")
_KEEPING_ZERO: Final = (
    *("abs", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cbrt", "ceil", "erf", "erf_inv"),
    *("expm1", "floor", "integer_pow"),
    *("log1p", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)
RULES: Final[dict[str, Callable[..., Any]]] = {
    **{name: _by_element(name) for name in (*_LINEAR, *_KEEPING_ZERO)},
    "add": _add,
    "concatenate": _concatenate,
    "copy": lambda x, **_: x,
    "div": _div,
    "dot_general": _dot_general,
    "mul": _mul,
    "reduce_sum": _reduce_sum,
    "reshape": lambda x, new_sizes, **_: bcoo_reshape(x, new_sizes=new_sizes),
    "rev": lambda x, dimensions, **_: bcoo_rev(x, dimensions=dimensions),
    "slice": _slice,
    "sub": _sub,
    "transpose": lambda x, permutation, **_: bcoo_transpose(x, permutation=permutation),
}
"""A rule for each operation with a sparse operand, by the name of its effect."""
