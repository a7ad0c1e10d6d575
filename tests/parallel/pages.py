"""The programs of JAX's pages on sharding: numbers, and collectives of the optimised HLO.

Run by `test_mesh.py` on eight devices; `page_programs.py` recorded what JAX gives.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import effax
from effax import P
from tests.parallel import page_programs

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

WANTED = json.loads((Path(__file__).parent / "page_collectives.json").read_text())


@pytest.mark.parametrize("name", WANTED)
def test_numbers_and_collectives_are_jaxs(name):
    found = page_programs.record(effax, name)
    assert found["collectives"] == WANTED[name]["collectives"]
    np.testing.assert_allclose(found["sums"], WANTED[name]["sums"], rtol=1e-4, atol=1e-3)


def test_every_program_is_recorded():
    assert set(WANTED) == set(page_programs.programs(effax))
    counts = [n for x in WANTED.values() for n in x["collectives"].values()]
    assert len(WANTED) == 40 and sum(counts) > 100


def lowered(f, *arguments):
    return effax.jit(f).lower(*arguments).as_text()


def test_a_sum_over_places_that_have_the_same_is_a_product():
    mesh = effax.make_mesh((8,), ("x",))
    loss = effax.shard_map(
        lambda w, x: effax.lax.psum((w * x).sum(), "x"),
        mesh=mesh,
        in_specs=(P(), P("x")),
        out_specs=P(),
    )
    x = effax.device_put(np.arange(8, dtype=np.float32), effax.NamedSharding(mesh, P("x")))
    text = lowered(effax.grad(loss), np.float32(3), x)
    assert text.count("all_reduce") == 1, "of the parts of the gradient alone"
    assert float(effax.grad(loss)(np.float32(3), x)) == 28.0
    second = effax.grad(lambda w: effax.grad(lambda w: loss(w, x) ** 2)(w))(np.float32(3))
    assert float(second) == 2 * 28.0**2


def test_a_sum_over_places_that_differ_is_asked_for():
    mesh = effax.make_mesh((4, 2), ("x", "y"))

    def f(x):
        return effax.lax.psum(x * effax.lax.axis_index("x"), ("x", "y"))

    mapped = effax.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    assert float(mapped(np.float32(2))) == 2 * 2 * 6
    assert float(effax.grad(mapped)(np.float32(2))) == 2 * 6
    assert effax.vmap(effax.grad(mapped))(np.ones(3, np.float32)).tolist() == [12.0] * 3


def test_collectives_that_nobody_asks_for_are_not_made():
    mesh = effax.make_mesh((8,), ("x",))
    both = effax.shard_map(
        lambda x: (effax.lax.psum(x, "x"), 2 * x),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=(P(), P("x")),
    )
    x = np.arange(8, dtype=np.float32)
    assert "all_reduce" not in lowered(lambda x: both(x)[1], x)
    assert "all_reduce" in lowered(lambda x: both(x)[0], x)
    assert effax.jit(lambda x: both(x)[1])(x).tolist() == (2 * x).tolist()
    assert not re.search("manual_computation", lowered(lambda x: (both(x), x)[1], x))
