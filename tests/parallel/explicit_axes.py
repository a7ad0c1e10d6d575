"""Explicit axes in types, on eight devices; run by `test_mesh.py` in a process of its own."""

import json
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import P
from effax.errors import ShardingTypeError
from effax.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard
from tests.parallel import explicit_cases

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

WANTED = json.loads((Path(__file__).parent / "explicit_types.json").read_text())
PROGRAMS = explicit_cases.programs(effax)
MESH = effax.make_mesh((4, 2), ("x", "y"))
HOST = np.arange(32, dtype=np.float32).reshape(8, 4)

ALLOWED = {
    # A value that is cut along no axis follows those that are: all of it is on every device.
    "where_r": "float32[8@x,4] 122",
    "select_r": "float32[8@x,4] 122",
    "dus_r": "float32[8@x,4] 122",
    # Slices that pieces divide are slices; JAX gathers them.
    "slice0": "float32[4@x,4] 59",
    "stride": "float32[4@x,4] 64",
    "unstack": "float32[8@x] 30",
    # JAX's own implementations select between values cut in two ways.
    "chol": "float32[8@x,4,4] 571.9",
    "g_chol": "float32[8@x,4,4] 86.06",
    "g_sort": "float32[8@x,4] 122",
    "qr": "float32[8@x,4,4] 54.1",
    "vmap_scan": "float32[8@x,4] 178",
    # JAX's loop begins with zeros that are not cut.
    "polyval": "float32[8@x] 223",
}
"""Programs that effax runs and JAX does not, or gives another type to, and why."""
REFUSED_OTHERWISE = {
    "inv": ShardingTypeError,
    "interp": TypeError,
    "reshard_bad": ValueError,
    "reshard_indiv": ValueError,
}


@pytest.fixture(autouse=True)
def in_context():
    with effax.set_mesh(MESH):
        yield


def put(*spec, x=HOST):
    return effax.device_put(x, P(*spec))


@pytest.mark.parametrize("name", WANTED)
def test_types_and_refusals_are_jaxs(name):
    if name in REFUSED_OTHERWISE:
        with pytest.raises(REFUSED_OTHERWISE[name]):
            PROGRAMS[name]()
        return
    found = explicit_cases.answers(effax, (name,))[name]
    assert found == ALLOWED.get(name, WANTED[name])


def test_every_program_has_an_answer():
    assert set(WANTED) == set(PROGRAMS)
    assert set(ALLOWED) | set(REFUSED_OTHERWISE) < set(WANTED)


def test_types_say_how_arrays_are_cut_inside_a_program_too():
    seen = []

    @effax.jit
    def f(x):
        seen.append(effax.typeof(x))
        y = jnp.sin(x).T
        seen.append(effax.typeof(y))
        return y

    y = f(put("x", "y"))
    assert [str(t) for t in seen] == ["float32[8@x,4@y]", "float32[4@y,8@x]"]
    assert seen[1].sharding.spec == P("y", "x") == y.sharding.spec
    assert seen[0].sharding.mesh == effax.sharding.get_abstract_mesh()
    f(put("x"))
    assert len(seen) == 4, "another cut is another type"
    f(put("x"))
    assert len(seen) == 4


def test_a_refusal_names_the_function_the_types_and_the_advice():
    a, b = put(None, "x"), put("x", x=HOST.T.copy()[:4])
    with pytest.raises(ShardingTypeError, match=r"dot_general of f32\[8,4@x\], f32\[4@x,8\].*out_"):
        jnp.dot(a, b)
    with pytest.raises(
        ShardingTypeError, match=r"P\('x', 'x'\).*names the mesh axes \['x'\] twice"
    ):
        a + put("x")
    with pytest.raises(ShardingTypeError, match=r"no rule says how its results are cut.*auto_axes"):
        effax.jit(lambda x: effax.ffi.ffi_call("f", effax.ShapeDtypeStruct((8,), "float32"))(x))(a)


def test_programs_print_with_their_cuts_and_are_derived_again():
    f = lambda w: jnp.tanh(put("x") @ w).sum()  # noqa: E731
    w = np.ones((4, 6), np.float32)
    assert "f32[8@x,6]" in str(effax.make_program(f)(w))
    second = effax.jit(effax.grad(lambda w: effax.grad(f)(w).sum()))(w)
    alone = effax.grad(lambda w: effax.grad(lambda w: jnp.tanh(HOST @ w).sum())(w).sum())(w)
    np.testing.assert_allclose(second, alone, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("jit", [lambda f: f, effax.jit])
def test_in_auto_axes_types_say_nothing(jit):
    seen = []

    @auto_axes
    def add(x, y):
        seen.append((effax.typeof(x), effax.sharding.get_abstract_mesh().axis_types))
        return x + y

    out = jit(lambda x, y: add(x, y, out_sharding=P("x")))(put("x"), put(None, "x"))
    assert seen == [(effax.typeof(HOST), (AxisType.Auto,) * 2)]
    assert str(effax.typeof(out)) == "float32[8@x,4]"
    np.testing.assert_array_equal(out, HOST + HOST)


def test_values_from_around():
    x = put("x")
    for add in (auto_axes(lambda y: x + y), auto_axes(lambda y: jnp.sum(x))):
        with pytest.raises(ValueError, match=r"For primitive .* context mesh .* should match"):
            add(put("x"), out_sharding=P(None, "x"))
    with pytest.raises(ShardingTypeError, match="pass the operand as an argument"):
        effax.shard_map(lambda y: x[0] + y, in_specs=P("x"), out_specs=P("x"))(put("x"))


def test_explicit_axes_within_an_auto_mesh():
    auto = effax.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    seen = []

    @explicit_axes
    def g(y):
        seen.append(str(effax.typeof(y)))
        return y * 2

    with effax.set_mesh(auto):
        x = effax.device_put(HOST, P("x", "y"))
        out = effax.jit(lambda x: g(jnp.sin(x), in_sharding=P("x", "y")) + 1)(x)
        assert str(effax.typeof(out)) == "float32[8,4]" and out.sharding.mesh == auto
    assert seen == ["float32[8@x,4@y]"]
    np.testing.assert_allclose(out, np.sin(HOST) * 2 + 1, rtol=1e-6, atol=1e-6)


def test_axes_of_two_types():
    mixed = effax.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with effax.set_mesh(mixed):
        x = effax.device_put(HOST, P("x", "y"))
        assert str(effax.typeof(x)) == "float32[8@x,4]"
        y = effax.jit(lambda x: jnp.sin(x) @ np.ones((4, 4), np.float32))(x)
        assert str(effax.typeof(y)) == "float32[8@x,4]" and y.sharding.spec[0] == "x"
        for spec in (P("x", "y"), P(None, "y")):  # explicit axes are as the type says
            z = effax.jit(lambda x: effax.lax.with_sharding_constraint(x * 2, spec))(x)  # noqa: B023
            assert z.sharding.spec == P("x", "y")
        merged = effax.jit(lambda x: effax.lax.with_sharding_constraint(x, P("y")))(x)
        assert merged.sharding.spec == P(("x", "y"))
        with pytest.raises(AssertionError):
            effax.jit(lambda x: effax.lax.with_sharding_constraint(x * 2, P(None, "x")))(x)
        whole = effax.jit(lambda x: reshard(x, P()) * 2)(x)
        assert whole.sharding.spec == P(None, "y")
    thin = effax.make_mesh((1, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with effax.set_mesh(thin):
        ones = effax.jit(lambda: jnp.ones((2, 2), out_sharding=P("x")))()
        assert str(effax.typeof(ones)) == "float32[2@x,2]"


def test_another_mesh_over_the_same_devices():
    @effax.jit
    def f(x):
        one = effax.sharding.AbstractMesh((8,), ("a",), (AxisType.Explicit,))
        with effax.sharding.use_abstract_mesh(one):
            return reshard(x, P("a", None)) * 2

    out = f(put("x", "y"))
    assert str(effax.typeof(out)) == "float32[8@a,4]"
    np.testing.assert_array_equal(out, HOST * 2)


def test_references_to_arrays_that_are_cut():
    x = put("x")
    ref = effax.new_ref(x)

    @effax.jit
    def double(ref):
        assert str(effax.typeof(ref[...])) == "float32[8@x,4]"
        ref[...] = ref[...] * 2

    double(ref)
    assert str(effax.typeof(ref[...])) == "float32[8@x,4]"
    np.testing.assert_array_equal(ref[...], HOST * 2)


def test_arrays_keep_their_types_where_there_is_no_mesh_in_context():
    with effax.set_mesh(None):
        x = effax.device_put(HOST, NamedSharding(MESH, P("x")))
        gradient = effax.grad(lambda x: jnp.sin(x).sum())(x)
        assert str(effax.typeof(gradient)) == "float32[8@x,4]"
        np.testing.assert_allclose(gradient, np.cos(HOST), rtol=1e-5, atol=1e-6)
        with pytest.raises(ShardingTypeError):
            x + effax.device_put(HOST, NamedSharding(MESH, P(None, "x")))


def test_groups_of_rows_are_one_more_axis_that_is_not_cut():
    rows, sizes = put("x"), jnp.array([3, 1, 4])
    matrices = jnp.arange(60, dtype="float32").reshape(3, 4, 5)

    def product(rows, matrices):
        return effax.lax.ragged_dot(rows, matrices, sizes)

    found = effax.jit(product)(rows, matrices)
    assert effax.typeof(found).str_short() == "f32[8@x,5]"
    ends = [0, 3, 4, 8]
    parts = [HOST[ends[i] : ends[i + 1]] @ np.asarray(matrices[i]) for i in range(3)]
    np.testing.assert_allclose(found, np.concatenate(parts))
    slopes = effax.grad(lambda *args: jnp.sum(product(*args) ** 2), (0, 1))(rows, matrices)
    assert [effax.typeof(g).str_short() for g in slopes] == ["f32[8@x,4]", "f32[3,4,5]"]


def test_results_are_named_by_an_entry_for_each_axis():
    ones = jnp.ones((8, 4), out_sharding=P("x"))
    assert ones.sharding.spec == reshard(HOST, P("x")).sharding.spec == P("x", None)
    mixed = effax.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with effax.set_mesh(mixed):
        x = effax.device_put(HOST, NamedSharding(mixed, P("x", "y")))
        assert effax.jit(lambda x: x @ jnp.ones((4, 2)))(x).sharding.spec == P("x", None)


def test_keys_lie_as_their_array_not_as_their_words():
    key = effax.random.key(0)
    assert key.sharding == NamedSharding(MESH, P())
    assert effax.random.split(key).sharding == NamedSharding(MESH, P(None))
    cut = effax.device_put(effax.random.split(key, (8, 2)), P("x", "y"))
    assert cut.sharding == NamedSharding(MESH, P("x", "y"))


@pytest.mark.parametrize(
    "make",
    [lambda: jnp.array(HOST), lambda: jnp.asarray(3.0), lambda: jnp.arange(4), lambda: jnp.eye(2)],
)
def test_arrays_of_what_the_host_has_lie_on_the_mesh_in_context(make):
    found = make()
    assert found.committed
    assert found.sharding.is_equivalent_to(NamedSharding(MESH, P()), found.ndim)


def test_an_axis_type_of_a_mesh_without_devices_is_replaced():
    found = MESH.abstract_mesh.update_axis_types({"y": AxisType.Auto})
    assert found.axis_types == (AxisType.Explicit, AxisType.Auto)


def test_specs_that_are_left_out_name_the_axes_that_are_mapped():
    def local(x):
        assert effax.typeof(x).mat.varying == {"x"}
        assert str(effax.typeof(x)) == "float32[2,4@y]{V:x}"
        return 2 * x

    found = effax.shard_map(local, out_specs=P("x"), axis_names={"x"})(put("x", "y"))
    np.testing.assert_array_equal(found, 2 * HOST)
    assert found.sharding.spec == P("x", "y")


def test_a_batch_cut_along_an_axis_that_places_are_along():
    def total(row):
        cut = reshard(row, P("y"))
        return effax.shard_map(jnp.cos, in_specs=P("y"), out_specs=P("y"))(cut).sum()

    found = effax.jit(effax.vmap(effax.grad(total)))(put("x"))
    np.testing.assert_allclose(found, -np.sin(HOST), rtol=1e-5, atol=1e-6)
    assert found.sharding.spec == P("x", None)


def test_an_abstract_mesh_in_context_is_over_the_devices_there():
    line = effax.sharding.AbstractMesh((8,), ("z",))
    with effax.sharding.use_abstract_mesh(line):
        found = jnp.arange(8)
    assert found.sharding == NamedSharding(effax.make_mesh((8,), "z", (AxisType.Auto,)), P())
    with (
        pytest.raises(ValueError, match="cannot change the size"),
        effax.sharding.use_abstract_mesh(effax.sharding.AbstractMesh((4,), ("z",))),
    ):
        pass


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NamedSharding(MESH, P(P.UNCONSTRAINED)), "no mesh axis_types are `Auto`"),
        (
            lambda: effax.set_mesh(MESH.update(axis_types=(AxisType.Manual,) * 2)),
            "contains manual axes",
        ),
        (
            lambda: effax.core.ShapedArray((5,), "int32", sharding=NamedSharding(MESH, P("x"))),
            "evenly divide",
        ),
    ],
)
def test_meshes_and_specs_that_fit_nothing_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------------------ axes of several types

AUTO = MESH.update(axis_types=(AxisType.Auto,) * 2)
MIXED = MESH.update(axis_types=(AxisType.Explicit, AxisType.Auto))


def spread(mesh, *spec):
    return effax.device_put(HOST, NamedSharding(mesh, P(*spec)))


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: jnp.zeros(8, **o),
        lambda **o: jnp.einsum("ij,kj->ik", spread(AUTO, "x"), spread(AUTO), **o),
        lambda **o: effax.random.normal(effax.random.key(0), (8,), **o),
        lambda **o: effax.lax.rng_bit_generator(jnp.zeros(4, "uint32"), (8,), **o),
        lambda **o: spread(AUTO, "x").at[jnp.arange(4)].get(**o),
        lambda **o: reshard(spread(AUTO), *o.values()),
    ],
)
def test_out_sharding_names_explicit_axes_only(make):
    for mesh, spec in ((AUTO, P("x")), (MIXED, P("y"))):
        for where in (spec, NamedSharding(mesh, spec)):
            with (
                effax.set_mesh(mesh),
                pytest.raises(ValueError, match="cannot contain axis names that are of type Auto"),
            ):
                make(out_sharding=where)
    with (
        effax.set_mesh(None),
        pytest.raises(ValueError, match="Using PartitionSpec when you are not under a mesh"),
    ):
        make(out_sharding=P("x"))


def test_out_sharding_is_over_the_mesh_in_context():
    with effax.set_mesh(MIXED), pytest.raises(ValueError, match=r"^Context mesh .* should match"):
        jnp.zeros(8, out_sharding=NamedSharding(MESH, P("x")))
    with pytest.raises(TypeError, match="only supports instances of `NamedSharding`"):
        jnp.zeros(8, out_sharding="x")


def test_bits_lie_where_out_sharding_says():
    def make():
        return effax.lax.rng_bit_generator(
            jnp.arange(4, dtype="uint32"), (8, 4), out_sharding=P("x")
        )

    for state, bits in (make(), effax.jit(make)()):
        assert str(effax.typeof(bits)) == "uint32[8@x,4]"
        assert bits.sharding == NamedSharding(MESH, P("x", None))
        assert effax.typeof(state).str_short() == "u32[4]"


@pytest.mark.parametrize("apply", [lambda f: f, effax.jit], ids=["now", "jit"])
@pytest.mark.parametrize(
    ("mesh", "spec", "asked", "found"),
    [
        (AUTO, P("x"), P(), P("x")),
        (AUTO, P("x", "y"), P(), P("x", "y")),
        (MIXED, P("x", "y"), P("x"), P("x", "y")),
        (MIXED, P("x", "y"), P(), P(None, "y")),
        (MIXED, P("x"), P("x"), P("x", None)),
        (MESH, P("x"), P(), P(None, None)),
    ],
)
def test_reshard_leaves_arrays_as_they_are_along_other_axes(apply, mesh, spec, asked, found):
    with effax.set_mesh(mesh):
        x = spread(mesh, *spec)
        assert apply(lambda x: reshard(x, asked))(x).sharding == NamedSharding(mesh, found)


def test_reshard_to_a_mesh_of_other_axis_types():
    for apply in (lambda f: f, effax.jit):
        out = apply(lambda x: reshard(x, NamedSharding(AUTO, P())))(put("x"))
        assert out.sharding == NamedSharding(AUTO, P("x"))
        assert str(effax.typeof(out)) == "float32[8,4]"


def test_types_over_another_mesh_than_that_in_context_are_refused():
    with effax.set_mesh(MIXED):
        cut = spread(MIXED, "x", "y")
        for f in (lambda x: x * cut, lambda x: cut * x, jnp.sum):
            with pytest.raises(ValueError, match=r"For primitive .* context mesh .* the aval mesh"):
                f(put_on_mesh := spread(MESH, "x"))
            assert put_on_mesh.sharding.mesh == MESH


@pytest.mark.parametrize(
    ("mesh", "inner", "type"),
    [
        (AUTO, explicit_axes(lambda x: jnp.sin(x * x), in_sharding=P("x")), "float32[8,4]"),
        (MESH, auto_axes(lambda x: jnp.sin(x * x), out_sharding=P("x")), "float32[8@x,4]"),
        (
            MESH,
            auto_axes(lambda x: jnp.sin(x * x), axes="y", out_sharding=P("x")),
            "float32[8@x,4]",
        ),
    ],
    ids=["explicit", "auto", "one auto"],
)
def test_derivatives_of_functions_under_another_mesh(mesh, inner, type):
    """Derivatives run what is inside of these functions again, under the mesh around them."""
    total = 2 * HOST * np.cos(HOST * HOST)
    with effax.set_mesh(mesh):
        x = spread(mesh, "x")
        for f in (inner, effax.jit(inner), effax.checkpoint(inner)):
            grad = effax.grad(lambda x, f=f: f(x).sum())
            for slope in (grad(x), effax.jit(grad)(x), effax.linearize(f, x)[1](jnp.ones_like(x))):
                assert str(effax.typeof(slope)) == type
                np.testing.assert_allclose(slope, total, rtol=1e-4, atol=1e-5)
        second = effax.jvp(effax.grad(lambda x: effax.jit(inner)(x).sum()), (x,), (x,))[1]
        assert str(effax.typeof(second)) == type


def test_explicit_axes_of_a_mesh_of_two_types():
    with effax.set_mesh(MIXED):
        found = explicit_axes(lambda x: x * 2, axes="y", in_sharding=P("x", "y"))(
            spread(MIXED, "x", "y")
        )
        assert found.sharding == NamedSharding(MIXED, P("x", "y"))
        assert str(effax.typeof(found)) == "float32[8@x,4]"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jnp.concatenate([put("x"), put()]), "All operands should have the same sharding"),
        (lambda: jnp.cumsum(put("x"), axis=0), "Input should be unsharded over the axis being"),
        (lambda: jnp.cumsum(put("x")), "The input should be fully replicated when axis is not"),
        (lambda: put("x")[:3], "slicing on sharded dims"),
        (lambda: jnp.split(put("x"), [3]), "split on sharded dims"),
        (lambda: jnp.unstack(put("x", x=HOST[:4])), "operand cannot be sharded on the unstacking"),
        (lambda: jnp.tile(put("x"), (2, 1)), r"cannot be sharded .* tiling is non-trivial"),
        (lambda: jnp.einsum("ij,kj->ik", put("x"), put("x")), "operation produces an illegally"),
        (
            lambda: jnp.einsum("ij,ij->i", put("x"), put("y")),
            "requires lhs batch dimensions and rhs batch dimensions to have the consistent sharding",
        ),
    ],
)
def test_errors_of_types_begin_as_jaxs(call, message):
    with pytest.raises(ShardingTypeError, match=message):
        call()
