"""Random keys used twice are found before a function runs, and both places are named.

`check(f)` is f, which raises `KeyReuseError` where a key that was split, or from which bits were
drawn, is used again: in another line, another step of a loop, the program after a branch. `fold_in`
leaves a key usable, `clone` says that using it again is meant. A key array has a cell for each of
its keys, which slices of it share; a key that is taken at a computed index, or put together with
others, is taken to be a new one. f's program is read: a loop's body twice in a row, branches each
for itself, a kernel at one point; so arguments are traced as under `jit`. (The discipline of jax.experimental.key_reuse.)
"""

from copy import deepcopy
from itertools import chain

import effax as fx
from effax.errors import KeyReuseError
from effax.extend import effects, traits


def fresh(xs):
    """A cell for each key that a variable may hold: [the place that used it up, or nothing]."""
    words = [x.shape[-1] if x.dtype == "uint32" and x.shape[-1:] in ((2,), (4,)) else 0 for x in xs]
    return [[[""] for _ in range(x.size // n if n else 0)] for x, n in zip(xs, words, strict=True)]


def walk(program, cells):
    """The cells of a program's results, from those of its inputs."""
    known = dict(zip(program.inputs, cells, strict=True))
    for e in program.equations:
        given = [known.get(x, []) for x in e.inputs]
        found = RULES.get(e.effect, other)(e, given, **e.attributes)
        known.update(zip(e.outputs, found, strict=True))
    return [known.get(x, []) for x in program.outputs]


def use(e, given, use):
    for cell in given[0] if use in ("bits", "split") else []:
        if cell[0]:
            raise KeyReuseError(f"at {e.place}, a key is used that was used up at {cell[0]}")
        cell[0] = e.place
    return fresh(e.outputs) if use == "new" else [[]]


def move(e, given, **how):
    (x, *others), found = e.inputs, fresh(e.outputs)
    if given[0] and found[0] and not others:
        with fx.ensure_compile_time_eval():
            at = e.effect((fx.numpy.arange(x.size) // x.shape[-1]).reshape(x.shape), **how)[..., 0]
            found = [[given[0][i] for i in at.ravel().tolist()]]
    return found


def branch(e, given, branches):
    copies = [deepcopy(given[1:]) for _ in branches]
    found = list(map(walk, branches, copies))
    for cell, *others in zip(*map(chain.from_iterable, (given[1:], *copies)), strict=True):
        cell[:] = max(others)
    return [list(map(max, zip(*held, strict=True))) for held in zip(*found, strict=True)]


def loop(e, given, cond, body, cond_consts, body_consts, **_):
    n, m = cond_consts, cond_consts + body_consts
    for _step in range(2):
        walk(cond, given[:n] + given[m:])
        given[m:] = walk(body, given[n:])
    return given[m:]


def steps(e, given, body, consts, carry, length, **_):
    n = consts + carry
    row = [sorted(x, reverse=True)[: len(x) // max(length, 1)] for x in given[n:]]
    for one in (row, [[[""] for _ in x] for x in row])[:length]:
        given[consts:n] = walk(body, given[:n] + one)[:carry]
    for cell, used in ((c, one[0]) for x, one in zip(given[n:], row, strict=True) for c in x):
        cell[0] = used[0]
    return given[consts:n] + fresh(e.outputs)[carry:]


def other(e, given, program=None, **_):
    point = e.effect.family == "kernel"  # of a grid, whose blocks are taken to be new keys
    found = walk(program, fresh(program.inputs) if point else given) if program else []
    return found if program and not point else fresh(e.outputs)


RULES = {effects.use_key: use, effects.cond: branch, effects.while_loop: loop, effects.scan: steps}
RULES |= {e: move for e in traits.structural if e.family == "shape"}


def check(f):
    """The function, which refuses to use a key twice."""

    def checked(*args, **keywords):
        program = fx.make_program(f)(*args, **keywords)
        walk(program, fresh(program.inputs))
        return f(*args, **keywords)

    return checked
