"""`shard_map` on eight CPU devices, against the same on whole arrays; run by `test_mesh.py`."""

import json
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, shard_map, smap
from effax.backends.reference.evaluate import run as run_by_reference
from effax.experimental import checkify
from effax.sharding import Mesh, NamedSharding, get_abstract_mesh
from tests.parallel.inside import answers, programs

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = Mesh(np.array(effax.devices()).reshape(2, 4), ("x", "y"))
HOST = np.arange(64.0, dtype=np.float32).reshape(8, 8) / 9
BLOCKS = HOST.reshape(2, 4, 4, 2).transpose(0, 2, 1, 3)  # of the mesh's places, then of each


def mapped(f, ins, outs, **options):
    return shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, **options)


# A function of one place, specs, and what comes of it on the whole array.
CASES = {
    "pieces": (lambda x: x * 2, P("x", "y"), P("x", "y"), lambda x: 2 * x),
    "sum of columns": (
        lambda x: lax.psum(x, "y"),
        P("x", "y"),
        P("x"),
        lambda x: x.reshape(8, 4, 2).sum(1),
    ),
    "sum of all": (
        lambda x: lax.psum(jnp.sin(x), ("x", "y")),
        P("x", "y"),
        P(),
        lambda x: jnp.sin(x).reshape(2, 4, 4, 2).sum((0, 2)),
    ),
    "mean": (lambda x: lax.pmean(x, "x"), P("x"), P(), lambda x: x.reshape(2, 4, 8).mean(0)),
    "largest": (lambda x: lax.pmax(x, "x"), P("x"), P(), lambda x: x.reshape(2, 4, 8).max(0)),
    "normalised": (
        lambda x: x / lax.psum(x.sum(1, keepdims=True), "y"),
        P(None, "y"),
        P(None, "y"),
        lambda x: x / x.sum(1, keepdims=True),
    ),
    "indices": (
        lambda x: x + 10 * lax.axis_index("x") + lax.axis_index("y"),
        P("x", "y"),
        P("x", "y"),
        lambda x: x + jnp.arange(8)[:, None] // 4 * 10 + jnp.arange(8) // 2,
    ),
    "gathered": (
        lambda x: lax.all_gather(x, "y", axis=1, tiled=True) * lax.axis_index("y"),
        P(None, "y"),
        P("y"),
        lambda x: (x[None] * jnp.arange(4.0)[:, None, None]).reshape(32, 8),
    ),
    "scattered": (
        lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True),
        P("x"),
        P(None, "x"),
        lambda x: x.reshape(2, 4, 8).sum(0),
    ),
    "exchanged": (
        lambda x: lax.all_to_all(x, "y", 1, 0, tiled=True),
        P("y"),
        P(None, "y"),
        lambda x: x,
    ),
    "exchanged over two axes": (
        lambda x: lax.all_to_all(x, ("x", "y"), 1, 0, tiled=True),
        P(("x", "y")),
        P(None, ("x", "y")),
        lambda x: x,
    ),
    "rotated over two axes": (
        lambda x: lax.ppermute(x, ("x", "y"), [(i, (i + 1) % 8) for i in range(8)]),
        P(("x", "y")),
        P(("x", "y")),
        lambda x: jnp.roll(x, 1, 0),
    ),
    "rotated": (
        lambda x: lax.ppermute(x, "y", [(i, (i + 1) % 4) for i in range(4)]),
        P("y"),
        P("y"),
        lambda x: jnp.roll(x, 2, 0),
    ),
    "joined axes": (
        lambda x: lax.axis_index(("x", "y")) * x,
        P(("x", "y")),
        P(("x", "y")),
        lambda x: x * jnp.arange(8.0)[:, None],
    ),
    "loops": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: c + lax.psum(x, "y") + lax.axis_index("y"), x),
        P(None, "y"),
        P(None, "y"),
        lambda x: x + 3 * jnp.tile(x.reshape(8, 4, 2).sum(1), (1, 4)) + 3.0 * (jnp.arange(8) // 2),
    ),
    "scans": (
        lambda x: lax.scan(lambda c, a: (c + lax.psum(a, "y"), c * a), x[0] * 0, x)[1],
        P(None, "y"),
        P(None, "y"),
        lambda x: (
            jnp.concatenate(
                [
                    jnp.zeros((1, 8)),
                    jnp.cumsum(jnp.tile(x.reshape(8, 4, 2).sum(1), (1, 4)), 0)[:-1],
                ]
            )
            * x
        ),
    ),
    "partly": (
        lambda x: lax.psum(jnp.cos(x).sum(1, keepdims=True), "x") + lax.axis_index("x"),
        P("x"),
        P("x"),
        lambda x: (
            jnp.tile(jnp.cos(x).sum(1, keepdims=True).reshape(2, 4, 1).sum(0), (2, 1))
            + jnp.arange(8)[:, None] // 4
        ),
    ),
}
OPTIONS = {"partly": {"axis_names": {"x"}}}


def case(name):
    f, ins, outs, whole = CASES[name]
    return mapped(f, ins, outs, **OPTIONS.get(name, {})), whole


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, whole = case(name)
    cut = effax.device_put(HOST, NamedSharding(MESH, P("y", "x")))
    wanted = whole(jnp.asarray(HOST))
    for found in (f(HOST), effax.jit(f)(cut), effax.jit(lambda x: f(x) + 0)(HOST)):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    if "x" in CASES[name][2].used or "y" in CASES[name][2].used:
        assert f(HOST).sharding == NamedSharding(MESH, CASES[name][2])


def quick(names, few):
    """All of the names; those that are not among the few run in `make test-all` only."""
    return [n if n in few else pytest.param(n, marks=pytest.mark.slow) for n in names]


@pytest.mark.parametrize("name", quick(CASES, {"sum of columns", "gathered", "partly", "scans"}))
def test_derivatives_and_batches(name):
    f, whole = case(name)
    x = jnp.asarray(HOST)
    weights = jnp.cos(jnp.arange(whole(x).size, dtype=jnp.float32)).reshape(whole(x).shape)

    def loss(g):
        return lambda x: jnp.sum(weights * g(x) ** 2)

    wanted = effax.grad(loss(whole))(x)
    np.testing.assert_allclose(effax.jit(effax.grad(loss(f)))(x), wanted, rtol=1e-3, atol=1e-3)
    _, tangent = effax.jvp(f, (x,), (jnp.sin(x),))
    np.testing.assert_allclose(
        tangent, effax.jvp(whole, (x,), (jnp.sin(x),))[1], rtol=1e-3, atol=1e-3
    )
    many = jnp.stack([x, -x])
    np.testing.assert_allclose(
        effax.jit(effax.vmap(f))(many), effax.vmap(whole)(many), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", ["sum of columns", "gathered", "loops", "partly", "exchanged"])
def test_the_reference_agrees(name):
    f, whole = case(name)
    program = effax.make_program(f)(HOST)
    (found,) = run_by_reference(program, [HOST])
    np.testing.assert_allclose(found, whole(jnp.asarray(HOST)), rtol=1e-5, atol=1e-5)


def test_second_derivatives_and_batches_of_gradients():
    def f(w, x):
        return mapped(
            lambda w, x: lax.psum(jnp.sum(jnp.tanh(x @ w) ** 2), ("x", "y")),
            (P(), P(("x", "y"))),
            P(),
        )(w, x)

    def whole(w, x):
        return jnp.sum(jnp.tanh(x @ w) ** 2)

    w = jnp.linspace(-0.5, 0.5, 8)
    np.testing.assert_allclose(
        effax.jit(effax.hessian(f))(w, HOST), effax.hessian(whole)(w, HOST), rtol=1e-3, atol=1e-3
    )
    ws = jnp.stack([w, 2 * w, 3 * w])
    np.testing.assert_allclose(
        effax.jit(effax.vmap(effax.grad(f), (0, None)))(ws, HOST),
        effax.vmap(effax.grad(whole), (0, None))(ws, HOST),
        rtol=1e-3,
        atol=1e-3,
    )


def test_a_batch_cut_along_a_mesh_axis():
    shapes = []

    def f(x):
        shapes.append(effax.typeof(x).shape)
        return lax.psum(x, "y") * 2

    batch = effax.vmap(mapped(f, P("y"), P(), axis_names={"y"}), spmd_axis_name="x")
    found = effax.jit(batch)(HOST)
    np.testing.assert_allclose(found, 2 * HOST.reshape(8, 4, 2).sum(1), rtol=1e-5)
    assert found.sharding == NamedSharding(MESH, P("x")) and shapes == [(2,)]
    gradient = effax.jit(effax.grad(lambda x: jnp.sum(batch(x) ** 2)))(HOST)
    wanted = np.tile(8 * HOST.reshape(8, 4, 2).sum(1), (1, 4))
    np.testing.assert_allclose(gradient, wanted, rtol=1e-4)


def test_trees_captured_values_and_no_arguments():
    table = jnp.arange(8.0)

    def f(tree, z):
        return {"s": tree["a"] + table, "t": lax.psum(tree["b"] * z, "x")}

    found = mapped(f, ({"a": P("x"), "b": P("x")}, P()), {"s": P("x"), "t": P()})(
        {"a": HOST, "b": HOST}, 2.0
    )
    np.testing.assert_allclose(found["s"], HOST + np.arange(8.0))
    np.testing.assert_allclose(found["t"], 2 * HOST.reshape(2, 4, 8).sum(0), rtol=1e-6)
    np.testing.assert_array_equal(mapped(lambda: lax.axis_index("x")[None], (), P("x"))(), [0, 1])
    inner = effax.jit(lambda x, s: effax.grad(lambda s: jnp.sum(jnp.sin(s * x)))(s))
    np.testing.assert_allclose(
        mapped(inner, (P("x"), P("x")), P("x"))(HOST, HOST),
        HOST * np.cos(HOST * HOST),
        rtol=1e-4,
        atol=1e-5,
    )


def test_constraints_and_callbacks_where_some_axes_are_mapped():
    def f(x):
        return lax.with_sharding_constraint(2 * x, P(None, "y"))

    found = effax.jit(mapped(f, P("x"), P("x"), axis_names={"x"}))(HOST)
    assert found.sharding == NamedSharding(MESH, P("x", "y"))
    np.testing.assert_array_equal(found, 2 * HOST)
    with pytest.raises(ValueError, match="one piece along them"):
        mapped(lambda x: lax.with_sharding_constraint(x, P("x")), P("x"), P("x"))(HOST)
    with pytest.raises(NotImplementedError, match="some axes of its mesh"):
        mapped(
            lambda x: (effax.debug.print("{}", x[0, 0]), x)[1], P("x"), P("x"), axis_names={"x"}
        )(HOST)
    with pytest.raises(NotImplementedError, match="under pmap"):
        effax.pmap(mapped(lambda x: x, P("x"), P("x")))(HOST)


def test_a_mesh_of_one_device():
    one = effax.make_mesh((1,), ("x",))

    def f(x):
        rows = lax.all_gather(x, "x"), lax.psum_scatter(x, "x", tiled=True)
        moved = lax.ppermute(x, "x", [(0, 0)]), lax.all_to_all(x, "x", 0, 0, tiled=True)
        return lax.psum(x, "x") + lax.axis_index("x") + rows[0][0] + rows[1] + sum(moved)

    g = shard_map(f, mesh=one, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(effax.jit(g)(HOST), 5 * HOST, rtol=1e-6)


def test_extrema_of_nan():
    x = np.array([1.0, np.nan, 3.0, 4.0], np.float32)
    f = mapped(lambda x: (lax.pmax(x, "y"), lax.pmin(x, "y")), P("y"), (P(), P()))
    np.testing.assert_array_equal(f(x), [[np.nan], [np.nan]])


def test_maps_inside_maps():
    def outer(x):
        inner = shard_map(
            lambda y: y * lax.axis_index("y") + lax.axis_index("x"),
            in_specs=P("y"),
            out_specs=P("y"),
            axis_names={"y"},
        )
        return inner(x) + lax.psum(x, "x")

    f = effax.jit(mapped(outer, P("x"), P("x"), axis_names={"x"}))
    column = np.arange(8)[:, None]
    wanted = HOST * (column % 4) + column // 4 + np.tile(HOST.reshape(2, 4, 8).sum(0), (2, 1))
    np.testing.assert_allclose(f(HOST), wanted, rtol=1e-5)


def test_derivatives_of_maps_inside_maps():
    def total(x):
        inner = shard_map(
            lambda y: lax.psum(jnp.sum(jnp.sin(y) ** 2), "y"),
            in_specs=P("y"),
            out_specs=P(),
            axis_names={"y"},
        )
        return inner(x)

    def own(x):
        return effax.grad(lambda x: lax.psum(total(x), "x"))(x)

    wanted = np.sin(2 * HOST)
    found = effax.jit(mapped(own, P("x"), P("x"), axis_names={"x"}))(HOST)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    outside = mapped(lambda x: lax.psum(total(x), "x"), P("x"), P(), axis_names={"x"})
    np.testing.assert_allclose(effax.jit(effax.grad(outside))(HOST), wanted, rtol=1e-4, atol=1e-5)


def test_types_do_not_leave_the_pieces():
    @effax.custom_vjp
    def f(x):
        return jnp.sum(x**2)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * ct * x,))

    def inside(x):
        types = effax.eval_shape(lambda x: effax.grad(f)(x), x)
        assert types.manual_axis_type.varying == {"x"}
        return effax.grad(f)(x) + effax.pure_callback(np.sin, types, x)

    program = effax.make_program(effax.grad(lambda x: jnp.sum(mapped(inside, P("x"), P("x"))(x))))
    with pytest.raises(ValueError, match="callback"):
        program(HOST)
    found = mapped(inside, P("x"), P("x"))(HOST)
    assert effax.typeof(found) is effax.typeof(HOST)
    np.testing.assert_allclose(found, 3 * HOST + np.sin(HOST), rtol=1e-5)


def test_the_mesh_in_context():
    with effax.set_mesh(MESH):
        total = shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
        np.testing.assert_array_equal(total(jnp.arange(8.0)), [4.0, 6.0, 8.0, 10.0])
        f = smap(lambda w: lax.psum(w, "x"), in_axes=0, out_axes=None, axis_name="x")
        np.testing.assert_array_equal(effax.jit(f)(jnp.arange(4.0)), [2.0, 4.0])
        inside = []
        shard_map(
            lambda x: inside.append(get_abstract_mesh().manual_axes) or x,
            in_specs=P("x"),
            out_specs=P("x"),
            axis_names={"x"},
        )(jnp.arange(4.0))
        assert inside == [("x",)]


def test_checks_of_all_places():
    def f(x):
        checkify.check(jnp.all(x < 7), "too large: {}", jnp.max(x))
        return lax.psum(jnp.log(x + 1), "x")

    checked = checkify.checkify(mapped(f, P("x"), P()), errors=checkify.user_checks)
    error, found = checked(HOST)
    assert "too large" in error.get()
    np.testing.assert_allclose(found, np.log(HOST + 1).reshape(2, 4, 8).sum(0), rtol=1e-5)
    assert checked(HOST / 2)[0].get() is None


def test_callbacks_of_each_place(capfd):
    f = effax.jit(
        mapped(lambda x: (effax.debug.print("sum {}", x.sum()), x)[1], P(("x", "y")), P(("x", "y")))
    )
    f(HOST)
    effax.effects_barrier()
    assert capfd.readouterr().out.count("sum") == 8


def test_training_in_pieces():
    rows = effax.random.normal(effax.random.key(0), (16, 4))
    targets = rows @ jnp.arange(4.0)

    def loss(w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    spread = mapped(
        lambda w, x, y: lax.pmean(loss(w, x, y), ("x", "y")),
        (P(), P(("x", "y")), P(("x", "y"))),
        P(),
    )
    one = two = jnp.zeros(4)
    step = effax.jit(effax.grad(spread))
    for _ in range(5):
        one -= 0.1 * step(one, rows, targets)
        two -= 0.1 * effax.grad(loss)(two, rows, targets)
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


ERRORS = {
    "uneven": (
        lambda: mapped(lambda a: a, P("x"), P("x"))(np.ones((7, 8))),
        "not evenly divisible",
    ),
    "other axis": (lambda: mapped(lambda a: a, P("z"), P("x"))(HOST), "marked as manual"),
    "not mapped": (
        lambda: mapped(lambda a: a, P("x"), P(("x", "y")), axis_names={"x"})(HOST),
        "out_specs refers to 'y'",
    ),
    "long": (lambda: mapped(lambda a: a.sum(), P("x"), P("x"))(HOST), "too long"),
    "arguments": (lambda: mapped(lambda a: a, (P("x"), P()), P("x"))(HOST), "pytree structure"),
    "results": (lambda: mapped(lambda a: a, P("x"), (P("x"), P()))(HOST), "pytree structure"),
    "no mesh": (lambda: shard_map(lambda a: a, in_specs=P(), out_specs=P())(HOST), "context mesh"),
    "names": (
        lambda: mapped(lambda a: a, P(), P(), axis_names={"q"})(HOST),
        "to be a subset of",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, text = ERRORS[name]
    with pytest.raises(ValueError, match=text):
        call()


def test_no_specs():
    with pytest.raises(NotImplementedError, match="pass in_specs"):
        shard_map(lambda a: a, mesh=MESH, out_specs=P())(HOST)
    cut = effax.device_put(HOST, NamedSharding(MESH, P("x")))
    found = shard_map(lambda a: a + 1, mesh=MESH, out_specs=P("x"))(cut)
    np.testing.assert_array_equal(found, HOST + 1)


class Opaque:
    """An object that is no array."""


def test_what_is_no_array_has_no_spec_and_is_passed_as_it_is():
    seen, one, other = [], Opaque(), [Opaque(), {"name"}]

    def f(a, x, b):
        seen.append((a, b))
        return x + jnp.ones(b[2])

    for _ in range(2):
        found = mapped(f, (None, P("x"), None), P("x"))(one, HOST, (*other, (1, 8)))
        np.testing.assert_array_equal(found, HOST + 1)
    assert all(a is one and b[0] is other[0] and b[1] is other[1] for a, b in seen)
    np.testing.assert_array_equal(mapped(lambda a: 2 * a, None, P())(HOST), 2 * HOST)
    with pytest.raises(ValueError, match="divisible"):
        mapped(f, (None, P("x"), None), P("x"))(one, HOST[:3], other)


def test_a_batch_is_cut_along_axes_that_nothing_else_uses():
    twice = mapped(lambda a: 2 * a, P("x"), P("x"))
    found = effax.jit(effax.vmap(twice, spmd_axis_name="y"))(HOST)
    assert found.sharding.spec == P("y", "x")
    np.testing.assert_array_equal(found, 2 * HOST)
    # JAX adds up rows of the batch here.
    summed = mapped(lambda a: effax.lax.psum(a, "y"), P("x"), P("x"), check_vma=False)
    found = effax.jit(effax.vmap(summed, spmd_axis_name="y"))(HOST)
    np.testing.assert_array_equal(found, HOST * MESH.shape["y"])


def test_places_that_have_the_same_share_their_residuals():
    text = str(
        effax.make_jaxpr(effax.grad(lambda a: mapped(jnp.sin, P("x"), P("x"))(a).sum()))(HOST)
    )
    assert "psum" not in text
    assert "P(('x', 'y'),)" not in text


GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "inside.json").read_text())
LINE = Mesh(np.array(effax.devices()).reshape(2, 4), ("a", "b"))


@pytest.mark.parametrize(
    "name",
    quick(
        programs(effax),
        {"shared", "mean", "own", "cast", "scan", "cond", "jit inside", "vjp", "both uses"},
    ),
)
def test_derivatives_inside_are_those_of_jax(name):
    found = answers(effax, LINE, [name])[name]
    for one, other in zip(found, GOLDENS[name], strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


def test_branches_that_not_all_places_take():
    def branched(w, x):
        squares = lambda: jnp.sum(lax.pcast(w, "x", to="varying") ** 2)  # noqa: E731
        return lax.cond(x[0, 0] > 30 / 9, lambda: jnp.sum(w * x[0]), squares)

    def selected(w, x):
        return jnp.where(x[0, 0] > 30 / 9, jnp.sum(w * x[0]), jnp.sum(w**2))

    w = jnp.arange(8.0)
    one, two = (
        effax.jit(mapped(effax.grad(f), (P(), P("x")), P()))(w, HOST) for f in (branched, selected)
    )
    np.testing.assert_allclose(one, two, rtol=1e-5)
    np.testing.assert_allclose(one, 2 * np.arange(8.0) + HOST[4], rtol=1e-5)


def test_results_that_may_differ_are_refused():
    for body in (
        lambda x: 2 * x,
        lambda x: lax.all_gather(x, "x"),
        lambda x: x + lax.axis_index("y"),
    ):
        with pytest.raises(ValueError, match=r"varying across mesh axes \{\} and not \{x,y\}"):
            mapped(body, P("x"), P())(HOST)
    found = mapped(lambda x: lax.all_gather(x, "x", tiled=True), P("x"), P(), check_vma=False)(HOST)
    np.testing.assert_array_equal(found, HOST)
    with pytest.raises(ValueError, match="may already differ along"):
        mapped(lambda x: lax.pcast(x, "x", to="varying"), P("x"), P("x"))(HOST)
    with pytest.raises(ValueError, match="`to` must be 'varying'"):
        mapped(lambda x: lax.pcast(x, "y", to="other"), P("x"), P("x", "y"))(HOST)
    wider = mapped(lambda x: lax.pcast(x, "y", to="varying"), P("x"), P("x", "y"))(HOST)
    np.testing.assert_array_equal(wider, np.tile(HOST, (1, 4)))


def test_types_inside():
    seen = []

    def f(x):
        places = (
            x,
            lax.psum(x, "x"),
            lax.axis_index("y"),
            lax.pmax(x, "x"),
            x + lax.axis_index("y"),
        )
        seen.extend(set(effax.typeof(y).manual_axis_type.varying) for y in places)
        return x

    mapped(f, P("x"), P("x"))(HOST)
    assert seen == [{"x"}, set(), {"y"}, set(), {"x", "y"}]


def test_programs_say_nothing_of_places_when_they_are_made():
    program = effax.make_program(mapped(effax.grad(lambda w: jnp.sum(w * 2)), P(), P()))(HOST)
    assert "{V:" not in str(program) and "pvary" not in str(program)
