"""Functions that bring their own batching, and functions apart from what they close over."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.api.calling.scopes import ensure_compile_time_eval, named_scope
from effax.custom_batching import custom_vmap, sequential_vmap
from effax.custom_derivatives import closure_convert, custom_gradient

X = jnp.array([0.5, -1.0, 2.0])


def test_a_rule_takes_the_whole_batch() -> None:
    seen = []

    @custom_vmap
    def scaled(x, p):
        return {"y": x * p["k"]}

    @scaled.def_vmap
    def scaled_vmap(axis_size, in_batched, x, p):
        seen.append((axis_size, in_batched))
        return {"y": 100.0 * x * p["k"]}, {"y": True}

    def over_x(x):
        return scaled(x, {"k": 2.0})["y"]

    assert float(over_x(3.0)) == 6.0
    for mapped in (
        effax.vmap(over_x),
        effax.jit(effax.vmap(over_x)),
        effax.vmap(effax.jit(over_x)),
        lambda x: lax.map(effax.vmap(over_x), x[None])[0],
    ):
        assert np.allclose(mapped(X), 200.0 * X)
    assert seen[0] == (3, [True, {"k": False}])
    assert np.allclose(effax.vmap(effax.grad(over_x))(X), 200.0)


def _sine_whose_batch_is_cosine():
    f = custom_vmap(jnp.sin)
    f.def_vmap(lambda n, batched, x: (jnp.cos(x), batched[0]))
    return f


def test_derivatives_of_a_batch_are_derivatives_of_the_rule() -> None:
    f = _sine_whose_batch_is_cosine()
    push = effax.vmap(lambda x: effax.jvp(f, (x,), (1.0,)))
    for mapped in (
        push,
        effax.jit(push),
        effax.vmap(lambda x: effax.jvp(effax.jit(f), (x,), (1.0,))),
    ):
        value, tangent = mapped(X)
        assert np.allclose(value, np.cos(X))
        assert np.allclose(tangent, -np.sin(X), rtol=1e-5)
    assert np.allclose(effax.jacfwd(f)(X), np.diag(-np.sin(X)), rtol=1e-5)
    second = effax.vmap(lambda x: effax.jvp(lambda x: effax.jvp(f, (x,), (1.0,))[1], (x,), (1.0,)))
    assert np.allclose(second(X)[1], -np.cos(X), rtol=1e-5)
    for gradient in (
        effax.vmap(effax.grad(f)),
        effax.jit(effax.vmap(effax.grad(f))),
        effax.vmap(effax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0])),
        effax.vmap(effax.grad(effax.checkpoint(f))),
        effax.grad(lambda x: effax.vmap(f)(x).sum()),
        effax.vmap(effax.jacrev(f)),
    ):
        assert np.allclose(gradient(X), -np.sin(X), rtol=1e-5)
    hessian = effax.vmap(effax.grad(effax.grad(f)))(X)
    assert np.allclose(hessian, -np.cos(X), rtol=1e-5)
    assert np.allclose(effax.grad(f)(0.5), np.cos(0.5))


def test_a_tangent_that_is_batched_alone_leaves_the_value_unmapped() -> None:
    f = _sine_whose_batch_is_cosine()

    def along(t):
        return effax.jvp(f, (0.5,), (t,))

    value, tangent = effax.vmap(along, out_axes=(None, 0))(X)
    assert np.allclose(value, np.sin(0.5))
    assert np.allclose(tangent, -np.sin(0.5) * np.asarray(X), rtol=1e-5)


def test_a_rule_of_several_operands_is_differentiated_by_each() -> None:
    f = custom_vmap(lambda x, y: (x * y, y))
    f.def_vmap(lambda n, batched, x, y: ((10.0 * x * y, y), (True, batched[1])))

    def both(x, y):
        a, b = f(x, y)
        return a + b

    by_x, by_y = effax.vmap(effax.grad(both, (0, 1)), (0, None))(X, 2.0)
    assert np.allclose(by_x, 20.0)
    assert np.allclose(by_y, 10.0 * X + 1.0)
    assert np.allclose(effax.vmap(effax.grad(both, 1), (None, 0))(2.0, X), 21.0)


def test_a_known_result_of_a_rule_must_not_move() -> None:
    f = custom_vmap(lambda x, y: (x, y))
    f.def_vmap(lambda n, batched, x, y: ((x, x * y), (True, True)))
    with pytest.raises(effax.errors.UnsupportedDerivativeError, match="independent"):
        effax.vmap(effax.grad(lambda x: f(x, 2.0)[0]))(X)


def test_a_rule_must_return_a_pair_of_the_right_tree() -> None:
    f = custom_vmap(jnp.sin)
    with pytest.raises(AttributeError, match="No batching rule"):
        f(1.0)
    f.def_vmap(lambda n, b, x: x)
    with pytest.raises(ValueError, match="must return a pair"):
        effax.vmap(f)(X)
    f.def_vmap(lambda n, b, x: ((x, x), True))
    with pytest.raises(ValueError, match="with the tree"):
        effax.vmap(f)(X)


def test_a_rule_says_nothing_of_closures() -> None:
    def outer(y):
        f = custom_vmap(lambda x: x * y)
        f.def_vmap(lambda n, b, x: (x, True))
        return f(1.0)

    with pytest.raises(ValueError, match="closes over"):
        effax.vmap(outer)(X)


def test_one_lane_at_a_time() -> None:
    f = sequential_vmap(lambda x, y: x * jnp.sum(y))
    assert np.allclose(effax.vmap(f, (0, None))(X, X), X * jnp.sum(X))
    assert np.allclose(effax.vmap(f)(X, jnp.eye(3)), X)


def test_nested_batches_go_one_by_one_too():
    shapes = []

    def on_host(x):
        shapes.append(np.shape(x))
        return np.asarray(x) + 1

    f = sequential_vmap(
        lambda x: effax.pure_callback(
            on_host, effax.ShapeDtypeStruct((), "float32"), x, vmap_method="expand_dims"
        )
    )
    found = effax.vmap(effax.vmap(f))(jnp.ones((2, 3)))
    np.testing.assert_array_equal(found, np.full((2, 3), 2.0))
    assert shapes == [()] * 6
    rows = jnp.ones(3)
    batched, looped = effax.make_program(effax.vmap(f)), effax.make_program(lambda x: lax.map(f, x))
    assert str(batched(rows)) == str(looped(rows))


def test_closures_become_arguments() -> None:
    def outer(x, y):
        g, values = closure_convert(lambda z: z * y + jnp.sum(X), x)
        assert len(values) <= 1
        return g(x, *values)

    by_x, by_y = effax.grad(outer, (0, 1))(2.0, 3.0)
    assert (float(by_x), float(by_y)) == (3.0, 2.0)
    assert np.allclose(effax.vmap(outer, (0, None))(X, 2.0), 2.0 * X + 1.5)


def test_backward_functions_made_on_the_way() -> None:
    @custom_gradient
    def f(x):
        y = jnp.sin(x)
        return y, lambda g: (g * y * 10.0,)

    assert np.allclose(effax.grad(f)(0.5), 10.0 * np.sin(0.5))
    assert np.allclose(effax.vmap(effax.grad(f))(X), 10.0 * np.sin(X))
    assert np.allclose(effax.jit(effax.grad(effax.grad(f)))(0.5), 10.0 * np.cos(0.5), rtol=1e-5)


def test_names_of_scopes_are_kept_in_equations() -> None:
    @named_scope("outer")
    def f(x):
        with named_scope("inner"):
            y = jnp.sin(x)
        return jnp.cos(y)

    found = {e.effect.name: e.scope for e in effax.make_jaxpr(f)(1.0).equations}
    assert found["sin"] == "outer/inner"
    assert found["cos"] == "outer"


def test_some_of_a_traced_function_is_computed_at_once() -> None:
    def f(x):
        with ensure_compile_time_eval():
            n = int(jnp.sum(jnp.arange(4)))
        return x * n

    assert float(effax.jit(f)(2.0)) == 12.0
    assert float(effax.grad(f)(2.0)) == 6.0
    assert np.allclose(effax.vmap(f)(X), 6.0 * X)


HELD = jnp.array([1.0, 2.0, 3.0])


@custom_vmap
def doubled(x):
    return 2.0 * x


@doubled.def_vmap
def doubled_vmap(axis_size, in_batched, x):
    return 2.0 * x + 0.0 * HELD, True  # an array, which a staged batch closes over


@effax.custom_jvp
def ruled_forward(x):
    return doubled(jnp.sin(x))


@effax.custom_vjp
def ruled_backward(x):
    return doubled(jnp.sin(x))


ruled_forward.defjvp(lambda p, t: (ruled_forward(*p), 5.0 * t[0]))
ruled_backward.defvjp(lambda x: (ruled_backward(x), None), lambda _, ct: (5.0 * ct,))

BATCHES = {
    "vmap": (lambda f: effax.vmap(f)(X), 2.0 * np.sin(X)),
    "vmap of vmap": (lambda f: effax.vmap(effax.vmap(f))(X[None])[0], 2.0 * np.sin(X)),
    "vmap of grad": (lambda f: effax.vmap(effax.grad(f))(X), 5.0),
    "vmap of jvp": (lambda f: effax.vmap(lambda x: effax.jvp(f, (x,), (1.0,))[1])(X), 5.0),
    "grad of vmap": (lambda f: effax.grad(lambda x: effax.vmap(f)(x).sum())(X), 5.0),
    "jvp of vmap": (lambda f: effax.jvp(effax.vmap(f), (X,), (jnp.ones(3),))[1], 5.0),
    "grad of scan of vmap": (
        lambda f: effax.grad(
            lambda x: lax.scan(lambda c, _: (effax.vmap(f)(c), None), x, None, length=2)[0].sum()
        )(X),
        25.0,
    ),
}


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("f", [ruled_forward, ruled_backward])
@pytest.mark.parametrize("name", BATCHES)
def test_a_batching_rule_inside_of_a_derivative_rule_may_hold_arrays(name, f, jit):
    way, expected = BATCHES[name]
    run = effax.jit(lambda: way(f)) if jit else lambda: way(f)
    np.testing.assert_allclose(run(), np.broadcast_to(expected, 3), rtol=1e-6)


def test_what_such_a_batching_rule_holds_may_not_move() -> None:
    def f(w):
        @custom_vmap
        def g(x):
            return x

        g.def_vmap(lambda axis_size, in_batched, x: (x * w, True))
        h = effax.custom_jvp(lambda x: g(x))
        h.defjvp(lambda p, t: (h(*p), t[0]))
        return effax.vmap(h)(X).sum()

    with pytest.raises(effax.errors.UnsupportedDerivativeError, match="closes over a value"):
        effax.jit(effax.grad(f))(2.0)


def test_the_rule_is_told_whether_keys_are_batched() -> None:
    told = []

    @custom_vmap
    def draw(keys, x):
        return effax.random.normal(keys["one"]) + x

    @draw.def_vmap
    def draw_vmap(axis_size, in_batched, keys, x):
        told.append(in_batched)
        return effax.vmap(effax.random.normal)(keys["one"]) + x, True

    for impl in ("threefry2x32", "rbg"):
        keys = effax.random.split(effax.random.key(0, impl=impl), 3)
        effax.vmap(draw, (0, None))({"one": keys}, 1.0)
    assert told == [[{"one": True}, False]] * 2
    drawn = effax.vmap(sequential_vmap(lambda key: effax.random.normal(key)))(keys)
    np.testing.assert_array_equal(drawn, [effax.random.normal(key) for key in keys])
