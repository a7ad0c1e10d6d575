"""Collectives under `vmap` with a named axis, against the sums written out."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import P, lax

N = 4
X = np.arange(1.0, 1 + N, dtype=np.float32)


def over(f, *args, **keywords):
    return effax.vmap(f, axis_name="i", **keywords)(*args)


def test_reductions():
    np.testing.assert_array_equal(over(lambda x: lax.psum(x, "i"), X), np.full(N, X.sum()))
    np.testing.assert_array_equal(over(lambda x: lax.pmax(x, "i"), X), np.full(N, X.max()))
    np.testing.assert_array_equal(over(lambda x: lax.pmin(x, "i"), X), np.full(N, X.min()))
    np.testing.assert_allclose(over(lambda x: lax.pmean(x, "i"), X), np.full(N, X.mean()))
    tree = over(lambda x: lax.psum({"a": x, "b": (x * x, 2, True)}, "i"), X)
    np.testing.assert_array_equal(tree["b"][0], np.full(N, (X * X).sum()))
    np.testing.assert_array_equal(tree["b"][1], np.full(N, 2 * N))


def test_sum_of_a_number_is_known():
    sizes = []

    def f(x):
        sizes.append(lax.psum(1, "i"))
        return x

    over(f, X)
    assert sizes == [N]
    assert type(sizes[0]) is int


def test_sum_of_what_all_places_share():
    found = over(lambda x, y: lax.psum(y, "i") + 0 * x, X, np.float32(3), in_axes=(0, None))
    np.testing.assert_array_equal(found, np.full(N, 3 * N))


def test_index_and_size():
    np.testing.assert_array_equal(over(lambda x: lax.axis_index("i"), X), range(N))
    np.testing.assert_array_equal(over(lambda x: x * lax.axis_size("i"), X), X * N)


def test_gather_and_scatter():
    found = over(lambda x: lax.all_gather(x, "i"), X)
    np.testing.assert_array_equal(found, np.tile(X, (N, 1)))
    rows = np.arange(2.0 * N * 3, dtype=np.float32).reshape(N, 2, 3)
    side = over(lambda x: lax.all_gather(x, "i", axis=1, tiled=True), rows)
    np.testing.assert_array_equal(side[0], np.concatenate(rows, axis=1))
    pieces = np.arange(float(N * N), dtype=np.float32).reshape(N, N)
    np.testing.assert_array_equal(over(lambda x: lax.psum_scatter(x, "i"), pieces), pieces.sum(0))
    np.testing.assert_array_equal(
        over(lambda x: lax.psum_scatter(jnp.tile(x, 2), "i", tiled=True), pieces),
        np.tile(pieces.sum(0), 2).reshape(N, 2),
    )


def test_exchange():
    rows = np.arange(float(N * N), dtype=np.float32).reshape(N, N)
    np.testing.assert_array_equal(over(lambda x: lax.all_to_all(x, "i", 0, 0), rows), rows.T)
    np.testing.assert_array_equal(over(lambda x: lax.pswapaxes(x, "i", 0), rows), rows.T)
    cube = np.arange(float(N * 2 * N), dtype=np.float32).reshape(N, 2, N)
    np.testing.assert_array_equal(
        over(lambda x: lax.all_to_all(x, "i", 1, 0), cube), cube.transpose(2, 0, 1)
    )


def test_permutations():
    ring = [(k, (k + 1) % N) for k in range(N)]
    np.testing.assert_array_equal(over(lambda x: lax.ppermute(x, "i", ring), X), np.roll(X, 1))
    np.testing.assert_array_equal(
        over(lambda x: lax.ppermute(x, "i", [(0, 2), (3, 1)]), X), [0, X[3], X[0], 0]
    )
    np.testing.assert_array_equal(
        over(lambda x: lax.pshuffle(x, "i", [3, 1, 0, 2]), X), X[[3, 1, 0, 2]]
    )
    np.testing.assert_array_equal(over(lambda x: lax.pbroadcast(x, "i", 2), X), np.full(N, X[2]))


def test_two_axes():
    grid = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def two(f):
        return effax.vmap(effax.vmap(f, axis_name="j"), axis_name="i")(grid)

    np.testing.assert_array_equal(two(lambda x: lax.psum(x, ("i", "j"))), np.full((2, 3), 15))
    np.testing.assert_array_equal(two(lambda x: lax.psum(x, "i")), np.tile(grid.sum(0), (2, 1)))
    np.testing.assert_array_equal(
        two(lambda x: lax.axis_index(("i", "j"))), np.arange(6).reshape(2, 3)
    )
    np.testing.assert_array_equal(
        two(lambda x: lax.all_gather(x, ("i", "j")))[1, 2], np.arange(6.0)
    )
    np.testing.assert_array_equal(two(lambda x: lax.ppermute(x, "i", [(0, 1)]))[1], grid[0])


ROWS, COLUMNS = 2, 3
PIECES = np.arange(6 * 12 * 6.0, dtype=np.float32).reshape(ROWS, COLUMNS, 12, 6)


def on_a_grid(f, x=PIECES):
    return effax.vmap(effax.vmap(f, axis_name="j"), axis_name="i")(x)


@pytest.mark.parametrize("concat", [0, 1])
@pytest.mark.parametrize("split", [0, 1])
@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
def test_exchange_over_two_axes(names, split, concat):
    """Place k gets the k-th piece of each place, in order of the places."""
    order = (0, 1) if names == ("i", "j") else (1, 0)
    places = PIECES.transpose(*order, 2, 3).reshape(6, 12, 6)
    pieces = [np.split(place, 6, split) for place in places]
    expected = np.stack([np.concatenate([p[k] for p in pieces], concat) for k in range(6)])
    lengths = [(ROWS, COLUMNS)[i] for i in order]
    expected = expected.reshape(*lengths, *expected.shape[1:]).transpose(*order, 2, 3)
    found = on_a_grid(lambda x: lax.all_to_all(x, names, split, concat, tiled=True))
    np.testing.assert_array_equal(found, expected)


def test_exchange_over_two_axes_of_what_places_share():
    x = np.arange(6.0)
    found = on_a_grid(lambda _: lax.all_to_all(jnp.asarray(x), ("i", "j"), 0, 0), PIECES)
    np.testing.assert_array_equal(found, np.broadcast_to(x.reshape(2, 3, 1), (2, 3, 6)))


@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
@pytest.mark.parametrize(
    "perm", [[(k, (k + 2) % 6) for k in range(6)], [(0, 4), (3, 1), (5, 0)], [(2, 2)], []]
)
def test_permutation_over_two_axes(perm, names):
    """Places are counted in the order in which the axes are bound, whatever that of the names."""
    places = np.where(PIECES == 5, -0.0, PIECES).reshape(6, 12, 6)
    expected = np.zeros_like(places)
    for s, d in perm:
        expected[d] = places[s]
    found = on_a_grid(lambda x: lax.ppermute(x, names, perm), places.reshape(PIECES.shape))
    np.testing.assert_array_equal(found, expected.reshape(PIECES.shape))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected).reshape(PIECES.shape))


def test_two_axes_through_derivatives():
    def moved(x):
        y = lax.all_to_all(jnp.sin(x), ("i", "j"), 0, 1, tiled=True)
        return lax.ppermute(y, ("i", "j"), [(0, 4), (3, 1), (5, 0)])

    weights = np.cos(np.arange(6 * 2 * 36.0)).reshape(2, 3, 2, 36)
    x = PIECES / 100
    _, tangent = effax.jvp(lambda x: on_a_grid(moved, x), (x,), (np.ones_like(x),))
    back = effax.grad(lambda x: jnp.sum(on_a_grid(moved, x) * weights))(x)
    np.testing.assert_allclose(jnp.sum(back), np.sum(tangent * weights), rtol=1e-4)


def test_a_middle_axis_of_vmap_is_refused():
    def three(f):
        inner = effax.vmap(effax.vmap(f, axis_name="k"), axis_name="j")
        return effax.vmap(inner, axis_name="i")(np.zeros((2, 2, 2, 8)))

    with pytest.raises(NotImplementedError, match="must be the first or the last of the names"):
        three(lambda x: lax.all_to_all(x, ("i", "k", "j"), 0, 0, tiled=True))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.psum(x * x, "i"),
        lambda x: lax.pmean(x * x, "i"),
        lambda x: lax.all_gather(x * x, "i") @ jnp.arange(float(N)),
        lambda x: lax.psum_scatter(x * jnp.arange(float(N)), "i") ** 2,
        lambda x: jnp.sum(lax.all_to_all(x * jnp.arange(float(N)), "i", 0, 0) ** 2),
        lambda x: lax.ppermute(x * x, "i", [(0, 1), (1, 3)]),
        lambda x: lax.pmax(x * x, "i"),
        lambda x: x * lax.axis_index("i"),
        lambda x: lax.scan(lambda c, _: (lax.psum(c, "i") * x, c), x, None, length=2)[0],
        lambda x: lax.cond(True, lambda y: lax.psum(y, "i"), lambda y: y, x * x),
        lambda x: effax.jit(lambda y: lax.psum(y * y, "i"))(x),
    ],
)
def test_derivatives(f):
    """The batched function is one of all the places' values: its gradient by differences."""

    def total(x):
        return jnp.sum(over(f, x) * jnp.arange(1.0, 1 + N))

    found = effax.grad(total)(X)
    h = 1e-2
    steps = h * np.eye(N, dtype=np.float32)
    numeric = [(total(X + s) - total(X - s)) / (2 * h) for s in steps]
    np.testing.assert_allclose(found, numeric, rtol=2e-2, atol=2e-2)
    forward = [effax.jvp(total, (X,), (s / np.float32(h),))[1] for s in steps]
    np.testing.assert_allclose(forward, found, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(effax.jit(effax.grad(total))(X), found, rtol=1e-5, atol=1e-5)


def test_gradient_inside_adds_up_what_all_places_say():
    found = over(effax.grad(lambda x: lax.psum(x * x, "i")), X)
    np.testing.assert_allclose(found, 2 * N * X)


def test_jit_inside_and_out():
    f = effax.jit(lambda x: x / lax.psum(x, "i"))
    np.testing.assert_allclose(over(f, X), X / X.sum(), rtol=1e-6)
    np.testing.assert_allclose(effax.jit(lambda x: over(f, x))(X), X / X.sum(), rtol=1e-6)


def test_unbound_names_are_refused():
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.psum(X, "i")
    with pytest.raises(NameError, match="unbound axis name: j"):
        over(lambda x: lax.psum(x, "j"), X)
    with pytest.raises(NameError, match="unbound axis name: i"):
        effax.jit(lambda x: lax.axis_index("i") + x)(1.0)
    with pytest.raises(NameError, match="unbound axis name: j"):
        over(lambda x: lax.psum(x, "j", axis_index_groups=[[0, 1], [2, 3]]), X)


def test_bad_operands_are_refused():
    with pytest.raises(ValueError, match="must match shard count"):
        over(lambda x: lax.psum_scatter(jnp.ones(3) * x, "i"), X)
    with pytest.raises(ValueError, match="requires the size of the mapped axis"):
        over(lambda x: lax.all_to_all(jnp.ones(3) * x, "i", 0, 0), X)
    with pytest.raises(ValueError, match="outside"):
        over(lambda x: lax.ppermute(x, "i", [(0, N)]), X)
    with pytest.raises(ValueError, match="at most once"):
        over(lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), X)
    with pytest.raises(ValueError, match="permutation"):
        over(lambda x: lax.pshuffle(x, "i", [0, 0, 1, 2]), X)


def test_collectives_of_several_shapes_on_one_device():
    mesh = effax.make_mesh((1, 1), ("a", "b"))
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def f(x):
        y = lax.psum(lax.all_to_all(x, "b", 0, 1, tiled=True), "a")
        y = lax.ppermute(lax.psum_scatter(y, "b", tiled=True), "b", [(0, 0)])
        return lax.psum(jnp.sum(lax.all_gather(y, "a")), "b"), lax.pmax(y, ("a", "b"))

    mapped = effax.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    total, highest = effax.jit(mapped)(x)
    assert total == 15 and (highest == x).all()
