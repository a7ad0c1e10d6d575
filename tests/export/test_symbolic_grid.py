"""Recorded cases of the grid, exported with symbolic lengths: called at three sizes beside eager
calls. What can't be exported is refused; what is must be right. CI asks some functions each day."""

import datetime
import os
import warnings

import numpy as np
import pytest

import effax
from effax import export
from tests.grid import test_ways
from tests.grid.ask import leaf
from tests.grid.check import EFFAX
from tests.grid.ways import Asked

DAYS = 60
TODAY = datetime.date.fromisoformat(
    os.environ.get("EFFAX_DAY", datetime.date.today().isoformat())
).toordinal()
ASSUMED = ("jnp.cov", "jnp.corrcoef", "Array.squeeze", "jnp.squeeze")
"""They leave out axes of length 1; a symbolic length is taken to be another, as in JAX."""
BY_ROUNDING = ("jnp.histogramdd", "jnp.histogram2d")
"""Whether a number on an edge falls in the bin before it is seen by a rounding."""
AWAY = (*ASSUMED, *BY_ROUNDING)


def symbolic_axes(asked):
    """Yield sets of axes of operands, by operand, that are alike in length."""
    places = [i for i in asked.moving if isinstance(asked.given[i], (np.ndarray, effax.Array))]
    lengths = {i: asked.given[i].shape for i in places}
    for n in sorted({n for shape in lengths.values() for n in shape if n > 1}):
        yield {i: [k for k, m in enumerate(shape) if m == n] for i, shape in lengths.items()}
    for i, shape in lengths.items():
        for k in (k for k, n in enumerate(shape) if n):
            yield {i: [k]}


def resized(x, axes, by):
    """The array with its first rows again at the end, or without its last ones, along axes."""
    for k in axes:
        n = x.shape[k]
        x = np.take(x, [*range(n + min(by, 0)), *range(max(by, 0))], k)
    return x


def disagreements(asked, axes):
    """Yield how calls of an exported case differ from eager ones, at the length given and beside.

    What can't be exported, or called eagerly at another size, is not asked.
    """
    (b,) = export.symbolic_shape("b")
    places = sorted({*axes} | {i for i in asked.moving if hasattr(asked.given[i], "shape")})
    structs = [
        effax.ShapeDtypeStruct(
            tuple(b if k in axes.get(i, ()) else n for k, n in enumerate(x.shape)),
            x.dtype,
            weak_type=getattr(x, "weak_type", False),
        )
        for i, x in ((i, asked.given[i]) for i in places)
    ]
    try:
        exported = export.export(effax.jit(asked.of(places)))(*structs)
    except (TypeError, ValueError, IndexError, NotImplementedError, effax.errors.EffaxError):
        return
    for by in (0, 1, -1):
        operands = []
        for i in places:
            x = resized(np.asarray(asked.given[i]), axes.get(i, ()), by)
            operands.append(EFFAX.operand(asked.case.operands[i], x))
        if any(0 in x.shape for x in operands):
            continue
        try:
            wanted = [leaf(y) for y in asked.of(places)(*operands)]
        except (TypeError, ValueError, IndexError):
            continue
        yield by, asked.differs(exported.call(*operands), wanted, weak=False, slack=10)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if (i + TODAY) % DAYS == 0 else [pytest.mark.slow])
        for i, name in enumerate(test_ways.CASES)
        if not name.startswith(AWAY)
    ],
)
def test_exported_with_symbolic_lengths(name):
    entry, case = test_ways.CASES[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"), effax.enable_x64(case.x64):
        warnings.simplefilter("ignore")
        asked = Asked(entry, case)
        for axes in symbolic_axes(asked):
            for by, why in disagreements(asked, axes):
                assert not why, f"{case.code}, axes {axes} longer by {by}: {why}"
