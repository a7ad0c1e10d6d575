"""Reverse mode by continuations: derivatives as what is done after the rest has returned.

`Number`s compute as usual, and each operation performs `node(value, place, slope, ...)`: its value,
and for each operand the place of its adjoint and the slope along it. The clause takes a new place,
runs the rest, whose answer is the adjoint of every place, and adds to the adjoints of its operands

    adjoint[operand] += adjoint[result] * slope

on the way back. There is no tape and no walk: the order of the additions is that of the returns.
Branches and scans are gone through, since the rest of a program in a branch is a program, too.

(Wang et al. 2019, "Demystifying differentiable programming: shift/reset the penultimate
backpropagator". Theirs keeps adjoints in references; here the answer holds them.)
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

import effax.numpy as jnp
from effax import extend
from effax.tree_util import register_dataclass

node = extend.Effect(
    "backpropagation_node",
    family="backpropagation",
    typing=lambda value, *edges: extend.ShapedArray((), "int32"),
    row="adjoints",
)
"""`node(value, place, slope, ...)`: the place of the adjoint of a new value."""


@dataclass(frozen=True)
class Number:
    """A scalar, and the place of its adjoint."""

    value: Any
    place: Any

    def __add__(self, other):
        return _number(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        return _number(self.value * other.value, (self, other.value), (other, self.value))

    def sin(self):
        return _number(jnp.sin(self.value), (self, jnp.cos(self.value)))


register_dataclass(Number, data_fields=["value", "place"], meta_fields=[])


def _number(value, *edges):
    flat = [x for operand, slope in edges for x in (operand.place, jnp.asarray(slope, float))]
    return Number(value, node(value, *flat))


def backpropagated(f, places=64):
    """The value and the gradient of a function of scalars, for at most so many operations."""

    def value_and_gradient(*args):
        free = count(len(args))

        def backwards(value, *edges, resume):
            place = next(free)
            if place >= places:
                raise ValueError(f"backpropagated(f, places={places}): f has more operations")
            result, adjoints = resume(place)
            for operand, slope in zip(edges[::2], edges[1::2], strict=True):
                adjoints = adjoints.at[operand].add(adjoints[place] * slope)
            return result, adjoints

        def seeded(number):
            return number.value, jnp.zeros(places).at[number.place].set(1.0)

        numbers = [Number(jnp.asarray(x, float), jnp.int32(i)) for i, x in enumerate(args)]
        value, adjoints = extend.handle(f, {node: backwards}, result=seeded)(*numbers)
        return value, adjoints[: len(args)]

    return value_and_gradient
