"""Sow, reap and plant: values in the middle of a function, taken out and put in by name.

`sow(x, tag=..., name=...)` is x. `reap(f, tag=...)(*args)` is a dict of what f sows under the tag,
`plant(f, tag=...)(values, *args)` is f with these values in the place of those sown, and
`harvest(f, tag=...)(values, *args)` does both: a pair of f's result and what is sown, not planted.

A name sown twice, or in a loop, is refused in mode "strict"; in mode "clobber" the last one counts;
in mode "append" all of them, those of a scan's steps too, are one array in order, along a new first
axis, and a name planted in this mode is such an array. A `while` sows in mode "clobber" only. What
no branch or step has sown in mode "clobber" is zero. Derivatives are of the values: tangents are
not sown. (Wolfram's Sow and Reap; oryx's `harvest`.)
"""

import effax as fx
import effax.numpy as jnp
from effax import extend

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
    """Owns no value: what is planted and how often it was used, and what was sown."""

    tag: fx.Setting
    plants: fx.State = dict
    used: fx.State = dict
    sown: fx.State = dict
    listed: fx.Log  # pyright: ignore[reportGeneralTypeIssues]


@Harvest.rule(sow_effect)
def harvest_value(x, *, tag, name, mode, state):
    if tag != state.tag:
        return sow_effect(x, tag=tag, name=name, mode=mode)
    if name in state.plants:
        planted, n = state.plants[name], state.used[name]
        state.used = {**state.used, name: n + 1}
        planted = jnp.asarray(planted[n] if mode == "append" else planted, x.dtype)
        if planted.shape != x.shape:
            raise ValueError(f"'{name}' has shape {x.shape}, and {planted.shape} is planted")
        return planted
    if mode == "append":
        state.listed.append(name, x)
        return x
    if mode == "strict" and name in state.sown:
        raise ValueError(f"'{name}' is sown twice in mode 'strict'; 'append' keeps all of them")
    state.sown = {**state.sown, name: x}
    return x


def harvest(f, *, tag):
    """`f(*args)` with values planted, and a dict of what is sown otherwise."""

    def harvested(plants, *args):
        used = dict.fromkeys(plants, 0)
        run = Harvest.transform(f, tag=tag, plants=plants, used=used)
        result, states = run(*args)
        return result, states["sown"] | states["listed"]

    return harvested


def reap(f, *, tag):
    """Return the values that `f(*args)` sows, by name."""
    return lambda *args: harvest(f, tag=tag)({}, *args)[1]


def plant(f, *, tag):
    """`f(*args)` with values in the place of those sown."""
    return lambda plants, *args: harvest(f, tag=tag)(plants, *args)[0]
