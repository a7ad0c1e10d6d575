"""The keys of a program as a tree: what was split from what, and what was drawn from the same key."""

from typing import Any, NamedTuple

from _figure import figure
from key_reuse import fresh, move  # pyright: ignore[reportMissingImports]

import effax
from effax import random
from effax.extend import effects


def noisy(key):
    """A layer whose noise uses two keys a second time."""
    weights, rest = random.split(key)
    first, second = random.split(rest)
    w = random.normal(weights, (4, 4))
    kept = random.bernoulli(first, 0.5, (4,))
    noise = random.uniform(second, (4,))
    more = random.uniform(random.fold_in(key, 1), (4,))
    again = random.normal(second, (4,))
    return w @ (kept * noise + again), random.split(rest, 3)[0], more


class Use(NamedTuple):
    """A use of a key: its kind, its line, and the numbers of the keys that it made."""

    key: int
    how: str
    line: str
    made: list[int]


def uses(f, key):
    """The uses of keys in a program without loops, in order. Key 0 is the argument."""
    program = effax.make_program(f)(key)
    known: dict[Any, list[Any]] = {program.inputs[0]: [0]}
    found, count = [], 1
    for e in program.equations:
        given: list[Any] = [known.get(x, []) for x in e.inputs]
        if e.effect is not effects.use_key:
            if any(given) and e.effect.family == "shape":
                known[e.outputs[0]] = move(e, given, **e.attributes)[0]
        elif e.attributes["use"] == "new":
            made = [count + i for i in range(len(fresh(e.outputs)[0]))]
            known[e.outputs[0]], count = made, count + len(made)
            found[-1].made.extend(made)
        else:
            line = str(e.place).rpartition(" (")[0].rpartition(":")[2]
            found.append(Use(given[0][0], e.attributes["use"], line, []))
    return found


def spent(found):
    """The keys that were used up more than once."""
    often = [u.key for u in found if u.how in ("bits", "split")]
    return {k for k in often if often.count(k) > 1}


def layout(found):
    """A place for each key and each use: a key in the middle of its uses, a use of its keys."""
    places, rows = {}, iter(range(1000))

    def put(node, children, depth):
        heights = [put(child, below(child), depth + 1) for child in children]
        places[node] = depth, sum(heights) / len(heights) if heights else -next(rows)
        return places[node][1]

    def below(node):
        kind, number = node
        if kind == "use":
            return [("key", k) for k in found[number].made]
        return [("use", i) for i, u in enumerate(found) if u.key == number]

    put(("key", 0), below(("key", 0)), 0)
    return places


if __name__ == "__main__":
    found = uses(noisy, random.key(0))
    places, twice = layout(found), spent(found)
    with figure() as axes:
        for i, use in enumerate(found):
            here, color = places["use", i], "C3" if use.key in twice else "0.4"
            if use.how == "fold_in":
                color = "0.4"
            for end in [places["key", use.key], *(places["key", k] for k in use.made)]:
                axes.plot(*zip(end, here, strict=True), color=color, zorder=0)
            label = f"{'draw' if use.how == 'bits' else use.how}, line {use.line}"
            axes.text(
                *here, label, ha="center", va="center", color="w", fontsize=8, bbox={"fc": color}
            )
        for (kind, number), place in places.items():
            if kind == "key":
                axes.plot(*place, "o", color="C3" if number in twice else "C0", markersize=10)
        axes.margins(0.12)
        axes.axis("off")
