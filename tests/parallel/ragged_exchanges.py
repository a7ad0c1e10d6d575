"""Ragged exchanges between the places of a mesh: values, derivatives, batches, groups."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.sharding import AxisType

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

PLACES, ROWS = 4, 6
MESH = effax.make_mesh((2, PLACES), ("other", "i"), axis_types=(AxisType.Auto,) * 2)
P = effax.P


def drawn(seed, slices, apart):
    """Operands, outputs, and the four vectors of all places; `apart` no row is sent twice."""
    draw = np.random.default_rng(seed)
    operands = draw.normal(size=(PLACES, ROWS, 2)).astype(np.float32)
    outputs = draw.normal(size=(PLACES, 20, 2)).astype(np.float32)
    sizes = draw.integers(0, 3, (PLACES, PLACES * slices))
    starts = draw.integers(0, ROWS - 2, sizes.shape)
    if apart:
        sizes = np.where(np.cumsum(sizes, 1) <= ROWS, sizes, 0)
        starts = np.cumsum(sizes, 1) - sizes
    sent = sizes.reshape(PLACES, PLACES, slices)
    came = sent.transpose(1, 0, 2).reshape(PLACES, -1)
    first = (np.cumsum(came, 1) - came).reshape(PLACES, PLACES, slices)
    targets = first.transpose(1, 0, 2).reshape(PLACES, -1)
    return operands, outputs, *(v.astype(np.int32) for v in (starts, sizes, targets, came))


def moves(vectors):
    """The rows that move: from which place and row, to which."""
    starts, sizes, targets, _ = vectors
    slices = starts.shape[1] // PLACES
    for i, j in np.ndindex(starts.shape):
        for r in range(sizes[i, j]):
            yield (i, starts[i, j] + r), (j // slices, targets[i, j] + r)


def expected(operands, outputs, *vectors):
    found = outputs.copy()
    for source, target in moves(vectors):
        found[target] = operands[source]
    return found


def exchange(*given):
    return lax.ragged_all_to_all(*given, axis_name="i")


def at_places(*given):
    return exchange(*(x[0] for x in given))[None]


over_mesh = effax.shard_map(at_places, mesh=MESH, in_specs=P("i"), out_specs=P("i"))
in_lanes = effax.vmap(exchange, axis_name="i")
KINDS = pytest.mark.parametrize(("slices", "apart"), [(1, True), (1, False), (2, True), (2, False)])


@KINDS
def test_rows_arrive(slices, apart):
    given = drawn(1, slices, apart)
    for f in (over_mesh, effax.jit(over_mesh), in_lanes):
        np.testing.assert_array_equal(f(*given), expected(*given))


@KINDS
def test_a_row_that_was_sent_twice_gets_both_cotangents(slices, apart):
    operands, outputs, *vectors = drawn(2, slices, apart)
    weights = np.random.default_rng(0).normal(size=outputs.shape).astype(np.float32)
    sent, stayed = np.zeros_like(operands), weights.copy()
    for source, target in moves(vectors):
        sent[source] += weights[target]
        stayed[target] = 0
    for f in (over_mesh, in_lanes):
        slopes = effax.grad(lambda x, y, f=f: (f(x, y, *vectors) * weights).sum(), (0, 1))
        for grad in (slopes, effax.jit(slopes)):
            x, y = grad(operands, outputs)
            np.testing.assert_allclose(x, sent, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(y, stayed, rtol=1e-6)


def test_vectors_may_be_of_several_dtypes():
    operands, outputs, *vectors = drawn(7, 1, False)
    mixed = [v.astype(t) for v, t in zip(vectors, ("uint8", "int16", "int32", "int8"), strict=True)]
    np.testing.assert_array_equal(
        over_mesh(operands, outputs, *mixed), expected(operands, outputs, *vectors)
    )
    x, y = (
        effax.grad(lambda x, v=v: (over_mesh(x, outputs, *v) ** 2).sum())(operands)
        for v in (mixed, vectors)
    )
    np.testing.assert_array_equal(x, y)


@KINDS
def test_second_derivatives_are_those_of_lanes(slices, apart):
    operands, outputs, *vectors = drawn(3, slices, apart)

    def of(f):
        def loss(x, y):
            return (f(jnp.sin(x), jnp.cos(y), *vectors) ** 3).sum()

        def square(x):
            return (effax.grad(loss)(x, outputs) ** 2).sum()

        both = (operands, outputs)
        return effax.jvp(effax.grad(loss, (0, 1)), both, both)[1], effax.grad(square)(operands)

    for x, y in zip(*map(effax.tree.leaves, (of(over_mesh), of(in_lanes))), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@KINDS
def test_a_batch_follows_itself(slices, apart):
    """Over an axis that is not exchanged over, the lanes' rows are one operand's."""
    both = [np.stack(pair) for pair in zip(*(drawn(s, slices, apart) for s in (4, 5)), strict=True)]
    wanted = np.stack([expected(*(x[i] for x in both)) for i in (0, 1)])
    np.testing.assert_array_equal(effax.vmap(over_mesh)(*both), wanted)
    np.testing.assert_array_equal(effax.vmap(in_lanes)(*both), wanted)
    one = [x[0] for x in both[1:]]
    wanted = np.stack([expected(x, *one) for x in both[0]])
    shared = effax.vmap(lambda x: over_mesh(x, *one))
    np.testing.assert_array_equal(shared(both[0]), wanted)


def test_groups_and_several_axes_exchange_among_themselves():
    given = drawn(6, 1, False)
    twice = [np.concatenate([x, x]) for x in given]

    def in_groups(*given):
        groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
        found = lax.ragged_all_to_all(
            *(x[0] for x in given), axis_name=("other", "i"), axis_index_groups=groups
        )
        return found[None]

    spec = P(("other", "i"))
    f = effax.shard_map(in_groups, mesh=MESH, in_specs=spec, out_specs=spec)
    np.testing.assert_array_equal(f(*twice), np.concatenate([expected(*given)] * 2))
    x, out = twice[:2]
    each = np.ones((8, 8), np.int32)
    mine = np.repeat(np.arange(8, dtype=np.int32)[:, None], 8, 1)
    first = np.zeros((8, 8), np.int32)

    def everywhere(*given):
        return lax.ragged_all_to_all(*(x[0] for x in given), axis_name=("other", "i"))[None]

    f = effax.shard_map(everywhere, mesh=MESH, in_specs=spec, out_specs=spec)
    wanted = out.copy()
    wanted[:, :8] = x[:, 0]
    np.testing.assert_array_equal(f(x, out, first, each, mine, each), wanted)
