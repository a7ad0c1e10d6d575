"""`custom_vjp`: functions that bring their own backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import attrs

from effax.api.calling.arguments import name_of, normalise, wearing, with_references
from effax.api.calling.float0 import of_words
from effax.api.custom.calls import (
    CustomCall,
    as_numbers,
    by_position,
    direction_of,
    is_symbolic,
    pass_on_rules,
    refuse_captured,
    typed,
)
from effax.api.custom.meaning import Meaning, called, meaning_of, staged
from effax.effects.frames import filtered
from effax.effects.rows import custom
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.state import Ref
from effax.effects.tree import (
    broadcast_prefix,
    tree_flatten,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from effax.effects.types import ShapedArray, is_inexact, typeof
from effax.interpreters.jvp.dual import tangent_type, zeros
from effax.keys.arrays import KeyArray, KeyType, RuleLeaf, is_keys

P = ParamSpec("P")
R = TypeVar("R")


@attrs.frozen(slots=True, eq=False)
class CustomVJPPrimal(RuleLeaf):
    """An argument of a forward rule that asks for symbolic zeros."""

    value: Any
    perturbed: bool

    def of_keys(self, implementation: str) -> CustomVJPPrimal:
        """The same for the keys made of those words."""
        keys = KeyArray(self.value, implementation=implementation)
        return CustomVJPPrimal(keys, self.perturbed)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return the values alone of what a forward rule with `symbolic_zeros=True` is given.

    Args:
      tree: an argument of the rule, with a `CustomVJPPrimal` for each leaf.

    Raises:
      TypeError: for other leaves.

    >>> import effax
    >>> primal = effax.custom_derivatives.CustomVJPPrimal(2.0, True)
    >>> effax.custom_derivatives.custom_vjp_primal_tree_values([primal])
    [2.0]
    """

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(
                f"custom_vjp_primal_tree_values: each leaf must be a CustomVJPPrimal, got {leaf!r}"
            )
        return leaf.value

    return tree_map(value, tree)


class _VjpRule:
    """A user's forward and backward functions, on flat values."""

    __slots__ = (
        "backwards",
        "bwd",
        "call",
        "captured",
        "fwd",
        "optimize_remat",
        "residual_refs",
        "residual_tree",
        "symbolic",
    )

    def __init__(
        self,
        call: CustomCall,
        fwd: Any,
        bwd: Any,
        captured: int,
        symbolic: bool,
        optimize_remat: bool,
    ) -> None:
        self.symbolic = symbolic
        self.optimize_remat = optimize_remat
        self.call = call
        self.fwd = fwd
        self.bwd = bwd
        self.captured = captured
        self.residual_tree: Any = None
        self.residual_refs: dict[int, Ref] = {}
        self.backwards: dict[Any, _Backward] = {}

    def __repr__(self) -> str:
        return f"<rule of {name_of(self.call.function)}>"

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        call, n = self.call, self.captured
        name = name_of(call.function)
        refuse_captured(name, "custom_vjp", [m or None for m in moving[:n]])
        values = primals[n:]
        if self.symbolic:
            values = [CustomVJPPrimal(*pair) for pair in zip(values, moving[n:], strict=True)]
        pair = self.fwd(*call.merged(call.filled(values)))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self.fwd)} for function {name} must produce a pair "
                f"(result, residuals), but got {type(pair).__name__}; residuals are the values "
                "that the backward function needs, () if there are none"
            )
        outs, out_tree = tree_flatten(pair[0])
        if call.out_tree is None:  # the function itself was not called
            call.out_tree, call.out_types = out_tree, tuple(map(typeof, outs))
        if out_tree != call.out_tree:
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self.fwd)} for function {name} must produce a pair "
                f"(result, residuals); the result has the tree {out_tree}, and that of {name} "
                f"{call.out_tree}"
            )
        self._check_types(outs, name)
        residuals, self.residual_tree = tree_flatten(pair[1])
        self.residual_refs = {i: x for i, x in enumerate(residuals) if isinstance(x, Ref)}
        return outs, [x for x in residuals if not isinstance(x, Ref)]

    def _check_types(self, outs: Sequence[Any], name: str) -> None:
        """Raise `TypeError` where the forward function's results are of other types."""
        call, found = self.call, tuple(map(typeof, outs))
        if not call.returns_types(outs):
            shown = [typed(call.out_tree, types) for types in (found, call.out_types)]
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self.fwd)} for function {name} must produce a pair "
                f"(result, residuals): got fwd output type {shown[0]} which doesn't match "
                f"{shown[1]}, the type that {name} itself returns"
            )

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> _Backward:
        """The backward function between the results and the operands that move."""
        key = moving, wanted
        if key not in self.backwards:
            self.backwards[key] = _Backward(self, moving, wanted)
        return self.backwards[key]


class _Backward:
    """A user's backward function, restricted to what moves, on flat values."""

    __slots__ = ("memo", "moving", "rule", "wanted")

    def __init__(self, rule: _VjpRule, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> None:
        self.rule = rule
        self.moving = moving
        self.wanted = wanted
        self.memo: dict[Any, Any] = {}

    @property
    def symbolic(self) -> bool:
        """Whether the rule takes None for cotangents that are zero."""
        return self.rule.symbolic

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        rule, call = self.rule, self.rule.call
        given = dict(zip(self.moving, cotangents, strict=True))
        full = [direction_of(t, given.get(i), rule.symbolic) for i, t in enumerate(call.out_types)]
        answers = rule.bwd(
            *call.statics,
            tree_unflatten(rule.residual_tree, with_references(rule.residual_refs, residuals)),
            tree_unflatten(call.out_tree, full),
        )
        flat = _flat_cotangents(answers, call, rule)
        types = [tangent_type(t) for t in call.types]
        return [
            *(None for w in self.wanted[: rule.captured] if w),
            *(
                _checked_ct(ct, t, rule, i)
                for i, (ct, t, w) in enumerate(
                    zip(flat, types, self.wanted[rule.captured :], strict=True)
                )
                if w
            ),
        ]


def _checked_ct(ct: Any, type: ShapedArray, rule: _VjpRule, position: int) -> Any:
    if ct is None:
        return zeros(type)
    found = ct.type if is_symbolic(ct) else typeof(ct)
    inexact = is_inexact(found.dtype) and is_inexact(type.dtype)
    if found.shape != type.shape or (found.dtype != type.dtype and not inexact):
        advice = ""
        if is_symbolic(ct):
            advice = " Consider just returning a None here instead of a symbolic zero."
        elif found.shape != type.shape and _broadcasts(found.shape, type.shape):
            advice = f" jnp.broadcast_to(ct, {type.shape}) gives it the argument's shape."
        raise ValueError(
            f"Custom VJP bwd rule {name_of(rule.bwd)} must produce cotangents with the shapes and "
            f"dtypes of the arguments: expected {type.str_short()}, but at output[{position}] the "
            f"bwd rule produced an output of type {found.str_short()}.{advice}"
        )
    if is_symbolic(ct):
        return zeros(type)
    return ct if found.dtype == type.dtype else convert_element_type(ct, dtype=type.dtype)


def _broadcasts(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether an array of `shape` can be broadcast to the shape `wanted`."""
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(n in (1, m) for n, m in pairs)


def _flat_cotangents(answers: Any, call: CustomCall, rule: _VjpRule) -> list[Any]:
    """Cotangents per leaf; None stands for zeros of a whole argument, or of a part of it."""
    args = tree_unflatten(call.tree, range(call.tree.num_leaves))
    if not isinstance(answers, (tuple, list)) or len(answers) != len(args):
        raise TypeError(
            f"Custom VJP bwd rule {name_of(rule.bwd)} must produce a tuple with one cotangent for "
            f"each differentiated argument, {len(args)} in all, but got "
            + (
                f"{type(answers).__name__} of length {len(answers)}"
                if isinstance(answers, (tuple, list))
                else f"{answers!r}; one cotangent alone is returned as (cotangent,)"
            )
        )
    flat: list[Any] = []
    for answer, arg in zip(answers, args, strict=True):
        try:
            flat += broadcast_prefix(answer, arg, is_leaf=lambda x: x is None or is_symbolic(x))
        except ValueError:
            raise TypeError(
                f"Custom VJP bwd rule {name_of(rule.bwd)} must produce cotangents with the trees "
                f"of the arguments: expected {tree_structure(arg)}, got {tree_structure(answer)}"
            ) from None
    whole = tree_flatten(args, is_leaf=is_keys)[0]
    flat = [
        of_words(ct, KeyType(arg.implementation).width) if is_keys(arg) else ct
        for ct, arg in zip(flat, whole, strict=True)
    ]
    return [ct for i, ct in enumerate(flat) if i not in call.refs]


class custom_vjp(Generic[P, R]):  # noqa: N801  (JAX's name)
    """A function with a reverse-mode rule of its own, `defvjp(fwd, bwd)`.

    `fwd(*args)` returns the result and residuals; `bwd(*nondiff, residuals, cotangent)` a tuple
    of cotangents, one an argument that is differentiated. Forward mode works too: the backward
    function is linear in the cotangent, and is transposed.

    >>> import effax, effax.numpy as jnp
    >>> @effax.custom_vjp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> f.defvjp(lambda x: (f(x), x), lambda x, ct: (10.0 * ct,))
    >>> effax.grad(f)(1.0), effax.jvp(f, (1.0,), (1.0,))[1]
    (Array(10., dtype=float32, weak_type=True), Array(10., dtype=float32, weak_type=True))
    """

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        self.fun: Callable[..., Any] = fun
        self.nondiff_argnums = as_numbers(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        wearing(fun)(self)
        pass_on_rules(self, fun)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Give the forward and the backward function.

        With `symbolic_zeros`, each leaf of the forward function's arguments is a
        `CustomVJPPrimal`: its `value`, and whether it is `perturbed`, that is differentiated; and
        cotangents that are zero are given to the backward function as a `SymbolicZero`.

        With `optimize_remat`, under `checkpoint` the function itself is done on the way forward,
        where no residuals are wanted, and the forward function only when they are: on the way
        back. It must give the same results.

        Raises `NotImplementedError` where both are asked for.
        """
        if optimize_remat and symbolic_zeros:
            raise NotImplementedError(
                "defvjp: optimize_remat and symbolic_zeros can't be combined, as the function "
                "itself can't be told which of its arguments are perturbed; leave one of the two "
                "out"
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros
        self.optimize_remat = optimize_remat

    def __get__(self, instance: Any, owner: Any = None) -> Any:

        return self if instance is None else partial(self, instance)

    @filtered
    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R:
        """The function's value; its rule is used where a derivative is asked."""
        name = name_of(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name} using defvjp.")
        given = by_position(self.fun, args, keywords, "custom_vjp")
        fixed = normalise(self.nondiff_argnums, len(given), "nondiff_argnums")
        call = CustomCall(self.fun, given, fixed)
        meaning = meaning_of(call.leaves, (self.fun, self.fwd, self.bwd), "custom_vjp")
        if meaning is Meaning.FUNCTION:
            return called(call)
        # Without a derivative the function itself is called, in place of the forward rule.
        if self.optimize_remat:
            meaning = Meaning.PROGRAM
        captured, program = staged(call, meaning)
        rule = _VjpRule(
            call, self.fwd, self.bwd, len(captured), self.symbolic_zeros, self.optimize_remat
        )
        results = custom.custom_vjp_call(
            *captured, *call.taken(), program=program, rule=rule, name=name
        )
        return tree_unflatten(call.out_tree, results)
