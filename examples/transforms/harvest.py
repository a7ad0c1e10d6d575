"""Sow, reap and plant: values in the middle of a function, taken out and put in by name.

`sow(x, tag=..., name=...)` is x. `reap(f, tag=...)(*args)` is a dict of what f sows under the tag,
`plant(f, tag=...)(values, *args)` is f with these values in the place of those sown, and
`harvest(f, tag=...)(values, *args)` does both: a pair of f's result and what is sown, not planted.

A name sown twice is refused in mode "strict", the last one counts in mode "clobber", and in mode
"append" all of them are one array, in order along a new first axis. A scan sows in the modes
"append", step after step, and "clobber", the last step's; a `while` in mode "clobber" only; all
branches of a `cond` sow the same. Derivatives are of the values: tangents are not sown. (Wolfram's
Sow and Reap; oryx's `harvest`.)
"""

import effax as fx
import effax.numpy as jnp
from effax import extend, lax

sow_effect = extend.Effect("sow", family="harvest", typing=lambda x, **_: x, row="sow")
extend.expand(sow_effect)(lambda x, **_: x)  # where nobody harvests it is the identity
extend.batch.elementwise(sow_effect)


@extend.jvp.rule(sow_effect)
def sow_primals(primals, tangents, **how):
    return sow_effect(*primals, **how), tangents[0]


def sow(x, *, tag, name, mode="strict"):
    """The array x, which may be harvested."""
    if mode not in ("strict", "clobber", "append"):
        raise ValueError(f"the mode of sow is 'strict', 'clobber' or 'append', not {mode!r}")
    return sow_effect(jnp.asarray(x), tag=tag, name=name, mode=mode)


class Harvest(fx.Interpreter):
    """Owns no value: what is planted by name, and what was sown so far by name and mode."""

    tag: fx.Setting
    plants: fx.State = dict
    sown: fx.State = dict


@Harvest.rule(sow_effect)
def harvest_value(x, *, tag, name, mode, state):
    if tag != state.tag:
        return sow_effect(x, tag=tag, name=name, mode=mode)
    if name not in state.plants:
        keep(state, name, mode, x[None] if mode == "append" else x)
        return x
    planted = state.plants[name]
    if mode != "append":
        return planted
    state.plants = {**state.plants, name: planted[1:]}
    return planted[0]


def keep(state, name, mode, x):
    before = state.sown.get((name, mode))
    if before is not None and mode == "strict":
        raise ValueError(f"'{name}' is sown twice in mode 'strict'; 'append' keeps both")
    if before is not None and mode == "append":
        x = jnp.concatenate([before, x])
    state.sown = {**state.sown, (name, mode): x}


def inside(program, state, wrong):
    """A program as a function of plants and operands, and the types of all that it sows."""

    def run(plants, *operands):
        transformed = Harvest.transform(program.run, tag=state.tag, plants=plants)
        results, states = transformed(*operands)
        return results, states["sown"]

    sown = fx.eval_shape(run, {}, *program.inputs)[1]
    for name, mode in sown:
        if mode in wrong:
            raise ValueError(f"'{name}' is sown in a loop in mode '{mode}'; 'clobber' may be")
    return run, sown


@Harvest.rule(fx.effects.scan)
def harvest_scan(*operands, body, consts, carry, length, reverse, unroll, state):
    run, types = inside(body, state, {"strict"})
    plants, rows = dict(state.plants), {}
    for (name, mode), t in types.items():
        if mode == "append" and name in plants:
            n = length * t.shape[0]
            rows[name] = jnp.reshape(plants[name][:n], (length, *t.shape))
            plants[name] = plants[name][n:]

    def step(values, x):
        results, sown = run({**plants, **x[0]}, *operands[:consts], *values, *x[1])
        return results[:carry], (results[carry:], sown)

    state.plants, xs = plants, (rows, operands[consts + carry :])
    values, (ys, sown) = lax.scan(
        step, list(operands[consts : consts + carry]), xs, length, reverse, unroll
    )
    for (name, mode), x in sown.items():
        keep(state, name, mode, x[-1] if mode == "clobber" else jnp.concatenate(list(x)))
    return [*values, *ys]


@Harvest.rule(fx.effects.while_loop)
def harvest_while(*operands, cond, body, cond_consts, body_consts, state, **how):
    run, types = inside(body, state, {"strict", "append"})
    fixed, carry = (
        operands[cond_consts : cond_consts + body_consts],
        operands[cond_consts + body_consts :],
    )
    start = list(carry), {k: jnp.zeros(t.shape, t.dtype) for k, t in types.items()}
    results, sown = lax.while_loop(
        lambda s: cond.run(*operands[:cond_consts], *s[0])[0],
        lambda s: run(state.plants, *fixed, *s[0]),
        start,
        **how,
    )
    for (name, mode), x in sown.items():
        keep(state, name, mode, x)
    return results


def harvest(f, *, tag):
    """`f(*args)` with values planted, and a dict of what is sown otherwise."""

    def harvested(plants, *args):
        result, states = Harvest.transform(f, tag=tag, plants=plants)(*args)
        return result, {name: x for (name, _), x in states["sown"].items()}

    return harvested


def reap(f, *, tag):
    """What is sown in `f(*args)`, by name."""
    return lambda *args: harvest(f, tag=tag)({}, *args)[1]


def plant(f, *, tag):
    """`f(*args)` with values in the place of those sown."""
    return lambda plants, *args: harvest(f, tag=tag)(plants, *args)[0]
