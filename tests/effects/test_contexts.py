"""Context variables: the last reset of one leaves nothing that was freed."""

import subprocess
import sys

COLLECTING = """
import gc
from contextvars import ContextVar
import effax, effax.numpy as jnp
from effax.effects import config
from effax.effects.handler import bottom, current

others = [ContextVar(f"other {i}") for i in range(4)]
for variable in others:
    variable.set(1)
seen = []
gc.callbacks.append(lambda phase, info: seen.append((config.read("debug_nans"), current.get())))
x = jnp.arange(3.0)
gc.set_threshold(1)
for _ in range(300):
    with config.debug_nans(True):
        pass
    assert config.read("debug_nans") is False
    effax.jvp(lambda x: x * x, (x,), (x,))
    assert current.get() is bottom
print("collected" if seen else "not one collection")
"""


def test_a_collection_amid_the_last_reset_reads_nothing_freed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTING], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "collected\n", done.stderr
