"""Creation, shapes, reductions, sorting and sets give what jax gives: elements, dtypes, errors."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects.tree import tree_leaves
from tests.numpy.expressions import EXPRESSIONS, described, environment

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "arrays.json").read_text())


@pytest.fixture(scope="module")
def values():
    return environment(effax, jnp)


@pytest.mark.parametrize("line", EXPRESSIONS)
def test_agrees_with_jax(line, values):
    golden = GOLDENS[line]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if golden and golden[-1] == "BaseException":
            with pytest.raises(Exception) as error:
                eval(line, values)
            assert golden[0] in [c.__name__ for c in type(error.value).__mro__]
            return
        found = [described(x) for x in tree_leaves(eval(line, values))]
    assert [x[:3] for x in found] == [x[:3] for x in golden]
    for x, y in zip(found, golden, strict=True):
        if not isinstance(x, str):
            np.testing.assert_allclose(x[3], y[3], rtol=2e-5, atol=1e-6)


def test_arrays_are_made_of_numbers_where_nothing_changes():
    """Shapes that are right already: inside jit too the result is an array, with a shape."""

    def shapes(x):
        ys = jnp.full((), True), jnp.broadcast_to(1.0, ()), jnp.squeeze(2.0)
        return [y.shape for y in (*ys, *jnp.broadcast_arrays(1.0, 2))]

    found = []
    effax.jit(lambda x: (found.append(shapes(x)), x)[1])(1.0)
    assert found == [shapes(1.0)] == [[()] * 5]


@pytest.mark.parametrize("x", [np.arange(3), np.uint8(3), 3], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        jnp.abs,
        jnp.real,
        jnp.conj,
        jnp.floor,
        jnp.ceil,
        jnp.trunc,
        jnp.positive,
        jnp.nan_to_num,
        jnp.squeeze,
    ]
    + [
        lambda x: jnp.broadcast_arrays(x)[0],
        lambda x: jnp.diff(x, n=0),
        lambda x: jnp.broadcast_to(x, (3,)),
    ],
)
def test_results_are_arrays_in_a_trace_where_nothing_is_computed(function, x):
    """A function that leaves an operand of NumPy's as it is returned that, no array."""
    seen = []
    effax.jit(lambda y: (seen.append(function(x)), y)[1])(1.0)
    assert isinstance(seen[0], effax.Array)
