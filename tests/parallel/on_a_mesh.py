"""Meshes, shardings and `shard_map` on eight CPU devices; `test_mesh.py` runs this file there."""

import pickle

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import checkify
from effax.experimental.pjit import pjit
from effax.sharding import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
)

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = Mesh(np.array(effax.devices()).reshape(2, 4), ("x", "y"))
HOST = np.arange(64.0, dtype=np.float32).reshape(8, 8) / 7


def over(*spec):
    return NamedSharding(MESH, P(*spec))


@pytest.fixture
def cut():
    return effax.device_put(HOST, over("x", "y"))


# ---------------------------------------------------------------------------- values and places


SPECS = [
    (("x", "y"), (4, 2), 1),
    (("y", "x"), (2, 4), 1),
    ((("x", "y"),), (1, 8), 1),
    ((None, ("y", "x")), (8, 1), 1),
    (("y",), (2, 8), 2),
    ((None, "x"), (8, 4), 4),
    ((), (8, 8), 8),
]


@pytest.mark.parametrize(("spec", "shape", "copies"), SPECS)
def test_pieces_lie_where_the_spec_says(spec, shape, copies):
    x = effax.device_put(HOST, over(*spec))
    assert x.sharding == over(*spec) and x.committed
    assert x.devices() == set(effax.devices())
    assert x.is_fully_replicated is (copies == 8)
    np.testing.assert_array_equal(x, HOST)
    shards = x.addressable_shards
    assert [s.device for s in shards] == effax.devices()
    assert max(s.replica_id for s in shards) == copies - 1
    for i, s in enumerate(shards):
        assert s.data.shape == shape == x.sharding.shard_shape(x.shape)
        assert s.data.devices() == {s.device}
        np.testing.assert_array_equal(s.data, HOST[s.index])
        np.testing.assert_array_equal(x.addressable_data(i), HOST[s.index])
    assert len(x.global_shards) == 8
    # The piece of the device at (i, j) of the mesh is the block that its coordinates say.
    for (i, j), device in np.ndenumerate(MESH.devices):
        at = {"x": (i, 2), "y": (j, 4)}
        index = x.sharding.devices_indices_map(x.shape)[device]
        for axis, names in enumerate(spec):
            place = 0
            for name in names if isinstance(names, tuple) else (names,) if names else ():
                place = place * at[name][1] + at[name][0]
            assert (index[axis].start or 0) == place * shape[axis]


OPERATIONS = {
    "add": (lambda x: x + 1, P("x", "y")),
    "two": (lambda x: x * x, P("x", "y")),
    "numpy": (lambda x: x + HOST, P("x", "y")),
    "columns": (lambda x: x.sum(0), P("y")),
    "rows": (lambda x: x.max(1), P("x")),
    "total": (lambda x: x.sum(), P()),
    "transposed": (lambda x: jnp.sin(x).T, P("y", "x")),
    "product": (lambda x: x @ x.T, P("x")),
    "row": (lambda x: x[0], P("y")),
    "joined": (lambda x: jnp.concatenate([x, x]), P("x", "y")),
    "written": (lambda x: x.at[0, 0].set(3.0), P("x", "y")),
    "where": (lambda x: jnp.where(x > 3, x, 0), P("x", "y")),
    "uneven": (lambda x: x[:3], P(None, "y")),
    "softmax": (lambda x: effax.nn.softmax(x, 1), P("x", "y")),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * 2), jnp.zeros(8), x)[1], P(None, "y")),
    "solve": (lambda x: jnp.linalg.solve(x @ x.T + 8 * jnp.eye(8), x), None),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_computation_follows_data(cut, name):
    f, spec = OPERATIONS[name]
    wanted = f(jnp.asarray(HOST))
    for found in (f(cut), effax.jit(f)(cut)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        assert len(found.devices()) == 8
        if spec is not None:
            assert found.sharding == NamedSharding(MESH, spec)


NAN = HOST.copy()
NAN[5, 3] = np.nan
SIMILAR = {
    "maximum": (lambda x: x.max(), NAN),
    "minima": (lambda x: x.min(0), NAN),
    "position": (lambda x: jnp.argmax(x, 0), NAN),
    "complex": (lambda x: x.max(1), HOST + 1j * HOST.T),
    "bits": (lambda x: lax.reduce_xor(x, (0,)), (100 * HOST).astype(np.int32)),
    "parity": (lambda x: lax.reduce(x, 0, lambda a, b: (a + b) % 2, (1,)), np.int32(7 * HOST)),
    "sorted": (lambda x: jnp.sort(x, 0), NAN),
    "cumulative": (lambda x: lax.cummax(x, 0), HOST[::-1].copy()),
    "gathered": (lambda x: x[jnp.array([1, 7, 3])], HOST),
    "scattered": (lambda x: x.at[jnp.array([1, 7, 1])].add(1), HOST),
    "checked": (
        lambda x: (
            checkify.checkify(lambda x: jnp.log(x - 1), errors=checkify.nan_checks)(x)[0].get()
            is None
        ),
        NAN,
    ),
}


@pytest.mark.parametrize("name", SIMILAR)
def test_what_devices_exchange_is_what_one_computes(name):
    f, host = SIMILAR[name]
    for spec in (P("x", "y"), P(("x", "y"))):
        found = f(effax.device_put(host, NamedSharding(MESH, spec)))
        np.testing.assert_allclose(found, f(jnp.asarray(host)), rtol=1e-5)


@pytest.mark.parametrize("derive", [lambda f: f, effax.grad, effax.vmap])
def test_shard_alike_cuts_one_as_the_other(derive):
    from effax.experimental.shard_alike import shard_alike

    def f(x):
        one, other = shard_alike(x, jnp.cos(x + jnp.arange(x.shape[-1], dtype=x.dtype)))
        effax.debug.inspect_array_sharding(other, callback=seen.append)
        return (one * other).sum()

    seen = []
    x = effax.device_put(HOST, over("x", "y"))
    found = effax.jit(derive(f))(x)
    np.testing.assert_allclose(found, derive(f)(jnp.asarray(HOST)), rtol=1e-4, atol=1e-4)
    text = effax.jit(derive(f)).lower(x).as_text()
    assert text.count("sdy.sharding_group") == (4 if derive is effax.grad else 2)  # cotangents too
    assert "group_id=0" in text
    if derive(f) is f:
        assert seen[0].is_equivalent_to(over("x", "y"), 2)


def test_shard_alike_puts_one_beside_the_other(cut):
    from effax.experimental.shard_alike import shard_alike

    for given in ((cut, HOST), (HOST, cut), (jnp.asarray(HOST), cut)):
        assert [x.sharding for x in shard_alike(*given)] == [cut.sharding] * 2
    everywhere = effax.device_put(HOST, over())
    assert [x.sharding for x in shard_alike(everywhere, cut)] == [cut.sharding] * 2
    with pytest.raises(ValueError, match="Received incompatible devices"):
        shard_alike(cut, effax.device_put(HOST, effax.devices()[1]))

    def f(x):
        one, other = shard_alike(x, jnp.asarray(HOST))
        effax.debug.inspect_array_sharding(other, callback=seen.append)
        return (one * other).sum()

    seen = []
    np.testing.assert_allclose(effax.grad(f)(cut), HOST)
    assert seen == [cut.sharding]
    rows = effax.vmap(lambda x: shard_alike(x, HOST[0]))(cut)
    np.testing.assert_array_equal(rows[0], HOST)
    np.testing.assert_array_equal(rows[1], np.tile(HOST[0], (8, 1)))


def test_shardings_over_meshes_without_devices_are_compared():
    mesh = MESH.abstract_mesh
    x, longer, y = (NamedSharding(mesh, P(*s)) for s in (("x",), ("x", None), ("y",)))
    assert x.is_equivalent_to(longer, 2) and not x.is_equivalent_to(y, 2)
    assert not x.is_equivalent_to(over("x"), 2) and not over("x").is_equivalent_to(x, 2)
    assert x.memory_kind is None and "memory_kind" not in repr(x)
    assert NamedSharding(mesh, P(), memory_kind="pinned_host").memory_kind == "pinned_host"
    with pytest.raises(ValueError, match="Got invalid memory kind: hbm"):
        NamedSharding(mesh, P(), memory_kind="hbm")
    empty = Mesh(np.empty((), object), ())
    assert (empty.size, empty.abstract_mesh.size, AbstractMesh((), ()).size) == (0, 0, 0)
    assert Mesh(np.array(effax.devices()[0]), ()).size == 1


def test_types_say_how_values_are_cut():
    kinds = (AxisType.Explicit, AxisType.Auto)
    mesh = AbstractMesh((2, 4), ("x", "y"), axis_types=kinds)
    type = effax.core.ShapedArray((8, 8), np.float32)
    assert type.update(sharding=NamedSharding(mesh, P(("x", "y")))).str_short() == "f32[8@x,8]"
    explicit = effax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = effax.device_put(HOST, NamedSharding(explicit, P("x")))
    found = []
    effax.jit(lambda x: found.append(effax.ShapeDtypeStruct.like(x)))(x)
    assert found[0].sharding == NamedSharding(explicit.abstract_mesh, P("x", None))


@pytest.mark.parametrize("make", [lax.full, jnp.full])
def test_a_spec_of_what_is_made_may_end_in_none(make):
    option = {"sharding" if make is lax.full else "device": over("x", None)}
    assert make((8,), 1.0, **option).sharding == over("x")
    with pytest.raises(ValueError, match="rank at least 2"):
        make((8,), 1.0, **{key: over("x", "y") for key in option})


def test_derivatives_and_batches_follow_data(cut):
    def f(x):
        return jnp.sum(jnp.tanh(x @ x.T) ** 2)

    gradient = effax.grad(f)
    wanted = gradient(jnp.asarray(HOST))
    np.testing.assert_allclose(gradient(cut), wanted, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(effax.jit(gradient)(cut), wanted, rtol=1e-3, atol=1e-5)
    rows = effax.jit(effax.vmap(lambda row: jnp.sort(jnp.cos(row))))(cut)
    np.testing.assert_allclose(rows, np.sort(np.cos(HOST), 1), rtol=1e-5)


def test_results_are_named_as_arguments_are():
    x = effax.device_put(HOST, over("x", None))
    assert (x + 1).sharding == over("x", None) and x.sum(1).sharding == over("x")
    thin = effax.make_mesh((8, 1), ("x", "y"))
    w = effax.device_put(HOST, NamedSharding(thin, P("x", "y")))
    assert (w * 2).sharding.spec == P("x", "y") and w.T.sharding.spec == P("y", "x")
    one = effax.device_put(HOST, NamedSharding(effax.make_mesh((1,), ("x",)), P("x")))
    assert (one + 1).sharding.spec == P("x", None) and one.sum().sharding.spec == P()


def test_random_numbers_are_the_same_wherever_they_are_drawn():
    key = effax.random.key(3)
    draw = effax.jit(lambda k: effax.random.normal(k, (8, 4)), out_shardings=over("y", None))
    np.testing.assert_array_equal(draw(key), effax.random.normal(key, (8, 4)))
    assert draw(key).sharding == over("y", None)


def test_what_jit_is_asked():
    f = effax.jit(lambda a, b: (a + b, a * 2), in_shardings=(over("x"), None))
    first, second = f(HOST, 1.0)
    assert first.sharding == over("x") and second.sharding == over("x")
    np.testing.assert_array_equal(f(HOST, 1.0)[0], HOST + 1)
    g = effax.jit(lambda d: {"s": d["a"], "t": d["a"].T}, out_shardings={"s": over("y"), "t": None})
    found = g({"a": HOST})
    assert found["s"].sharding == over("y")
    np.testing.assert_array_equal(found["t"], HOST.T)
    inner = effax.jit(lambda a: a * 2, out_shardings=over("y"))
    np.testing.assert_array_equal(effax.jit(lambda a: inner(a) + 1)(HOST), HOST * 2 + 1)
    assert effax.jit(inner)(HOST).sharding == over("y")
    donated = effax.device_put(HOST, over("x"))
    np.testing.assert_array_equal(effax.jit(lambda a: a + 1, donate_argnums=0)(donated), HOST + 1)
    assert donated.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        donated + 1


def test_stages_of_a_program_over_a_mesh(cut):
    lowered = effax.jit(lambda a: a @ a).lower(cut)
    assert 'sdy.mesh @mesh = <["x"=2, "y"=4]>' in lowered.as_text()
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(cut), HOST @ HOST, rtol=1e-5)
    assert compiled.input_shardings == ((over("x", "y"),), {})
    assert compiled.output_shardings == compiled(cut).sharding
    promised = effax.ShapeDtypeStruct((8, 8), "float32", sharding=over("x"))
    assert effax.jit(lambda a: a + 1).lower(promised).compile().output_shardings == over("x")


def test_callbacks_are_called_once_with_whole_arrays(cut, capfd):
    seen = []

    def host(v):
        seen.append(v.shape)
        return np.asarray(v) * 2

    found = effax.jit(lambda a: effax.pure_callback(host, a, a) + 1)(cut)
    np.testing.assert_array_equal(found, HOST * 2 + 1)
    assert seen == [(8, 8)]
    effax.jit(lambda a: effax.debug.print("total {}", a.sum()))(cut)
    effax.effects_barrier()
    assert capfd.readouterr().out.count("total") == 1


CONSTRAINED = {
    "jit": (lambda c: effax.jit(c), P("y")),
    "eager": (lambda c: c, P("y")),
    "jvp": (lambda c: lambda x: effax.jvp(c, (x,), (x,))[1], P("y")),
    "grad": (lambda c: effax.jit(effax.grad(lambda x: (c(x) ** 2).sum() / 2)), P("y")),
    "vmap": (lambda c: effax.jit(effax.vmap(c)), P("x", "y")),
    "spmd": (lambda c: effax.jit(effax.vmap(c, spmd_axis_name="x")), P("x", "y")),
}


@pytest.mark.parametrize("name", CONSTRAINED)
def test_constraints_under_transformations(cut, name):
    transform, spec = CONSTRAINED[name]
    f = transform(lambda x: lax.with_sharding_constraint(x, over("y")))
    assert f(cut).sharding == NamedSharding(MESH, spec)
    np.testing.assert_allclose(f(cut), HOST, rtol=1e-6)


def test_constraints_with_an_axis_left_open(cut):
    f = effax.jit(lambda x: lax.with_sharding_constraint(x, over(P.UNCONSTRAINED, "x")))
    assert f(cut).sharding == over(None, "x")
    np.testing.assert_array_equal(effax.reshard({"a": cut}, {"a": over()})["a"], HOST)


def test_a_mesh_in_context():
    with effax.set_mesh(MESH):
        assert jnp.ones(8).sharding == over()
        assert effax.device_put(HOST, P("x")).sharding == over("x")
        assert effax.jit(lambda a: a, in_shardings=P("x"))(HOST).sharding == over("x")
        constrained = effax.jit(lambda a: lax.with_sharding_constraint(a, P("y")))
        assert constrained(HOST).sharding == over("y")
        assert get_mesh() == MESH and get_abstract_mesh() == MESH.abstract_mesh
    assert get_mesh().empty and get_abstract_mesh().empty
    with MESH:
        assert effax.jit(lambda a: lax.with_sharding_constraint(a, P("y")))(HOST).sharding == over(
            "y"
        )
        # What nobody put anywhere stays where it is, but for a `pjit`.
        one = jnp.ones(8) + 1
        assert not one.committed and one.devices() == {effax.devices()[0]}
        with pytest.raises(RuntimeError, match="jit requires a non-empty mesh in context"):
            effax.jit(lambda a: a, in_shardings=P("x"))(one)
        assert pjit(lambda a: a, in_shardings=P("x"))(one).sharding == over("x")
    assert get_mesh().empty


def test_an_array_like_another_lies_beside_it(cut):
    single = effax.device_put(HOST, effax.devices()[3])
    for make in (
        jnp.zeros_like,
        jnp.ones_like,
        jnp.empty_like,
        lambda x, **k: jnp.full_like(x, 7, **k),
        lambda x, **k: lax.full_like(x, 7, **k),
    ):
        assert make(cut).sharding == make(cut, dtype="int32").sharding == cut.sharding
        assert make(single, shape=(2,)).devices() == single.devices()
        assert not make(cut, shape=(2,)).committed and not make(jnp.ones(8)).committed
        assert effax.jit(make)(cut).shape == cut.shape


def test_arrays_from_pieces():
    where = over("x", "y")
    called = []

    def piece(index):
        called.append(index)
        return HOST[index]

    made = effax.make_array_from_callback((8, 8), where, piece)
    np.testing.assert_array_equal(made, HOST)
    assert made.sharding == where and len(called) == 8
    shared = effax.make_array_from_callback((8, 8), over("x"), piece)
    assert len(called) == 10 and shared.dtype == np.float32
    pieces = [effax.device_put(s.data, s.device) for s in made.addressable_shards]
    joined = effax.make_array_from_single_device_arrays((8, 8), where, pieces[::-1])
    np.testing.assert_array_equal(joined, HOST)
    local = effax.make_array_from_process_local_data(where, HOST)
    np.testing.assert_array_equal(local, HOST)
    with pytest.raises(ValueError, match="Expected 8 per-device arrays"):
        effax.make_array_from_single_device_arrays((8, 8), where, pieces[:3])
    with pytest.raises(ValueError, match="shape"):
        effax.make_array_from_callback((8, 8), where, lambda index: HOST)


def test_meshes_and_shardings_are_values():
    again = Mesh(np.array(effax.devices()).reshape(2, 4), ("x", "y"))
    assert again == MESH and hash(again) == hash(MESH) and MESH.size == 8
    assert NamedSharding(again, P("x")) == over("x") != over("x", None)
    assert over("x").is_equivalent_to(over("x", None), 2)
    assert not over("x").is_equivalent_to(over("y"), 1)
    assert pickle.loads(pickle.dumps(over("x", "y"))) == over("x", "y")
    assert effax.make_mesh((2, 4), ("x", "y")).axis_types == (AxisType.Explicit,) * 2
    assert effax.make_mesh((2,), ("a",)).shape == {"a": 2}
    assert repr(over("x")) == (
        "NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), spec=P('x',), "
        "memory_kind=device)"
    )
    assert isinstance(jnp.ones(2).sharding, SingleDeviceSharding)
    last = effax.devices()[-1]
    assert effax.device_put(1.0, SingleDeviceSharding(last)).devices() == {last}
    assert isinstance(over("x"), Sharding) and over("x").num_devices == 8
    kind = AbstractDevice("cpu", None, "cpu")
    assert AbstractMesh((2, 4), ("x", "y"), abstract_device=kind) == MESH.abstract_mesh
    assert P("x") + P(None) == P("x", None) and P(("x",)) == P("x") != P("x", None)
    assert len(P("x", ("y", "z"))) == 2 and repr(P("x", ("y", "z"))) == "P('x', ('y', 'z'))"


def test_other_meshes_of_the_same_devices(cut):
    other = effax.make_mesh((4, 2), ("a", "b"))
    moved = effax.device_put(cut, NamedSharding(other, P("a", "b")))
    np.testing.assert_array_equal(moved, HOST)
    np.testing.assert_array_equal(moved + cut, 2 * HOST)
    few = Mesh(np.array(effax.devices()[4:6]), "z")
    np.testing.assert_array_equal(effax.device_put(cut, NamedSharding(few, P("z"))) * 2, 2 * HOST)
    np.testing.assert_array_equal(effax.device_put(cut, effax.devices()[2]), HOST)
    mapped = effax.pmap(lambda row: row * 2)(HOST)
    np.testing.assert_array_equal(mapped + 1, 2 * HOST + 1)
    assert len((mapped + 1).devices()) == 8


def auto_mesh(sizes, names):
    return effax.make_mesh(sizes, names, (effax.sharding.AxisType.Auto,) * len(names))


ERRORS = {
    "incompatible": (
        lambda: effax.device_put(HOST, over("x")) + effax.device_put(HOST, effax.devices()[3]),
        ValueError,
        "Received incompatible devices for jitted computation",
    ),
    "indivisible": (
        lambda: effax.device_put(np.ones(3), over("x")),
        ValueError,
        "2 pieces, but its length is 3",
    ),
    "rank": (lambda: effax.device_put(np.ones(8), over("x", "y")), ValueError, "rank at least 2"),
    "name": (lambda: over("z"), ValueError, "Resource axis: z"),
    "memory": (
        lambda: NamedSharding(MESH, P("x"), memory_kind="hbm"),
        ValueError,
        "Could not find memory addressable by device cpu. Device cpu can address the following",
    ),
    "another memory": (
        lambda: over("x").with_memory_kind("hbm"),
        ValueError,
        "Got memory kind: hbm",
    ),
    "twice": (lambda: over("x", "x"), ValueError, "duplicate entries for `x`"),
    "shape": (lambda: Mesh(effax.devices(), ("x", "y")), ValueError, "ndim"),
    "names": (lambda: Mesh(effax.devices(), ("x",) * 1, axis_types=()), ValueError, "axis_types"),
    "few": (lambda: effax.make_mesh((3, 4), ("x", "y")), ValueError, "must be >= the product"),
    "no mesh": (
        lambda: lax.with_sharding_constraint(jnp.ones(8), P("x")),
        RuntimeError,
        "requires a non-empty mesh in context",
    ),
    "argument": (
        lambda: effax.jit(lambda a: a, in_shardings=over("x"))(effax.device_put(HOST, over("y"))),
        ValueError,
        "Sharding passed to jit does not match the sharding on the respective arg",
    ),
    "result": (
        lambda: effax.jit(lambda a: a[:7], out_shardings=over("x"))(HOST),
        ValueError,
        "its length is 7",
    ),
    "keywords": (
        lambda: effax.jit(lambda a: a, in_shardings=over("x"))(a=HOST),
        ValueError,
        "does not support kwargs",
    ),
    "length": (
        lambda: effax.jit(lambda a: a, in_shardings=(over("x"),) * 2)(HOST),
        ValueError,
        "length 2 for an args tuple of length 1",
    ),
    "abstract": (
        lambda: effax.device_put(HOST, NamedSharding(AbstractMesh((2,), ("x",)), P("x"))),
        ValueError,
        "has no devices",
    ),
    "misfit": (
        lambda: (
            effax.device_put(np.ones(6), NamedSharding(auto_mesh((2, 3), ("a", "b")), P("a")))
            + effax.device_put(np.ones(6), NamedSharding(auto_mesh((3, 2), ("c", "d")), P("c")))
        ),
        NotImplementedError,
        "in incompatible ways",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()


def test_spec_is_a_class():
    assert P is PartitionSpec


def test_how_arrays_lie_is_told_and_drawn(cut, capsys):
    found = []
    effax.debug.inspect_array_sharding(cut, callback=found.append)
    f = effax.jit(
        lambda x: effax.debug.inspect_array_sharding(jnp.sin(x).T, callback=found.append) or x * 2
    )
    f(cut)
    assert found == [over("x", "y"), over("y", "x")]
    effax.debug.visualize_array_sharding(cut, use_color=False)
    assert [line.count("CPU") for line in capsys.readouterr().out.splitlines()] == [0, 4, 0, 4, 0]


@pytest.mark.parametrize("one", [s for s, _, _ in SPECS])
@pytest.mark.parametrize("other", [(), (("y", "x"), None)])
def test_arrays_are_cut_in_another_way(one, other):
    x = effax.device_put(HOST, over(*one))
    found = effax.device_put(x, over(*other))
    assert found.sharding == over(*other)
    np.testing.assert_array_equal(found, HOST)
    assert not x.is_deleted()


def test_trees_of_shardings():
    found = effax.device_put({"a": HOST, "b": (HOST, 1.0)}, {"a": over("x"), "b": over()})
    assert found["a"].sharding == over("x") and found["b"][0].sharding == over()
    assert found["b"][1].sharding == over() and float(found["b"][1]) == 1.0
    moved = effax.jit(lambda x: effax.device_put(x * 2, over("y")))(found["a"])
    assert moved.sharding == over("y")


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: jnp.zeros((8, 4), **o),
        lambda **o: jnp.arange(8, **o),
        lambda **o: jnp.ones(32).reshape((8, 4), **o),
        lambda **o: jnp.einsum("ij,jk->ik", jnp.ones((8, 2)), jnp.ones((2, 3)), **o),
        lambda **o: lax.broadcast(1.0, (8, 2), **o),
        lambda **o: effax.random.normal(effax.random.key(0), (8, 2), **o),
        lambda **o: effax.ops.segment_sum(jnp.ones(16), jnp.arange(16) % 8, 8, **o),
    ],
)
def test_results_lie_where_out_sharding_says(make):
    where = NamedSharding(MESH.update(axis_types=(AxisType.Explicit,) * 2), P("x"))
    for made in (make(out_sharding=where), effax.jit(lambda: make(out_sharding=where))()):
        assert made.sharding.is_equivalent_to(where, made.ndim)
        np.testing.assert_array_equal(made, make())
    assert make(out_sharding=effax.typeof(make()).sharding).sharding == make().sharding
