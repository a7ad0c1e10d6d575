"""Implicit keys: programs draw numbers without a key, and `seed` says from which key.

`sample(random.normal, (3,))` asks for a key by an effect and calls the sampler with it. That is all
that is new: `seed(f)(key, *args)` answers the effect from a state, the key, which it splits at each
draw, and the state goes through jit, scan, cond and while like any other. `vmap` understands it
because the effect happens in each lane, batched operands or not: every lane has its own numbers.
`grad` of a program that draws is the derivative of the samples as functions of their parameters.

A program that still draws where nothing answers is refused, by the name of what is missing. (After
genjax's `seed` and `modular_vmap`; keys are those of threefry; the handler is that of Xie et al. 2024, "Parallel Algebraic
Effect Handlers".)
"""

from functools import partial, wraps
from math import prod

import effax as fx
from effax import extend, random

draw = extend.Effect(
    "draw",
    family="sampling",
    typing=lambda *, shape: extend.ShapedArray((*shape, 2), "uint32"),
    row="sample",
)
"""`draw(shape)`: keys that nobody has used, as their words: uint32[*shape, 2]."""

extend.batch.in_each_lane(draw)


@extend.batch.rule(draw)
def draw_in_each_lane(handler, values, batched, *, shape):
    return draw(shape=(handler.size, *shape)), True


class Seed(fx.Interpreter):
    """Owns no value; its state is the key."""

    key: fx.State


@Seed.rule(draw)
def split_off(*, shape, state):
    keys = random.split(state.key, 1 + prod(shape))
    state.key = keys[0]
    return keys[1:].reshape(*shape, 2)


def sample(sampler, *args, **keywords):
    """Draw from a sampler of `effax.random` with a key of its own."""
    return sampler(draw(shape=()), *args, **keywords)


normal, uniform = partial(sample, random.normal), partial(sample, random.uniform)
bernoulli, categorical = partial(sample, random.bernoulli), partial(sample, random.categorical)


def seed(f):
    """The function with its key as first argument, in either form."""

    @wraps(f)
    def seeded(key, *args, **keywords):
        run = Seed.transform(f, key=random.key_data(key))
        return run(*args, **keywords)[0]

    return seeded


def repeat(f, times):
    """The function done `times` times with numbers of its own, results along a new first axis."""
    return lambda *args: fx.vmap(lambda _: f(*args))(fx.numpy.arange(times))
