"""Samplers over all that their parameters can be, against JAX's recorded draws.

The records are tests/goldens/streams.json, and the earlier random.json (test_streams.py) and
keys.json (test_key_types.py). `EXACT` are the samplers whose elements are JAX's bit by bit; others
go through logarithms, roots and the like, whose last bits are the compiler's own.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import random
from effax.effects import config
from effax.effects.promotion import TypePromotionError
from tests.goldens.make_streams import KEPT, digest, kept, outcome

GOLDENS = Path(__file__).parents[1] / "goldens"
RECORDS = json.loads((GOLDENS / "streams.json").read_text())
EXACT = ("bits", "uniform", "randint", "permutation", "rademacher", "split", "fold_in", "key_data",
         "clone", "PRNGKey", "wrap_key_data", "bernoulli", "choice")  # fmt: skip
ULPS = {"float16": 4, "bfloat16": 4, "float32": 16, "float64": 64}
"""The allowed distance, in units in the last place of the number, or of 1 where it is less."""
OURS = {"random.gamma(k, 1j)": "raises TypeError"}
"""Cases in which JAX silently computes with the real part of a complex parameter."""
WHY_NOT = {
    "KeyArray": "the class of arrays of keys, which JAX has no name for",
    "key_dtype": "a dtype: test_key_types.py",
    "key_impl": "a name: test_key_types.py",
}
"""Public names of which there are no numbers to record."""


def sampler(text):
    """The name of the sampler in an expression."""
    names = [part.split("(")[0] for part in text.split("random.")[1:]]
    return next((n for n in names if n not in ("key", "PRNGKey")), names[0])


def assert_near(found, expected, ulps):
    if expected.dtype.kind == "c":
        found, expected = (np.stack([x.real, x.imag]) for x in (found, expected))
    one, other = found.astype("f8"), expected.astype("f8")
    assert np.array_equal(np.isnan(one), np.isnan(other)), f"{found}\n{expected}"
    assert np.array_equal(np.isinf(one), np.isinf(other)), f"{found}\n{expected}"
    finite = np.isfinite(other)
    one, other = one[finite], other[finite]
    eps = float(ml_dtypes.finfo(expected.dtype).eps)
    unit = eps * np.exp2(np.floor(np.log2(np.maximum(np.abs(other), 1))))
    off = np.abs(one - other) / unit
    assert (off <= ulps).all(), f"{off.max()} units in the last place\n{found}\n{expected}"


def check(i, record, goldens):
    settings = {s: record[s] for s in ("x64", "partitionable") if s in record}
    found = outcome(effax, record["text"], settings)
    if "error" in record or isinstance(found, str):
        assert found == OURS.get(record["text"], record.get("error")), record
        return
    assert (found.dtype.name, list(found.shape)) == (record["dtype"], record["shape"])
    expected, parts = goldens[str(i)], kept(found)
    name = sampler(record["text"])
    if record["dtype"] == "bfloat16":
        expected, parts = (x.view(ml_dtypes.bfloat16) for x in (expected, parts))
    if name in EXACT or found.dtype.kind in "iub":
        np.testing.assert_array_equal(parts, expected)
        assert found.size <= KEPT or digest(found) == record["digest"]
        return
    assert_near(parts, expected, ULPS[np.zeros(0, found.dtype).real.dtype.name])


@pytest.fixture(scope="module")
def goldens():
    with np.load(GOLDENS / "streams.npz") as stored:
        return dict(stored)


NUMBERED = list(enumerate(RECORDS))


def described(numbered):
    return f"{numbered[0]}: {numbered[1]['text']}"


@pytest.mark.slow
@pytest.mark.parametrize("numbered", NUMBERED, ids=described)
def test_samplers(numbered, goldens):
    check(*numbered, goldens)


@pytest.mark.parametrize("numbered", NUMBERED[::29], ids=described)
def test_some_samplers(numbered, goldens):
    check(*numbered, goldens)


def test_every_sampler_is_recorded():
    """Each public name of `effax.random` is in some golden, or says why it is in none."""
    texts = [r["text"] for r in RECORDS]
    texts += [f"random.{c['function']}(" for c in json.loads((GOLDENS / "random.json").read_text())]
    recorded = {n for n in vars(random) if any(f"random.{n}(" in t for t in texts)}
    public = {n for n, x in vars(random).items() if not n.startswith("_") and callable(x)}
    assert sorted(public - recorded - set(WHY_NOT)) == []
    assert sorted(set(WHY_NOT) - public) == []


REAL = {
    **{name: (1.0,) for name in ("chisquare", "gamma", "loggamma", "t", "pareto", "rayleigh")},
    **{name: (1.0,) for name in ("wald", "lognormal", "poisson", "geometric")},
    **{name: (1.0, 2.0) for name in ("beta", "f", "truncated_normal", "binomial")},
    "triangular": (0.0, 1.0, 2.0),
}


@pytest.mark.parametrize("name", REAL)
def test_complex_parameters_of_real_samples_are_refused(name):
    """JAX drops the imaginary parts in some of them."""
    given = [jnp.asarray(x, "complex64") for x in REAL[name]]
    with pytest.raises((TypeError, ValueError), match="complex64"):
        getattr(random, name)(random.key(0), *given)


def test_parameters_are_not_narrowed():
    with config.enable_x64(True):
        for name in ("chisquare", "t", "pareto", "rayleigh", "wald", "lognormal"):
            with pytest.raises(TypePromotionError, match="safely cast"):
                getattr(random, name)(random.key(0), jnp.ones(3), dtype="float32")
