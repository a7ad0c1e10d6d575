"""`custom_jvp`, `custom_vjp`: functions that bring their own derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

import attrs

from effax.api.arguments import name_of, normalise, with_references
from effax.effects import custom, key_use
from effax.effects.conversion import convert_element_type
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.frames import filtered
from effax.effects.program import Program
from effax.effects.state import Ref
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_structure, tree_unflatten
from effax.effects.types import ShapedArray, float0, is_inexact, typeof
from effax.interpreters.discharge import distinct
from effax.interpreters.jvp.dual import moves, tangent_type, zeros
from effax.interpreters.stage import Staged, stage


def by_position(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments by position, keywords and defaults put in their places.

    Raises `TypeError` where one of them can be given by keyword only.
    """
    import inspect

    bound = inspect.signature(function).bind(*args, **keywords)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{name_of(function)} has keyword-only arguments {sorted(bound.kwargs)}; functions "
            "with custom derivatives take positional arguments only"
        )
    return bound.args


class _Call:
    """One call of a function with a custom rule: its arguments parted, its program staged."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], fixed: tuple[int, ...]
    ) -> None:
        self.count = len(args)
        self.fixed = set(fixed)
        self.statics = [args[i] for i in fixed]
        everything, self.tree = tree_flatten(
            tuple(x for i, x in enumerate(args) if i not in self.fixed)
        )
        self.refs = {i: x for i, x in enumerate(everything) if isinstance(x, Ref)}
        self.leaves = [x for x in everything if not isinstance(x, Ref)]
        self.types = [typeof(x) for x in self.leaves]
        self.function = function
        self.fixed_at = {n: args[n] for n in fixed}
        self.out_tree: Any = None
        self.out_types: tuple[ShapedArray, ...] = ()

    def filled(self, values: Sequence[Any]) -> Any:
        """The arguments that are not static, with these leaves; references stay what they are."""
        return tree_unflatten(self.tree, with_references(self.refs, values))

    def merged(self, dynamic: Sequence[Any]) -> list[Any]:
        rest = iter(dynamic)
        return [self.fixed_at[i] if i in self.fixed else next(rest) for i in range(self.count)]

    def staged(self) -> Staged:
        def flat(*values: Any) -> list[Any]:
            result = self.function(*self.merged(self.filled(values)))
            leaves, self.out_tree = tree_flatten(result)
            return leaves

        found = stage(flat, self.types, name_of(self.function))
        self.out_types = found.program.out_types
        return found

    def taken(self) -> list[Any]:
        """The arguments' leaves, once: rules live on in programs, and must not keep values."""
        leaves, self.leaves = self.leaves, []
        return leaves


def _refuse_captured(name: str, kind: str, tangents: Sequence[Any]) -> None:
    if any(t is not None for t in tangents):
        raise UnsupportedDerivativeError(
            f"the {kind} function {name} closes over a value that is being differentiated, and "
            "its rule says nothing of that value; pass it to the function as an argument"
        )


class _JvpRule:
    """A user's forward rule, on flat values."""

    __slots__ = ("call", "captured", "function", "symbolic")

    def __init__(self, call: _Call, function: Any, captured: int, symbolic: bool) -> None:
        self.call = call
        self.function = function
        self.captured = captured
        self.symbolic = symbolic

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        call, n = self.call, self.captured
        name = name_of(call.function)
        _refuse_captured(name, "custom_jvp", tangents[:n])
        directions = [
            _direction(typeof(p), t, self.symbolic)
            for p, t in zip(primals[n:], tangents[n:], strict=True)
        ]
        result = self.function(
            *call.statics,
            call.filled(primals[n:]),
            call.filled(directions),
        )
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce a pair "
                f"(list or tuple of length two) representing primal and tangent outputs, but got "
                f"{type(result).__name__}"
            )
        outs, out_tree = tree_flatten(result[0])
        moved, moved_tree = tree_flatten(result[1], is_leaf=_is_symbolic)
        if out_tree != moved_tree:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce primal "
                f"and tangent outputs with equal container (pytree) structures, but got {out_tree} "
                f"and {moved_tree} respectively"
            )
        if out_tree != call.out_tree:
            raise TypeError(
                f"Custom JVP rule {name_of(self.function)} for function {name} must produce primal "
                f"outputs with the structure of the function's, {call.out_tree}, but got {out_tree}"
            )
        return outs, [
            _checked_tangent(p, t, name, self.function) for p, t in zip(outs, moved, strict=True)
        ]


class SymbolicZero:
    """A tangent or cotangent known to be zero, for rules that ask for them (`symbolic_zeros`)."""

    __slots__ = ("type",)

    def __init__(self, type: ShapedArray) -> None:
        self.type = type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.type.dtype


@attrs.frozen(slots=True, eq=False)
class CustomVJPPrimal:
    """An argument of a forward rule that asks for symbolic zeros."""

    value: Any
    perturbed: bool


def _is_symbolic(x: Any) -> bool:
    return type(x) is SymbolicZero


def _direction(primal_type: ShapedArray, tangent: Any, symbolic: bool) -> Any:
    if tangent is not None:
        return tangent
    type = tangent_type(primal_type)
    if symbolic:
        return SymbolicZero(type)
    if type.dtype == float0:
        import numpy as np

        return np.zeros(type.shape, float0)
    return zeros(type)


def _checked_tangent(primal: Any, tangent: Any, name: str, rule: Any) -> Any:
    if _is_symbolic(tangent):
        return None
    expected = tangent_type(typeof(primal))
    if expected.dtype == float0:
        return None
    found = typeof(tangent)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError(
            f"Custom JVP rule {name_of(rule)} for function {name} must produce primal and tangent "
            "outputs with corresponding shapes and dtypes. Expected "
            f"{expected.str_short()} for a primal {typeof(primal).str_short()}, but got "
            f"{found.str_short()}"
        )
    return tangent


class custom_jvp:  # noqa: N801  (JAX's name)
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
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        self.fun = fun
        self.nondiff_argnums = _numbers(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        update_wrapper(self, fun)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Give the rule."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Give one rule an argument."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            from effax.interpreters.jvp.dual import total

            ans = self(*primals)
            terms = [
                rule(t, ans, *primals)
                for rule, t in zip(jvps, tangents, strict=False)
                if rule is not None
            ]
            leaves = [tree_flatten(t)[0] for t in terms]
            tree = tree_structure(ans)
            sums = [total(parts) for parts in zip(*leaves, strict=True)]
            return ans, tree_unflatten(tree, sums)

        self.defjvp(jvp)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        from functools import partial

        return self if instance is None else partial(self, instance)

    @filtered
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's value; its rule is used where a derivative is asked."""
        name = name_of(self.fun)
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        given = by_position(self.fun, args, keywords)
        fixed = normalise(self.nondiff_argnums, len(given), "nondiff_argnums")
        call = _Call(self.fun, given, fixed)
        staged = call.staged()
        rule = _JvpRule(call, self.jvp, len(staged.captured), self.symbolic_zeros)
        results = custom.custom_jvp_call(
            *staged.captured, *call.taken(), program=staged.program, rule=rule, name=name
        )
        return tree_unflatten(call.out_tree, results)


def _numbers(
    fun: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
) -> tuple[int, ...]:
    import inspect

    if not names:
        return tuple(numbers)
    order = list(inspect.signature(fun).parameters)
    return tuple(sorted({*numbers, *(order.index(n) for n in names)}))


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
        self, call: _Call, fwd: Any, bwd: Any, captured: int, symbolic: bool, optimize_remat: bool
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

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        call, n = self.call, self.captured
        name = name_of(call.function)
        _refuse_captured(name, "custom_vjp", [m or None for m in moving[:n]])
        values = primals[n:]
        if self.symbolic:
            values = [CustomVJPPrimal(*pair) for pair in zip(values, moving[n:], strict=True)]
        pair = self.fwd(*call.merged(call.filled(values)))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self.fwd)} for function {name} must produce a pair "
                "(list or tuple of length two) where the first element represents the primal "
                "output and the second element represents residuals (i.e. values stored from the "
                f"forward pass for use on the backward pass), but got {type(pair).__name__}"
            )
        outs, out_tree = tree_flatten(pair[0])
        if out_tree != call.out_tree:
            raise TypeError(
                f"Custom VJP fwd rule {name_of(self.fwd)} for function {name} must produce a pair "
                "where the first element represents the primal output with the same container "
                f"(pytree) structure as the function's, {call.out_tree}, but it has {out_tree}"
            )
        residuals, self.residual_tree = tree_flatten(pair[1])
        self.residual_refs = {i: x for i, x in enumerate(residuals) if isinstance(x, Ref)}
        return outs, [x for x in residuals if not isinstance(x, Ref)]

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
        full = [_direction(t, given.get(i), rule.symbolic) for i, t in enumerate(call.out_types)]
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
                zeros(t) if ct is None or _is_symbolic(ct) else _checked_ct(ct, t, rule)
                for ct, t, w in zip(flat, types, self.wanted[rule.captured :], strict=True)
                if w
            ),
        ]


def keeps_references(program: Program) -> bool:
    """Whether a rule in a program refers to a reference that the program takes.

    What is recorded of a call with a rule says nothing of the references that the rule will write
    when a derivative is taken, so the program alone is not enough to take it.
    """
    for e in program.equations:
        rule = e.attributes.get("rule")
        refs = rule.call.refs if isinstance(rule, (_JvpRule, _VjpRule)) else {}
        if any(not x.handler.live for x in refs.values()):
            return True
        if any(map(keeps_references, e.programs())):
            return True
    return False


def staged_over(
    functions: Sequence[Callable[..., list[Any]]], leaves: Sequence[Any], names: Sequence[str]
) -> tuple[list[Staged], list[Any]]:
    """Functions staged for these arguments, and what of these is left to be given.

    References stay among the arguments, unless a rule keeps one: then it is closed over, and so
    is itself what the rule writes when a derivative is taken.
    """
    staged = _staged_all(functions, leaves, names)
    if not any(keeps_references(s.program) for s in staged):
        return staged, list(leaves)
    refs = {i: x for i, x in enumerate(leaves) if isinstance(x, Ref)}
    distinct(leaves, names[0])
    rest = [x for x in leaves if not isinstance(x, Ref)]
    closed = [
        lambda *values, f=f: f(*with_references(refs, values))  # type: ignore[misc]
        for f in functions
    ]
    return _staged_all(closed, rest, names), rest


def _staged_all(
    functions: Sequence[Callable[..., list[Any]]], leaves: Sequence[Any], names: Sequence[str]
) -> list[Staged]:
    types = [typeof(x) for x in leaves]
    named = zip(functions, names, strict=True)
    return key_use.alternatives([partial(stage, f, types, name) for f, name in named])


def _checked_ct(ct: Any, type: ShapedArray, rule: _VjpRule) -> Any:
    found = typeof(ct)
    if found.shape == type.shape and is_inexact(found.dtype) and is_inexact(type.dtype):
        if found.dtype != type.dtype:
            ct = convert_element_type(ct, dtype=type.dtype)
    elif found is not type and (found.shape != type.shape or found.dtype != type.dtype):
        raise ValueError(
            f"Custom VJP bwd rule {name_of(rule.bwd)} must produce cotangents with the shapes and "
            f"dtypes of the arguments: expected {type.str_short()}, got {found.str_short()}"
        )
    return ct


def _flat_cotangents(answers: Any, call: _Call, rule: _VjpRule) -> list[Any]:
    """Cotangents per leaf; None stands for zeros of a whole argument, or of a part of it."""
    args = tree_unflatten(call.tree, range(call.tree.num_leaves))
    if not isinstance(answers, (tuple, list)) or len(answers) != len(args):
        raise TypeError(
            f"Custom VJP bwd rule {name_of(rule.bwd)} must produce a tuple with one cotangent for "
            f"each of the {len(args)} differentiated arguments, but got "
            f"{type(answers).__name__} of length "
            f"{len(answers) if isinstance(answers, (tuple, list)) else 'none'}"
        )
    flat: list[Any] = []
    for answer, arg in zip(answers, args, strict=True):
        try:
            flat += broadcast_prefix(answer, arg, is_leaf=lambda x: x is None or _is_symbolic(x))
        except ValueError:
            raise TypeError(
                f"Custom VJP bwd rule {name_of(rule.bwd)} must produce cotangents with the trees "
                f"of the arguments: expected {tree_structure(arg)}, got {tree_structure(answer)}"
            ) from None
    return [ct for i, ct in enumerate(flat) if i not in call.refs]


class custom_vjp:  # noqa: N801  (JAX's name)
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
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        self.fun = fun
        self.nondiff_argnums = _numbers(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        update_wrapper(self, fun)

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
                "defvjp: optimize_remat does not go with symbolic_zeros, as the function itself "
                "can't be told which of its arguments are perturbed; leave one of them out"
            )
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros
        self.optimize_remat = optimize_remat

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        from functools import partial

        return self if instance is None else partial(self, instance)

    @filtered
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's value; its rule is used where a derivative is asked."""
        name = name_of(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name} using defvjp.")
        given = by_position(self.fun, args, keywords)
        fixed = normalise(self.nondiff_argnums, len(given), "nondiff_argnums")
        call = _Call(self.fun, given, fixed)
        staged = call.staged()
        rule = _VjpRule(
            call,
            self.fwd,
            self.bwd,
            len(staged.captured),
            self.symbolic_zeros,
            self.optimize_remat,
        )
        results = custom.custom_vjp_call(
            *staged.captured, *call.taken(), program=staged.program, rule=rule, name=name
        )
        return tree_unflatten(call.out_tree, results)


def stop_gradient(x: Any) -> Any:
    """The value, as a constant to every derivative.

    >>> import effax
    >>> effax.grad(lambda x: x * effax.lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    from effax.effects.elementwise import stop_gradient as effect
    from effax.effects.tree import tree_map

    return tree_map(lambda v: effect(v) if moves(typeof(v)) else v, x)
