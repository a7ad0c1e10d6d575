"""plain.py HOW ADDRESS COUNT INDEX HEARTBEAT: joined by arguments alone, without a supervisor."""

import sys
import time

import numpy as np

import effax
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

how, address, *numbers = sys.argv[1:]
count, index, heartbeat = map(int, numbers)
effax.distributed.initialize(address, count, index, heartbeat_timeout_seconds=heartbeat)
mesh = Mesh(np.array(effax.devices()), ("d",))
x = effax.device_put(np.arange(8.0 * count, dtype=np.float32), NamedSharding(mesh, P("d")))
total = effax.jit(lambda x: x.sum())
print(float(total(x)))
if how == "error" and index == 0:
    raise ValueError("no more data")
while how == "error":
    total(x).block_until_ready()
time.sleep(0.2 * index)
