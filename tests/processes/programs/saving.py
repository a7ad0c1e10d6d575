"""saving.py save|restore FOLDER STEP ROWS [STEP ROWS]: a tree over a mesh of ROWS x the rest."""

import sys
import time

import ml_dtypes
import numpy as np

import effax
from effax.checkpointing import Checkpointer
from effax.sharding import Mesh, NamedSharding
from effax.sharding import PartitionSpec as P

effax.distributed.initialize()
checkpoints = Checkpointer(sys.argv[2])


def tree_of(step, rows):
    """The tree that is saved at a step, over a mesh, and the arrays in it with their specs."""
    mesh = Mesh(np.array(effax.devices()).reshape(rows, -1), ("x", "y"))
    seed = np.random.default_rng(step)
    arrays = {
        "cut": (seed.standard_normal((16, 24)).astype(np.float32), P("x", "y")),
        "rows": (seed.standard_normal((8, 3)).astype(ml_dtypes.bfloat16), P("x")),
        "columns": (seed.integers(0, 9, (3, 16)).astype(np.int8), P(None, ("y", "x"))),
        "copies": (seed.standard_normal(5).astype(np.float32), P()),
        "none": (np.zeros((0, 4), np.float32), P()),
    }
    tree = {
        "arrays": {k: effax.device_put(x, NamedSharding(mesh, s)) for k, (x, s) in arrays.items()},
        "key": effax.device_put(effax.random.key(step), NamedSharding(mesh, P())),
        "local": effax.numpy.arange(4) + step,
        "step": step,
    }
    return tree, arrays


def save(step, rows):
    tree, _ = tree_of(step, rows)
    checkpoints.save(step, tree, wait=False)
    tree["arrays"]["cut"].delete()  # as by donation: copies are written
    checkpoints.wait()


def restore(step, rows):
    like, arrays = tree_of(step, rows)
    words = effax.random.key_data(like["key"]).tolist()
    other, _ = tree_of(step + 1, rows)
    found, tree = checkpoints.restore(other)
    assert found == step == tree["step"], found
    for name, (whole, _) in arrays.items():
        x = tree["arrays"][name]
        assert x.sharding == like["arrays"][name].sharding and x.dtype == whole.dtype
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), whole[shard.index])
    assert effax.random.key_data(tree["key"]).tolist() == words
    assert tree["local"].tolist() == [step, step + 1, step + 2, step + 3]


for step, rows in zip(sys.argv[3::2], sys.argv[4::2], strict=True):
    start = time.time()
    {"save": save, "restore": restore}[sys.argv[1]](int(step), int(rows))
    print(f"{sys.argv[1]} {step} done in {time.time() - start:.2f} s")
