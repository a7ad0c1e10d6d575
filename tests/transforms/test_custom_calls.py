"""Functions with a derivative of their own: what is called when, and what they may close over."""

from functools import partial

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.errors import UnsupportedDerivativeError

X = jnp.arange(3.0)


def _with_python_inside(kind, calls):
    def f(x):
        calls.append("f")
        if x > 0:
            return np.sin(np.asarray(x)) * int(x)
        return jnp.cos(x)

    g = kind(f)
    if kind is effax.custom_jvp:

        @g.defjvp
        def rule(primals, tangents):
            calls.append("rule")
            return 3 * primals[0], 5 * tangents[0]

    else:

        def forward(x):
            calls.append("rule")
            return 3 * x, None

        g.defvjp(forward, lambda residuals, ct: (5 * ct,))
    return g


@pytest.mark.parametrize("kind", [effax.custom_jvp, effax.custom_vjp])
def test_a_call_that_no_one_differentiates_is_the_function_itself(kind) -> None:
    calls = []
    g = _with_python_inside(kind, calls)
    assert np.allclose(g(2.0), 2 * np.sin(2.0))
    assert np.allclose(g(jnp.array(-1.0)), np.cos(-1.0))
    assert calls == ["f", "f"]
    calls.clear()
    assert np.allclose(effax.vmap(lambda x: g(1.0) * x)(X), np.sin(1.0) * X)
    assert np.allclose(effax.grad(lambda x: g(1.0) * x)(3.0), np.sin(1.0))
    assert calls == ["f", "f"]


@pytest.mark.parametrize("kind", [effax.custom_jvp, effax.custom_vjp])
@pytest.mark.parametrize(
    "transform",
    [
        lambda g: effax.grad(g)(2.0),
        lambda g: effax.value_and_grad(g)(2.0)[1],
        lambda g: effax.vmap(effax.grad(g))(X)[0],
        lambda g: effax.jit(effax.grad(g))(2.0),
        lambda g: effax.jacrev(g)(2.0),
        lambda g: effax.jvp(g, (2.0,), (1.0,))[1],
        lambda g: effax.linearize(g, 2.0)[1](1.0),
        lambda g: effax.grad(lambda x: g(x * 2.0) / 2.0)(1.0),
    ],
)
def test_a_derivative_calls_the_rule_once_and_not_the_function(kind, transform) -> None:
    calls = []
    assert float(transform(_with_python_inside(kind, calls))) == 5.0
    assert calls == ["rule"]


def test_the_function_is_given_arrays() -> None:
    seen = []
    f = effax.custom_jvp(lambda x, n: seen.append((type(x), n.shape)) or x)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    f(1.0, np.ones(2))
    assert seen == [(type(X), (2,))]


def _closing_over(x):
    @effax.custom_jvp
    def f(y):
        return x * y

    f.defjvp(lambda primals, tangents: (f(*primals), jnp.sin(x) * tangents[0]))
    return f


def _fixed_first():
    @partial(effax.custom_jvp, nondiff_argnums=(0,))
    def f(a, y):
        return a * y

    f.defjvp(lambda a, primals, tangents: (f(a, *primals), a * 5 * tangents[0]))
    return f


def _in_a_batch(function, x):
    return effax.vmap(function)(x[None])[0]


def test_a_rule_may_close_over_a_mapped_value() -> None:
    inside = effax.vmap(lambda x: effax.grad(_closing_over(x))(2.0))
    assert np.allclose(inside(X), np.sin(X))

    def around(y):
        return effax.vmap(lambda x: _closing_over(x)(y * x))(X).sum()

    expected = np.sum(np.sin(X) * X)
    for gradient in (effax.grad(around), effax.jit(effax.grad(around))):
        assert np.allclose(gradient(2.0), expected)
    value, tangent = effax.jvp(around, (2.0,), (1.0,))
    assert np.allclose((value, tangent), (10.0, expected))


def test_arguments_that_are_not_differentiated_may_be_mapped() -> None:
    f = _fixed_first()
    assert np.allclose(effax.vmap(effax.grad(f, 1))(X, X), 5 * X)

    def around(y):
        return effax.vmap(lambda a: f(a, y * a))(X).sum()

    assert float(effax.grad(around)(2.0)) == 25.0
    assert float(effax.jit(effax.grad(around))(2.0)) == 25.0


def test_a_differentiated_value_is_not_closed_over() -> None:
    for inner in (lambda x: _closing_over(x)(1.0), lambda x: _closing_over(x)(x)):
        for function in (inner, effax.jit(inner), partial(_in_a_batch, inner)):
            with pytest.raises(UnsupportedDerivativeError, match="closes over") as caught:
                effax.grad(function)(jnp.float32(2.0))
            assert isinstance(caught.value, effax.errors.UnexpectedTracerError)


def test_arguments_are_resolved_to_positions() -> None:
    f = effax.custom_jvp(partial(lambda x, a: x * a, a=3.0))
    f.defjvp(lambda primals, tangents: (f(*primals), 7 * tangents[0]))
    assert float(effax.grad(f)(1.0)) == 7.0
    g = _fixed_first()
    assert float(effax.grad(lambda y: g(y=y, a=2.0))(1.0)) == 10.0
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        g(1.0)
    h = effax.custom_vjp(lambda x, *, z: x)
    h.defvjp(lambda x: (x, None), lambda residuals, ct: (ct,))
    with pytest.raises(TypeError, match="could not be resolved to positions: z"):
        h(1.0, z=2.0)


def test_linear_functions_leave_a_jit() -> None:
    push = effax.jit(lambda x: effax.linearize(lambda x: (jnp.sin(x), 2), x)[1])(2.0)
    tangent, nothing = push(3.0)
    assert np.allclose(tangent, 3 * np.cos(2.0))
    assert nothing.dtype == effax.dtypes.float0
    assert np.allclose(effax.jit(lambda f, t: f(t)[0])(push, 1.0), np.cos(2.0))
    with pytest.raises(TypeError, match="inconsistent with the primal"):
        push((1.0,))
    transpose = effax.jit(lambda x: effax.linear_transpose(lambda y: x * y, x))(2.0)
    assert float(transpose(3.0)[0]) == 6.0
    with pytest.raises(TypeError, match="cotangent tree"):
        transpose((1.0,))
    many = effax.vmap(lambda x: effax.linearize(jnp.sin, x)[1])(X)
    assert np.allclose(effax.vmap(lambda f: f(1.0))(many), np.cos(X))


def test_a_constant_tangent_of_a_linear_function_is_kept() -> None:
    f = effax.custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: (primals[0], jnp.sin(primals[0])))
    push = effax.jit(lambda x: effax.linearize(f, x)[1])(2.0)
    assert np.allclose(push(1.0), np.sin(2.0))


def test_a_scan_stores_linear_functions() -> None:
    _, pushes = lax.scan(lambda c, x: (c, effax.linearize(jnp.sin, x)[1]), 0.0, X)
    assert np.allclose(effax.vmap(lambda f: f(1.0))(pushes), np.cos(X))


def test_rules_of_other_types_than_the_function_are_refused() -> None:
    f = effax.custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: ((primals[0], primals[0]), (tangents[0], tangents[0])))
    with pytest.raises(TypeError, match=r"tree\n    \(float32\[\], float32\[\]\)\nand that"):
        effax.jit(effax.grad(effax.jit(f)))(1.0)
    f.defjvp(lambda primals, tangents: (primals[0], jnp.ones(1)))
    with pytest.raises(TypeError, match=r"Expected float32\[\] .* but got float32\[1\]"):
        effax.jvp(f, (1.0,), (1.0,))
    f.defjvp(lambda primals, tangents: 1.0)
    with pytest.raises(TypeError, match=r"must produce a pair .* but got 1\.0"):
        effax.jvp(f, (1.0,), (1.0,))
    g = effax.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (jnp.zeros(3), None), lambda residuals, ct: (ct,))
    with pytest.raises(TypeError, match=r"got fwd output type float32\[3\] which doesn't match"):
        effax.grad(lambda x: effax.jit(g)(x).sum())(1.0)


@pytest.mark.parametrize("symbolic", [True, False])
def test_cotangents_have_the_shapes_of_the_arguments(symbolic) -> None:
    f = effax.custom_vjp(lambda x, y: (x, y))

    def forward(x, y):
        return ((x.value, y.value) if symbolic else (x, y)), None

    f.defvjp(forward, lambda residuals, cts: cts[::-1], symbolic_zeros=symbolic)
    with pytest.raises(ValueError, match=r"output\[0\] the bwd rule .*f32\[2\]"):
        effax.grad(lambda x, y: f(x, y)[0].sum())(jnp.ones(1), jnp.ones(2))


def test_rules_of_two_kinds_are_given_through_either_wrapper() -> None:
    f = effax.custom_vjp(effax.custom_batching.custom_vmap(jnp.sin))
    f.def_vmap(lambda size, batched, x: (jnp.cos(x), True))
    f.defvjp(lambda x: (f(x), None), lambda residuals, ct: (7 * ct,))
    assert np.allclose(effax.vmap(f)(X), np.cos(X))
    assert float(effax.grad(f)(1.0)) == 7.0
    g = effax.custom_batching.custom_vmap(effax.custom_jvp(jnp.sin))
    g.defjvp(lambda primals, tangents: (primals[0], 5 * tangents[0]))
    g.def_vmap(lambda size, batched, x: (x, True))
    assert np.allclose(effax.vmap(g)(X), X)
    assert float(effax.grad(g)(1.0)) == 5.0


def test_a_rule_closes_over_what_another_derivative_moves() -> None:
    def inner(y, in_forward):
        @effax.custom_vjp
        def f(x):
            return 2.0 * jnp.sin(x)

        if in_forward:
            f.defvjp(lambda x: (f(x), y), lambda y, ct: (2.0 * jnp.cos(y) * ct,))
        else:
            f.defvjp(lambda x: (f(x), None), lambda _, ct: (2.0 * jnp.cos(y) * ct,))
        return effax.grad(f)(1.0)

    for in_forward in (True, False):
        function = partial(inner, in_forward=in_forward)
        assert np.allclose(effax.grad(function)(4.0), -2.0 * np.sin(4.0))
        assert np.allclose(effax.vmap(function)(X), 2.0 * np.cos(X))
        assert np.allclose(effax.jit(effax.vmap(function))(X), 2.0 * np.cos(X))


def test_a_rule_may_map_what_the_function_does_not() -> None:
    f = effax.custom_jvp(lambda x: np.zeros(x.shape, x.dtype))
    f.defjvp(lambda primals, tangents: (f(*primals), primals[0] * tangents[0]))
    g = effax.custom_vjp(lambda x: np.float32(0.0))
    g.defvjp(lambda x: (x * 0.0, x), lambda x, ct: (x * ct,))
    for function in (f, g):
        for gradient in (
            effax.vmap(effax.grad(function)),
            effax.grad(lambda x, function=function: effax.vmap(function)(x).sum()),
        ):
            assert np.allclose(gradient(X), X)
            assert np.allclose(effax.jit(gradient)(X), X)
    assert np.allclose(effax.jvp(effax.vmap(f), (X,), (X,))[1], X * X)


def test_a_function_is_called_on_what_is_known_at_compile_time() -> None:
    calls = []
    g = _with_python_inside(effax.custom_jvp, calls)

    @effax.jit
    def function():
        with effax.ensure_compile_time_eval():
            return g(1.0)

    assert np.allclose(function(), np.sin(1.0))


@pytest.mark.parametrize("kind", [effax.custom_jvp, effax.custom_vjp])
def test_a_result_that_neither_function_nor_rule_map_is_not_mapped(kind) -> None:
    f = kind(lambda x: lax.psum(x, "i"))
    if kind is effax.custom_jvp:
        f.defjvp(lambda primals, tangents: (f(*primals), lax.psum(tangents[0], "i")))
    else:
        f.defvjp(lambda x: (f(x), None), lambda residuals, ct: (ct,))
    total = effax.vmap(effax.jit(f), axis_name="i", out_axes=None)(X)
    assert float(total) == 3.0


@pytest.mark.parametrize("dtype", [None, effax.dtypes.float0])
@pytest.mark.parametrize("around", [lambda f: f, effax.jit])
def test_arrays_of_float0_are_made_anywhere(dtype, around):
    like = np.zeros((2,), effax.dtypes.float0) if dtype is None else jnp.arange(2)
    made = [
        around(lambda: jnp.zeros((2,), effax.dtypes.float0))(),
        around(lambda: jnp.ones(2, dtype=effax.dtypes.float0))(),
        around(lambda: jnp.zeros_like(like, dtype=dtype))(),
        around(lambda: jnp.asarray(np.zeros(2, effax.dtypes.float0)))(),
        around(lambda: effax.custom_derivatives.zero_from_primal(jnp.arange(2)))(),
    ]
    for x in made:
        assert x.shape == (2,) and x.dtype == effax.dtypes.float0


@pytest.mark.parametrize("around", [lambda f: f, effax.jit])
def test_rules_give_zeros_from_primals(around):
    zero_from_primal = effax.custom_derivatives.zero_from_primal

    @effax.custom_jvp
    def f(x, n):
        return {"x": x, "n": n}

    @f.defjvp
    def f_jvp(primals, tangents):
        x, n = primals
        return f(x, n), {"x": 3 * tangents[0], "n": zero_from_primal(n)}

    def step(c, _):
        found = f(*c)
        return (found["x"], found["n"]), None

    def steps(x, n):
        return lax.scan(step, (x, n), None, length=2)[0]

    tangents = 1.0, np.zeros((), effax.dtypes.float0)
    moved, nothing = around(lambda x, n: effax.jvp(steps, (x, n), tangents)[1])(2.0, 3)
    assert float(moved) == 9.0 and nothing.dtype == effax.dtypes.float0
    symbolic = zero_from_primal((2.0, 3), symbolic_zeros=True)
    assert [x.dtype for x in symbolic] == ["float32", effax.dtypes.float0]
    assert all(type(x) is effax.custom_derivatives.SymbolicZero for x in symbolic)


def test_values_of_what_a_forward_rule_is_given():
    values = effax.custom_derivatives.custom_vjp_primal_tree_values

    @effax.custom_vjp
    def f(pair):
        return pair["a"] * pair["b"]

    def forward(pair):
        plain = values(pair)
        return f(plain), (plain, pair["a"].perturbed)

    def backward(residuals, ct):
        pair, perturbed = residuals
        assert perturbed is True
        return ({"a": ct * pair["b"], "b": ct * pair["a"]},)

    f.defvjp(forward, backward, symbolic_zeros=True)
    assert float(effax.grad(lambda x: f({"a": x, "b": 5.0}))(2.0)) == 5.0
    with pytest.raises(TypeError, match="CustomVJPPrimal"):
        values({"a": 2.0})
