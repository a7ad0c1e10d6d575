"""Keys of every implementation, and arrays of them, against JAX's recorded answers."""

import json
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, random
from tests.goldens.make_keys import names, outcome

RECORDED = json.loads((Path(__file__).parents[1] / "goldens" / "keys.json").read_text())
MODULES = {"jax": effax, "jnp": jnp, "lax": lax, "random": random}
STRUCTURE = [r for r in RECORDED if r["kind"] == "structure"]
STREAMS = [r for r in RECORDED if r["kind"] == "stream"]
QUICK = ("key_data", "bits", "uniform", "normal", "randint", "scan", "poisson", "gamma")


def described(record):
    return f"{record['impl']}: {record['text']}"


def assert_same(found, expected, exact):
    """The same structure, shapes, dtypes and errors; floats within 4 units of rounding."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e, exact)
    elif isinstance(expected, dict):
        assert isinstance(found, dict), found
        assert (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"])
        tolerance = 0 if exact or found["dtype"].startswith(("uint", "int", "key")) else 2e-6
        np.testing.assert_allclose(
            found["values"], expected["values"], rtol=tolerance, atol=tolerance
        )
    else:
        assert found == expected


def check(record):
    found = outcome(record["text"], MODULES, names(random, record["impl"]))
    assert_same(found, record["outcome"], exact=record["kind"] == "structure")


@pytest.mark.parametrize("record", STRUCTURE, ids=described)
def test_structure(record):
    check(record)


@pytest.mark.parametrize("record", STREAMS, ids=described)
def test_streams(record):
    check(record)
