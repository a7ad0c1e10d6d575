"""Checkpoints: other meshes and numbers of processes, damage, and training that is killed."""

import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.checkpointing import Checkpointer, CheckpointError
from effax.dtypes import bfloat16
from tests.processes import jobs

TREE = {
    "w": jnp.arange(12.0).reshape(3, 4),
    "half": jnp.arange(3, dtype=bfloat16),
    "narrow": jnp.arange(3, dtype="int4"),
    "truth": np.array([True, False]),
    "empty": jnp.zeros((0, 3)),
    "scalar": jnp.float32(2.5),
    "key": effax.random.split(effax.random.key(3), 2),
    "weak": jnp.asarray(1.5),
    "number": 7,
    "rate": 0.1,
}


def zeros():
    found = {k: x * 0 for k, x in TREE.items() if k not in ("key", "truth")}
    keys = effax.random.split(effax.random.key(0), 2)
    return {**found, "key": keys, "truth": np.zeros(2, bool)}


def same(one, other):
    for a, b in zip(effax.tree.leaves(one), effax.tree.leaves(other), strict=True):
        if effax.dtypes.issubdtype(getattr(a, "dtype", int), effax.dtypes.prng_key):
            a, b = effax.random.key_data(a), effax.random.key_data(b)
        assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert getattr(a, "weak_type", False) == getattr(b, "weak_type", False)


def test_all_kinds_of_leaves(tmp_path):
    checkpoints = Checkpointer(tmp_path / "new")
    assert checkpoints.restore(TREE) is None and checkpoints.steps() == []
    checkpoints.save(3, TREE)
    step, tree = checkpoints.restore(zeros())
    assert step == 3
    same(tree, TREE)
    checkpoints.save(3, zeros())  # in place of the first
    same(checkpoints.restore(TREE)[1], zeros())
    checkpoints.save(4, jnp.ones(2))
    np.testing.assert_array_equal(checkpoints.restore(jnp.zeros(2))[1], jnp.ones(2))
    struct = effax.ShapeDtypeStruct((2,), "float32")
    np.testing.assert_array_equal(checkpoints.restore(struct)[1], jnp.ones(2))


def test_only_the_newest_stay(tmp_path):
    checkpoints = Checkpointer(tmp_path, keep=2)
    for step in (1, 2, 10, 3):
        checkpoints.save(step, {"x": jnp.ones(2) * step}, wait=False)
    checkpoints.wait()
    assert checkpoints.steps() == [3, 10]


def test_what_is_donated_later_is_written(tmp_path):
    checkpoints = Checkpointer(tmp_path)
    x = jnp.arange(1000.0)
    checkpoints.save(1, x, wait=False)
    effax.jit(lambda x: x * 0, donate_argnums=0)(x).block_until_ready()
    np.testing.assert_array_equal(checkpoints.restore(jnp.zeros(1000))[1], np.arange(1000))


def _flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def _flip_header(path):
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)


def _shorten(path):
    os.truncate(path, path.stat().st_size - 1)


TENSORS, MANIFEST = "process-00000.safetensors", "manifest.json"
DAMAGE = [
    (TENSORS, _flip, "is damaged: its checksum does not match"),
    (TENSORS, _flip_header, "header of .* is damaged"),
    (TENSORS, _shorten, "but was written with"),
    (TENSORS, os.remove, "can't be read"),
    (MANIFEST, _flip, "manifest.json is damaged"),
    (MANIFEST, _shorten, None),
    (MANIFEST, os.remove, "can't be read"),
    (MANIFEST, lambda path: path.write_text(""), "manifest.json is damaged"),
]


@pytest.mark.parametrize(("file", "damage", "words"), DAMAGE)
def test_damaged_ones_are_refused_and_the_one_before_is_used(tmp_path, file, damage, words):
    checkpoints = Checkpointer(tmp_path)
    checkpoints.save(1, {"x": jnp.ones(5)})
    checkpoints.save(2, {"x": jnp.ones(5) * 2})
    damage(tmp_path / "step-000000002" / file)
    like = {"x": jnp.zeros(5)}
    if words is None:  # the last line end alone is missing
        assert checkpoints.restore(like)[0] == 2
        return
    with pytest.warns(UserWarning, match=f"the checkpoint of step 2 is not used: .*{words}"):
        step, tree = checkpoints.restore(like)
    assert step == 1
    np.testing.assert_array_equal(tree["x"], np.ones(5))
    with pytest.raises(CheckpointError, match=words):
        checkpoints.restore(like, step=2)


def test_every_changed_byte_is_noticed(tmp_path):
    checkpoints = Checkpointer(tmp_path)
    checkpoints.save(1, {"x": jnp.arange(4.0), "n": 3})
    folder = tmp_path / "step-000000001"
    for file in folder.iterdir():
        whole = file.read_bytes()
        for place in range(0, len(whole) - 1, 7):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
            with pytest.raises(CheckpointError):
                checkpoints.restore({"x": jnp.zeros(4), "n": 0}, step=1)
        file.write_bytes(whole)
    assert checkpoints.restore({"x": jnp.zeros(4), "n": 0})[0] == 1


def test_partial_ones_are_not_seen(tmp_path):
    checkpoints = Checkpointer(tmp_path)
    checkpoints.save(1, jnp.ones(2))
    shutil.copytree(tmp_path / "step-000000001", tmp_path / "step-000000002.partial")
    assert checkpoints.steps() == [1]
    checkpoints.save(2, jnp.ones(2))
    assert sorted(os.listdir(tmp_path)) == ["step-000000001", "step-000000002"]


OTHERS = [
    ({"x": jnp.zeros(4)}, "has the shape"),
    (
        {"x": jnp.zeros(5, "int32")},
        "has the dtype float32 in the checkpoint, but int32 was asked for",
    ),
    ({"y": jnp.zeros(5)}, "holds another tree than was asked for: .*'x'.* are in only one"),
    ({"x": jnp.zeros(5), "z": 1}, "holds another tree"),
]


@pytest.mark.parametrize(("like", "words"), OTHERS)
def test_other_trees_are_refused(tmp_path, like, words):
    checkpoints = Checkpointer(tmp_path)
    checkpoints.save(1, {"x": jnp.ones(5)})
    with pytest.raises(CheckpointError, match=words):
        checkpoints.restore(like, step=1)


def test_refusals(tmp_path):
    checkpoints = Checkpointer(tmp_path)
    with pytest.raises(
        TypeError, match=r"checkpoints hold arrays and numbers, but .*\['a'\] is 'text'"
    ):
        checkpoints.save(1, {"a": "text"})
    with pytest.raises(TypeError, match="is traced"):
        effax.jit(lambda x: checkpoints.save(1, x))(1.0)
    with pytest.raises(ValueError, match="step must not be negative"):
        checkpoints.save(-1, {})
    with pytest.raises(ValueError, match="keep must be at least 1"):
        Checkpointer(tmp_path, keep=0)


# ------------------------------------------------------------------------------ several processes


def test_other_meshes_and_numbers_of_processes(tmp_path):
    jobs.run_well(2, "saving.py", "save", tmp_path, 1, 2, 2, 1, devices=2, seconds=40)
    names = sorted(os.listdir(tmp_path / "step-000000002"))
    assert names == ["manifest.json", "process-00000.safetensors", "process-00001.safetensors"]
    jobs.run_well(4, "saving.py", "restore", tmp_path, 2, 4, seconds=60)
    # What one process finds damaged none of them uses.
    _flip(tmp_path / "step-000000002" / names[2])
    job = jobs.run_well(2, "saving.py", "restore", tmp_path, 1, 2, devices=2, seconds=40)
    assert job.err.count("the checkpoint of step 2 is not used") == 2, str(job)


def parameters(job):
    found = {line for line in re.findall(r"parameters (\w+)", job.out)}
    assert len(found) == 1, str(job)
    return found.pop()


@pytest.mark.parametrize(
    ("kills", "steps"), [(1, 20), pytest.param(10, 90, marks=pytest.mark.slow)]
)
def test_training_that_is_killed_ends_as_if_it_never_was(tmp_path, kills, steps):
    alone = jobs.run_well(2, "training.py", tmp_path / "a", steps, seconds=60)
    killed = jobs.run_well(
        2,
        "training.py",
        tmp_path / "b",
        steps,
        kills,
        restarts=kills,
        grace=8,
        seconds=60 + 20 * kills,
    )
    assert killed.err.count("was ended by SIGKILL\n") >= kills, str(killed)
    assert parameters(alone) == parameters(killed)


def test_preemption(tmp_path):
    """SIGTERM to one process: all save after the same step, and leave; the next job goes on."""
    steps = 100
    whole = jobs.run_well(2, "training.py", tmp_path / "a", steps, seconds=60)
    started = subprocess.Popen(
        jobs.command(2, jobs.PROGRAMS / "training.py", tmp_path / "b", steps),
        env=jobs.variables({"SLOWLY": "0.05"}), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    seen = 0
    while seen < 2:
        line = started.stdout.readline()
        assert line
        seen += "running" in line
    os.kill(started.pid, signal.SIGTERM)
    start = time.monotonic()
    out, err = started.communicate(timeout=30)
    assert time.monotonic() - start < 10
    left = re.findall(r"leaves after step (\d+)", out)
    assert len(left) == 2 and len({*left}) == 1, out + err
    assert os.listdir(tmp_path / "b").count(f"step-{int(left[0]) + 1:09d}") == 1
    rest = jobs.run_well(2, "training.py", tmp_path / "b", steps, seconds=60)
    assert f"begins at step {int(left[0]) + 1}" in rest.out
    assert parameters(rest) == parameters(whole)
