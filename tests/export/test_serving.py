"""examples/serving: exported programs on jaxlib alone, and a server that collects batches."""

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import export

FOLDER = Path(__file__).parents[2] / "examples" / "serving"
WITHOUT = """
import runpy, sys
sys.modules["effax"] = sys.modules["jax"] = None  # importing either of them is an error
sys.path.insert(0, {folder!r})
sys.argv = ["run_exported.py", *sys.argv[1:]]
runpy.run_path({folder!r} + "/run_exported.py", run_name="__main__")
"""


def struct(*shape, dtype="float32"):
    return effax.ShapeDtypeStruct(shape, dtype)


def run_alone(tmp_path, exported, *arrays):
    """The results of a file in a process where effax can't be imported."""
    program, out = tmp_path / "program.effax", tmp_path / "out.npz"
    program.write_bytes(exported.serialize(vjp_order=1))
    paths = []
    for i, x in enumerate(arrays):
        paths.append(str(tmp_path / f"{i}.npy"))
        np.save(paths[-1], x)
    code = WITHOUT.format(folder=str(FOLDER))
    command = [sys.executable, "-c", code, str(program), *paths, "--out", str(out)]
    done = subprocess.run(
        command, cwd=tmp_path, timeout=120, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with np.load(out) as found:
        return [found[name] for name in found.files]


def test_a_program_of_unknown_lengths_runs_without_effax(tmp_path):
    w = np.random.default_rng(0).standard_normal((3, 4)).astype("f4")
    (b,) = export.symbolic_shape("b", constraints=["b <= 8"])
    f = effax.jit(lambda x, n: {"y": jnp.tanh(x @ w) + n, "sum": x.sum(axis=1)})
    exported = export.export(f)(struct(b, 3), struct(dtype="int32"))
    x = np.random.default_rng(1).standard_normal((5, 3)).astype("f4")
    found = run_alone(tmp_path, exported, x, np.int32(2))
    wanted = f(x, np.int32(2))
    assert np.array_equal(found[0], wanted["sum"]) and np.array_equal(found[1], wanted["y"])


def test_lapack_and_several_platforms_without_effax(tmp_path):
    f = effax.jit(jnp.linalg.cholesky)
    exported = export.export(f, platforms=["cpu", "tpu"])(struct(3, 3))
    a = np.eye(3, dtype="f4") * 4 + 0.5
    (found,) = run_alone(tmp_path, exported, a)
    assert np.array_equal(found, f(a))


@pytest.fixture(scope="module")
def serving():
    """The modules of the example, by name."""
    sys.path.insert(0, str(FOLDER))
    found = {}
    try:
        for name in ("npy", "run_exported", "server", "client", "export_model"):
            spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
            found[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found[name])
        yield found
    finally:
        sys.path.remove(str(FOLDER))
        for name in found:
            del sys.modules[name]


def double():
    (b,) = export.symbolic_shape("b", constraints=["b <= 8"])
    return export.export(effax.jit(lambda x: x * 2))(struct(b, 3))


def test_what_a_runner_refuses(serving):
    program = serving["run_exported"].Program
    data = double().serialize()
    run = program(data)
    assert np.array_equal(run(np.ones((2, 3), "f4"))[0], np.full((2, 3), 2))
    with pytest.raises(ValueError, match="damaged, or was cut short"):
        program(data[:-1])
    with pytest.raises(ValueError, match="not written by effax"):
        program(b"no such thing, at all, of 40 bytes or more")
    with pytest.raises(ValueError, match="the constraint b <= 8"):
        run(np.ones((9, 3), "f4"))
    with pytest.raises(ValueError, match="array 0: expected float32"):
        run(np.ones((2, 4), "f4"))
    with pytest.raises(ValueError, match="expected 1 arrays, got 0"):
        run()


@pytest.fixture
def address(serving):
    batcher = serving["server"].Batcher(
        serving["run_exported"].Program(double().serialize()), max_batch=6, max_wait=0.05
    )
    server = serving["server"].serve(batcher)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield batcher, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()
    batcher.stop()
    assert not batcher.thread.is_alive()


def test_requests_are_collected_into_batches(serving, address):
    batcher, url = address
    examples = [np.full(3, i, "f4") for i in range(10)]
    rate, times, results = serving["client"].measure(
        url, examples, connections=4, requests=40, limit=20.0
    )
    assert len(times) == 40 == batcher.requests and rate > 0
    assert batcher.batches < 40
    assert all(np.array_equal(results[i], examples[i] * 2) for i in range(10))


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/predict", b"no array", 400),
        ("POST", "/predict", np.ones(4, "f4"), 400),
        ("POST", "/predict", np.ones(3, "f8"), 400),
        ("POST", "/predict", np.ones(1 << 20, "f4"), 413),
        ("POST", "/elsewhere", b"", 404),
        ("GET", "/stats", None, 200),
    ],
)
def test_answers(serving, address, method, path, body, status):
    client = serving["client"]
    if isinstance(body, np.ndarray):
        body = serving["npy"].pack(body)
    connection = client.connect(address[1])
    try:
        connection.request(method, path, body)
        assert connection.getresponse().status == status
    except (BrokenPipeError, ConnectionResetError):
        assert status == 413  # the server closes, as it does not read the body
    finally:
        connection.close()


def test_the_model_of_the_example(serving):
    model = serving["export_model"]
    params, accuracy = model.trained(width=32, epochs=10)
    assert accuracy > 0.6
    x = model.digits()[0][:5]
    program = serving["run_exported"].Program(model.exported(params).serialize())
    assert np.allclose(program(x)[0], effax.nn.softmax(model.logits(params, x)), atol=1e-6)
