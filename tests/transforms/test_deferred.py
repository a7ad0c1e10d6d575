"""Un-jitted gradients: the first times effect by effect, then compiled; nobody can tell which."""

import gc
import weakref

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.backends.xla.array import Array
from effax.eager import deferred
from effax.effects.config import fast_paths


@pytest.fixture(autouse=True)
def put_off():
    """Whatever the environment asks for: under `none` nothing is put off."""
    with fast_paths("all"):
        yield


@pytest.fixture(params=["noted", "compiled"])
def way(request, monkeypatch):
    """Each test twice: performed effect by effect, and compiled the first time."""
    monkeypatch.setattr(
        deferred.GradientPlan, "due", lambda self, size: request.param == "compiled"
    )
    yield request.param
    effax.clear_caches()


@effax.custom_vjp
def doubled_back(x):
    return x * 3.0


doubled_back.defvjp(lambda x: (x * 3.0, x), lambda x, ct: (ct * 2.0,))

CONSTANT = np.float32([0.5, -1.0, 2.0])


def branching(x):
    return jnp.sum(x * x) if x[0] > 0 else jnp.sum(x)


def looping(x):
    total = x[0]
    for _ in range(int(jnp.argmax(x)) + 1):
        total = total * 1.5 + jnp.sin(x[1])
    while total < 10.0:
        total = total * 2.0
    return total


CASES = {
    "polynomial": lambda x: jnp.sum(x**3 - 2.0 * x),
    "literals": lambda x: jnp.sum(x * 1.5) + jnp.sum(x * 2),
    "where": lambda x: jnp.sum(jnp.where(x > 1.0, x**2, jnp.exp(x))),
    "mask": lambda x: jnp.sum(x[x > 1.0] ** 2),
    "stopped": lambda x: jnp.sum(x * lax.stop_gradient(x) + jnp.floor(x) * x),
    "captured": lambda x: jnp.sum(jnp.array(CONSTANT) * x + CONSTANT * x * x),
    "branching": branching,
    "looping": looping,
    "jitted": lambda x: effax.jit(lambda y: jnp.sum(jnp.tanh(y) * y))(x) * x[0],
    "scanned": lambda x: lax.scan(lambda c, a: (c * a + 1.0, None), x[0], x)[0],
    "cond": lambda x: lax.cond(x[0] > 0, lambda a: jnp.sum(a**2), jnp.sum, x),
    "sorted": lambda x: jnp.sum(jnp.sort(x) * jnp.array(CONSTANT)) + x[jnp.argsort(x)[0]] ** 2,
    "constant": lambda x: jnp.float32(3.0),
    "identity": lambda x: x[0],
    "nested": lambda x: effax.grad(lambda y: jnp.sum(jnp.sin(y) * x))(x * 2.0).sum(),
    "mapped": lambda x: effax.vmap(lambda a: a * x[0])(x).sum(),
    "checkpointed": lambda x: effax.checkpoint(lambda y: jnp.sum(jnp.sin(y) ** 2))(x) * x[1],
    "printing": lambda x: (effax.debug.callback(lambda v: None, x), jnp.sum(x**2))[1],
    "matrix": lambda x: jnp.outer(x, x)[0] @ x + jnp.linalg.norm(x),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("x", [[0.3, 1.2, 0.8], [-0.4, 0.6, 1.9]], ids=["up", "down"])
def test_gradients_are_those_of_the_jitted_function_or_differences(name, x, way):
    f, host = CASES[name], np.float32(x)
    for _ in range(2):
        value, gradient = effax.value_and_grad(f)(jnp.array(host))
        np.testing.assert_allclose(value, f(jnp.array(host)), rtol=1e-5)
        if name == "stopped":
            np.testing.assert_allclose(gradient, host + np.floor(host), rtol=1e-5)
            continue
        with effax.enable_x64(True):
            wide = [jnp.array(host.astype("f8") + d) for d in np.eye(3) * 1e-6]
            back = [jnp.array(host.astype("f8") - d) for d in np.eye(3) * 1e-6]
            slopes = [float(f(a) - f(b)) / 2e-6 for a, b in zip(wide, back, strict=True)]
        np.testing.assert_allclose(gradient, slopes, rtol=2e-3, atol=2e-3)


def test_second_derivatives_vjps_and_trees(way):
    def f(tree, n):
        return jnp.sin(tree["a"]) * tree["b"][0] ** n

    tree = {"a": jnp.float32(0.3), "b": [2.0, 7]}
    gradient = effax.grad(f, allow_int=True)(tree, 3)
    np.testing.assert_allclose(gradient["a"], np.cos(0.3) * 8, rtol=1e-5)
    np.testing.assert_allclose(gradient["b"][0], np.sin(0.3) * 12, rtol=1e-5)
    assert gradient["b"][1].dtype == effax.float0
    np.testing.assert_allclose(effax.grad(effax.grad(jnp.sin))(0.7), -np.sin(0.7), rtol=1e-5)
    np.testing.assert_allclose(effax.hessian(lambda x: jnp.prod(x))(jnp.ones(2)), [[0, 1], [1, 0]])
    both = effax.grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 3.0)
    assert [float(g) for g in both] == [3.0, 2.0]
    assert all(g.weak_type for g in both)


def test_auxiliary_data(way):
    def f(x):
        y = x * x
        return y, {
            "twice": y * 2.0,
            "known": jnp.ones(2),
            "name": "f",
            "none": None,
            "x": x,
            "n": 3,
        }

    for _ in range(2):
        (value, aux), gradient = effax.value_and_grad(f, has_aux=True)(3.0)
        assert (float(value), float(gradient)) == (9.0, 6.0)
        assert (float(aux["twice"]), float(aux["x"]), aux["name"], aux["n"]) == (18.0, 3.0, "f", 3)
        assert aux["known"].shape == (2,) and aux["none"] is None
        assert all(type(aux[name]) is Array for name in ("twice", "x", "known"))
    assert float(effax.grad(lambda x: (x, jnp.sum(x)), has_aux=True)(2.0)[1]) == 2.0
    inside = effax.grad(lambda x: effax.grad(f, has_aux=True)(x)[1]["twice"] * x)(2.0)
    assert float(inside) == 24.0
    with pytest.raises(TypeError, match=r"has_aux|pair|tuple"):
        effax.grad(lambda x: x, has_aux=True)(1.0)
    with fast_paths("none"):
        assert float(effax.grad(f, has_aux=True)(3.0)[0]) == 6.0


def test_rules_of_the_users_are_called_as_before(way):
    assert float(effax.grad(doubled_back)(1.0)) == 2.0
    assert float(effax.grad(lambda x: doubled_back(x * x))(3.0)) == 12.0
    kept = []

    @effax.custom_vjp
    def concrete(x):
        return x * x

    def back(x, ct):
        kept.append(float(x))
        return (ct * (2.0 if x > 0 else -2.0) * x,)

    concrete.defvjp(lambda x: (x * x, x), back)
    try:
        expected = float(effax.vjp(concrete, 3.0)[1](1.0)[0])
    except effax.errors.ConcretizationTypeError:
        return
    assert float(effax.grad(lambda x: concrete(x) * 2.0)(3.0)) == 2 * expected


def test_what_is_observed_happens_once_and_in_order(way):
    seen = []

    def f(x):
        y = x * x
        effax.debug.callback(lambda v: seen.append(("square", float(v))), y)
        seen.append("python")
        z = y * x
        effax.debug.callback(lambda v: seen.append(("cube", float(v))), z, ordered=True)
        return z

    for _ in range(2):
        seen.clear()
        assert float(effax.grad(f)(2.0)) == 12.0
        effax.effects_barrier()
        assert sorted(map(str, seen)) == ["('cube', 8.0)", "('square', 4.0)", "python"]


def test_references_and_leaks(way):
    ref = effax.new_ref(2.0)
    assert float(effax.grad(lambda x: ref[...] * x * x)(3.0)) == 12.0
    ref[...] = 3.0
    assert float(effax.grad(lambda x: ref[...] * x * x)(3.0)) == 18.0

    def counting(x):
        inside = effax.new_ref(x)
        inside[...] = inside[...] * x
        return inside[...] * x

    assert float(effax.grad(counting)(2.0)) == 12.0
    kept = []
    effax.grad(lambda x: (kept.append(x * 2.0), x * x)[1])(1.0)
    with pytest.raises(effax.errors.UnexpectedTracerError, match="a value that is differentiated"):
        jnp.sin(kept[0])


def test_errors_come_where_the_user_wrote_them(way):
    def f(x):
        y = x * 2.0
        return jnp.dot(y, jnp.ones(4))

    with pytest.raises(TypeError):
        effax.grad(f)(jnp.ones(3))
    with pytest.raises(TypeError, match="scalar"):
        effax.grad(lambda x: x * 2.0)(jnp.ones(3))
    with pytest.raises(ZeroDivisionError):
        effax.grad(lambda x: x * (1 / 0))(1.0)
    assert float(effax.grad(lambda x: x * x)(2.0)) == 4.0


def test_programs_that_differ_are_told_apart(way):
    scale = [1.0]

    def f(x):
        return x * scale[0] * jnp.float32(scale[0])

    for value in (1.0, 2.0, -0.0, 0.0, 3, True, np.float32(2.0), jnp.float32(5.0)):
        scale[0] = value
        found = effax.grad(f)(3.0)
        np.testing.assert_array_equal(found, np.float32(value) ** 2)
    x = jnp.arange(6.0)
    for shape in ((2, 3), (3, 2), (6, 1)):
        expected = np.repeat(2.0 * np.arange(shape[1]), shape[0]).reshape(shape[::-1]).T.ravel()
        found = effax.grad(lambda x, s=shape: (x.reshape(s) * jnp.arange(s[1]) * 2.0).sum())(x)
        np.testing.assert_array_equal(found, expected)
    with effax.enable_x64(True):
        assert effax.grad(f)(3.0).dtype == np.float64
    np.testing.assert_allclose(effax.jit(effax.grad(f))(3.0), 25.0)


def test_nothing_is_kept(way):
    x = jnp.arange(3.0)
    effax.grad(lambda x: jnp.sum(x * x))(x)
    big = jnp.ones(1000)
    alive = weakref.ref(big)
    effax.grad(lambda x, big=big: jnp.sum(x) * jnp.sum(big))(x)
    del big
    gc.collect()
    assert alive() is None


def test_compiling_begins_when_as_much_time_was_spent():
    plan = deferred.GradientPlan()
    assert not plan.due(10)
    plan.spent = 10.0
    assert plan.due(10)
    f = effax.grad(lambda x: jnp.sin(x) * 1.25)
    deferred._plans.clear()
    f(1.0)
    (plan,) = deferred._plans.values()
    assert plan.run is None and plan.spent > 0
    plan.spent = 10.0
    np.testing.assert_allclose(f(1.0), 1.25 * np.cos(1.0), rtol=1e-6)
    assert plan.run is not None and len(deferred._plans) == 1
