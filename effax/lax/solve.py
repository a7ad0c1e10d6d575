"""Solvers whose derivatives are those of what they solve, not of how: implicit differentiation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from effax.api.calling.arguments import name_of
from effax.effects.rows import solving
from effax.effects.rows.elementwise import neg
from effax.effects.rows.solving import Counts
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.stage import Staged, stage

Solver = Callable[[Callable[[Any], Any], Any], Any]


def _staged(
    name: str, function: Callable[[Any], Any], tree: Any, types: Any, aux: list[Any] | None = None
) -> Staged:
    """A function on trees like b, as a program; raises `TypeError` where it gives another tree.

    With a list for the tree of what else it gives, it gives a pair.
    """

    def flat(*leaves: Any) -> list[Any]:
        result, rest = function(tree_unflatten(tree, leaves)), []
        if aux is not None:
            result, more = result
            rest, aux[:] = tree_flatten(more)[0], [tree_flatten(more)[1]]
        out, found = tree_flatten(result)
        if found != tree:
            raise TypeError(
                f"{name}() output pytree structure must match b: {found} and {tree} differ."
            )
        for x, wanted in zip(out, types, strict=True):
            given = typeof(x)
            if given.shape != wanted.shape or given.dtype != wanted.dtype:
                raise TypeError(
                    f"{name}() output must have the types of b: expected {wanted.str_short()}, but "
                    f"got {given.str_short()}"
                )
        return [*out, *rest]

    return stage(flat, types, name)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve `matvec(x) = b` by a solver that no derivative goes through.

    The derivative in any direction solves one more system of the same matrix; reverse mode solves
    the transposed one.

    Args:
      matvec: a linear function of trees like b.
      b: the right side: a tree of arrays.
      solve: `solve(matvec, b)` gives x.
      transpose_solve: `transpose_solve(vecmat, b)` solves the transposed system.
      symmetric: the system is its own transpose.
      has_aux: `solve` (and `transpose_solve`) give a pair, of which the second part has no
        derivative; it is the second part of the result.

    Raises:
      TypeError: where a function's results differ from b in tree or types.
      ValueError: in reverse mode, where `transpose_solve` is missing.

    >>> import effax
    >>> effax.lax.custom_linear_solve(lambda x: 2.0 * x, 6.0, lambda _, b: b / 2.0, symmetric=True)
    Array(3., dtype=float32)
    """
    aux: list[Any] | None = [] if has_aux else None
    back = solve if symmetric and transpose_solve is None else transpose_solve
    leaves, tree = tree_flatten(b)
    types = [typeof(x).strong() for x in leaves]
    forward = _staged("matvec", matvec, tree, types)
    find = _staged("solve", partial(solve, matvec), tree, types, aux)
    backward = find_back = None
    if back is not None:
        vecmat = matvec if symmetric else _transposed(matvec, tree, types)
        backward = forward if symmetric else _staged("vecmat", vecmat, tree, types)
        spare: list[Any] | None = [] if has_aux else None
        find_back = _staged("transpose_solve", partial(back, vecmat), tree, types, spare)
    parts = (forward, backward, find, find_back)
    values = solving.linear_solve(
        *(x for part in parts if part is not None for x in part.captured),
        *(_strong(x) for x in leaves),
        matvec=forward.program,
        vecmat=None if backward is None else backward.program,
        solve=find.program,
        transpose_solve=None if find_back is None else find_back.program,
        consts=Counts(*(0 if part is None else len(part.captured) for part in parts)),
    )
    x = tree_unflatten(tree, values[: len(leaves)])
    return (x, tree_unflatten(aux[0], values[len(leaves) :])) if aux else x


def _strong(x: Any) -> Any:
    from effax.effects.rows.conversion import convert_element_type

    type = typeof(x)
    return convert_element_type(x, dtype=type.dtype) if type.weak_type else x


def _transposed(matvec: Callable[[Any], Any], tree: Any, types: Any) -> Callable[[Any], Any]:
    from effax.api.derivatives.reverse import linear_transpose

    back = linear_transpose(matvec, tree_unflatten(tree, types))
    return lambda y: back(y)[0]


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> Any:
    """Find x with `f(x) = 0`, by a solver that no derivative goes through.

    By the implicit function theorem, the derivative solves a linear system whose matrix is f's
    derivative at x.

    Args:
      f: the function; what it closes over may be differentiated.
      initial_guess: where to start: a tree of arrays.
      solve: `solve(f, initial_guess)` gives x.
      tangent_solve: `tangent_solve(g, y)` solves `g(x) = y` for a linear g.
      has_aux: `solve` gives a pair, of which the second part has no derivative.

    >>> import effax
    >>> def sqrt(a):
    ...     newton = lambda f, x: effax.lax.fori_loop(0, 9, lambda _, x: (x + a / x) / 2, x)
    ...     return effax.lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))
    >>> effax.value_and_grad(sqrt)(4.0)
    (Array(2., dtype=float32, weak_type=True), Array(0.25, dtype=float32, weak_type=True))
    """
    from effax.api.custom.jvp import custom_jvp, stop_gradient
    from effax.api.derivatives.forward import jvp, linearize
    from effax.interpreters.jvp.dual import zeros_like

    guess, tree = tree_flatten(initial_guess)
    types = [typeof(x) for x in guess]
    aux_tree: list[Any] = []

    def flat(result: Any, name: str) -> list[Any]:
        out, found = tree_flatten(result)
        if found != tree:
            raise TypeError(
                f"{name}() output pytree structure must match initial_guess: {found} and {tree} "
                "differ."
            )
        return out

    def residual(*leaves: Any) -> list[Any]:
        return flat(f(tree_unflatten(tree, leaves)), "f")

    def search(*leaves: Any) -> list[Any]:
        done = solve(f, tree_unflatten(tree, leaves))
        x, aux = done if has_aux else (done, None)
        rest, aux_found = tree_flatten(aux)
        aux_tree[:] = [aux_found]
        return [*flat(x, "solve"), *rest]

    zero, finder = stage(residual, types, name_of(f)), stage(search, types, "solve")
    # The rule lives on in programs, and must not keep the values that were captured.
    is_zero, finds = zero.program, finder.program
    count, size = len(zero.captured), len(types)

    def tangent(*values: Any) -> list[Any]:
        """Solve `f'(x) dx = b`, given what f captured, x and b."""
        params, x, b = values[:count], values[count : count + size], values[count + size :]
        slope = linearize(lambda *y: is_zero.run(*params, *y), *x)[1]

        def g(direction: Any) -> Any:
            return tree_unflatten(tree, slope(*tree_flatten(direction)[0]))

        return flat(tangent_solve(g, tree_unflatten(tree, b)), "tangent_solve")

    # Staged here, where the values that `tangent_solve` closes over are active: in the rule they
    # may no longer be.
    given = [*(typeof(p) for p in zero.captured), *finds.out_types[:size]]
    system = stage(tangent, [*given, *is_zero.out_types], "tangent_solve")
    solves = system.program

    @custom_jvp
    def root(params: Any, others: Any, guess: Any, closed: Any) -> Any:
        return finds.run(*others, *guess)

    @root.defjvp
    def root_jvp(primals: Any, tangents: Any) -> Any:
        """By the implicit function theorem: `f'(x) dx = -df`."""
        params, closed = primals[0], primals[3]
        results = root(*primals)
        x, rest = results[:size], results[size:]
        moved = jvp(lambda p: is_zero.run(*p, *x), (params,), (tangents[0],))[1]
        dx = solves.run(*closed, *params, *x, *map(neg, moved))
        return results, [*dx, *map(zeros_like, rest)]

    others = [stop_gradient(x) for x in finder.captured]
    start = [stop_gradient(x) for x in guess]
    results = root(list(zero.captured), others, start, list(system.captured))
    x = tree_unflatten(tree, results[:size])
    return (x, tree_unflatten(aux_tree[0], results[size:])) if has_aux else x
