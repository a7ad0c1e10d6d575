"""The window family, in every column."""

import numpy as np
import pytest

from effax.effects.dtypes import is_inexact
from tests.samples import checks
from tests.samples.window import SAMPLES

IDS = [f"{effect}-{i}" for i, (effect, *_) in enumerate(SAMPLES)]
SMOOTH = [
    s
    for s in SAMPLES
    if all(np.isfinite(x).all() and np.size(x) for x in s[1])
    and any(is_inexact(np.asarray(x).dtype) and np.asarray(x).dtype.kind == "f" for x in s[1])
]


@pytest.mark.parametrize(("effect", "operands", "attributes"), SAMPLES, ids=IDS)
def test_xla_agrees_with_the_reference(effect, operands, attributes):
    checks.check_reference(effect, operands, attributes)


@pytest.mark.parametrize(
    ("effect", "operands", "attributes"), [s for s in SAMPLES if s[1]], ids=lambda x: str(x)[:20]
)
def test_batches(effect, operands, attributes):
    checks.check_batch(effect, operands, attributes)


@pytest.mark.parametrize(("effect", "operands", "attributes"), SMOOTH, ids=lambda x: str(x)[:20])
def test_derivatives(effect, operands, attributes):
    checks.check_derivative(effect, operands, attributes)
