"""`custom_jvp`: functions that bring their own tangents; and `stop_gradient`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from effax.api.calling.arguments import name_of, normalise, wearing
from effax.api.calling.float0 import directions_like
from effax.api.custom.calls import (
    CustomCall,
    as_numbers,
    by_position,
    directions,
    is_symbolic,
    pass_on_rules,
    refuse_captured,
    typed,
)
from effax.api.custom.meaning import Meaning, called, meaning_of, staged
from effax.backends.xla.array import Array
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current
from effax.effects.rows import custom
from effax.effects.tree import tree_flatten, tree_map, tree_structure, tree_unflatten
from effax.effects.types import float0, typeof
from effax.interpreters.jvp.dual import moves, tangent_type

C = TypeVar("C", bound=Callable[..., Any])


P = ParamSpec("P")
R = TypeVar("R")


class _JvpRule:
    """A user's forward rule, on flat values."""

    __slots__ = ("call", "captured", "function", "symbolic")

    def __init__(self, call: CustomCall, function: Any, captured: int, symbolic: bool) -> None:
        self.call = call
        self.function = function
        self.captured = captured
        self.symbolic = symbolic

    def __repr__(self) -> str:
        return f"<rule of {name_of(self.call.function)}>"

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        call, n = self.call, self.captured
        name = name_of(call.function)
        refuse_captured(name, "custom_jvp", tangents[:n])
        result = self.function(
            *call.statics,
            call.filled(primals[n:]),
            call.filled(directions(primals[n:], tangents[n:], self.symbolic)),
        )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce a pair "
                "(list or tuple of length two) representing primal and tangent outputs, but got "
                f"{result}"
            )
        outs, out_tree = tree_flatten(result[0])
        moved = directions_like(out_tree, result[1], is_leaf=is_symbolic)
        if moved is None:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name}: the result has the "
                f"tree {out_tree}, and its tangent must have the same, not "
                f"{tree_structure(result[1], is_leaf=is_symbolic)}"
            )
        if call.out_tree is None:  # the function itself was not called
            call.out_tree = out_tree
        if out_tree != call.out_tree:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce a pair "
                "(result, tangent); the result has the tree\n"
                f"    {typed(out_tree, list(map(typeof, outs)))}\nand that of {name}\n"
                f"    {typed(call.out_tree, call.out_types)}"
            )
        if not call.returns_types(outs):
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce a pair "
                "(result, tangent); the result has the types\n"
                f"    {typed(out_tree, list(map(typeof, outs)))}\nand that of {name}\n"
                f"    {typed(call.out_tree, call.out_types)}"
            )
        return outs, [
            _checked_tangent(p, t, name, self.function) for p, t in zip(outs, moved, strict=True)
        ]


def _checked_tangent(primal: Any, tangent: Any, name: str, rule: Any) -> Any:
    if is_symbolic(tangent):
        return None
    expected = tangent_type(typeof(primal))
    if expected.dtype == float0:
        return None
    found = typeof(tangent)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        wanted = typed(tree_structure(0), [expected])
        raise TypeError(
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes "
            f"and dtypes. Expected {wanted} (tangent type of "
            f"{typed(tree_structure(0), [typeof(primal)])}) but got "
            f"{typed(tree_structure(0), [found])}. The rule is {name_of(rule)}, for function "
            f"{name}"
        )
    return tangent


class custom_jvp(Generic[P, R]):  # noqa: N801  (JAX's name)
    """A function with a forward-mode rule of its own.

    `defjvp(rule)`: `rule(primals, tangents)` returns the result and its tangent; arguments at
    `nondiff_argnums` come before both. `defjvps(*rules)`: one `rule(t, ans, *primals)` an
    argument, None for a zero derivative.

    >>> import effax, effax.numpy as jnp
    >>> @effax.custom_jvp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(primals[0]), 100.0 * tangents[0]
    >>> effax.grad(f)(1.0)
    Array(100., dtype=float32, weak_type=True)
    """

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        self.fun: Callable[..., Any] = fun
        self.nondiff_argnums = as_numbers(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        wearing(fun)(self)
        pass_on_rules(self, fun)

    def defjvp(self, jvp: C, symbolic_zeros: bool = False) -> C:
        """Give the rule."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule an argument, or None where the derivative is zero."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        called_by_position: Callable[..., Any] = self

        def jvp(primals: Any, tangents: Any) -> Any:
            from effax.interpreters.jvp.dual import total

            if len(jvps) != len(tangents):
                raise ValueError(
                    f"defjvps: {name_of(self.fun)} was called with {len(tangents)} arguments but "
                    f"has {len(jvps)} rules; give one an argument, or None where the derivative "
                    "is zero"
                )
            ans = called_by_position(*primals)
            terms = [
                rule(t, ans, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            leaves = [tree_flatten(t)[0] for t in terms]
            tree = tree_structure(ans)
            sums = [total(parts) for parts in zip(*leaves, strict=True)]
            return ans, tree_unflatten(tree, sums)

        self.defjvp(jvp)

    def __get__(self, instance: Any, owner: Any = None) -> Any:

        return self if instance is None else partial(self, instance)

    @filtered
    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R:
        """The function's value; its rule is used where a derivative is asked."""
        name = name_of(self.fun)
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        given = by_position(self.fun, args, keywords, "custom_jvp")
        fixed = normalise(self.nondiff_argnums, len(given), "nondiff_argnums")
        call = CustomCall(self.fun, given, fixed)
        meaning = meaning_of(call.leaves, (self.fun, self.jvp), "custom_jvp")
        if meaning is Meaning.FUNCTION:
            return called(call)
        captured, program = staged(call, meaning)
        rule = _JvpRule(call, self.jvp, len(captured), self.symbolic_zeros)
        results = custom.custom_jvp_call(
            *captured, *call.taken(), program=program, rule=rule, name=name
        )
        return tree_unflatten(call.out_tree, results)


def stop_gradient(x: Any) -> Any:
    """Return the value, as a constant to every derivative.

    Args:
      x: a pytree of arrays.

    >>> import effax
    >>> effax.grad(lambda x: x * effax.lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    from effax.effects.rows.elementwise import stop_gradient as effect

    def stopped(v: Any) -> Any:
        if type(v) is Array and current.get() is bottom:
            return v
        known = isinstance(v, (np.ndarray, np.generic, int)) and not isinstance(v, bool)
        of_value = typeof(v)
        return effect(v) if moves(of_value) or (known and of_value.dtype != float0) else v

    return stopped(x) if type(x) is Array else tree_map(stopped, x)
