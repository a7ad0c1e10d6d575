"""Training loops of libraries, through the door and on JAX: CPU time of the first step and of later ones.

    python benchmarks/library_loops.py --path build/libraries [--rounds 3] [flax equinox ...]

Each loop trains a small network in a process of its own, on JAX (`--jax-python`) and on effax by
turns. A step is computed to its end before the clock is read. What is printed is the least of the
rounds: CPU seconds of the first step (tracing and compiling), CPU microseconds of a later step, and
effax's part of JAX's. Compiled programs are not kept on disk.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIZES, BATCH = (32, 64, 64, 10), 64
Step = Callable[[], Any]


def data() -> tuple[Any, Any]:
    """A batch of examples, and their classes."""
    import numpy as np

    draw = np.random.RandomState(0)
    return draw.randn(BATCH, SIZES[0]).astype("float32"), draw.randint(0, 10, BATCH)


def linen() -> Step:
    """flax.linen with optax.adam."""
    import jax
    import optax
    from flax import linen as nn
    from flax.training.train_state import TrainState

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for n in SIZES[1:-1]:
                x = nn.relu(nn.Dense(n)(x))
            return nn.Dense(SIZES[-1])(x)

    x, y = data()
    net = Net()
    params = net.init(jax.random.key(0), x)
    state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))

    @jax.jit
    def step(state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            logits = state.apply_fn(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        return state.apply_gradients(grads=jax.grad(loss)(state.params))

    def once() -> Any:
        nonlocal state
        state = step(state, x, y)
        return jax.block_until_ready(state.params)

    return once


def nnx() -> Step:
    """flax.nnx with its optimizer."""
    import jax
    import optax
    from flax import nnx as nn

    class Net(nn.Module):
        def __init__(self, rngs: Any) -> None:
            pairs = pairwise(SIZES)
            self.layers = nn.List([nn.Linear(m, n, rngs=rngs) for m, n in pairs])

        def __call__(self, x: Any) -> Any:
            for layer in self.layers[:-1]:
                x = nn.relu(layer(x))
            return self.layers[-1](x)

    x, y = data()
    net = Net(nn.Rngs(0))
    optimizer = nn.Optimizer(net, optax.adam(1e-3), wrt=nn.Param)

    @nn.jit
    def step(net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        def loss(net: Any) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()

        value, grads = nn.value_and_grad(loss)(net)
        optimizer.update(net, grads)
        return value

    return lambda: jax.block_until_ready(step(net, optimizer, x, y))


def equinox() -> Step:
    """equinox with filter_jit and optax.adam."""
    import equinox as eqx
    import jax
    import optax

    x, y = data()
    net = eqx.nn.MLP(SIZES[0], SIZES[-1], SIZES[1], 2, key=jax.random.key(0))
    adam = optax.adam(1e-3)
    state = adam.init(eqx.filter(net, eqx.is_array))

    @eqx.filter_jit
    def step(net: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(net: Any) -> Any:
            return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), y).mean()

        updates, state = adam.update(eqx.filter_grad(loss)(net), state)
        return eqx.apply_updates(net, updates), state

    def once() -> Any:
        nonlocal net, state
        net, state = step(net, state, x, y)
        return jax.block_until_ready(eqx.filter(net, eqx.is_array))

    return once


def haiku() -> Step:
    """Haiku with optax.adam."""
    import haiku as hk
    import jax
    import optax

    x, y = data()
    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP(SIZES[1:])(x)))
    params = net.init(jax.random.key(0), x)
    adam = optax.adam(1e-3)
    state = adam.init(params)

    @jax.jit
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            logits = net.apply(params, x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        updates, state = adam.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    def once() -> Any:
        nonlocal params, state
        params, state = step(params, state, x, y)
        return jax.block_until_ready(params)

    return once


def keras() -> Step:
    """Keras with its JAX backend: train_on_batch."""
    os.environ["KERAS_BACKEND"] = "jax"
    import keras as k

    x, y = data()
    dense = [k.layers.Dense(n, activation="relu") for n in SIZES[1:-1]]
    net = k.Sequential([k.Input((SIZES[0],)), *dense, k.layers.Dense(SIZES[-1])])
    net.compile("adam", k.losses.SparseCategoricalCrossentropy(from_logits=True))
    return lambda: net.train_on_batch(x, y)


LOOPS: dict[str, Callable[[], Step]] = {
    "flax": linen, "nnx": nnx, "equinox": equinox, "haiku": haiku, "keras": keras,
}  # fmt: skip


def measure(name: str, which: str, steps: int) -> dict[str, float]:
    """Run a loop in this process."""
    if which == "effax":
        import effax.as_jax

        effax.as_jax()  # type: ignore[operator]
    step = LOOPS[name]()
    start = time.process_time()
    step()
    first = time.process_time() - start
    for _ in range(20):
        step()
    start = time.process_time()
    for _ in range(steps):
        step()
    return {"first": first, "steady": (time.process_time() - start) / steps * 1e6}


def main() -> None:
    """Read the command line and print a row for each loop."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("loops", nargs="*", metavar="loop", help=", ".join(LOOPS))
    parser.add_argument(
        "--path", action="append", default=[], help="a folder of installed libraries"
    )
    parser.add_argument("--jax-python", default=str(ROOT / ".venv-bench/bin/python"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--one", choices=("jax", "effax"), help="measure here, and print JSON")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.loops[0], args.one, args.steps)))
        return
    print(f"{'loop':8} {'first step, s':>22} {'part':>6} {'later step, µs':>20} {'part':>6}")
    for name in args.loops or LOOPS:
        least: dict[str, dict[str, float]] = {}
        for _ in range(args.rounds):
            for which in ("jax", "effax"):
                python = args.jax_python if which == "jax" else sys.executable
                paths = [str(Path(p).resolve()) for p in args.path] + [str(ROOT)] * (
                    which == "effax"
                )
                env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "JAX_PLATFORMS": "cpu"}
                env |= {"EFFAX_ENABLE_COMPILATION_CACHE": "0", "PYTHONDONTWRITEBYTECODE": ""}
                command = [python, __file__, name, "--one", which, "--steps", str(args.steps)]
                done = subprocess.run(
                    command, env=env, capture_output=True, text=True, timeout=300, check=True
                )
                found = json.loads(done.stdout.splitlines()[-1])
                old = least.setdefault(which, found)
                least[which] = {k: min(v, found[k]) for k, v in old.items()}
        theirs, ours = least["jax"], least["effax"]
        first = f"{theirs['first']:9.2f} → {ours['first']:7.2f}"
        steady = f"{theirs['steady']:9.0f} → {ours['steady']:7.0f}"
        parts = [ours[k] / theirs[k] for k in ("first", "steady")]
        print(f"{name:8} {first:>22} {parts[0]:6.2f} {steady:>20} {parts[1]:6.2f}", flush=True)


if __name__ == "__main__":
    main()
