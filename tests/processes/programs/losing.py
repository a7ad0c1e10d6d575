"""Collectives without end, in the midst of which one process is killed.

losing.py VICTIM [ADDRESS COUNT INDEX HEARTBEAT]: joined as `run` says, or as the arguments say.
"""

import os
import signal
import sys
import threading
import time

import numpy as np

import effax
from effax import lax
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

victim = int(sys.argv[1])
print("pid", os.getpid())
if len(sys.argv) > 2:
    address, *numbers = sys.argv[2:]
    count, index, heartbeat = map(int, numbers)
    effax.distributed.initialize(address, count, index, heartbeat_timeout_seconds=heartbeat)
else:
    effax.distributed.initialize()

mesh = Mesh(np.array(effax.devices()), ("d",))
mean = effax.jit(
    effax.shard_map(
        lambda x: lax.pmean(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
)
x = effax.device_put(np.ones((len(effax.devices()), 4), np.float32), NamedSharding(mesh, P("d")))
x = mean(x)
x.block_until_ready()
print("ready", flush=True)
if effax.process_index() == victim:
    # From another thread, so that it comes anywhere.
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
start = time.time()
while time.time() - start < 60:
    x = mean(x)
print("never told")
