"""Rooflines: values that JAX 0.10.2 gives for the same functions, and laws between counts."""

import logging
import pkgutil

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects import rows
from effax.effects.effect import all_effects
from effax.experimental import roofline as package
from effax.experimental.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from effax.experimental.roofline.collectives import sends
from effax.experimental.roofline.convolutions import products
from effax.experimental.roofline.rows import row_of
from effax.extend.core import Primitive
from effax.sharding import AbstractMesh, NamedSharding
from effax.sharding import PartitionSpec as P


def like(*shape, dtype="float32"):
    return effax.ShapeDtypeStruct(shape, dtype)


X, W = like(8, 16), like(16, 4)
INDICES = like(5, dtype="int32")
TWO_BY_TWO = dict(
    window_strides=(2, 2), padding=((1, 2), (0, 3)), lhs_dilation=(3, 2), rhs_dilation=(2, 1)
)


def count(f, *args, **options):
    return roofline(f, **options)(*args)[1]


def summary(r):
    return r.flops, r.unfused_flops, r.hbm_bytes, r.peak_hbm_bytes, r.unfused_hbm_bytes


# (flops, unfused flops, HBM bytes, peak, unfused HBM bytes), recorded from jax.experimental.roofline
RECORDED = {
    "matmul": (lambda x, w: x @ w, (X, W), (1024, 1024, 896, 768, 896)),
    "a number": (lambda x, w: jnp.exp(x @ w) + 1.0, (X, W), (1024, 1088, 896, 768, 1412)),
    "an operand twice": (lambda x: x * x, (X,), (0, 128, 0, 512, 1536)),
    "jit": (effax.jit(lambda x, w: jnp.sin(x @ w)), (X, W), (1024, 1056, 896, 768, 1152)),
    "a batch": (
        lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
        (like(3, 4, 5), like(3, 5, 6)),
        (720, 720, 888, 600, 888),
    ),
    "relu": (effax.nn.relu, (X,), (0, 128, 0, 512, 1028)),
    "silu": (effax.nn.silu, (X,), (0, 256, 0, 1024, 2560)),
    "mean": (jnp.mean, (X,), (0, 128, 0, 512, 528)),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), (X,), (0, 16, 0, 512, 1024)),
    "convolution": (
        lambda a, b: lax.conv_general_dilated(a, b, **TWO_BY_TWO),
        (like(2, 3, 10, 9), like(5, 3, 3, 4)),
        (0, 14280, 0, 5040, 7920),
    ),
    "indexing": (lambda x, i: x[i], (X, INDICES), (0, 15, 0, 557, 758)),
    "take": (lambda x, i: jnp.take(x, i, axis=0), (X, INDICES), (0, 115, 0, 557, 758)),
    "at add": (lambda x, i: x.at[i].add(1.0), (X, INDICES), (0, 95, 0, 852, 1078)),
    "at set": (lambda x, i: x.at[i].set(1.0), (X, INDICES), (0, 15, 0, 852, 1078)),
    "where": (lambda x: jnp.where(x > 0, x, -x), (X,), (0, 384, 0, 1152, 2308)),
    "grad": (
        effax.grad(lambda w, x: jnp.sum(jnp.sin(x @ w))),
        (W, X),
        (2048, 2112, 1792, 768, 2432),
    ),
    "an unused result": (
        lambda x: effax.jit(lambda x: (jnp.sin(x), jnp.cos(x)))(x)[0],
        (X,),
        (0, 128, 0, 512, 1024),
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_counts_are_those_recorded(name):
    f, args, recorded = RECORDED[name]
    assert summary(count(f, *args)) == recorded


def test_pinned_operands_are_not_moved():
    matmul = RECORDED["matmul"][0]
    assert count(matmul, X, W, pin_lhs_in_vmem=True).hbm_bytes == 256
    assert count(matmul, X, W, pin_rhs_in_vmem=True).hbm_bytes == 640


def test_both_passes_without_a_mesh():
    w, x = like(16, 4, dtype="bfloat16"), like(8, 16, dtype="bfloat16")
    found = count(lambda w, x: jnp.sin(x @ w), w, x, vjp=True)
    assert summary(found) == (3072, 3168, 1344, 512, 1792)


MESH = AbstractMesh((4, 2), ("x", "y"))
PIECES = like(16, 32)
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
# (bytes by axis, hops by axis, peak), recorded
TRAFFIC = {
    "psum": (lambda a: lax.psum(a, "x"), P(None, "y"), {"x": 384}, {"x": 8}, 256),
    "psum over two": (
        lambda a: lax.psum(a, ("x", "y")),
        P(),
        {"x": 224, "y": 224},
        {"x": 16, "y": 16},
        256,
    ),
    "pmax": (lambda a: lax.pmax(a, ("x", "y")), P(), {"x": 14, "y": 14}, {"x": 8, "y": 8}, 256),
    "all_gather": (
        lambda a: lax.all_gather(a, "x", axis=0, tiled=True),
        P("x", "y"),
        {"x": 768},
        {"x": 4},
        1024,
    ),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "x", scatter_dimension=0, tiled=True),
        P("x", "y"),
        {"x": 192},
        {"x": 4},
        256,
    ),
    "all_to_all": (
        lambda a: lax.all_to_all(a, "x", 0, 1, tiled=True),
        P("x", "y"),
        {"x": 256},
        {"x": 2},
        256,
    ),
    "all_to_all over two": (
        lambda a: lax.all_to_all(a, ("x", "y"), 1, 0, tiled=True),
        P("x", "y"),
        {"x": 512, "y": 512},
        {"x": 3, "y": 3},
        256,
    ),
    "ppermute over two": (
        lambda a: lax.ppermute(a, ("x", "y"), [(0, 3), (3, 0), (5, 6), (1, 7)]),
        P("x", "y"),
        {"x": 256, "y": 256},
        {"x": 2, "y": 2},
        256,
    ),
    "a ring": (lambda a: lax.ppermute(a, "x", RING), P("x", "y"), {"x": 256}, {"x": 1}, 256),
    "contention": (
        lambda a: lax.ppermute(a, "x", [(0, 2), (1, 3), (2, 1)]),
        P("x", "y"),
        {"x": 768},
        {"x": 2},
        256,
    ),
    "the shorter way": (
        lambda a: lax.ppermute(a, "x", [(0, 3)]),
        P("x", "y"),
        {"x": 256},
        {"x": 1},
        256,
    ),
}


@pytest.mark.parametrize("name", TRAFFIC)
def test_traffic_is_that_recorded(name):
    f, out_specs, moved, hops, peak = TRAFFIC[name]
    found = count(f, PIECES, mesh=MESH, in_specs=P("x", "y"), out_specs=out_specs)
    assert (found.ici_bytes, found.ici_latency, found.peak_hbm_bytes) == (moved, hops, peak)


def test_an_axis_of_one_device_has_no_traffic():
    mesh = AbstractMesh((1,), ("x",))
    found = count(lambda a: lax.psum(a, "x"), X, mesh=mesh, in_specs=P("x"), out_specs=P())
    assert (found.ici_bytes, found.ici_latency) == ({"x": 0}, {"x": 0})


def test_forward_and_backward_are_those_recorded():
    f = roofline_and_grad(lambda x, w: jnp.sin(x @ w), MESH, (P("x", None), P()), P("x", None))
    out, forward, backward = f(like(16, 8), like(8, 4))
    assert out.sharding == NamedSharding(MESH, P("x", None))
    assert summary(forward) == (256, 272, 320, 256, 448)
    assert forward.ici_bytes == {}
    assert summary(backward) == (512, 528, 320, 192, 416)
    assert (backward.ici_bytes, backward.ici_latency) == ({"x": 96}, {"x": 8})


def test_integers_have_no_cotangents():
    f = roofline_and_grad(lambda x, i: (x[i], i), MESH, (P(), P()), P())
    out, _, backward = f(X, INDICES)
    assert [x.dtype for x in out] == ["float32", "int32"]
    assert backward.unfused_flops == 5 * 16, "each cotangent is added once"


def test_a_recomputed_pass_counts_twice():
    def f(x, w):
        return jnp.sin(jnp.sin(x @ w))

    specs = (P("x", None), P()), P("x", None)
    args = like(16, 8), like(8, 4)
    plain = roofline(f, MESH, *specs, vjp=True)(*args)[1]
    again = roofline(effax.checkpoint(f), MESH, *specs, vjp=True)(*args)[1]
    assert again.flops == plain.flops + 256
    assert again.peak_hbm_bytes <= plain.peak_hbm_bytes + 256


def body(x):
    return jnp.sin(x) @ jnp.ones((16, 16))


def with_jvp(f):
    made = effax.custom_jvp(f)
    made.defjvp(lambda primals, tangents: (made(*primals), tangents[0]))
    return made


def with_vjp(f):
    made = effax.custom_vjp(f)
    made.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    return made


@pytest.mark.parametrize("wrap", [effax.jit, effax.checkpoint, with_jvp, with_vjp])
def test_a_call_counts_as_its_body(wrap):
    assert count(wrap(body), X) == count(body, X)


def test_a_loop_counts_all_of_its_steps():
    def scanned(x):
        return lax.scan(lambda c, _: (body(c), None), x, None, length=7)[0]

    one, all_of_them = count(body, X), count(scanned, X)
    assert all_of_them.flops == 7 * one.flops
    assert all_of_them.unfused_flops == 7 * one.unfused_flops
    assert all_of_them.hbm_bytes == 7 * one.hbm_bytes
    assert all_of_them.peak_hbm_bytes == one.peak_hbm_bytes


def test_an_unknown_number_of_steps_is_one():
    found = count(lambda x: lax.while_loop(lambda c: c[0, 0] < 3, body, x), X)
    assert found.flops == count(body, X).flops


def test_of_branches_the_dearest_counts():
    found = count(lambda x: lax.cond(x[0, 0] > 0, jnp.sin, body, x), X)
    assert found.flops == count(body, X).flops


def test_a_mapped_program_counts_for_one_device():
    found = count(effax.pmap(lambda x: lax.psum(jnp.sin(x), "i"), axis_name="i"), like(1, 8, 16))
    assert found.unfused_flops == 8 * 16
    assert found.ici_bytes == {"i": 0}


def test_shard_map_inside_is_what_counts():
    mesh = effax.make_mesh((1,), ("x",))
    inside = effax.shard_map(jnp.sin, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    assert count(lambda x: 2 * inside(x), X) == count(jnp.sin, X)


def test_an_effect_counts_as_its_family():
    for f in (jnp.tanh, jnp.exp2, jnp.sin, lambda x: x**2.5):
        assert count(f, X).unfused_flops == 128
    assert count(jnp.max, X).unfused_flops == 127
    assert count(jnp.transpose, X) == RooflineResult(peak_hbm_bytes=512)


def test_no_effect_of_the_library_is_unknown():
    """Except calls of programs from elsewhere, of which only types are known."""
    families = {found.name for found in pkgutil.iter_modules(rows.__path__)} - {"foreign"}
    known = [e for e in all_effects() if e.family in families]
    unknown = [
        e for e in known if not (row_of(e) or sends(e.name) or e.higher_order or e.functions)
    ]
    assert len(known) > 150
    assert not unknown


def test_a_fold_by_a_program_counts_as_a_fold():
    found = count(lambda x: lax.reduce(x, 0.0, lambda a, b: a + b, (0, 1)), X)
    assert found.unfused_flops == 127


def test_keys_are_arrays_of_words():
    key = effax.random.key(0)
    assert RooflineShape.from_aval(effax.typeof(key)).bytes == 8
    assert count(effax.random.split, key).unfused_flops == 0


def test_references_are_what_they_hold():
    def f(x):
        ref = effax.new_ref(x)
        ref[...] = jnp.sin(ref[...])
        return ref[...]

    assert count(f, X).unfused_flops == 128
    found = count(lambda ref: jnp.sin(ref[...]), effax.new_ref(jnp.ones((8, 16))))
    assert found.unfused_flops == 128


def test_types_of_results_and_the_program(capsys):
    out, _ = roofline(lambda x: {"a": x, "b": 2.0 * x[0]}, print_jaxpr=True)(X)
    assert {k: v.shape for k, v in out.items()} == {"a": (8, 16), "b": (16,)}
    assert "mul" in capsys.readouterr().out


def test_results_add_up_and_peaks_do_not():
    one = RooflineResult(flops=3, ici_bytes={"x": 1}, peak_hbm_bytes=5)
    other = RooflineResult(flops=1, ici_bytes={"y": 2}, peak_hbm_bytes=4)
    assert one + other == RooflineResult(flops=4, ici_bytes={"x": 1, "y": 2}, peak_hbm_bytes=5)
    assert 1.5 * one == one * 1.5 == RooflineResult(flops=4, ici_bytes={"x": 1}, peak_hbm_bytes=7)
    assert one + RooflineResult.zeros() == one


@pytest.mark.parametrize("seed", range(20))
def test_products_of_a_convolution_are_those_that_a_loop_finds(seed):
    rng = np.random.default_rng(seed)
    length, taps, stride, hole, spread, low, high = map(int, rng.integers(1, 7, 7))
    wide, reach = (length - 1) * hole + 1 + low + high, (taps - 1) * spread + 1
    if wide < reach:
        low += reach - wide
    f = lambda x, k: lax.conv_general_dilated(  # noqa: E731
        x, k, (stride,), [(low, high)], lhs_dilation=(hole,), rhs_dilation=(spread,)
    )
    (e,) = effax.make_jaxpr(f)(like(1, 1, length), like(1, 1, taps)).eqns
    places = e.outvars[0].aval.shape[2]
    ats = [o * stride + k * spread - low for o in range(places) for k in range(taps)]
    loop = sum(at % hole == 0 and 0 <= at < length * hole for at in ats)
    assert products([x.aval for x in e.invars], [e.outvars[0].aval], e.attributes) == loop


def primitive(name):
    made = Primitive(name)
    made.def_abstract_eval(lambda x, **_: x)
    return made


def test_a_registered_rule_is_asked():
    made, seen = primitive("roofline_rule"), []

    @register_roofline(made)
    def rule(ctx, x, *, scale):
        seen.append(ctx)
        return RooflineResult(flops=scale * x.size, ici_bytes={"x": ctx.mesh.shape["x"]})

    def f(x):
        with effax.named_scope("here"):
            return effax.jit(lambda x: made.bind(x, scale=3))(x)

    found = count(f, PIECES, mesh=MESH, in_specs=P("x"), out_specs=P("x"), pin_rhs_in_vmem=True)
    assert (found.flops, found.ici_bytes) == (3 * 4 * 32, {"x": 4})
    (context,) = seen
    assert isinstance(context, RooflineRuleContext)
    assert context.primitive is made
    assert context.name_stack.startswith("roofline(")
    assert [t.shape for t in (*context.avals_in, *context.avals_out)] == [(4, 32), (4, 32)]
    assert (context.pin_lhs_in_vmem, context.pin_rhs_in_vmem) == (False, True)


def test_rules_get_jaxs_names_of_attributes():
    register_roofline(lax.ppermute_p)(
        lambda ctx, x, *, axis_name, perm, **_: RooflineResult(flops=len(perm) * len(axis_name))
    )
    try:
        f, _, _, _, _ = TRAFFIC["a ring"]
        found = count(f, PIECES, mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y"))
        assert found.flops == 4
    finally:
        del package.counting._rules[lax.ppermute_p]


def test_an_unknown_effect_counts_as_nothing_and_says_so(caplog):
    made = primitive("roofline_unknown")
    with caplog.at_level(logging.WARNING, "effax"):
        assert count(lambda x: jnp.abs(made.bind(x)), X) == count(jnp.abs, X)
    assert "roofline_unknown" in caplog.text
    caplog.clear()
    register_standard_roofline(made)
    with caplog.at_level(logging.WARNING, "effax"):
        assert count(made.bind, X).unfused_flops == 0
    assert not caplog.text


def test_an_expanded_effect_counts_as_its_expansion():
    thrice = effax.extend.Effect("roofline_thrice", family="mine", typing=lambda x: x)
    effax.extend.expand(thrice)(lambda x: jnp.sin(x) + 3.0 * x)
    assert count(thrice, X).unfused_flops == 3 * 128


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="register_roofline: expected an effect"):
        register_roofline("sin")
    with pytest.raises(TypeError, match="register_standard_roofline: expected an effect"):
        register_standard_roofline(jnp.sin)
    with pytest.raises(TypeError, match="from_aval: expected a ShapedArray"):
        RooflineShape.from_aval(3)


def test_a_collective_without_a_mesh_is_refused():
    def piece(x):
        count(lambda a: lax.psum(a, "x"), x)
        return x

    mesh = effax.make_mesh((1,), ("x",))
    with pytest.raises(ValueError, match=r"psum is over the axes .* pass roofline a mesh"):
        effax.shard_map(piece, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.ones((8, 16)))


def test_a_planned_mesh_runs_nothing():
    """A mesh without devices is for looking at programs; called as they are, they say so."""
    with pytest.raises(ValueError, match=r"Please pass .* AbstractMesh\(.*\) has no devices"):
        effax.shard_map(jnp.sin, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(jnp.ones((8, 16)))
