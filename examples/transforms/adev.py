"""Unbiased gradients of expectations, by a strategy at each random choice (ADEV).

`expectation(f)` estimates E[f(x)] where f makes random choices, and `grad_estimate` its gradient:
the mean of what is returned is the gradient of the expectation, also with respect to probabilities,
where the gradient of a sampled run is wrong. (Lew, Huot, Staton & Mansinghka, "ADEV: Sound Automatic
Differentiation of Expected Values of Probabilistic Programs", POPL 2023.)

The paper differentiates in continuation-passing style. Here a choice is a weighted sum over ways to
go on, whose value and derivatives are those of the expectation; what follows is ordinary `jvp`:

    enum        each outcome, weighted by its probability p
    reinforce   a sample, weighted by p / stop(p)
    mvd         a sample; and each outcome, with weights whose value is 0 and whose slope is p's
    reparam     a function of the parameters and noise

One run of f takes one way at each choice, as the digits of a number say, and the runs of all numbers
are `vmap`'s lanes: what precedes a choice is computed once. The state (key, digits, weight) goes
through jit, scan, cond and while like any; choices in each lane of a `vmap` are choices of their own.

>>> def f(p):  # 0 if a coin of probability p falls, -p / 2 if it doesn't
...     return lax.cond(flip(p), lambda: 0.0, lambda: -p / 2)
>>> print(expectation(f).estimate(random.key(0), 0.4), expectation(f).grad_estimate(random.key(0), 0.4))
-0.120000005 -0.10000001
"""

from functools import partial

import effax as fx
import effax.numpy as jnp
from effax import extend, lax, random, tree

SAMPLES = {
    "categorical": lambda key, p: random.categorical(key, jnp.log(p)).astype("int32"),
    "normal": lambda key, mean, scale: mean + scale * random.normal(key, jnp.shape(mean)),
    "uniform": lambda key, lo, hi: lo + (hi - lo) * random.uniform(key, jnp.shape(lo)),
}
CHANCES = {  # probabilities, and densities up to a factor
    "categorical": lambda x, p: jnp.take_along_axis(p, x[..., None], -1)[..., 0],
    "normal": lambda x, mean, scale: jnp.exp(-0.5 * ((x - mean) / scale) ** 2) / scale,
}
BY = dict(categorical="enum reinforce mvd", normal="reparam reinforce", uniform="reparam")


def ways(name, by, key, *parameters):
    """The ways to go on after a choice, with their weights."""
    x, stop = SAMPLES[name](key, *parameters), lax.stop_gradient
    if by == "reparam":
        return [(x, jnp.ones(x.shape))]
    outcomes = [stop(x)] if by == "reinforce" else range(parameters[0].shape[-1])
    weigh = {"enum": lambda p: p, "reinforce": lambda p: p / stop(p), "mvd": lambda p: p - stop(p)}
    found = [(k := jnp.full_like(x, o), weigh[by](CHANCES[name](k, *parameters))) for o in outcomes]
    return [(x, jnp.ones(x.shape)), *found] if by == "mvd" else found


def choice_type(x, *others, name, by):
    """Indices, without the axis of their probabilities, or numbers like the parameters."""
    return extend.ShapedArray(x.shape[:-1], "int32") if name == "categorical" else x


choose = extend.Effect("choose", family="sampling", typing=choice_type, row="expectation")
extend.batch.in_each_lane(choose)


@extend.batch.rule(choose)
def choose_in_each_lane(handler, values, batched, **how):
    return choose(*extend.batch.all_batched(handler, values, batched), **how), True


class Choices(fx.Interpreter):
    """Owns no values: the key, the digits that are left, the weight so far."""

    key: fx.State
    digits: fx.State
    weight: fx.State


@Choices.rule(choose)
def choose_by_digits(*parameters, name, by, state):
    state.key, key = random.split(state.key)
    values, weights = zip(*ways(name, by, key, *parameters), strict=True)
    (value, weight), base = (values[0], weights[0]), len(values)
    if base > 1:
        digit = state.digits // base ** jnp.arange(value.size).reshape(1, *value.shape) % base
        state.digits = state.digits // base**value.size
        parts = map(jnp.stack, (values, weights))
        value, weight = (jnp.take_along_axis(z, digit, 0)[0] for z in parts)
    state.weight = state.weight * jnp.prod(weight)
    return value


def runs(program):
    """Count the runs that take every way through a program."""
    n = 1
    for e in program.equations:
        inner = max(map(runs, e.programs()), default=1)
        if e.effect is fx.effects.while_loop and inner > 1:
            raise NotImplementedError("in a loop of unknown length choose by reinforce or reparam")
        n *= inner ** e.attributes.get("length", 1)
        if e.effect is choose:
            k, by = (1, *e.inputs[0].type.shape)[-1], e.attributes["by"]
            n *= {"enum": k, "mvd": k + 1}.get(by, 1) ** e.outputs[0].type.size
    return n


class expectation:
    """The expectation of a function that makes choices: estimates of it and its derivatives."""

    def __init__(self, f):
        self.f = f

    def estimate(self, key, *args):
        """An estimate of E[f(*args)]; the mean over keys is the expectation."""
        if (n := runs(fx.make_program(self.f)(*args))) > 1 << 20:
            raise ValueError(f"{n} runs would take every way: make some choices by 'reinforce'")

        def run(digits):
            start = {"key": random.key_data(key), "digits": digits, "weight": 1.0}
            result, end = Choices.transform(self.f, **start)(*args)
            weight = jnp.where(end["digits"] == 0, end["weight"], 0.0)  # of shorter branches
            return tree.map(lambda y: y * weight, result)

        return tree.map(lambda y: y.sum(0), fx.vmap(run)(jnp.arange(n))) if n > 1 else run(0)

    def jvp_estimate(self, key, primals, tangents):
        """Estimates of E[f] and of its derivative along the tangents."""
        return fx.jvp(partial(self.estimate, key), primals, tangents)

    def grad_estimate(self, key, *args, argnums=0):
        """An estimate of the gradient of E[f]."""
        return fx.grad(partial(self.estimate, key), argnums)(*args)


def choice(name, *parameters, by=None):
    """A choice by one of the strategies that there are for it: the first, if none is given."""
    if by not in (None, *BY[name].split()):
        raise ValueError(f"{name} is chosen by {BY[name].replace(' ', ', ')}; not by {by!r}")
    parameters = jnp.broadcast_arrays(*map(jnp.asarray, parameters))
    return choose(*parameters, name=name, by=by or BY[name].split()[0])


def flip(p, by=None):
    """True with probability p."""
    return categorical(jnp.stack([1 - p, p], -1), by=by) == 1


categorical, normal, uniform = (partial(choice, name) for name in BY)
