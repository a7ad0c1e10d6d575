"""The origin of a NaN: every element carries the line that made it, or that it needs none.

`provenance(f)(*args)` gives for each inexact array of f's result a `Traced`: the value, and for
each element the number of its origin. `explain` turns that into lines of text and how many elements
began there. The origin of a NaN is that of the first NaN it was computed from, or, if all it was
computed from is well, the effect itself. Effects that work element by element or move elements
keep origins apart; where many make one (a sum, a product of matrices) the first in the text wins.
"""

from collections import Counter
from functools import reduce

import effax as fx
import effax.numpy as jnp
from effax import traits

NONE = 2**31 - 1  # the origin of what is not NaN, later than all others
POINTWISE = {"elementwise", "transcendental", "special", "complex", "conversion"}
sites = {"an argument": 0, "a constant": 1}  # text: number, in order of appearance


class Traced(fx.Interpreter, every=True):
    """A value, and where each of its NaNs began; values that can't be NaN are plain."""

    value: fx.Leaf(primal=True)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    origin: fx.Leaf(dtype="int32") | None  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]

    @classmethod
    def lift(cls, value, site="a constant", before=NONE):
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            return cls(value)  # pyright: ignore[reportCallIssue]
        number = sites.setdefault(site, len(sites))
        born = jnp.where(jnp.asarray(before) == NONE, number, before)
        return cls(value, jnp.where(value == value, NONE, born).astype("int32"))


@Traced.default
def follow(effect, *operands, place, **how):
    found = effect(*[x.value for x in operands], **how)
    origins = [x.origin for x in operands if x.origin is not None]
    if origins and effect in traits.structural:
        how |= {"fill_value": NONE} if "fill_value" in how else {}
        moved = [x.value if x.origin is None else x.origin for x in operands]
        before = effect(*moved, **how)
    else:
        apart = effect.family in POINTWISE
        origins = origins if apart else [jnp.min(x, initial=NONE) for x in origins]
        before = reduce(jnp.minimum, origins, NONE)
    results = [Traced.lift(y, f"{effect} at {place}", before) for y in fx.tree.leaves(found)]  # pyright: ignore[reportArgumentType]
    results = [y.value if y.origin is None else y for y in results]
    return results if effect.multiple else results[0]


def provenance(f):
    """The function with its inexact results as `Traced`."""
    enter = lambda x: Traced.lift(jnp.asarray(x), "an argument")  # noqa: E731
    return lambda *args: Traced.transform(f)(*fx.tree.map(enter, args))


def explain(result):
    """For each `Traced` in a result, how many of its elements are NaN because of which line."""
    found = fx.tree.leaves(result, is_leaf=lambda x: isinstance(x, Traced))
    codes = [jnp.ravel(x.origin).tolist() for x in found if isinstance(x, Traced)]  # pyright: ignore[reportArgumentType]
    return [Counter(list(sites)[k] for k in ks if k != NONE) for ks in codes]
