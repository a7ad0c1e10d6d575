"""Figures of a job of several processes, as on docs/processes.md.

    python -m effax.distributed run -n 2 --devices 2 benchmarks/processes.py FOLDER

prints the times of process 0: to join, of a `psum`, of a training step whose parameters and
optimiser are cut up among all devices, of the meeting before a program's first run, and of
checkpoints in FOLDER.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BEGIN = time.perf_counter()

import effax  # noqa: E402
import effax.numpy as jnp  # noqa: E402
from effax import lax  # noqa: E402
from effax.backends.xla import processes  # noqa: E402
from effax.checkpointing import Checkpointer  # noqa: E402
from effax.sharding import Mesh, NamedSharding  # noqa: E402
from effax.sharding import PartitionSpec as P  # noqa: E402


def tell(what: str, seconds: float, unit: str = "ms") -> None:
    if effax.process_index() == 0:
        print(f"{what}: {seconds * (1e3 if unit == 'ms' else 1):.3g} {unit}", flush=True)


def each(run: Callable[[], object], times: int) -> float:
    effax.block_until_ready(run())
    start = time.perf_counter()
    for _ in range(times):
        result = run()
    effax.block_until_ready(result)
    return (time.perf_counter() - start) / times


imported = time.perf_counter()
effax.distributed.initialize()
devices = effax.devices()
tell("import", imported - BEGIN, "s")
tell("join, and make the back-end", time.perf_counter() - imported, "s")

mesh = Mesh(np.array(devices), ("d",))
n = len(devices)
rows, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
job = processes.current()
if job is not None:
    tell("a barrier", each(lambda: job.wait("here"), 200))
    tell("the meeting before a first run", each(lambda: job.compare("text", "digest"), 100))

total = effax.jit(
    effax.shard_map(lambda x: lax.psum(x, "d"), mesh=mesh, in_specs=P("d"), out_specs=P())
)
for length in (4, 1 << 20):
    x = effax.device_put(np.ones((n, length), np.float32), rows)
    tell(
        f"psum of {length} floats a device", each(lambda x=x: total(x), 500 if length == 4 else 20)
    )

width = 256
cut = [NamedSharding(mesh, P(None, "d")), NamedSharding(mesh, P("d", None))]
random = np.random.default_rng(0)
shapes = [(width, 16 * n), (16 * n, width)]
weights = [random.standard_normal(s).astype("f4") * 0.1 for s in shapes]
parameters = [effax.device_put(w, s) for w, s in zip(weights, cut, strict=True)]
data = effax.device_put(random.standard_normal((16 * n, width)).astype("f4"), rows)


def loss(ws, x):
    return jnp.mean((jnp.tanh(x @ ws[0]) @ ws[1] - x) ** 2)


def update(state, x):
    ws, speeds = state
    value, slopes = effax.value_and_grad(loss)(ws, x)
    speeds = [0.9 * v - 0.1 * g for v, g in zip(speeds, slopes, strict=True)]
    return value, ([w + v for w, v in zip(ws, speeds, strict=True)], speeds)


step = effax.jit(update, out_shardings=(whole, (cut, cut)), donate_argnums=0)
state = (parameters, [w * 0 for w in parameters])
start = time.perf_counter()
value, state = step(state, data)
value.block_until_ready()
tell("the first step of training", time.perf_counter() - start, "s")
start = time.perf_counter()
for _ in range(100):
    value, state = step(state, data)
value.block_until_ready()
tell("a later step", (time.perf_counter() - start) / 100)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
checkpoints = Checkpointer(folder / "figures", keep=1)
tree = {"w": effax.device_put(np.ones((1 << 13, 1 << 12), np.float32), rows)}
megabytes = tree["w"].nbytes / 1e6
tree["w"].block_until_ready()
start = time.perf_counter()
checkpoints.save(1, tree, wait=False)
tell("the program stands still while 134 MB are saved", time.perf_counter() - start)
checkpoints.wait()
tell("save", megabytes / (time.perf_counter() - start), "MB/s")
start = time.perf_counter()
found = checkpoints.restore(
    {"w": effax.ShapeDtypeStruct((1 << 13, 1 << 12), "float32", sharding=rows)}
)
assert found is not None
effax.block_until_ready(found[1])
tell("restore", megabytes / (time.perf_counter() - start), "MB/s")
