"""training.py FOLDER STEPS [KILLS]: data-parallel training that goes on from its last checkpoint.

In each of the first KILLS attempts a process dies at a random moment. At SIGTERM to one, all save
after the same step and leave.
"""

import hashlib
import os
import random
import signal
import sys
import threading
import time

import numpy as np

import effax
import effax.numpy as jnp
from effax.checkpointing import Checkpointer
from effax.experimental import multihost_utils
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

folder, steps = sys.argv[1], int(sys.argv[2])
attempt = int(os.environ.get("EFFAX_RESTARTS", 0))
effax.distributed.initialize()
here, count = effax.process_index(), effax.process_count()
mesh = Mesh(np.array(effax.devices()), ("d",))
cut, rows, whole = (NamedSharding(mesh, spec) for spec in (P(None, "d"), P("d"), P()))


def loss(w, x):
    return jnp.mean((jnp.tanh(x @ w["in"]) @ w["in"].T - x) ** 2) + 0.01 * jnp.mean(w["bias"] ** 2)


@effax.jit
def update(state, x):
    value, slope = effax.value_and_grad(loss)(state["w"], x)
    key, noise = effax.random.split(state["key"])
    rate = 0.1 + 0.01 * effax.random.uniform(noise)
    w = effax.tree.map(lambda a, b: a - rate * b, state["w"], slope)
    return value, {"w": w, "key": key, "step": state["step"] + 1}


def batch(step):
    data = np.random.default_rng(step).standard_normal((16, 8)).astype(np.float32)
    return effax.device_put(data, rows)


start = np.random.default_rng(7).standard_normal((8, 8)).astype(np.float32)
state = {
    "w": {
        "in": effax.device_put(start, cut),
        "bias": effax.device_put(np.ones(4, np.float32), whole),
    },
    "key": effax.device_put(effax.random.key(1), whole),
    "step": effax.device_put(np.int32(0), whole),
}
checkpoints = Checkpointer(folder, keep=2)
found = checkpoints.restore(state)
if found is not None:
    state = found[1]
print(f"attempt {attempt} begins at step {int(state['step'])}", flush=True)
dies = None
if len(sys.argv) > 3 and attempt < int(sys.argv[3]):
    chance = random.Random(attempt)
    if here == chance.randrange(count):
        dies = int(state["step"]) + chance.randrange(1, 12)
for step in range(int(state["step"]), steps):
    if step == dies:
        # At any moment of this step or the next.
        moment = chance.uniform(0, 0.02)
        threading.Timer(moment, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
    value, state = update(state, batch(step))
    if multihost_utils.reached_preemption_sync_point(step):
        checkpoints.save(step + 1, state)
        print(f"leaves after step {step}", flush=True)
        sys.exit()
    if step % 5 == 4:
        checkpoints.save(step + 1, state, wait=False)
    if os.environ.get("SLOWLY"):
        time.sleep(float(os.environ["SLOWLY"]))
    if step == 3:
        print("running", flush=True)
checkpoints.wait()
leaves = [multihost_utils.process_allgather(x, tiled=True) for x in state["w"].values()]
print("parameters", hashlib.sha256(b"".join(x.tobytes() for x in leaves)).hexdigest(), flush=True)
