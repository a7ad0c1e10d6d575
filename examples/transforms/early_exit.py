"""Leaving a computation from its midst, out of branches and loops, under every transform.

`leave(x)` ends what `leaving` wraps: its answer is x, and nothing after it is done. A loop in which
it happens stays a loop: a `while_loop` stops there, the steps of a `scan` that follow do nothing,
and reverse mode goes through the scan.

The clause is one that never resumes, `final` in Koka's words: an exception with a value.
"""

import effax.numpy as jnp
from effax import extend, lax

leave_effect = extend.Effect(
    "leave_early", family="early exit", typing=lambda x: [], multiple=True, row="early exit"
)


def leave(x):
    """End the computation around, which `leaving` wraps, with the answer x."""
    leave_effect(jnp.asarray(x))


def leave_if(ok, x):
    """End it where a scalar Boolean holds."""
    lax.cond(ok, lambda: leave(x), lambda: None)


def leaving(f):
    """The function f, which may end early: with a value of the type of its result."""
    return extend.handle(f, {}, final={leave_effect: lambda x: x})
