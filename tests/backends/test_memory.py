"""The switch that keeps freed pages: it is taken once, and results then cost no page faults."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the setting is glibc's"
)

PROGRAM = """
import resource
import effax as fx
import effax.numpy as jnp

f = fx.jit(lambda x: x * x + x * 2)
x = jnp.ones((SIZE, SIZE))

def run(n):
    for _ in range(n):
        f(x).block_until_ready()

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run(10)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 10

run(40)
print(min(faults() for _ in range(6)))  # another thread may still get its first pages
"""


def _run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(("size", "pages"), [(2000, 3907), (4000, 15625)])
def test_kept_pages_are_not_faulted_in_again(size, pages):
    """The larger result is one that the C library would map anew."""
    found = _run(PROGRAM.replace("SIZE", str(size)), EFFAX_KEEP_FREED_MEMORY="1")
    assert float(found.stdout) < pages / 4, found.stderr


def test_it_cannot_be_taken_back():
    found = _run(
        "import effax\n"
        "effax.config.update('keep_freed_memory', True)\n"
        "try: effax.config.update('keep_freed_memory', False)\n"
        "except RuntimeError as error: print(error)"
    )
    assert "can't be switched off again" in found.stdout
