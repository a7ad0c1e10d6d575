"""Places that surely part before a collective are refused by name; XLA would wait, and abort."""

import os
import subprocess
import sys
import textwrap

CASES = {
    "branch": "effax.pmap(lambda x: lax.cond(lax.axis_index('i') == 0, lambda x: lax.psum(x, 'i'), lambda x: x, x), axis_name='i')(x)",
    "both branches": "effax.pmap(lambda x: lax.cond(lax.axis_index('i') < 2, lambda x: lax.psum(x, 'i'), lambda x: lax.pmax(x, 'i'), x), axis_name='i')(x)",
    "called": "effax.pmap(effax.jit(lambda x: lax.cond(lax.axis_index('i') == 0, effax.jit(lambda x: lax.psum(x, 'i')), lambda x: x, x)), axis_name='i')(x)",
    "loop": "effax.pmap(lambda x: lax.fori_loop(0, lax.axis_index('i'), lambda _, x: lax.psum(x, 'i'), x), axis_name='i')(x)",
    "mesh": "effax.shard_map(lambda x: lax.cond(lax.axis_index('i') == 0, lambda x: lax.psum(x, 'i'), lambda x: x, x), mesh=mesh, in_specs=P('i'), out_specs=P('i'), check_vma=False)(x)",
    "in a scan": "effax.pmap(lambda x: lax.scan(lambda c, _: (lax.cond(lax.axis_index('i') == 0, lambda c: lax.psum(c, 'i'), lambda c: c, c), None), x, None, length=2)[0], axis_name='i')(x)",
}
ALLOWED = {
    "uniform": "effax.pmap(lambda x: lax.cond(lax.axis_index('i') < 9, lambda x: lax.psum(x, 'i'), lambda x: x, x), axis_name='i')(x)",
    "by all": "effax.pmap(lambda x: lax.cond(lax.psum(x, 'i') > 1, lambda x: lax.psum(x, 'i'), lambda x: x, x), axis_name='i')(x)",
    "of operands": "effax.pmap(lambda x, n: lax.cond(n > 1, lambda x: lax.psum(x, 'i'), lambda x: x, x), axis_name='i')(x, jnp.full(4, 2))",
    "no collective": "effax.pmap(lambda x: lax.cond(lax.axis_index('i') == 0, lambda x: 2 * x, lambda x: x, x), axis_name='i')(x)",
    "constants of a shape": "effax.pmap(lambda x: lax.psum(lax.map(jnp.linalg.inv, jnp.eye(3)[None] * x)[0, 0], 'i'), axis_name='i')(jnp.ones(4))",
    "by another axis": "effax.shard_map(lambda x: lax.cond(lax.axis_index('j') == 0, lambda x: lax.psum(x, 'i'), lambda x: x, x), mesh=square, in_specs=P('i', 'j'), out_specs=P('i', 'j'), check_vma=False)(x.reshape(2, 2))",
}
HEAD = """
import effax, effax.numpy as jnp
from effax import lax
from effax.errors import CollectiveDivergenceError
from effax.sharding import PartitionSpec as P
x = jnp.arange(4.0)
mesh, square = effax.make_mesh((4,), ("i",)), effax.make_mesh((2, 2), ("i", "j"))
"""


def run(program):
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    found = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout.split("\n")


def test_what_surely_parts_is_refused():
    program = "".join(
        textwrap.dedent(f"""
        try:
            {call}
        except CollectiveDivergenceError as error:
            print({name!r}, error)
        """)
        for name, call in CASES.items()
    )
    lines = run(program)
    for name, line in zip(CASES, lines, strict=False):
        assert line.startswith(name), lines
        assert "place 0 along the axis 'i'" in line


def test_what_may_be_the_same_at_all_places_runs():
    lines = run("".join(f"print({name!r}, {call})\n" for name, call in ALLOWED.items()))
    assert lines[0] == "uniform [6. 6. 6. 6.]"
    assert lines[1] == "by all [6. 6. 6. 6.]"
    assert lines[2] == "of operands [6. 6. 6. 6.]"
    assert lines[3] == "no collective [0. 1. 2. 3.]"
    assert lines[4].startswith("constants of a shape [[4. 0. 0.]")
    assert lines[-3:-1] == ["by another axis [[2. 1.]", " [2. 3.]]"]
