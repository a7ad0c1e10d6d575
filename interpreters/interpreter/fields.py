"""The fields of a user's interpreter, as its class body declares them."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Union, get_args, get_origin

import attrs


class Data:
    """The base of all interpreters' classes."""


@attrs.frozen
class Leaf:
    """In a class body, declares a field that holds an array: `lo: Leaf`.

    `Leaf | None` may be absent; which fields are absent is part of a value's mode. `axes` is how
    many axes the leaf has before the value's own, `dtype` and `fill` say what stands in for an
    absent leaf where a loop or a branch needs one: by default zeros of the value's dtype.

    `primal=True` promises that the leaf is the value itself, which the program has without the
    interpreter. Rules of the program's own (`custom_jvp`, `custom_root`, ...) are for that leaf.
    Where Python asks for a number (`if x > 0:`, `float(x)`, an index), it gets that of the leaf.
    """

    axes: int = 0
    dtype: Any = None
    fill: Any = 0
    optional: bool = False
    primal: bool = False

    def __attrs_post_init__(self) -> None:
        if self.primal and (self.axes or self.optional or self.dtype is not None):
            raise TypeError(
                "Leaf(primal=True) is the value itself: it is never absent, has no axes in front "
                "and no dtype of its own"
            )

    def __or__(self, other: None) -> Leaf:
        return attrs.evolve(self, optional=True)


class Static:
    """In a class body, declares a field of hashable data, part of the mode: `unit: Static`."""


class State:
    """In a class body, declares a value that the handler itself threads: `count: State = 0`.

    It is a pytree of arrays. A dict may grow: where a branch has not set an entry that another one
    has, or before a loop whose steps set it, zeros stand. Rules with a parameter `state` read and
    assign `state.count`; the transform's result is then a pair of the function's result and a dict
    of the final states.
    """


class Log:
    """In a class body, declares what rules write and never read: `seen: Log`.

    `state.seen.append(key, x)` writes an array. What a scan writes is that of all its steps, in
    order; a `while` may not write, and branches write the same. In the dict beside the transform's
    result it is a dict: under each key one array, the entries along a new first axis.
    """


class Setting:
    """In a class body, declares what is fixed for one installation: `tag: Setting = "all"`.

    It is hashable. Rules with a parameter `state` read `state.tag`; `transform(f, tag=...)` gives
    it.
    """


@attrs.frozen
class Fields:
    """The declarations in a class body."""

    leaves: dict[str, Leaf]
    statics: tuple[str, ...]
    states: tuple[str, ...]
    order: tuple[str, ...]
    settings: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    primal: str | None = None
    """The leaf that is the value itself."""

    @classmethod
    def of(cls, owner: type) -> Fields:
        """Read the annotations of a class and of those it inherits from."""
        leaves: dict[str, Leaf] = {}
        statics: list[str] = []
        beside: dict[Any, list[str]] = {State: [], Setting: [], Log: []}
        order: list[str] = []
        for base in reversed(owner.__mro__):
            if not issubclass(base, Data) or Data in base.__bases__:
                continue
            for name, annotation in inspect.get_annotations(base).items():
                declared = _declared(annotation, base)
                if isinstance(declared, Leaf):
                    leaves[name] = declared
                elif declared is Static:
                    statics.append(name)
                elif declared in (State, Setting, Log):
                    beside[declared].append(name)
                    continue
                else:
                    continue
                if name not in order:
                    order.append(name)
        states, settings, logs = map(tuple, beside.values())
        primals = [name for name, leaf in leaves.items() if leaf.primal]
        if len(primals) > 1:
            raise TypeError(f"{owner.__name__}: only one leaf can be primal, not {primals}")
        primal = next(iter(primals), None)
        return cls(leaves, tuple(statics), states, tuple(order), settings, logs, primal)


def _declared(annotation: Any, owner: type) -> Any:
    if isinstance(annotation, str):
        module = sys.modules.get(owner.__module__)  # None for a file that is run by its path
        scope = vars(module) if module else {}
        try:
            annotation = eval(annotation, dict(scope), dict(vars(owner)))
        except (NameError, TypeError):  # names of a local scope, or of type checkers only
            last = annotation.replace(" ", "").removesuffix("|None").rpartition(".")[2]
            found = {
                "Leaf": Leaf(),
                "Static": Static,
                "State": State,
                "Setting": Setting,
                "Log": Log,
            }.get(last)
            optional = isinstance(found, Leaf) and "None" in annotation
            return found | None if optional else found  # type: ignore[operator]
    if annotation is Leaf:
        return Leaf()
    if get_origin(annotation) in (types.UnionType, Union) and Leaf in get_args(annotation):
        return Leaf(optional=True)
    return annotation
