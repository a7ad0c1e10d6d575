"""Symbolic lengths in files of JAX: a recorded one is read here, and JAX, if installed, reads ours."""

import base64
import json
import os
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import export, nn
from effax.errors import ExportError
from tests.architecture.sources import ROOT
from tests.grid.ask import jax_python

RECORDED = json.loads((ROOT / "tests/goldens/exported_files.json").read_text(encoding="utf-8"))
DOUBLED = base64.b64decode(RECORDED["files"]["symbolic"])
"""`x * 2` as JAX exports it for an x of the shape (b, 2*b + 1)."""
B, N = export.symbolic_shape("b, n")


@pytest.mark.parametrize("format", [None, "effax", "jax"])
def test_a_file_of_jax_is_called_at_several_sizes(format):
    e = export.deserialize(DOUBLED)
    e = e if format is None else export.deserialize(e.serialize(format=format))
    assert [t.str_short() for t in (*e.in_avals, *e.out_avals)] == ["f32[b,2*b + 1]"] * 2
    for b in (1, 2, 7):
        x = np.arange(b * (2 * b + 1), dtype="float32").reshape(b, 2 * b + 1)
        assert_array_equal(e.call(x), 2 * x)
    with pytest.raises(ExportError, match=r"\(= 4\) and the specification '2\*b \+ 1' \(= 5\)"):
        e.call(np.ones((2, 4), "float32"))


def test_constraints_are_not_written_for_jax():
    (b,) = export.symbolic_shape("b", constraints=["b >= 2"])
    e = export.export(effax.jit(jnp.sin))(effax.ShapeDtypeStruct((b,), "float32"))
    with pytest.raises(ExportError, match="which JAX's format does not hold"):
        e.serialize(format="jax")


def attention(x, w):
    n = x.shape[1]
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), (x @ w) @ x.swapaxes(1, 2), -1e9)
    return nn.softmax(scores) @ x / x.shape[0] + jnp.arange(n)[:, None]


READER = """
import base64, json, sys
import numpy as np, jax
from jax import export
import flatbuffers

e = export.deserialize(bytearray(base64.b64decode(sys.stdin.read())))
found = []
for b, n in ((1, 1), (3, 5)):
    x = np.linspace(-1, 1, b * n * 4, dtype=np.float32).reshape(b, n, 4)
    w = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    gradient = jax.grad(lambda x: (e.call(x, w) ** 2).sum())(x)
    found.append([np.asarray(e.call(x, w)).tolist(), np.asarray(gradient).tolist()])
try:
    e.call(np.ones((2, 3, 5), np.float32), w)
except ValueError as error:
    refused = str(error)
print(json.dumps([found, str(e.out_avals), refused]))
"""


def test_jax_calls_what_effax_exports():
    python = jax_python()
    if python is None:
        pytest.skip("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    types = [effax.ShapeDtypeStruct(s, "float32") for s in ((B, N, 4), (4, 4))]
    data = export.export(effax.jit(attention))(*types).serialize(vjp_order=1, format="jax")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", READER],
        input=base64.b64encode(data).decode(),
        capture_output=True,
        text=True,
        env=env,
    )
    if "No module named 'flatbuffers'" in done.stderr:
        pytest.skip("JAX's Python has no flatbuffers, which jax.export needs for files")
    assert not done.returncode, done.stderr
    found, out_avals, refused = json.loads(done.stdout)
    assert "[b,n,4]" in out_avals and "mismatch" in refused
    for (b, n), (y, gradient) in zip(((1, 1), (3, 5)), found, strict=True):
        x = np.linspace(-1, 1, b * n * 4, dtype="float32").reshape(b, n, 4)
        w = np.linspace(-1, 1, 16, dtype="float32").reshape(4, 4)
        assert_allclose(y, attention(x, w), rtol=1e-5, atol=1e-5)
        wanted = effax.grad(lambda x, w=w: (attention(x, w) ** 2).sum())(x)
        assert_allclose(gradient, wanted, rtol=1e-3, atol=1e-4)
