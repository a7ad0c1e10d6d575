"""Choices, all of them tried: a program chooses and requires, and the handler searches.

`choose(n)` is a number below n, and `require(ok)` says which choices are of interest. Nothing says
how to choose: that is the handler's, which gets the rest of the program and runs it for every
number at once, as a batch: `vmap(resume)(arange(n))`. So

    every(f)(*args)           f's result for all choices, an axis for each choice in order, and
                              whether each met all requirements
    best(f)(*args)            the largest result that meets them: the handler compares answers

are two handlers of the same program. What is chosen inside a branch or a scan's step counts, too.
(McCarthy's `amb`, 1963; choosing by the answer is the selection monad of Escardó and Oliva, 2010.)
"""

import effax as fx
import effax.numpy as jnp
from effax import extend

choose = extend.Effect(
    "amb_choose",
    family="search",
    typing=lambda *, n: extend.ShapedArray((), "int32"),
    row="choice",
)
"""`choose(n=n)`: a number below n."""

require_effect = extend.Effect(
    "amb_require", family="search", typing=lambda ok: [], multiple=True, row="choice"
)


def require(ok):
    """Go on with the choices for which a scalar Boolean holds."""
    require_effect(jnp.asarray(ok))


def every(f):
    """All results of f, an axis in front for each choice, and which of them meet all it requires."""

    def choose_each(*, n, resume):
        return fx.vmap(resume)(jnp.arange(n))

    def require_in_rest(ok, *, resume):
        result, met = resume()
        return result, met & ok

    return extend.handle(
        f,
        {choose: choose_each, require_effect: require_in_rest},
        result=lambda result: (result, jnp.array(True)),
    )


def best(f):
    """The largest scalar result of f among the choices; minus infinity where none is allowed."""

    def choose_best(*, n, resume):
        return fx.vmap(resume)(jnp.arange(n)).max()

    def worst_if_not(ok, *, resume):
        return jnp.where(ok, resume(), -jnp.inf)

    return extend.handle(
        f,
        {choose: choose_best, require_effect: worst_if_not},
        result=lambda result: jnp.asarray(result, float),
    )
