"""Meshes need devices before anything has asked for one, so their tests run in their own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "EFFAX_PLATFORMS": "cpu"}


def run(*what):
    environment = {**os.environ, **EIGHT}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *map(str, what)],
        env=environment,
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


FILES = (
    "on_a_mesh",
    "put_elsewhere",
    "observed",
    "in_groups",
    "in_pieces",
    "ragged_exchanges",
    "shared_gathers",
    "batches_of_matrices",
    "explicit_axes",
    "explicit_transforms",
    "leaving",
    "refused_places",
    "pages",
    "scaling",
)


@pytest.mark.parametrize("file", FILES)
def test_on_eight_devices(file):
    run(HERE / f"{file}.py", "-m", "not slow")


@pytest.mark.slow
@pytest.mark.parametrize("file", ("in_pieces", "explicit_transforms"))
def test_on_eight_devices_at_length(file):
    run(HERE / f"{file}.py", "-m", "slow")


def test_a_gradient_of_a_mapped_program_in_a_fresh_process():
    """`ready()` loads what `shard_map` means, whoever asks first."""
    text = (
        "import effax, effax.numpy as jnp; from effax import P; "
        "m = effax.make_mesh((8,), ('x',)); "
        "f = effax.shard_map(jnp.sin, mesh=m, in_specs=P('x'), out_specs=P('x')); "
        "print(effax.grad(lambda x: f(x).sum())(jnp.zeros(8)).sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **EIGHT},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "8.0\n"
