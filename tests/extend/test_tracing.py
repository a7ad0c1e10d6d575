"""Interpreters by JAX's protocol: classes derived from `core.Trace` and `core.Tracer`."""

import math

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import core, lax
from effax.custom_derivatives import SymbolicZero
from effax.extend import core as extend
from effax.extend import linear_util as lu
from effax.extend.core import primitives
from effax.extend.tracing import full_lower
from effax.extend.typed_numbers import TypedFloat


class Counted(core.Tracer):
    __slots__ = ("count", "value")

    def __init__(self, trace, value, count):
        super().__init__(trace, effax.typeof(value))
        self.value = value
        self.count = count


class Counting(core.Trace):
    """A trace that counts how many primitives a value went through."""

    def __init__(self, parent):
        super().__init__()
        self.parent = parent
        self.seen = []

    def pair(self, x):
        mine = isinstance(x, Counted) and x._trace is self
        return (x.value, x.count) if mine else (x, 0)

    def process_primitive(self, primitive, tracers, params):
        self.seen.append((primitive.name, [type(x) for x in tracers], params))
        values, counts = zip(*map(self.pair, tracers), strict=True)
        with extend.set_current_trace(self.parent):
            out = primitive.bind(*values, **params)
        count = max(counts) + 1
        if primitive.multiple_results:
            return [Counted(self, x, count) for x in out]
        return Counted(self, out, count)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        values, counts = zip(*map(self.pair, tracers), strict=True)
        fun, counts_of_fun = _counted(fun, counts)
        jvp, _ = _counted_rule(jvp, counts)
        params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
        avals = [effax.typeof(x) for x in values]
        out = primitive.bind_with_trace(self.parent, values, avals, params)
        return [Counted(self, x, n) for x, n in zip(out, counts_of_fun(), strict=True)]

    def process_custom_vjp_call(
        self, primitive, fun, fwd, bwd, tracers, *, out_trees, symbolic_zeros
    ):
        with extend.set_current_trace(self):
            residuals_and_results = fwd.call_wrapped(*tracers)
        results, residuals, forwarded = out_trees()
        assert len(forwarded) == residuals.num_leaves
        return residuals_and_results[-results.num_leaves :]


@lu.transformation_with_aux
def _counted(counts, *values):
    with extend.take_current_trace() as parent:
        trace = Counting(parent)
        with extend.set_current_trace(trace):
            out = yield [Counted(trace, x, n) for x, n in zip(values, counts, strict=True)], {}
        pairs = [trace.pair(x) for x in out]
    yield [x for x, _ in pairs], [n for _, n in pairs]


@lu.transformation_with_aux
def _counted_rule(counts, *values):
    with extend.take_current_trace() as parent:
        trace = Counting(parent)
        with extend.set_current_trace(trace):
            out = yield [Counted(trace, x, n) for x, n in zip(values, counts * 2, strict=True)], {}
    yield [trace.pair(x)[0] for x in out], None


def counted(f, seen=None):
    def call(*args):
        with extend.take_current_trace() as parent:
            trace = Counting(parent)
            tracers = [Counted(trace, jnp.asarray(x), 0) for x in args]
            with extend.set_current_trace(trace):
                out = f(*tracers)
        if seen is not None:
            seen[:] = trace.seen
        return trace.pair(out)

    return call


def value_of(f):
    return lambda *args: counted(f)(*args)[0]


def f(x):
    return jnp.sum(jnp.sin(x) * 2.0 + x)


X = jnp.linspace(0.0, 1.0, 3)


def test_each_effect_is_given_under_jaxs_names():
    seen = []
    value, count = counted(lambda x: lax.reshape(f(x) * x, (3, 1)), seen)(X)
    assert value.tolist() == lax.reshape(f(X) * X, (3, 1)).tolist()
    assert count == len(seen)
    assert {"sin", "mul", "add", "reduce_sum", "reshape"} <= {name for name, _, _ in seen}
    by_name = {name: (kinds, params) for name, kinds, params in seen}
    assert by_name["reshape"][1] == {"new_sizes": (3, 1), "dimensions": None, "sharding": None}
    assert by_name["reduce_sum"][1] == {"axes": (0,), "out_sharding": None}
    (_, kinds, _) = next(call for call in seen if call[0] == "mul")
    assert kinds == [Counted, TypedFloat], "a number has the dtype of the others"


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: effax.jit(f),
        lambda f: effax.vmap(f),
        lambda f: effax.grad(lambda x: jnp.sum(f(x))),
        lambda f: effax.jit(effax.vmap(effax.grad(f))),
        lambda f: lambda x: lax.scan(lambda c, x: (c + f(x), f(x)), 0.0, x)[1],
    ],
    ids=["jit", "vmap", "grad", "all", "scan"],
)
def test_it_nests_with_transforms_on_both_sides(transformed):
    def g(x):
        return jnp.sin(x) * x

    wanted = transformed(g)(X)
    np.testing.assert_allclose(transformed(value_of(g))(X), wanted, rtol=1e-6)
    np.testing.assert_allclose(value_of(transformed(g))(X), wanted, rtol=1e-6)


def test_a_trace_inside_another():
    value, count = counted(lambda x: counted(lambda y: jnp.sin(y) + x)(x)[0])(X)
    np.testing.assert_allclose(value, jnp.sin(X) + X)
    assert count == 2


def test_programs_with_constants_are_bound():
    held = jnp.arange(3.0)

    class Restaging(Counting):
        def process_primitive(self, primitive, tracers, params):
            found = {}
            for name, p in params.items():
                programs = p if isinstance(p, tuple) else (p,)
                if programs and all(isinstance(q, extend.ClosedJaxpr) for q in programs):
                    again = [
                        effax.make_jaxpr(lambda *x, q=q: [v + 0 * held for v in q.run(*x)])(
                            *q.in_avals
                        )
                        if name in ("body_jaxpr", "branches")
                        else effax.make_jaxpr(
                            lambda *x, q=q: [v & (held[0] == 0) for v in q.run(*x)]
                        )(*q.in_avals)
                        for q in programs
                    ]
                    assert all(q.consts for q in again)
                    found[name] = tuple(again) if isinstance(p, tuple) else again[0]
            return super().process_primitive(primitive, tracers, {**params, **found})

    def run(f, x):
        with extend.take_current_trace() as parent:
            trace = Restaging(parent)
            with extend.set_current_trace(trace):
                return trace.pair(f(Counted(trace, x, 0)))[0]

    for f in (
        lambda x: lax.while_loop(lambda c: jnp.all(c < 5), lambda c: c + 1, x),
        lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: -x, x),
    ):
        assert run(f, held).tolist() == f(held).tolist()


@effax.custom_jvp
def tripled(x, y):
    return x * y


@tripled.defjvp
def _(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return tripled(x, y), 3.0 * (dx * y + x * dy)


def test_functions_with_rules_are_wrapped_and_bound_again():
    value, count = counted(lambda x: tripled(x, x) + x)(X)
    assert value.tolist() == (X * X + X).tolist() and count == 2
    derivative = effax.grad(lambda x: jnp.sum(value_of(lambda x: tripled(x, x))(x)))
    np.testing.assert_allclose(derivative(X), 6 * X, rtol=1e-6)
    out, tangent = effax.jvp(value_of(lambda x: tripled(x, 2.0)), (X,), (jnp.ones(3),))
    assert out.tolist() == (2 * X).tolist() and tangent.tolist() == [6.0] * 3
    mapped = effax.vmap(effax.grad(value_of(lambda x: tripled(x, x))))(X)
    np.testing.assert_allclose(mapped, 6 * X, rtol=1e-6)


def test_values_that_a_function_with_a_rule_closes_over():
    held = jnp.arange(3.0)

    @effax.custom_jvp
    def forward(x):
        return x * held

    forward.defjvp(lambda primals, tangents: (forward(*primals), 5.0 * tangents[0]))

    @effax.custom_vjp
    def backward(x):
        return x * held

    backward.defvjp(lambda x: (x * held, None), lambda _, ct: (5.0 * ct,))
    assert value_of(forward)(X).tolist() == value_of(backward)(X).tolist() == (X * held).tolist()
    derivative = effax.grad(lambda x: jnp.sum(value_of(forward)(x)))
    assert derivative(X).tolist() == effax.jit(derivative)(X).tolist() == [5.0] * 3


def test_symbolic_zeros_reach_a_wrapped_rule():
    given = []

    @effax.custom_jvp
    def product(x, y):
        return x * y

    def rule(primals, tangents):
        given.append([type(t) is SymbolicZero for t in tangents])
        x, y = primals
        return product(x, y), y * tangents[0]

    product.defjvp(rule, symbolic_zeros=True)

    class Plain(Counting):
        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
            assert symbolic_zeros
            values = [self.pair(x)[0] for x in tracers]
            params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
            out = primitive.bind_with_trace(self.parent, values, [], params)
            return [Counted(self, x, 1) for x in out]

    def call(x):
        with extend.take_current_trace() as parent:
            trace = Plain(parent)
            with extend.set_current_trace(trace):
                return trace.pair(product(Counted(trace, x, 0), 3.0))[0]

    assert float(effax.grad(call)(2.0)) == 3.0
    assert given == [[False, True]]


def test_functions_with_reverse_rules_are_called():
    @effax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, ct: (c * ct,))
    assert math.isclose(counted(f)(1.0)[0], math.sin(1.0), rel_tol=1e-6)


class Bare(core.Trace):
    """A trace that defines nothing."""


@pytest.mark.parametrize(
    "call",
    [
        lambda: lax.sin(1.0),
        lambda: tripled(X, X),
        lambda: effax.nn.gelu(X),
        lambda: Bare().stage_value(1.0),
    ],
)
def test_what_a_trace_does_not_define_is_refused_by_name(call):
    with (
        extend.set_current_trace(Bare()),
        pytest.raises(NotImplementedError, match="Bare must define"),
    ):
        call()


def test_a_reverse_rule_is_not_wrapped():
    with pytest.raises(NotImplementedError, match="only the functions of custom_jvp_call"):
        primitives.custom_vjp_call_p.bind(X, subfuns=(lu.wrap_init(jnp.sin),))


def test_classes_ask_for_every_carrier_and_handler():
    def asked(x):
        with extend.take_current_trace() as trace:
            assert isinstance(trace, core.Trace) and not isinstance(trace, Counting)
            assert extend.find_top_trace([x]) is trace
        return x * (isinstance(x, core.Tracer) and not isinstance(x, Counted))

    assert effax.jit(asked)(2.0) == 2
    assert not isinstance(X, core.Tracer)
    assert isinstance(lax.add_p, extend.Primitive) and isinstance(
        primitives.jit_p, extend.Primitive
    )
    assert not isinstance(lax.add, extend.Primitive)
    assert core.Trace[Counted].__origin__ is core.Trace


def test_an_ended_trace_counts_as_absent():
    with extend.take_current_trace() as parent:
        trace = Counting(parent)
    trace.invalidate()
    assert not trace.is_valid()
    with extend.set_current_trace(trace):
        assert jnp.sin(0.0).tolist() == 0 and not trace.seen


def test_values_outside_a_trace():
    assert full_lower(3) == 3
    with extend.take_current_trace() as parent:
        x = Counted(Counting(parent), X, 0)
    assert full_lower(x) is x and x.aval is x.type and x.shape == (3,)
    assert extend.TraceTag() == extend.TraceTag()
    assert "Counting" in repr(x._trace)


def test_scalars_are_broadcast_where_primitives_are_bound():
    assert lax.mul_p.bind(X, jnp.float32(2.0)).tolist() == (2 * X).tolist()
    assert lax.mul_p.bind(X, TypedFloat(2.0, "float32")).tolist() == (2 * X).tolist()
    chosen = primitives.select_n_p.bind(X > 0.3, X, jnp.float32(7.0))
    assert chosen.tolist() == [0, 7, 7]
