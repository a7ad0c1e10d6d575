"""A training run over all devices of a job, which survives losing a machine.

On this machine, in 2 processes with 2 devices each, and with a restart where one is killed:

    python -m effax.distributed run -n 2 --devices 2 --restarts 3 examples/processes/train.py /tmp/run

On a cluster, see slurm.sh and kubernetes.yaml beside this file: the program is the same.
"""

import sys

import numpy as np

import effax
import effax.numpy as jnp
from effax.checkpointing import Checkpointer
from effax.experimental import multihost_utils
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

WIDTH, BATCH, STEPS, EVERY = 64, 64, 200, 20


def loss(w, x):
    hidden = jnp.tanh(x @ w["in"])
    return jnp.mean((hidden @ w["out"] - x) ** 2)


def update(state, x):
    value, slope = effax.value_and_grad(loss)(state["w"], x)
    speed = effax.tree.map(lambda v, g: 0.9 * v - 0.5 * g, state["speed"], slope)
    w = effax.tree.map(lambda a, v: a + v, state["w"], speed)
    return value, {"w": w, "speed": speed}


def batch(step, rows):
    """The rows of a batch, of which each process makes those of its own devices."""

    def part(index):
        first, last, _ = index[0].indices(BATCH)
        return np.stack(
            [np.random.default_rng((step, i)).standard_normal(WIDTH) for i in range(first, last)]
        )

    return effax.make_array_from_callback((BATCH, WIDTH), rows, part, dtype=np.float32)


def main(folder):
    effax.distributed.initialize()  # finds out where it runs: docs/processes.md
    mesh = Mesh(np.array(effax.devices()), ("data",))
    rows = NamedSharding(mesh, P("data"))
    # The parameters are cut up as well, so that each device keeps a part of them.
    cut = {"in": NamedSharding(mesh, P(None, "data")), "out": NamedSharding(mesh, P("data"))}

    random = np.random.default_rng(0)
    w = {
        name: effax.device_put(random.standard_normal((WIDTH, WIDTH)).astype("f4") / WIDTH, where)
        for name, where in cut.items()
    }
    state = {"w": w, "speed": effax.tree.map(jnp.zeros_like, w)}
    checkpoints = Checkpointer(folder, keep=2)
    found = checkpoints.restore(state)
    first, state = (0, state) if found is None else found

    everywhere = NamedSharding(mesh, P())
    step_of = effax.jit(
        update, out_shardings=(everywhere, {"w": cut, "speed": cut}), donate_argnums=0
    )
    for step in range(first, STEPS):
        value, state = step_of(state, batch(step, rows))
        last = step + 1 == STEPS
        leave = multihost_utils.reached_preemption_sync_point(step)
        if leave or last or (step + 1) % EVERY == 0:
            checkpoints.save(step + 1, state, wait=leave or last)
            if effax.process_index() == 0:
                print(f"step {step + 1}: loss {float(value):.5f}", flush=True)
        if leave:
            return


if __name__ == "__main__":
    main(sys.argv[1])
