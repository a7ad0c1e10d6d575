"""Creation, shapes, reductions, sorting and sets give what jax gives: elements, dtypes, errors."""

import collections
import dataclasses
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


def test_arguments_that_may_be_given_by_name():
    x = jnp.array([3.5, 1.5, 2.5])
    assert x.astype(dtype="int8").dtype == x.astype("int8", True).dtype == jnp.int8
    assert x.flatten(out_sharding=None).shape == (3,)
    assert effax.devices(backend="cpu") == effax.devices()
    assert x.sharding.shard_shape(global_shape=(3,)) == (3,)
    assert float(effax.lax.nextafter(x1=0.0, x2=1.0)) > 0
    assert float(effax.lax.zeta(x=2.0, q=1.0)) == float(effax.lax.zeta(2.0, 1.0))


def test_positions_of_a_dtype():
    x = jnp.array([3, 1, 2])
    for dtype in ("int8", "uint16", "float32"):
        places = jnp.argsort(x, descending=True, dtype=dtype)
        assert places.dtype == dtype and places.tolist() == [0, 2, 1]
    with pytest.raises(OverflowError, match="int8 can't hold the positions up to 199"):
        jnp.argsort(jnp.zeros(200), dtype="int8")


def test_vectorized_functions_may_return_trees_with_a_shape():
    @effax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Column:
        data: effax.Array

        @property
        def shape(self):
            return self.data.shape

    column = jnp.vectorize(lambda n: Column(n * jnp.ones((2, 1))), signature="()->(n,1)")
    assert column(jnp.arange(3)).data.shape == (3, 2, 1)


def test_memories_are_names():
    here = jnp.ones(1).sharding
    assert here.with_memory_kind("pinned_host") == here
    with pytest.raises(ValueError, match="Got memory kind: nowhere"):
        effax.sharding.SingleDeviceSharding(effax.devices()[0], memory_kind="nowhere")


JOINING = [jnp.concatenate, jnp.stack, jnp.hstack, jnp.vstack, jnp.dstack, jnp.column_stack]


@pytest.mark.filterwarnings("ignore:Python iterable type")  # of jaxlib, for JAX and effax alike
@pytest.mark.parametrize("join", JOINING)
def test_arrays_in_any_iterable_are_joined(join):
    parts = {"a": jnp.ones((1, 2)), "b": jnp.zeros((1, 2))}
    joined = join(list(parts.values()))
    for iterable in (parts.values(), collections.deque(parts.values())):
        np.testing.assert_array_equal(join(iterable), joined)
    np.testing.assert_array_equal(effax.jit(lambda d: join(d.values()))(parts), joined)
    for other in (iter(parts.values()), parts, "ab"):
        with pytest.raises(TypeError):
            join(other)


@pytest.mark.parametrize("where", ["cpu", 3])
def test_a_place_is_a_sharding_not_a_platforms_name(where):
    with pytest.raises(
        TypeError, match="`out_sharding` argument of dot only supports instances of `NamedSharding`"
    ):
        jnp.dot(jnp.ones(2), jnp.ones(2), out_sharding=where)
    with pytest.raises(TypeError, match="with_sharding_constraint: shardings leaf"):
        effax.lax.with_sharding_constraint(jnp.ones(2), where)
