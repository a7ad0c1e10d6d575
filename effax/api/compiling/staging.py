"""Looking at programs: the types of results, and programs as text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

from effax.api.calling.arguments import as_tuple, flat_function, name_of, normalise, wearing
from effax.api.calling.call_arguments import check_results
from effax.api.calling.differentiable import typeof_like
from effax.api.calling.signatures import Parameters, leaf_names, traced_function
from effax.api.compiling.jit import jit
from effax.api.compiling.struct import ShapeDtypeStruct, type_of_float0
from effax.api.compiling.unknown_lengths import are_unknown, eval_shape_of_unknown
from effax.effects.frames import filtered
from effax.effects.program import Program
from effax.effects.rows.shape import full
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.interpreters.stage import stage
from effax.keys.arrays import flattened
from effax.keys.leaves import RESULT_TREE


@filtered
def eval_shape(fun: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Return the types of a function's results, without computing anything.

    Args:
      fun: the function; its arguments and results may be arrays or `ShapeDtypeStruct`s.
      *args: its arguments.
      **keywords: its arguments by name.

    Where lengths are unknown (`export.symbolic_shape`), the function is traced for two or more
    known ones, and the lengths of the results are the expressions that agree with them.

    >>> import effax, effax.numpy as jnp
    >>> effax.eval_shape(jnp.ones, (2, 3))
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    @wearing(fun)
    def of_arrays(*a: Any, **k: Any) -> Any:
        results = tree_map(_as_array, fun(*a, **k))
        found, tree = tree_flatten(results)
        _refuse_own_argument(fun, found, (args, keywords))
        check_results(found, fun, tree)
        return results

    leaves = tree_flatten((args, keywords))[0]
    if are_unknown(leaves):
        return eval_shape_of_unknown(partial(eval_shape, fun), args, keywords)
    if any(not hasattr(x, "dtype") for x in leaves):
        return _eval_shape_with_values(of_arrays, args, keywords)
    return jit(of_arrays).eval_shape(*args, **keywords)


def _refuse_own_argument(fun: Callable[..., Any], results: Sequence[Any], given: Any) -> None:
    """Raise `TypeError` where a function returns an argument that is no array, such as a string."""
    leaves, tree = tree_flatten(given)
    for i, x in enumerate(leaves):
        if isinstance(x, str | bytes) and any(result is x for result in results):
            raise TypeError(
                f"eval_shape: {name_of(fun)} returns its argument "
                f"{leaf_names(Parameters.of(fun), tree)[i]}, which is {x!r}, of type {type(x)}, "
                "and not an array, a number or a ShapeDtypeStruct"
            )


def _as_array(x: Any) -> Any:
    """Make an array of the type of an object that has only a type; its elements don't matter."""
    if isinstance(x, ShapeDtypeStruct):
        return full(x.shape, 0, x.type.dtype)
    return x


def _eval_shape_with_values(
    fun: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Python values (a shape, an axis) stay what they are; arrays are known by type only."""
    leaves, tree = tree_flatten((args, keywords))
    dynamic = [i for i, x in enumerate(leaves) if hasattr(x, "dtype")]
    flat, out = flat_function(fun, tree)

    def of_arrays(*values: Any) -> list[Any]:
        filled = list(leaves)
        for i, x in zip(dynamic, values, strict=True):
            filled[i] = x
        return flat(*filled)

    staged = stage(of_arrays, [typeof_like(leaves[i]) for i in dynamic], name_of(fun))
    found = tree_unflatten(out[0], [ShapeDtypeStruct.of(t) for t in staged.program.out_types])
    return tree_map(type_of_float0, found)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | tuple[int, ...] = (),
    axis_env: Any = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Return a function that stages `fun` for its arguments, and returns the program.

    The name is JAX's; `make_program` is the same. Arrays that `fun` holds are the program's first
    inputs, and its `consts`: `program.run(*program.consts, *args)` runs it.

    Args:
      fun: a function of pytrees of arrays.
      static_argnums: positions of arguments that are Python values.
      axis_env: named axes, pairs of a name and a size, along which the function is staged for one
        place.
      return_shape: whether the result is a pair of the program and the tree of the results' types.

    >>> import effax
    >>> print(effax.make_jaxpr(lambda x: 2.0 * x)(1.0))
    { lambda a:f32[] .
      b:f32[] = mul 2.0:f32[] a
      in (b) }
    """

    @filtered
    def staged_program(*args: Any, **keywords: Any) -> Program | tuple[Program, Any]:
        fixed = set(normalise(as_tuple(static_argnums), len(args), "static_argnums"))
        dynamic = [x for i, x in enumerate(args) if i not in fixed]
        leaves, tree = tree_flatten((tuple(dynamic), keywords))

        def with_statics(*rest: Any, **named: Any) -> Any:
            given = iter(rest)
            return fun(*(x if i in fixed else next(given) for i, x in enumerate(args)), **named)

        flat, out = flat_function(with_statics, tree)
        with ExitStack() as bound:
            for name, size in axis_env or ():
                bound.enter_context(_bound(name, size))
            named = traced_function(fun, "make_jaxpr", tree, fixed)
            keys = flattened.count
            staged = stage(flat, [typeof_like(x) for x in leaves], name_of(fun), named)
        program = staged.program
        program.consts = tuple(staged.captured)
        if flattened.count != keys:
            program.memo[RESULT_TREE] = out[0]
        if return_shape:
            shapes = [ShapeDtypeStruct.of(t) for t in program.out_types]
            return program, tree_unflatten(out[0], shapes)
        return program

    for attribute in ("__name__", "__qualname__"):
        name = getattr(fun, attribute, None)
        if name is not None:
            setattr(staged_program, attribute, f"make_jaxpr({name})")
    staged_program.__module__ = "effax"
    return staged_program


def _bound(name: Hashable, size: int) -> AbstractContextManager[Any]:
    """Return a context in which a named axis has a size, as inside of a mapped function."""
    from effax.api.calling.places import Places

    return Places(name, size).installed()


make_program = make_jaxpr
