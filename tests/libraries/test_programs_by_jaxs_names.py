"""Programs taken apart, put together and performed by the names that JAX gives their parts."""

import pickle

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.core import ShapedArray, eval_jaxpr
from effax.effects.effect import find_effect
from effax.extend import core
from effax.interpreters import ad, mlir

X = np.arange(6, dtype=np.float32).reshape(2, 3)

# What JAX 0.10.2 says of these functions' equations; each has one.
PARAMETERS = [
    (lambda x: lax.exp(x), {"accuracy": None}),
    (lambda x: lax.reshape(x, (6,)), {"new_sizes": (6,), "dimensions": None, "sharding": None}),
    (
        lambda x: lax.broadcast_in_dim(x, (2, 2, 3), (1, 2)),
        {"shape": (2, 2, 3), "broadcast_dimensions": (1, 2), "sharding": None},
    ),
    (
        lambda x: lax.slice(x, (0, 1), (2, 3)),
        {"start_indices": (0, 1), "limit_indices": (2, 3), "strides": None},
    ),
    (lambda x: lax.concatenate([x, x], 1), {"dimension": 1}),
    (lambda x: lax.pad(x, 0.0, [(1, 1, 0), (0, 0, 0)]), {"padding_config": ((1, 1, 0), (0, 0, 0))}),
    (lambda x: lax.rev(x, (0,)), {"dimensions": (0,)}),
    (
        lambda x: lax.convert_element_type(x, jnp.int32),
        {"new_dtype": np.dtype("int32"), "weak_type": False, "sharding": None},
    ),
    (lambda x: lax.bitcast_convert_type(x, jnp.int32), {"new_dtype": np.dtype("int32")}),
    (lambda x: lax.argmax(x, 1, jnp.int32), {"axes": (1,), "index_dtype": np.dtype("int32")}),
    (lambda x: lax.reduce_sum(x, (0,)), {"axes": (0,), "out_sharding": None}),
]


@pytest.mark.parametrize(("function", "expected"), PARAMETERS)
def test_parameters_have_their_names_and_are_taken_by_them(function, expected):
    (equation,) = effax.make_jaxpr(function)(X).eqns
    found = equation.params
    assert {name: found[name] for name in expected} == expected
    operands = [X if isinstance(x, core.Var) else x.val for x in equation.invars]
    bound = equation.primitive.bind(*operands, **equation.params)
    np.testing.assert_array_equal(bound, function(X))
    # By JAX's names alone, as a walker does that builds the parameters.
    others = {n: v for n, v in found.items() if n in expected or n in equation.attributes}
    for name, ours in (("axes", "axis"), ("dimension", "axis"), ("new_sizes", "shape")):
        if name in expected and ours in others:
            del others[ours]
    np.testing.assert_array_equal(equation.primitive.bind(*operands, **others), function(X))


def test_a_program_is_changed_and_put_together():
    closed = effax.make_jaxpr(lambda x: jnp.cos(jnp.sin(x)) + jnp.asarray([2.0]))(1.0)
    program = closed.jaxpr
    first = program.eqns[0]
    shorter = program.replace(eqns=program.eqns[:1], outvars=first.outvars, effects=set())
    whole = core.ClosedJaxpr(shorter, closed.consts)
    assert isinstance(whole, core.ClosedJaxpr) and isinstance(whole.jaxpr, core.Jaxpr)
    assert eval_jaxpr(whole.jaxpr, whole.consts, 1.0)[0] == jnp.sin(1.0)
    assert whole.literals == closed.consts
    other = first.replace(primitive=program.eqns[1].primitive)
    assert other.primitive.name == "cos" and other.outvars == first.outvars
    again = core.Jaxpr(program.constvars, program.invars, other.outvars, [other], set())
    assert eval_jaxpr(again, closed.consts, 1.0)[0] == jnp.cos(1.0)
    with pytest.raises(TypeError, match="no part 'equations'"):
        program.replace(equations=[])


def test_a_program_is_written_from_nothing():
    new = core.gensym()
    x, y = (new(ShapedArray((2,), np.dtype("float32"))) for _ in range(2))
    double = core.new_jaxpr_eqn([x, x], [y], lax.add_p, {})
    assert double.effects == core.no_effects
    (found,) = eval_jaxpr(core.Jaxpr([], [x], [y], [double]), [], np.ones(2, np.float32))
    assert found.tolist() == [2.0, 2.0]


def test_effects_have_jaxs_names_and_are_keys_by_them():
    from effax.extend.core import primitives

    def f(x):
        added = jnp.zeros(3).at[jnp.array([0, 2])].add(x)
        return effax.jit(lambda x: x + 1.0, inline=False)(added)

    names = {e.primitive.name: e.primitive for e in effax.make_jaxpr(f)(X[0, :2]).eqns}
    assert {"jit", "scatter-add"} <= names.keys()
    assert names["jit"] is primitives.jit_p and names["scatter-add"] is lax.scatter_add_p
    rules = {primitives.jit_p: "a call", lax.scatter_add_p: "a sum", primitives.squeeze_p: "-"}
    assert rules[find_effect("call")] == "a call" and rules[names["scatter-add"]] == "a sum"
    assert {find_effect("call"): 1}[names["jit"]] == 1
    assert pickle.loads(pickle.dumps(primitives.jit_p)) is primitives.jit_p


def test_primitives_that_no_program_has_are_keys_alone():
    from effax.extend.core.primitives import add_jaxvals_p, squeeze_p

    assert add_jaxvals_p is ad.add_jaxvals_p is not lax.add_p
    assert {lax.add_p: "sum", add_jaxvals_p: "cotangents"}[lax.add_p] == "sum"
    assert add_jaxvals_p.bind(X, X).tolist() == (X + X).tolist()
    assert squeeze_p is lax.squeeze_p and squeeze_p.name == "squeeze"
    with pytest.raises(NotImplementedError, match="programs of effax have others"):
        squeeze_p.bind(X, dimensions=(0,))


def test_an_equation_is_made_of_an_effect_by_jaxs_name():
    from effax.extend.core.primitives import jit_p

    call = effax.make_jaxpr(effax.jit(jnp.sin))(1.0).eqns[0]
    again = call.replace(primitive=jit_p)
    assert again.effect is call.effect and again.primitive is jit_p


def test_named_axes_are_bound_by_axis_env():
    program = effax.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 2)])(1.0)
    assert [e.primitive.name for e in program.eqns] == ["psum"]


class Tripled(core.Primitive):
    """A primitive that says what it is by methods."""

    def impl(self, x):
        return 3 * x

    def abstract_eval(self, x):
        return x, set()


def test_a_subclass_of_primitive_gives_its_rules_as_methods():
    tripled = Tripled("tripled_by_methods")
    assert tripled.bind(2.0) == 6.0
    assert effax.eval_shape(tripled.bind, 2.0).shape == ()


def test_a_tracer_of_derivatives_says_what_it_is():
    seen = []

    def f(x):
        seen.append((isinstance(x, ad.JVPTracer), x._trace.main is x._trace, x.primal, x.tangent))
        return x

    effax.jvp(f, (1.0,), (2.0,))
    assert seen == [(True, True, 1.0, 2.0)]


def test_zeros_of_rules_are_nodes_of_trees_and_operands_are_tuples():
    first = core.Primitive("first_of_two")
    first.def_abstract_eval(lambda x, y: x)
    first.def_impl(lambda x, y: x)
    seen = []

    def rule(primals, tangents):
        seen.append((type(primals), type(tangents), len(effax.tree.leaves(tangents))))
        mapped = effax.vmap(lambda p, t: (p[0], t[0]), ((0, None), (0, None)))
        return mapped(primals, tangents)

    ad.primitive_jvps[first] = rule
    _, tangent = effax.jvp(lambda x: first.bind(x, 2.0), (jnp.ones(2),), (jnp.ones(2),))
    assert tangent.tolist() == [1.0, 1.0] and seen == [(tuple, tuple, 1)]
    assert effax.tree.leaves(ad.UndefinedPrimal(ShapedArray((), np.dtype("float32")))) == []


def test_a_lowering_may_call_python():
    both = core.Primitive("sine_and_sum_by_python")
    both.multiple_results = True
    both.def_abstract_eval(lambda x: [x, ShapedArray((), x.dtype)])

    def lower(ctx, x):
        results, _, kept = mlir.emit_python_callback(
            ctx,
            lambda x: (np.sin(x), x.sum()),
            None,
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=False,
        )
        ctx.module_context.add_keepalive(kept)
        return results

    mlir.register_lowering(both, lower)
    sine, total = effax.jit(lambda x: both.bind(x + effax.pure_callback(np.cos, x, x)))(X)
    np.testing.assert_allclose(sine, np.sin(X + np.cos(X)), rtol=1e-6)
    np.testing.assert_allclose(total, (X + np.cos(X)).sum(), rtol=1e-6)
