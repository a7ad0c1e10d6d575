"""Primitives given rule by rule, as programs written for JAX do, under every transform."""

import numpy as np
import pytest

import effax
import effax.ffi
import effax.numpy as jnp
from effax import core
from effax.experimental.layout import Layout
from effax.extend.core import Primitive
from effax.interpreters import ad, batching, mlir


def zeros_for(tangent, like):
    return jnp.zeros_like(like) if type(tangent) is ad.Zero else tangent


@pytest.fixture(scope="module")
def multiply_add():
    """x y + z, with a lowering written in MLIR's operations."""
    p = Primitive("multiply_add")
    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))

    @p.def_abstract_eval
    def types(x, y, z):
        assert x.shape == y.shape == z.shape
        return core.ShapedArray(x.shape, x.dtype)

    def lowered(ctx, x, y, z):
        from jaxlib.mlir.dialects import stablehlo

        assert ctx.avals_out[0].dtype == np.float32
        return [stablehlo.AddOp(stablehlo.MulOp(x, y).result, z).result]

    def moved(primals, tangents):
        (x, y, z), (xt, yt, zt) = primals, tangents
        rest = p.bind(x, zeros_for(yt, x), zeros_for(zt, x))
        return p.bind(x, y, z), p.bind(zeros_for(xt, x), y, rest)

    def transposed(ct, x, y, z):
        if ad.is_undefined_primal(x):
            return p.bind(ct, y, jnp.zeros_like(y)), None, ct
        return None, p.bind(x, ct, jnp.zeros_like(x)), ct

    def batched(values, dims):
        size = next(v.shape[d] for v, d in zip(values, dims, strict=True) if d is not None)
        return p.bind(*[batching.bdim_at_front(v, d, size) for v, d in zip(values, dims)]), 0  # noqa: B905

    mlir.register_lowering(p, lowered)
    ad.primitive_jvps[p] = moved
    ad.primitive_transposes[p] = transposed
    batching.primitive_batchers[p] = batched
    return p


@pytest.fixture
def square_add(multiply_add):
    return lambda x, z: multiply_add.bind(x, x, z)


def test_eager_and_compiled(square_add):
    assert float(square_add(2.0, 10.0)) == 14
    assert float(effax.jit(square_add)(2.0, 10.0)) == 14


@pytest.mark.parametrize("around", [lambda f: f, effax.jit])
def test_derivatives(square_add, around):
    out, tangent = effax.jvp(around(square_add), (2.0, 10.0), (1.0, 1.0))
    assert (float(out), float(tangent)) == (14, 5)
    assert float(around(effax.grad(square_add))(2.0, 10.0)) == 4
    assert float(around(effax.grad(effax.grad(square_add)))(2.0, 10.0)) == 2
    effax.test_util.check_grads(square_add, (2.0, 10.0), order=2)


@pytest.mark.parametrize("around", [lambda f: f, effax.jit])
def test_batches(square_add, around):
    x, z = np.arange(3, dtype="f4"), np.float32(2)
    found = around(effax.vmap(square_add, in_axes=(0, None)))(x, z)
    np.testing.assert_array_equal(found, x * x + z)
    slopes = around(effax.vmap(effax.grad(square_add), in_axes=(0, None)))(x, z)
    np.testing.assert_array_equal(slopes, 2 * x)


def test_in_a_scan(square_add):
    def step(c, x):
        return square_add(c, x), c

    found = effax.jit(effax.grad(lambda c: effax.lax.scan(step, c, jnp.ones(3))[0]))(0.5)
    expected = effax.grad(lambda c: (((c * c + 1) ** 2) + 1) ** 2 + 1)(0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_program_names_the_primitive(multiply_add, square_add):
    closed = effax.make_jaxpr(square_add)(2.0, 3.0)
    (equation,) = closed.jaxpr.eqns
    assert equation.primitive is multiply_add
    assert "multiply_add" in str(closed)


def test_what_is_not_given_is_said():
    p = Primitive("of_nothing")
    with pytest.raises(NotImplementedError, match="Evaluation rule for 'of_nothing'"):
        p.bind(1.0)
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'of_nothing'"):
        effax.jit(p.bind)(1.0)
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive"):
        effax.jit(p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="of_nothing"):
        effax.jvp(p.bind, (1.0,), (1.0,))
    with pytest.raises(NotImplementedError, match="of_nothing"):
        effax.vmap(p.bind)(jnp.ones(2))


def test_two_primitives_may_have_one_name():
    one, other = Primitive("twin"), Primitive("twin")
    one.def_impl(lambda x: x + 1)
    other.def_impl(lambda x: x + 2)
    assert (float(one.bind(1.0)), float(other.bind(1.0))) == (2, 3)


@pytest.fixture(scope="module")
def sine_and_cosine():
    """Two results, lowered by a function; rules by operand."""
    p = Primitive("sine_and_cosine")
    p.multiple_results = True
    p.def_impl(lambda x: [np.sin(x), np.cos(x)])
    p.def_abstract_eval(lambda x: [x, x])
    mlir.register_lowering(p, mlir.lower_fun(lambda x: [jnp.sin(x), jnp.cos(x)]))

    def moved(primals, tangents):
        s, c = p.bind(*primals)
        return [s, c], [tangents[0] * c, -tangents[0] * s]

    ad.primitive_jvps[p] = moved
    batching.primitive_batchers[p] = lambda values, dims: (p.bind(*values), [dims[0]] * 2)
    return p


def test_several_results(sine_and_cosine):
    x = np.linspace(0, 1, 4, dtype="f4")
    for f in (sine_and_cosine.bind, effax.jit(sine_and_cosine.bind)):
        np.testing.assert_allclose(f(x)[1], np.cos(x), rtol=1e-6)
    both = effax.jit(effax.vmap(effax.grad(lambda x: sum(sine_and_cosine.bind(x)))))
    np.testing.assert_allclose(both(x), np.cos(x) - np.sin(x), atol=1e-6)


def test_linear_and_bilinear_and_by_operand():
    scale = Primitive("scale_by")
    scale.def_impl(lambda x, *, by: x * by)
    scale.def_abstract_eval(lambda x, *, by: x)
    mlir.register_lowering(scale, mlir.lower_fun(lambda x, *, by: x * by, multiple_results=False))
    ad.deflinear(scale, lambda ct, *, by: [scale.bind(ct, by=by)])
    batching.defvectorized(scale)
    assert float(effax.jit(effax.grad(lambda x: scale.bind(x, by=3.0)))(1.0)) == 3
    np.testing.assert_array_equal(effax.vmap(lambda x: scale.bind(x, by=2.0))(np.ones(2)), [2, 2])

    product = Primitive("product_of_two")
    product.def_impl(lambda x, y: x * y)
    product.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(product, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    assert [float(g) for g in effax.grad(product.bind, (0, 1))(2.0, 5.0)] == [5, 2]

    power = Primitive("power_of")
    power.def_impl(lambda x, n: x**n)
    power.def_abstract_eval(lambda x, n: x)
    ad.defjvp2(power, lambda t, out, x, n: t * n * out / x, None)
    assert float(effax.grad(power.bind)(2.0, 3.0)) == 12


def test_lowerings_may_hold_arrays():
    held = jnp.array([1.0, np.nan, -0.0])
    p = Primitive("plus_held")
    p.def_impl(lambda x: x + held)
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x + held, multiple_results=False))
    np.testing.assert_array_equal(effax.jit(p.bind)(jnp.ones(3)), [2, np.nan, 1])

    mine = effax.extend.Effect("plus_held_too", family="mine", typing=lambda x: x)
    effax.extend.expand(mine)(lambda x: effax.effects.rows.elementwise.add(x, held))
    np.testing.assert_array_equal(effax.jit(mine)(jnp.ones(3)), [2, np.nan, 1])
    np.testing.assert_array_equal(mine(jnp.ones(3)), [2, np.nan, 1])


def test_rules_that_are_told_of_the_axis():
    def plus_size(table, rule):
        p = Primitive("plus_size")
        p.def_impl(lambda x: x)
        p.def_abstract_eval(lambda x: x)
        table[p] = rule
        return effax.vmap(p.bind, axis_name="i")(np.zeros(3, "f4"))

    fancy = plus_size(batching.fancy_primitive_batchers, lambda axis, x, d: (x[0] + axis.size, 0))
    np.testing.assert_array_equal(fancy, [3, 3, 3])
    old = plus_size(
        batching.axis_primitive_batchers, lambda n, name, _, x, d: (x[0] + n * (name == "i"), d[0])
    )
    np.testing.assert_array_equal(old, [3, 3, 3])


def test_programs_read_by_jaxs_names():
    """An interpreter of programs, written as JAX's documentation writes it: the inverse."""
    held = jnp.arange(3.0)
    closed = effax.make_jaxpr(lambda x: jnp.exp(jnp.tanh(x)) + held)(jnp.ones(3))
    program, env = closed.jaxpr, {}

    def read(v):
        return v.val if type(v) is effax.extend.core.Literal else env[v]

    env.update(zip(program.invars, [jnp.ones(3)], strict=True))
    env.update(zip(program.constvars, closed.consts, strict=True))
    for e in program.eqns:
        out = e.primitive.bind(*map(read, e.invars), **e.params)
        env.update(zip(e.outvars, out if e.primitive.multiple_results else [out], strict=True))
    expected = np.exp(np.tanh(np.ones(3))) + np.arange(3)
    np.testing.assert_allclose(read(program.outvars[0]), expected, rtol=1e-6)
    assert [x.shape for x in closed.in_avals] == [(3,)]
    again = core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.ones(3))
    np.testing.assert_allclose(again[0], expected, rtol=1e-6)


def test_programs_inside_programs_by_jaxs_names():
    from effax.extend.core.primitives import jit_p, scan_p

    @effax.jit
    def f(xs):
        return effax.lax.scan(lambda c, x: (c * x, c), 2.0, xs)[0]

    closed = effax.make_jaxpr(f)(jnp.full(3, 3.0))
    (outer,) = closed.eqns
    assert outer.primitive is jit_p
    (inner,) = [e for e in outer.params["jaxpr"].jaxpr.eqns if e.primitive is scan_p]
    assert (inner.params["num_consts"], inner.params["num_carry"], inner.params["length"]) == (
        0,
        1,
        3,
    )
    assert len(inner.params["jaxpr"].invars) == 2
    params = jit_p.get_bind_params(outer.params)
    assert float(jit_p.bind(jnp.full(3, 3.0), **params)[0]) == 54
    with pytest.raises(AttributeError, match="sqeeze_p"):
        effax.extend.core.primitives.sqeeze_p  # noqa: B018


def test_the_state_of_tracing():
    from effax.extend.core import get_opaque_trace_state

    outside, seen = get_opaque_trace_state(), []

    @effax.jit
    def f(x):
        seen.append((outside == get_opaque_trace_state(), isinstance(x, core.Tracer)))
        return x

    f(1.0)
    assert seen == [(False, True)]
    assert outside == get_opaque_trace_state()


def test_a_lowering_may_call_a_registered_function():
    p = Primitive("geqrf")
    p.multiple_results = True
    p.def_abstract_eval(lambda a: [a, effax.core.ShapedArray(a.shape[:-1], a.dtype)])
    by_columns = {"operand_layouts": [(0, 1)], "result_layouts": [(0, 1), None]}
    lowering = effax.ffi.ffi_lowering("lapack_sgeqrf_ffi", **by_columns)
    mlir.register_lowering(p, lowering, platform="cpu")
    a = np.array([[3, 1], [4, 2]], "f4")
    r, tau = effax.jit(p.bind)(a)
    assert tau.shape == (2,)
    np.testing.assert_allclose(np.abs(np.triu(r)), np.abs(np.linalg.qr(a)[1]), rtol=1e-5)


def test_what_a_lowering_says_of_a_registered_function():
    p = Primitive("told")
    p.def_abstract_eval(lambda a, **config: a)

    def rule(ctx, *operands, **config):
        return effax.ffi.ffi_lowering(
            "told_ffi",
            operand_layouts=[(0, 1)],
            result_layouts=[Layout((0, 1))],
            operand_output_aliases={0: 0},
            has_side_effect=True,
            extra_attributes={"said": mlir.ir_attribute(("by", 2))},
        )(ctx, *operands, **config)

    mlir.register_lowering(p, rule)
    text = effax.jit(lambda a: p.bind(a, eps=0.5, n=3)).lower(jnp.ones((2, 3))).as_text()
    for said in (
        "custom_call @told_ffi",
        "api_version = 4",
        "eps = 5.000000e-01 : f64, n = 3 : i64",
        "has_side_effect = true",
        "operand_layouts = [dense<[0, 1]>",
        "result_layouts = [dense<[1, 0]>",
        "operand_index = 0",
        'said = ["by", 2]',
    ):
        assert said in text


def test_conventions_before_the_fourth_take_text_and_no_parameters():
    build = effax.ffi.build_ffi_lowering_function
    with pytest.raises(ValueError, match="at least 4; got api_version=2"):
        build("told", api_version=2)(None, n=3)
    with pytest.raises(ValueError, match="must be a dictionary"):
        build("told", backend_config="text")(None)
