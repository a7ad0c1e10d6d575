"""The example of interval bounds: samples stay inside, under every transform."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp

_path = Path(__file__).resolve().parents[2] / "examples" / "interval.py"
_spec = importlib.util.spec_from_file_location("examples_interval", _path)
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)

FUNCTIONS = {
    "network": (example.network, (3,)),
    "newton": (lambda x: example.newton(x)[0], ()),
    "halve_often": (example.halve_often, ()),
    "exp branch": (lambda x: example.choose(x, True), (2,)),
    "constant branch": (lambda x: example.choose(x, False), (2,)),
    "waves": (lambda x: jnp.sin(3 * x) * jnp.cos(x) - x / 3, (4,)),
    "powers": (lambda x: x**3 - x**2 + jnp.abs(x) + jnp.square(x), (4,)),
    "relu": (lambda x: jnp.sum(fx.nn.relu(x)) + jnp.where(x > 0.3, x, -x), (5,)),
    "softmax": (fx.nn.softmax, (4,)),
    "indexing": (lambda x: x[0] + x[1:3] * x.at[0].set(2.0)[:2], (4,)),
    "sums": (lambda x: jnp.cumsum(x * x)[1:] + jnp.max(x), (4,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_samples_are_inside(name):
    f, shape = FUNCTIONS[name]
    generator = np.random.default_rng(0)
    center = generator.normal(size=shape).astype(np.float32)
    found = fx.jit(example.bounds(f))(example.ball(center, np.float32(0.2)))
    points = center + generator.uniform(-0.2, 0.2, (200, *shape)).astype(np.float32)
    values = np.asarray(fx.vmap(f)(points))
    slack = 1e-4 * (1 + np.abs(values))
    assert np.all(values >= np.asarray(found.lo) - slack)
    assert np.all(values <= np.asarray(found.hi) + slack)


def test_main_runs(capsys):
    example.main()
    assert "vmap over radii" in capsys.readouterr().out
