"""Handlers whose clauses take the resumption of the effect: the rest of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from effax.api.calling.arguments import flat_function, name_of, wearing
from effax.api.calling.differentiable import typeof_like
from effax.effects.effect import Effect
from effax.effects.frames import filtered
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.interpreters.interpreter.states import ready
from effax.interpreters.resuming import Clauses, Context
from effax.interpreters.stage import stage

Clause = Callable[..., Any]


def handle(
    function: Callable[..., Any],
    clauses: Mapping[Effect, Clause],
    *,
    final: Mapping[Effect, Clause] | None = None,
    result: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:
    """Answer effects of a function by clauses that are given the rest of the computation.

    The function is traced, as under `jit`; the returned function works under every transform. What
    a clause returns is the answer of the whole computation. Clauses run outside the handler, and
    what they resume runs inside it (the handler is deep). The function's branches may perform the
    effects; so may the steps of a `scan`, which are written out where a clause of `clauses` is met,
    and stay a loop where only final ones are.

    Args:
      function: the function whose effects are handled; of pytrees of arrays.
      clauses: for an effect, `clause(*operands, resume, **attributes)`. `resume` takes a value for
        each result of the effect and returns the answer of the rest; it may be called never, once
        or many times, and inside `vmap`, `grad`, `scan` or a branch. `resume.types` are the types
        that it takes, and `resume.program()` is the rest as a program.
      final: for an effect, `clause(*operands, **attributes)`, which never resumes: an exception.
        It may be met in a `while_loop`, too.
      result: the answer of the computation where it returns, given the function's result. The
        default is the result itself.

    Returns:
      The function of the same arguments that returns the answer, a pytree.

    Raises:
      ResumptionError: where the rest can't be had (the effect is performed inside a custom rule, a
        loop of unknown length, a device map), or `resume` is given values of other types.
      TypeError: where two branches give answers of different types, or a clause of `clauses` has no
        parameter `resume`.

    >>> import effax, effax.numpy as jnp
    >>> from effax import extend
    >>> choose = extend.Effect(
    ...     "doctest_choose",
    ...     family="doctest",
    ...     typing=lambda: extend.ShapedArray((), "float32"),
    ...     row="choice",
    ... )
    >>> def every(*, resume):
    ...     return jnp.concatenate([resume(1.0), resume(2.0)])
    >>> def f(x):
    ...     return x * choose() + 10 * choose()
    >>> extend.handle(f, {choose: every}, result=lambda y: y[None])(1.0)
    Array([11., 21., 12., 22.], dtype=float32)
    """
    for effect, clause in clauses.items():
        parameters = signature(clause).parameters.values()
        if not any(p.name == "resume" or p.kind is p.VAR_KEYWORD for p in parameters):
            raise TypeError(
                f"extend.handle: the clause of '{effect.name}' has no parameter `resume`; add it, "
                "or pass the clause in final= if it never resumes"
            )
    handler = Clauses(clauses, final or {})

    @wearing(function, annotated=False)
    @filtered
    def handled(*args: Any, **keywords: Any) -> Any:
        leaves, tree = tree_flatten((args, keywords))
        flat, out = flat_function(function, tree)
        staged = stage(flat, [typeof_like(x) for x in leaves], name_of(function))
        program, (out_tree,) = staged.program, out

        def then(results: list[Any]) -> Any:
            found = tree_unflatten(out_tree, results)
            return found if result is None else result(found)

        values = [*staged.captured, *map(ready, leaves)]
        return handler.run(program, values, Context(then, lambda answer: answer))

    return handled
