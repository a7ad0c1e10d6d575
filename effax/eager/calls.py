"""One call of a compiled function: its arguments bound, its program compiled, its results built."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import Any, Final, Self

import numpy as np

from effax.backends.xla.array import Array, asarray, device_put
from effax.backends.xla.dispatch import compile_program, evaluate
from effax.backends.xla.launch import Build, Executor, Launch
from effax.backends.xla.layout import ProgramLayout, layout_of
from effax.backends.xla.placement import Spec
from effax.effects.config import trace_key
from effax.effects.effect import LITERALS
from effax.effects.handler import bottom
from effax.effects.program import Program
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.interpreters.stage import Staged

LEAF: Final = tree_flatten(0)[1]
ENTERED: Final = LITERALS | {np.ndarray}
"""Classes of what is made an array where it is an operand."""
_SHORT: Final = 12  # equations: programs of fewer are compiled quickly, and kept on disk


class StaticArgument:
    """A static argument: compared by value and class, since 2 == 2.0 == True."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    @property
    def value(self) -> Any:
        """The argument."""
        return _value(self.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticArgument) and self.key == other.key


def fixed(x: Any) -> tuple[Any, ...]:
    """The key of a static: its class, its value, and the classes of what it holds.

    The key of an iterator can't be hashed.

    >>> fixed(2) == fixed(2.0), fixed((2,)) == fixed((True,)), fixed([2])
    (False, False, (<class 'list'>, ((<class 'int'>, 2),)))
    """
    kind = type(x)
    if kind is tuple:
        return kind, x, tuple(map(type, x))
    if kind is list:
        return kind, tuple(map(fixed, x))
    if hasattr(kind, "__next__"):  # walked once: no key may find the program of its elements
        return kind, [x]
    return kind, x


def _value(key: tuple[Any, ...]) -> Any:
    return [*map(_value, key[1])] if key[0] is list else key[1]


class Arguments:
    """The arguments of one call: statics, and the leaves of all others with their tree."""

    __slots__ = ("leaves", "statics", "tree")

    def __init__(
        self, leaves: list[Any], tree: Any, statics: tuple[tuple[int | str, StaticArgument], ...]
    ) -> None:
        self.leaves = leaves
        self.tree = tree
        self.statics = statics
        """The place of each static argument, by position (ascending) or name, and the argument."""

    @classmethod
    def bind(
        cls,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        places: Container[int],
        names: Container[str],
    ) -> Self:
        """Bind the arguments of a call whose statics are those at these places and names."""
        statics: list[tuple[int | str, StaticArgument]] = []
        rest: list[Any] = []
        named: dict[str, Any] = {}
        for i, x in enumerate(args):
            if i in places:
                statics.append((i, StaticArgument(fixed(x))))
            else:
                rest.append(x)
        for name in sorted(keywords):
            x = keywords[name]
            if name in names:
                statics.append((name, StaticArgument(fixed(x))))
            else:
                named[name] = x
        leaves, tree = tree_flatten((tuple(rest), named))
        return cls(leaves, tree, tuple(statics))

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call the function with these leaves in place of its dynamic arguments."""
        args, keywords = tree_unflatten(self.tree, values)
        if self.statics:
            args = list(args)
            for at, x in self.statics:
                if isinstance(at, int):
                    args.insert(at, x.value)
                else:
                    keywords = {**keywords, at: x.value}
        return function(*args, **keywords)


def builder(tree: Any) -> Build | None:
    """Return what makes a function's results of the leaves of their tree; None for a leaf."""
    if tree == LEAF:
        return None
    root = tree.node_data()
    if root is not None and all(child == LEAF for child in tree.children()):
        kind, keys = root
        if kind in (tuple, list):
            build: Build = kind
            return build
        if kind is dict:
            named = partial(zip, keys)
            return lambda leaves: dict(named(leaves))
    unflatten: Callable[[Iterable[Any]], Any] = tree.unflatten
    return unflatten


def compiled(
    program: Program,
    layout: ProgramLayout,
    captured: Sequence[Array],
    specs: Sequence[Spec],
    **options: Any,
) -> Executor:
    """Compile a program for operands of these specs, of which it keeps the captured ones.

    `options` are those of `compile_program`.
    """
    kept = [device_put(x, at) for x, at in zip(captured, layout.ins, strict=False)]
    made = compile_program(program, layout, called=True, captured=kept, **options)
    return made.gather(specs, layout)


def launch_of(staged: Staged, specs: Sequence[Spec], build: Build | None) -> Launch:
    """Compile what was staged for operands of these specs; `build` makes the results of a call."""
    captured = [asarray(x) for x in staged.captured]
    program = staged.program
    held = [x.spec for x in captured]
    layout = layout_of([*held, *specs], program, what=program.name, captured=len(held))
    short = len(program.equations) < _SHORT
    made = compiled(program, layout, captured, specs, single_op=short, shared=True)
    return made.launch(build)


def as_values(result: Any) -> Any:
    """Return what a body returned, an operand of NumPy's that it left as it is made an array.

    So results are arrays whether or not a handler is installed.
    """
    kind = type(result)
    if kind is list or kind is tuple:
        return kind(map(as_values, result))
    return asarray(result) if kind in ENTERED or isinstance(result, np.generic) else result


def is_unseen() -> bool:
    """Whether nobody watches what is performed at the bottom, which may then be done otherwise."""
    settings = trace_key()
    return (
        bottom.perform is evaluate  # else another handler watches, or another back-end computes
        and settings.fast_paths != "none"
        and not (settings.disable_jit or settings.check_tracer_leaks)
    )
