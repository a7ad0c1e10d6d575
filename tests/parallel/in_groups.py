"""Collectives among groups of places: vmap, pmap and shard_map against NumPy, group by group.

`test_mesh.py` runs this file on eight devices.
"""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, shard_map
from effax.sharding import Mesh

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = Mesh(np.array(effax.devices()), ("i",))
SQUARE = Mesh(np.array(effax.devices()).reshape(2, 4), ("x", "y"))
GROUPS = {
    "neighbours": [[0, 1], [2, 3], [4, 5], [6, 7]],
    "strided": np.arange(8).reshape(4, 2).T,
    "mixed": [[5, 0, 3, 6], (1, 7, 2, 4)],
    "one each": [[i] for i in range(8)],
    "all": [[3, 1, 2, 0, 7, 5, 6, 4]],
    "unequal": [[0, 1, 7], [2, 3, 4, 5], [6]],
}
X = np.random.default_rng(0).standard_normal((8, 8, 3)).astype("f4")


def pieces(rows):
    """The rows of a group cut into as many pieces as there are rows: [place][piece]."""
    return np.stack([np.stack(np.split(row, len(rows))) for row in rows])


# What is called at each place, and what NumPy makes of the rows of one group.
EVERY = {
    "psum": (lambda x, g: lax.psum(x, "i", axis_index_groups=g), lambda r: [r.sum(0)] * len(r)),
    "pmean": (lambda x, g: lax.pmean(x, "i", axis_index_groups=g), lambda r: [r.mean(0)] * len(r)),
    "pmax": (lambda x, g: lax.pmax(x, "i", axis_index_groups=g), lambda r: [r.max(0)] * len(r)),
    "pmin": (lambda x, g: lax.pmin(x, "i", axis_index_groups=g), lambda r: [r.min(0)] * len(r)),
    "psum of a number": (
        lambda x, g: x * lax.psum(2.0, "i", axis_index_groups=g),
        lambda r: r * 2 * len(r),
    ),
}
EQUAL = {
    "all_gather": (
        lambda x, g: lax.all_gather(x, "i", axis_index_groups=g, axis=1).sum(0),
        lambda r: [np.stack(r, 1).sum(0)] * len(r),
    ),
    "all_gather, tiled": (
        lambda x, g: lax.all_gather(x, "i", axis_index_groups=g, axis=-1, tiled=True),
        lambda r: [np.concatenate(r, -1)] * len(r),
    ),
    "psum_scatter": (
        lambda x, g: lax.psum_scatter(x, "i", axis_index_groups=g, tiled=True),
        lambda r: pieces(r).sum(0),
    ),
    "all_to_all": (
        lambda x, g: lax.all_to_all(x, "i", 0, 1, axis_index_groups=g, tiled=True),
        lambda r: [np.concatenate(p, 1) for p in pieces(r).swapaxes(0, 1)],
    ),
}
CASES = [(name, groups) for name in EVERY for groups in ("strided", "unequal")]
CASES += [(name, groups) for name in EQUAL for groups in ("neighbours", "mixed")]
CASES += [("psum", "one each"), ("all_gather", "all"), ("all_to_all", "one each")]


def wanted(name, groups, x):
    found = [None] * len(x)
    for group in GROUPS[groups]:
        rows = {**EVERY, **EQUAL}[name][1](x[list(group)])
        for place, row in zip(group, rows, strict=True):
            found[place] = row
    return np.stack(found)


def maps(f):
    yield "vmap", effax.vmap(f, axis_name="i")
    yield "pmap", effax.pmap(f, axis_name="i")
    yield "one device", effax.jit(effax.vmap(f, axis_name="i"))
    for check in True, False:
        g = lambda x: f(x[0])[None]  # noqa: E731 - a row is a place's block
        yield (
            f"shard_map, check_vma={check}",
            shard_map(g, mesh=MESH, in_specs=P("i"), out_specs=P("i"), check_vma=check),
        )


@pytest.mark.parametrize(("name", "groups"), CASES)
def test_values_and_derivatives_by_group(name, groups):
    call = {**EVERY, **EQUAL}[name][0]
    y = wanted(name, groups, X)
    weights = np.random.default_rng(1).standard_normal(y.shape).astype("f4")
    slopes = {}
    for how, mapped in maps(lambda x: call(x, GROUPS[groups])):
        np.testing.assert_allclose(mapped(X), y, rtol=1e-5, atol=1e-6, err_msg=how)
        loss = effax.grad(lambda x, mapped=mapped: (mapped(x) * weights).sum())
        slopes[how] = np.asarray(loss(jnp.asarray(X)))
        _, moved = effax.jvp(mapped, (jnp.asarray(X),), (jnp.asarray(X),))
        if name not in ("pmax", "pmin"):  # all others are linear
            np.testing.assert_allclose(moved, y, rtol=1e-5, atol=1e-6, err_msg=how)
    for how, slope in slopes.items():
        np.testing.assert_allclose(slope, slopes["vmap"], rtol=1e-5, atol=1e-5, err_msg=how)
    # Linear in x, so that <weights, f(x)> = <f'(weights), x>; maxima are homogeneous, as well.
    np.testing.assert_allclose((slopes["vmap"] * X).sum(), (weights * y).sum(), rtol=1e-4)


def test_groups_along_two_axes_of_a_mesh():
    """Places are counted in row-major order of the names, here the columns first."""
    x = np.arange(8.0, dtype="f4")
    groups = [[0, 3], [1, 2], [4, 7], [5, 6]]
    order = np.arange(8).reshape(2, 4).T.reshape(-1)  # place along ("y", "x") to place of the mesh

    def f(v):
        total = lax.psum(v, ("y", "x"), axis_index_groups=groups)
        return total, lax.all_gather(v, ("y", "x"), axis_index_groups=groups, tiled=True)

    total, rows = shard_map(f, mesh=SQUARE, in_specs=P(("x", "y")), out_specs=P(("x", "y")))(x)
    for group in groups:
        members = order[group]
        assert np.array_equal(total[members], [x[members].sum()] * 2)
        for place in members:
            assert np.array_equal(rows.reshape(8, 2)[place], x[members])


def test_a_batch_inside_and_outside():
    groups = [[0, 2], [1, 3]]
    inside = Mesh(np.array(effax.devices()[:4]), ("i",))
    x = np.random.default_rng(2).standard_normal((5, 4, 4, 2)).astype("f4")

    def f(v):
        rows = lax.all_to_all(v[0], "i", 0, 0, axis_index_groups=groups, tiled=True)
        return (rows + lax.psum_scatter(v[0], "i", axis_index_groups=groups, tiled=True)[0])[None]

    one = shard_map(f, mesh=inside, in_specs=P("i"), out_specs=P("i"))
    each = np.stack([one(v) for v in x])
    np.testing.assert_allclose(effax.vmap(one)(x), each, rtol=1e-6)
    lanes = shard_map(effax.vmap(f), mesh=inside, in_specs=P(None, "i"), out_specs=P(None, "i"))
    np.testing.assert_allclose(lanes(x), each, rtol=1e-6)


def test_rows_of_different_numbers_within_groups():
    groups = [[0, 3], [2, 1], [4, 6], [7, 5]]
    x = np.arange(16.0, dtype="f4").reshape(8, 2)

    def f(v):
        each = jnp.ones(2, int)
        mine = jnp.full(2, jnp.asarray([0, 1, 0, 1, 0, 1, 1, 0])[lax.axis_index("i")])
        return lax.ragged_all_to_all(
            v,
            jnp.zeros(2),
            jnp.arange(2),
            each,
            mine,
            each,
            axis_name="i",
            axis_index_groups=groups,
        )

    found = effax.vmap(f, axis_name="i")(x)
    for a, b in groups:
        assert np.array_equal(found[a], [x[a, 0], x[b, 0]])
        assert np.array_equal(found[b], [x[a, 1], x[b, 1]])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1], [2, 3]], "must cover all indices exactly once, which are 0 to 7"),
        ([[0, 1, 2, 3, 4, 5, 6, 7, 0]], "must cover all indices exactly once"),
        ([[0, 1, 2], [3, 4, 5, 6, 7]], "must have groups of one length"),
    ],
)
def test_groups_that_do_not_fit(groups, message):
    with pytest.raises(ValueError, match=message):
        effax.vmap(lambda x: lax.all_gather(x, "i", axis_index_groups=groups), axis_name="i")(X)


def test_groups_that_are_no_lists():
    with pytest.raises(TypeError, match="must be lists of the places' indices"):
        effax.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[0, 1]), axis_name="i")(X)


def test_groups_along_an_axis_of_vmap_and_another():
    f = effax.vmap(
        effax.vmap(
            lambda x: lax.psum(x, ("i", "j"), axis_index_groups=[[0, 1], [2, 3]]), axis_name="j"
        ),
        axis_name="i",
    )
    with pytest.raises(NotImplementedError, match="groups are of places along that axis alone"):
        f(np.ones((2, 2), "f4"))


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_groups_of_other_lengths_on_other_chips(platform):
    def lowered(groups):
        f = shard_map(
            lambda x: lax.psum(x, "i", axis_index_groups=groups),
            mesh=MESH,
            in_specs=P("i"),
            out_specs=P("i"),
        )
        return effax.export.export(effax.jit(f), platforms=[platform])(X).mlir_module()

    pairs = np.arange(8).reshape(2, 4)
    assert "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>" in lowered(pairs)
    if platform == "cuda":
        padded = "dense<[[0, 1, 7, -1], [2, 3, 4, 5], [6, -1, -1, -1]]> : tensor<3x4xi64>"
        assert padded in lowered(GROUPS["unequal"])
    else:
        with pytest.raises(NotImplementedError, match="groups of one length"):
            lowered(GROUPS["unequal"])
