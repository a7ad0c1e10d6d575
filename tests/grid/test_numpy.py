"""effax.numpy, its linalg and its fft, over the grid: every function is in a table, and agrees.

In CI the recorded cases are played: drawn by hypothesis with a seed, answered by JAX and NumPy
(goldens/grid_numpy.json, made by goldens/make_grid_numpy.py). The long run draws new ones and asks
JAX, where there is one.
"""

from __future__ import annotations

import importlib
import inspect

import pytest

import effax.numpy as jnp
from tests.grid import (
    table_arranging,
    table_elementwise,
    table_folding,
    table_linear,
    table_making,
    table_methods,
)
from tests.grid.ask import ROOT
from tests.grid.play import Entry, examples, recorded, replay, search

TABLES = (
    table_elementwise,
    table_folding,
    table_arranging,
    table_linear,
    table_making,
    table_methods,
)
TABLE: dict[str, Entry] = {name: entry for t in TABLES for name, entry in t.TABLE.items()}
RECORDED = recorded(ROOT / "tests/goldens/grid_numpy.json")
TRANSFORMED = 1  # of the recorded cases of a function: so many go under jit, vmap and differences

# Public names that no case is drawn of.
ELSEWHERE = {
    "constants": "e euler_gamma inf nan newaxis pi",
    "classes of the scalar hierarchy, for issubdtype": """character complexfloating flexible floating
        generic inexact integer number object_ signedinteger unsignedinteger""",
    "classes and what describes dtypes (tests/goldens/make_dtypes.py)": """bfloat16 finfo iinfo
        ndarray ufunc""",
    "printing": "array_repr array_str get_printoptions printoptions set_printoptions",
    "files and memory (tests/numpy/test_array_api.py, doctests)": "from_dlpack load save savez",
}


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft"])
def test_every_public_name_is_in_a_table(module):
    found = importlib.import_module(f"effax.{module}")
    prefix = "jnp" + module.removeprefix("numpy")
    away = {name for words in ELSEWHERE.values() for name in words.split()}
    missing = []
    for line in (ROOT / "tests/architecture/public_names.txt").read_text().splitlines():
        name = line.removeprefix(f"effax.{module}.")
        if line == name or "." in name or inspect.ismodule(getattr(found, name, None)):
            continue
        if f"{prefix}.{name}" not in TABLE and name not in away and not name[0].isupper():
            missing.append(name)
    assert not missing


# What an array knows of its device and its buffer: tests/backends has those.
OF_DEVICES = """addressable_data addressable_shards aval block_until_ready buffer committed
    copy_to_host_async delete device devices format global_shards host is_deleted is_fully_addressable
    is_fully_replicated is_ready on_device_size_in_bytes platform sharding spec to_device type
    traceback unsafe_buffer_pointer"""
OF_NUMPY = "byteswap flat"  # JAX has only their names


def test_every_attribute_of_arrays_is_in_a_table():
    away = {*OF_DEVICES.split(), *OF_NUMPY.split()}
    public = {n for n in dir(jnp.ones(3)) if not n.startswith("_")} - away - {"at"}
    assert not {n for n in public if f"Array.{n}" not in TABLE}
    verbs = {n for n in dir(jnp.ones(3).at[0]) if not n.startswith("_")} - {"array", "index"}
    assert not {n for n in verbs if f"Array.at[].{n}" not in TABLE} - {"sub"}


@pytest.mark.parametrize("name", TABLE)
def test_recorded_cases(name):
    complaints = replay(TABLE[name], RECORDED[name], TRANSFORMED)
    assert not complaints, "\n".join(complaints)


def test_numpy_agreed_to_cases_of_all_but_those_that_it_does_not_have():
    silent = [
        name
        for name, entry in TABLE.items()
        if entry.wide and not any(record.numpy for record in RECORDED[name])
    ]
    assert not silent


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_fresh_cases(name, oracle):
    search(TABLE[name], name, oracle, examples())
