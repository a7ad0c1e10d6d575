"""Calls of functions that bring their own derivative: arguments parted, programs staged."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any, Final

from effax.api.calling.arguments import name_of, with_references
from effax.api.calling.signatures import Parameters, leaf_names
from effax.effects import key_use
from effax.effects.errors import ClosedOverError
from effax.effects.frames import TracedFunction
from effax.effects.program import Program
from effax.effects.rows.state import Ref
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.effects.types import ShapedArray, float0, str_long, typeof
from effax.interpreters.jvp.dual import tangent_type, zeros
from effax.interpreters.stage import Staged, stage
from effax.keys.arrays import RuleLeaf


def by_position(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], kind: str
) -> tuple[Any, ...]:
    """The arguments by position, keywords and defaults put in their places.

    Raises `TypeError` where the arguments don't fit, or one can be given by keyword only.
    """
    import inspect

    signature = inspect.signature(function)
    if isinstance(function, partial):  # its keywords would look like keyword-only parameters
        signature = _without(signature, function.keywords)
    try:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(bound.kwargs)
            raise TypeError(
                f"The following keyword arguments could not be resolved to positions: {names}"
            )
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {name_of(function)} could not "
            f"be resolved to positional-only arguments. Binding failed with error:\n{error}"
        ) from None
    return bound.args


def _without(signature: Any, names: Container[str]) -> Any:
    parameters = [p for name, p in signature.parameters.items() if name not in names]
    return signature.replace(parameters=parameters)


class CustomCall:
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
        if len(self.refs) > 1:
            from effax.interpreters.functor.discharge import distinct

            dynamic = tuple(x for i, x in enumerate(args) if i not in self.fixed)
            tree = tree_flatten((dynamic, {}))[1]
            parameters = Parameters.of(function)
            distinct(
                everything, name_of(function), lambda: leaf_names(parameters, tree, self.fixed)
            )
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
        """All arguments, the fixed ones among these."""
        rest = iter(dynamic)
        return [self.fixed_at[i] if i in self.fixed else next(rest) for i in range(self.count)]

    def staged(self) -> Staged:
        """The function's program, of the leaves that are arrays."""

        def flat(*values: Any) -> list[Any]:
            result = self.function(*self.merged(self.filled(values)))
            leaves, self.out_tree = tree_flatten(result)
            return leaves

        found = stage(flat, self.types, name_of(self.function))
        self.out_types = found.program.out_types
        return found

    def returns_types(self, results: Sequence[Any]) -> bool:
        """Whether a rule's results have the function's shapes and dtypes, where these are known."""
        return all(
            t.shape == typeof(x).shape and t.dtype == typeof(x).dtype
            for x, t in zip(results, self.out_types or map(typeof, results), strict=True)
        )

    def taken(self) -> list[Any]:
        """The arguments' leaves, once: rules live on in programs, and must not keep values."""
        leaves, self.leaves = self.leaves, []
        return leaves


_DEFINERS: Final = ("defjvp", "defjvps", "defvjp", "def_vmap")


def pass_on_rules(wrapper: Any, function: Any) -> None:
    """Let rules of other kinds be given through the outermost of several wrappers."""
    for name in _DEFINERS:
        if not hasattr(wrapper, name) and hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))


def typed(tree: Any, types: Sequence[ShapedArray]) -> str:
    """A tree of types as messages show it."""
    shown = [_TypeText(str_long(t)) for t in types]
    return str(tree_unflatten(tree, shown))


class _TypeText(str):
    """Text that is shown without quotes inside of a container."""

    __slots__ = ()
    __repr__ = str.__str__


def refuse_captured(name: str, kind: str, tangents: Sequence[Any]) -> None:
    """Raise `ClosedOverError` where a value that the function captured moves."""
    if any(t is not None for t in tangents):
        raise ClosedOverError.of(name, kind)


class SymbolicZero(RuleLeaf):
    """A tangent or cotangent known to be zero, for rules that ask for them (`symbolic_zeros`)."""

    __slots__ = ("type",)

    def __init__(self, type: ShapedArray) -> None:
        self.type = type

    @property
    def aval(self) -> ShapedArray:
        """The type, by its name in JAX."""
        return self.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.type.dtype

    def of_keys(self, implementation: str) -> SymbolicZero:
        """The zero tangent of the keys made of those words."""
        return SymbolicZero(self.type.update(shape=self.type.shape[:-1]))


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangents of a tree of values, for rules of `custom_jvp`.

    Args:
      val: a tree of arrays and numbers.
      symbolic_zeros: give a `SymbolicZero` for each leaf, in place of an array.

    >>> import effax
    >>> effax.custom_derivatives.zero_from_primal((2.0, 3))
    (Array(0., dtype=float32, weak_type=True), array((b'',), dtype=[('float0', 'V')]))
    """
    return tree_map(lambda x: direction_of(typeof(x), None, symbolic_zeros), val)


def is_symbolic(x: Any) -> bool:
    """Whether x is a symbolic zero."""
    return type(x) is SymbolicZero


def direction_of(primal_type: ShapedArray, tangent: Any, symbolic: bool) -> Any:
    """Return the tangent as a rule expects it: a zero, symbolic or not, where there is none."""
    if tangent is not None:
        return tangent
    type = tangent_type(primal_type)
    if symbolic:
        return SymbolicZero(type)
    if type.dtype == float0:
        import numpy as np

        return np.zeros(type.shape, float0)
    return zeros(type)


def directions(primals: Sequence[Any], tangents: Sequence[Any], symbolic: bool) -> list[Any]:
    """Return tangents as a rule takes them: zeros, symbolic or not, where there are none."""
    return [direction_of(typeof(p), t, symbolic) for p, t in zip(primals, tangents, strict=True)]


def as_numbers(
    fun: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
) -> tuple[int, ...]:
    """Positions of arguments given by number or by name."""
    import inspect

    if not names:
        return tuple(numbers)
    order = list(inspect.signature(fun).parameters)
    return tuple(sorted({*numbers, *(order.index(n) for n in names)}))


def keeps_references(program: Program) -> bool:
    """Whether a rule in a program refers to a reference that the program takes.

    What is recorded of a call with a rule says nothing of the references that the rule will write
    when a derivative is taken, so the program alone is not enough to take it.
    """
    for e in program.equations:
        rule = e.attributes.get("rule")
        call = getattr(rule, "call", None)
        refs = call.refs if isinstance(call, CustomCall) else {}
        if any(not x.handler.live for x in refs.values()):
            return True
        if any(map(keeps_references, e.programs())):
            return True
    return False


def staged_over(
    functions: Sequence[Callable[..., list[Any]]],
    leaves: Sequence[Any],
    names: Sequence[str],
    traced: Sequence[TracedFunction | None],
) -> tuple[list[Staged], list[Any]]:
    """Functions staged for these arguments, and what of these is left to be given.

    `traced` are the user's functions behind them, for messages.

    References stay among the arguments, unless a rule keeps one: then it is closed over, and so
    is itself what the rule writes when a derivative is taken.
    """
    staged = staged_all(functions, leaves, names, traced)
    if not any(keeps_references(s.program) for s in staged):
        return staged, list(leaves)
    from effax.interpreters.functor.discharge import distinct

    refs = {i: x for i, x in enumerate(leaves) if isinstance(x, Ref)}
    distinct(leaves, names[0])
    rest = [x for x in leaves if not isinstance(x, Ref)]
    closed = [lambda *values, f=f: f(*with_references(refs, values)) for f in functions]
    return staged_all(closed, rest, names, [None] * len(names)), rest


def staged_all(
    functions: Sequence[Callable[..., list[Any]]],
    leaves: Sequence[Any],
    names: Sequence[str],
    traced: Sequence[TracedFunction | None],
) -> list[Staged]:
    """The programs of functions of these leaves, by these names."""
    types = [typeof(x) for x in leaves]
    named = zip(functions, names, traced, strict=True)
    return key_use.alternatives([partial(stage, f, types, name, t) for f, name, t in named])
