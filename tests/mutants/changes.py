"""Small mistakes, to be made in one rule at a time.

A change takes a rule's result and gives a wrong one. Some are no change at all: a bound of zero
times 1.5, the operands of a sum swapped. So each counts how often what it gave differed from what
it was given; a mutant that never differed is equivalent, and is not held against the laws.
"""

from __future__ import annotations

import attrs
import numpy as np

import effax.numpy as jnp
from effax.effects.types import is_float, typeof
from effax.interpreters.interpreter import Interpreter


@attrs.define
class Noticed:
    """Counts of how often a change was asked, and how often its difference could be seen."""

    asked: int = 0
    changed: int = 0
    traced: int = 0
    reached: bool = False

    def between(self, right, wrong):
        """Note a right value and what was put in its place."""
        self.asked += 1
        if right is None or wrong is None:
            self.changed += right is not wrong
            return
        a, b = elements(right), elements(wrong)
        if a is None or b is None:
            self.traced += 1  # what is seen of it elsewhere counts
            return
        same = a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
        self.changed += not same


def elements(x):
    """The elements of a value; None where it is traced."""
    x = getattr(x, "array", x)  # a value of the reference
    if isinstance(x, np.ndarray | np.generic | int | float | bool):
        return np.asarray(x)
    try:
        return np.asarray(x)
    except TypeError:
        return None


def scaled(x):
    """Half as much again; of Booleans the contrary, of integers one more."""
    t = typeof(x)
    if t.dtype == bool:
        return ~x
    return x * 1.5 if is_float(t.dtype) else x + 1


def slightly(x):
    """A thousandth more."""
    return x * 1.001 if is_float(typeof(x).dtype) else x


def shifted(x):
    """A tenth more."""
    t = typeof(x)
    return x + 0.1 if is_float(t.dtype) else scaled(x)


def narrowed(x):
    """The same in half precision."""
    t = typeof(x)
    return jnp.asarray(x).astype("float16") if is_float(t.dtype) and t.dtype.itemsize > 2 else x


def turned(x):
    """Along its first axis, one further: rows of a batch are mixed."""
    return jnp.roll(x, 1, 0) if len(typeof(x).shape) else x


VALUES = {f.__name__: f for f in (scaled, slightly, shifted, narrowed, turned)}
"""Changes of one array."""


def of_leaf(name, change, noticed):
    """The change of one leaf of data; plain results stay."""

    def apply(x):
        if not isinstance(x, Interpreter) or getattr(x, name, None) is None:
            return x
        right = getattr(x, name)
        wrong = change(right)
        noticed.between(right, wrong)
        fields = {n: getattr(x, n) for n in x._fields.order}
        return type(x)(**(fields | {name: wrong}))

    return apply


def of_plain(change, noticed):
    """The change of a result that is no data."""

    def apply(x):
        if isinstance(x, Interpreter) or x is None:
            return x
        wrong = change(x)
        noticed.between(x, wrong)
        return wrong

    return apply


def forgotten(name, noticed):
    """A leaf that may be absent is; else the data are taken for their first leaf, a plain value."""

    def apply(x):
        if not isinstance(x, Interpreter):
            return x
        leaf = x._fields.leaves[name]
        if leaf.optional:
            if getattr(x, name) is None:
                return x
            noticed.between(getattr(x, name), None)
            return type(x)(**({n: getattr(x, n) for n in x._fields.order} | {name: None}))
        noticed.between(0, 1)
        return getattr(x, name)

    return apply


def static_forgotten(name, noticed):
    """A static field is what it is by default."""

    def apply(x):
        if not isinstance(x, Interpreter):
            return x
        right = getattr(x, name)
        wrong = getattr(type(x), name, None)
        noticed.between(0, int(right != wrong))
        return type(x)(**({n: getattr(x, n) for n in x._fields.order} | {name: wrong}))

    return apply


def seen(noticed, function):
    """A function in the place of another: its last arguments say whether that makes a difference."""

    def apply(*args, **how):
        right = args[-1]
        noticed.between(0, 1 if isinstance(right, Interpreter) else int(right != args[-2]))
        return function(*args)

    return apply


def arrays(found):
    """The arrays of what a rule gave: each leaf of data."""
    for x in found if isinstance(found, list | tuple) else [found]:
        if isinstance(x, Interpreter):
            yield from (getattr(x, n) for n in x._fields.leaves)
        else:
            yield x
