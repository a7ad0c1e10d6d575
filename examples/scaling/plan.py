"""The bytes that a step of `transformer.py` sends: on paper, and in the program that XLA compiled.

    python examples/scaling/plan.py 1 2 2 2      # both, for a mesh of 8 devices
    python examples/scaling/plan.py curve        # the time of a large model by the plan

A collective is counted by the bytes that each device puts into it, times how often it runs.
"""

import itertools
import math
import re
import sys
from collections import Counter

import numpy as np
from transformer import AXES, ROWS, SPECS, Sizes, shapes, start, trainer

import effax as jax


def planned(n, axes, itemsize=4):
    """The bytes that each device puts into its collectives in a step: (kind, axes): bytes."""
    along = dict(zip(AXES, axes, strict=True))
    sequences = n.batch // (along["data"] * along["expert"] * n.microbatches)
    layers, ticks = n.layers // along["pipe"], n.microbatches + along["pipe"] - 1
    tokens = itemsize * sequences * n.length * n.width
    routed = itemsize * sequences * n.experts * n.capacity * n.width
    sent = Counter()

    def send(kind, over, size):
        over = tuple(a for a in AXES if a in over and along[a] > 1)
        if over:
            sent[kind, over] += size

    # Forward and backward: what a layer adds up, what goes to experts and back, what the next stage gets.
    send("all-reduce", ["tensor"], 2 * layers * ticks * (tokens + routed))
    send("all-to-all", ["expert"], 4 * layers * ticks * routed)
    send("collective-permute", ["pipe"], 2 * ticks * tokens)
    # A parameter's gradient is the sum over the axes that it is not spread over; so is the loss.
    for spec, shape in zip(_leaves(SPECS), _leaves(shapes(n)), strict=True):
        parts = math.prod(along[a] for a in spec if a)
        size = itemsize * math.prod(shape) // parts
        send("all-reduce", [a for a in AXES if a not in spec], size)
    send("all-reduce", ["pipe"], 4)
    send("all-reduce", ROWS, 4)
    return dict(sent)


def _leaves(tree):
    return jax.tree.leaves(
        tree, is_leaf=lambda x: isinstance(x, tuple | jax.sharding.PartitionSpec)
    )


SIZE = {"f32": 4, "bf16": 2, "s32": 4, "u32": 4, "pred": 1}
KIND = "all-reduce|all-to-all|collective-permute|all-gather|reduce-scatter"
COLLECTIVE = re.compile(rf"= (\(.*?\)|\S+) ({KIND})(-start)?\((.*)")
CALLED = re.compile(r"(?:body|condition|to_apply|calls|computation)=%?([\w.\-]+)")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')


def compiled(text, axes):
    """The same, of the text of an optimised program."""
    bodies, entry, sent = {}, None, Counter()
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            name = head[2]
            bodies[name] = []
            entry = name if head[1] else entry
        elif line.startswith("  "):
            bodies[name].append(line)

    def visit(name, times):
        for line in bodies[name]:
            if found := COLLECTIVE.search(line):
                over = _axes_of(found[4], axes)
                if over:
                    sent[found[2], over] += times * _bytes(found[1])
            elif " while(" in line or " call(" in line or " conditional(" in line:
                trips = TRIPS.search(line)
                for inner in CALLED.findall(line):
                    visit(inner, times * int(trips[1]) if trips else times)

    visit(entry, 1)
    return dict(sent)


def _bytes(types):
    arrays = re.findall(r"(\w+)\[([\d,]*)\]", types)
    return sum(SIZE[t] * math.prod(int(d) for d in dims.split(",") if d) for t, dims in arrays)


def _axes_of(rest, axes):
    """The axes that the devices of a group differ in."""
    if iota := re.search(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", rest):
        shape, dims, turn = (tuple(map(int, x.split(","))) if x else () for x in iota.groups())
        devices = np.arange(math.prod(dims)).reshape(dims)
        group = devices.transpose(turn or None).reshape(shape)[0]
    else:
        first = re.findall(r"(?:replica_groups|source_target_pairs)=\{\{([\d,]+)\}", rest)[0]
        group = np.array(first.split(","), int)
    places = np.unravel_index(group, axes)
    return tuple(a for a, p in zip(AXES, places, strict=True) if len(set(p)) > 1)


def compared(n, axes):
    """The plan, and what the compiled step has, on a mesh of these numbers of devices."""
    mesh = jax.make_mesh(tuple(axes), AXES, devices=jax.devices()[: math.prod(axes)])
    step = trainer(mesh, n).lower(*start(mesh, n))
    return planned(n, axes), compiled(step.compile().as_text(), axes)


# ---- a large model, by the plan

LARGE = Sizes(64, 8192, 64, 128, 64, 8192, 128_000, 4096, 5120, 16)
"""5.7e11 parameters, of which a token meets 2.7e10; 2.1e7 tokens a step."""
PEAK, MEMORY, LINK, OUTSIDE, POD = 4.59e14, 9.6e10, 9e10, 6.25e9, 8960
"""TPU v5p: bfloat16 operations a second; bytes of a chip; bytes a second over a link, one way, and
out of a pod, of each chip; chips of a pod (Austin et al. 2025, How to Scale Your Model, chapter 2)."""


def held(n, axes):
    """The bytes of parameters, gradients and momenta that each chip holds, in bfloat16."""
    along = dict(zip(AXES, axes, strict=True))
    pairs = zip(_leaves(SPECS), _leaves(shapes(n)), strict=True)
    return sum(6 * math.prod(s) // math.prod(along[a] for a in spec if a) for spec, s in pairs)


def seconds(n, axes, itemsize=2):
    """The seconds of a step by the plan, (computing, waiting for stages, sending), none at a time with another."""
    along = dict(zip(AXES, axes, strict=True))
    chips = math.prod(axes)
    block = 4 * n.width * n.heads * n.head + 2 * n.spare * n.width * n.hidden
    operations = 6 * n.batch * n.length * (n.layers * block + n.width * n.words)
    operations += 6 * n.batch * n.layers * n.length**2 * n.heads * n.head
    computing = operations / chips / PEAK
    waiting = computing * (along["pipe"] - 1) / n.microbatches
    sending = 0.0
    for (kind, over), size in planned(n, axes, itemsize).items():
        k = math.prod(along[a] for a in over)
        way = {"all-reduce": 2 * (k - 1) / k / 2, "all-to-all": k / 8, "collective-permute": 1}[
            kind
        ]
        speed = OUTSIDE if chips > POD and "data" in over else LINK
        sending += size * way / speed
    return computing, waiting, sending


def curve():
    """The best mesh for each number of chips, with its seconds: rows of (chips, axes, seconds)."""
    for chips in (256, 512, 1024, 2048, 4096, 8192, 10240):
        meshes = [
            (chips // (p * e * t), p, e, t)
            for p, e, t in itertools.product(*([2**i for i in range(7)] for _ in "pet"))
            if chips % (p * e * t) == 0
            and LARGE.batch % (chips // (p * t) * LARGE.microbatches) == 0
        ]
        meshes = [axes for axes in meshes if held(LARGE, axes) < MEMORY / 2]
        best = min(meshes, key=lambda axes: sum(seconds(LARGE, axes)))
        yield chips, best, seconds(LARGE, best)


def main(axes):
    plan, found = compared(Sizes(), axes)
    print(f"{'collective':20}{'over':22}{'planned':>12}{'compiled':>12}")
    for kind, over in sorted({*plan, *found}):
        sizes = plan.get((kind, over), 0), found.get((kind, over), 0)
        print(f"{kind:20}{' '.join(over):22}{sizes[0]:12}{sizes[1]:12}")


if __name__ == "__main__":
    if sys.argv[1:] == ["curve"]:
        for chips, axes, parts in curve():
            share = parts[0] / sum(parts)
            print(f"{chips:6} {axes!s:18}" + "".join(f"{x:9.2f}" for x in parts) + f"{share:8.0%}")
    else:
        axes = [int(x) for x in sys.argv[1:]] or [1, 2, 2, 2]
        jax.config.update("num_cpu_devices", math.prod(axes))
        main(axes)
