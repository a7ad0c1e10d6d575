"""`pmap` on eight CPU devices; `test_pmap.py` runs this file where there are as many."""

from functools import partial

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.sharding import Mesh, NamedSharding

N = 8
X = np.arange(1.0, 1 + N, dtype=np.float32)


def test_rows_lie_on_devices():
    found = effax.pmap(lambda x: 2 * x)(X)
    assert len(found.devices()) == N
    np.testing.assert_array_equal(found, 2 * X)
    again = effax.pmap(lambda x: x + 1)(found)
    np.testing.assert_array_equal(again, 2 * X + 1)
    np.testing.assert_array_equal(found + 1, 2 * X + 1)
    np.testing.assert_array_equal(found[3], 8)


BODIES = {
    "psum": lambda x: lax.psum(x * x, "i"),
    "pmean": lambda x: lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(jnp.sin(x), "i"),
    "pmin": lambda x: lax.pmin(jnp.sin(x), "i"),
    "normalise": lambda x: x / lax.psum(x, "i"),
    "number": lambda x: x + lax.psum(1, "i"),
    "index": lambda x: x * lax.axis_index("i"),
    "gather": lambda x: lax.all_gather(x, "i"),
    "gather rows": lambda x: lax.all_gather(jnp.ones((2, 3)) * x, "i", axis=1, tiled=True),
    "scatter": lambda x: lax.psum_scatter(jnp.arange(8.0) * x, "i"),
    "scatter tiles": lambda x: lax.psum_scatter(jnp.arange(16.0) * x, "i", tiled=True),
    "exchange": lambda x: lax.all_to_all(jnp.arange(16.0).reshape(2, 8) * x, "i", 1, 0),
    "permute": lambda x: lax.ppermute(x, "i", [(0, 3), (3, 0), (5, 5)]),
    "shuffle": lambda x: lax.pshuffle(x, "i", [1, 2, 3, 4, 5, 6, 7, 0]),
    "broadcast": lambda x: lax.pbroadcast(x, "i", 5),
    "call": lambda x: effax.jit(lambda y: y - lax.pmean(y, "i"))(x),
    "scan": lambda x: lax.scan(lambda c, _: (lax.psum(c, "i") / 8 + x, c), x, None, length=3),
    "while": lambda x: lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, lax.pmean(s[1], "i") + x), (0, x)
    )[1],
    "cond": lambda x: lax.cond(x > 4, lambda y: y, lambda y: -y, x),
    "grad": effax.grad(lambda x: lax.psum(jnp.sin(x) * x, "i")),
    "grad of gather": effax.grad(lambda x: jnp.sum(lax.all_gather(x * x, "i") ** 2)),
    "value and grad": effax.value_and_grad(lambda x: lax.pmean(x**3, "i")),
    "vmap inside": lambda x: effax.vmap(lambda y: y + lax.psum(y, "i"))(x * jnp.arange(3.0)),
    "named inside": lambda x: effax.vmap(lambda y: lax.psum(y, ("i", "j")), axis_name="j")(
        x * jnp.arange(3.0)
    ),
    "no operand": lambda x: lax.axis_index("i"),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_places_are_a_batch(name):
    f = BODIES[name]
    found = effax.pmap(f, axis_name="i")(X)
    wanted = effax.vmap(f, axis_name="i")(X)
    jitted = effax.jit(effax.pmap(f, axis_name="i"))(X)
    for a, b, c in zip(*map(effax.tree.leaves, (found, wanted, jitted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
        np.testing.assert_allclose(c, b, rtol=1e-5)


DIFFERENTIABLE = ["psum", "normalise", "gather", "scatter", "exchange", "permute", "scan", "call"]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_outside(name):
    f = BODIES[name]

    def total(mapped):
        def loss(x):
            leaves = effax.tree.leaves(mapped(f, axis_name="i")(x))
            return sum(jnp.sum(jnp.sin(y)) for y in leaves)

        return loss

    found, wanted = effax.grad(total(effax.pmap))(X), effax.grad(total(effax.vmap))(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    jitted = effax.jit(effax.grad(total(effax.pmap)))(X)
    np.testing.assert_allclose(jitted, wanted, rtol=1e-4, atol=1e-4)
    forward = effax.jvp(total(effax.pmap), (X,), (X,))[1]
    np.testing.assert_allclose(forward, np.dot(wanted, X), rtol=1e-3, atol=1e-4)


def test_shared_arguments_and_captured_values():
    w = jnp.arange(3.0)

    def loss(w, x):
        y = effax.pmap(lambda x, w: x * jnp.sum(w * w) + w[0], in_axes=(0, None))(x, w)
        return jnp.sum(y)

    np.testing.assert_allclose(
        effax.grad(loss)(w, X), 2 * np.arange(3) * X.sum() + [N, 0, 0], rtol=1e-5
    )
    captured = effax.grad(lambda w: jnp.sum(effax.pmap(lambda x: x * jnp.sum(w * w))(X)))(w)
    np.testing.assert_allclose(captured, 2 * w * X.sum(), rtol=1e-5)


def test_batch_of_maps_and_map_of_batches():
    grid = np.arange(24.0, dtype=np.float32).reshape(3, 8)
    f = effax.pmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")
    wanted = grid - grid.mean(1, keepdims=True)
    np.testing.assert_allclose(effax.vmap(f)(grid), wanted, rtol=1e-5)
    rows = effax.pmap(effax.vmap(lambda x: x - lax.pmean(x, "j"), axis_name="j"))(grid)
    np.testing.assert_allclose(rows, wanted, rtol=1e-5)


def test_maps_in_maps():
    grid = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    inner = effax.pmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j")
    found = effax.pmap(inner, axis_name="i")(grid)
    np.testing.assert_array_equal(found, np.full((2, 3), 15))


def test_the_reference_agrees():
    from effax.backends.reference.evaluate import interpret

    f = effax.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    np.testing.assert_allclose(interpret(f)(X), X / X.sum(), rtol=1e-6)


def test_axes_of_arguments_and_results():
    grid = np.arange(24.0, dtype=np.float32).reshape(3, 8)
    np.testing.assert_array_equal(
        effax.pmap(lambda x: 2 * x, in_axes=1, out_axes=1)(grid), 2 * grid
    )
    f = effax.pmap(lambda d, y: {"s": d["a"] + y}, in_axes=({"a": 0}, None), out_axes={"s": 0})
    np.testing.assert_array_equal(f({"a": X}, 1.0)["s"], X + 1)
    np.testing.assert_array_equal(
        effax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(X), X.sum()
    )


def test_static_donated_keywords_and_fewer_places():
    f = effax.pmap(lambda x, n, y: x**n + y, static_broadcasted_argnums=1)
    np.testing.assert_allclose(f(X, 2, y=X), X**2 + X)
    given = effax.pmap(lambda x: x)(X)
    np.testing.assert_array_equal(effax.pmap(lambda x: x + 1, donate_argnums=0)(given), X + 1)
    with pytest.raises(RuntimeError, match="deleted"):
        given + 1
    few = effax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(X[:3])
    np.testing.assert_array_equal(few, [6, 6, 6])
    last = effax.pmap(lambda x: x, devices=effax.devices()[-2:])(X[:2])
    assert last.devices() == set(effax.devices()[-2:])
    one = effax.pmap(lambda x: lax.psum(x, "i") + lax.axis_index("i"), axis_name="i")(X[:1])
    np.testing.assert_array_equal(one, [1])


def test_training_in_parallel():
    key = effax.random.key(0)
    x = effax.random.normal(key, (N, 16, 4))
    y = x @ jnp.arange(4.0)

    def loss(w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    def step(w, x, y):
        return w - 0.1 * lax.pmean(effax.grad(loss)(w, x, y), "d")

    w = jnp.zeros((N, 4))
    update = effax.pmap(step, axis_name="d")
    for _ in range(100):
        w = update(w, x, y)
    np.testing.assert_allclose(w, np.tile(np.arange(4.0), (N, 1)), atol=1e-3)


def test_many_launches_do_not_wait_for_each_other():
    f = effax.pmap(lambda x: lax.psum(x, "i") / N, axis_name="i")
    x = X
    for _ in range(600):
        x = f(x)
    np.testing.assert_allclose(x, np.full(N, X.mean()), rtol=1e-5)


@pytest.mark.parametrize(
    ("axes", "spec"), [((0, 0), ("i",)), ((0, 1), (None, "i")), ((1, 0), ("i",)), ((0, None), ())]
)
def test_results_are_named_by_the_axis(axes, spec):
    grid = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    f = effax.pmap(lambda x: 2 * x, "i", in_axes=axes[0], out_axes=axes[1])
    named = NamedSharding(Mesh(effax.devices(), "i"), effax.P(*spec))
    assert f(grid).sharding == named
    compiled = f.lower(grid).compile()
    assert compiled.output_shardings == compiled(grid).sharding == named
    np.testing.assert_array_equal(compiled(grid), f(grid))
    assert jnp.copy(f(grid)).sharding == named


def test_an_axis_without_a_name_is_that_of_all_maps():
    one, other = effax.pmap(lambda x: x)(X), effax.pmap(lambda x: x + 1)(X)
    assert one.sharding == other.sharding
    assert len(one.sharding.spec) == 1


def test_ahead_of_time():
    factor = jnp.float32(3)
    f = effax.pmap(lambda d, n, y: d["a"] * factor**n + lax.psum(y, "i"), "i", **STATIC)
    traced = f.trace({"a": effax.ShapeDtypeStruct((N, 2), "float32")}, 2, X)
    assert traced.out_info.shape == (N, 2)
    lowered = f.lower({"a": np.ones((N, 2), np.float32)}, 2, X)
    info = lowered.args_info[0]
    assert [x.donated for x in (info[0]["a"], info[1])] == [True, False]
    assert lowered.compiler_ir() and lowered.compiler_ir("hlo") and lowered.cost_analysis()
    compiled = lowered.compile({"xla_embed_ir_in_executable": True})
    assert compiled.runtime_executable() is not None
    assert compiled.in_tree == lowered.in_tree
    found = compiled({"a": np.ones((N, 2), np.float32)}, X)
    np.testing.assert_allclose(found, np.full((N, 2), 9 + X.sum()))
    with pytest.raises(TypeError, match=r"Argument types differ(.|\n)*'y' compiled with float32"):
        compiled({"a": np.ones((N, 2), np.float32)}, X.astype(np.int32))
    with pytest.raises(TypeError, match="compiled with input pytree does not match"):
        compiled([np.ones((N, 2), np.float32)], X)
    with pytest.raises(effax.errors.JaxRuntimeError, match="No such compile option"):
        lowered.compile({"no_such_option": "1"})


STATIC = {"static_broadcasted_argnums": 1, "donate_argnums": 0}


def test_values_without_elements():
    zeros = np.zeros((N, 3), effax.dtypes.float0)
    f = effax.pmap(lambda x, y: (x, x, 2 * y), in_axes=(0, 0), out_axes=(0, 1, 0))
    for found in (f(zeros, X), f.lower(zeros, X).compile()(zeros, X)):
        assert [x.shape for x in found] == [(N, 3), (3, N), (N,)]
        assert found[0].dtype == effax.dtypes.float0
    (alone,) = effax.pmap(lambda x: (x,))(zeros)
    assert alone.shape == zeros.shape


class Scale:
    factor = 2.0

    @partial(effax.pmap, static_broadcasted_argnums=0)
    def __call__(self, x):
        return self.factor * x

    @partial(effax.pmap, static_broadcasted_argnums=0)
    def scaled(self, x):
        return self.factor * x


def test_methods_are_mapped():
    np.testing.assert_array_equal(Scale().scaled(X), 2 * X)
    np.testing.assert_array_equal(Scale()(X), 2 * X)


@pytest.mark.parametrize("name", ["device_put_sharded", "device_put_replicated"])
def test_names_that_went_say_what_to_use(name):
    with pytest.raises(AttributeError, match=rf"effax.{name} is deprecated; use effax.device_put"):
        getattr(effax, name)


def test_lower_shows_the_module():
    text = effax.pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(X).as_text()
    assert "sdy.manual_computation" in text
    assert "stablehlo.all_reduce" in text


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: effax.pmap(lambda x: x)(np.ones(9)),
            ValueError,
            "requires 9 logical devices, but",
        ),
        (lambda: effax.pmap(lambda x, y: x)(X, X[:3]), ValueError, "inconsistent sizes"),
        (lambda: effax.pmap(lambda x: x)(1.0), ValueError, "its shape is"),
        (lambda: effax.pmap(lambda x: x, in_axes=None)(X), ValueError, "at least one argument"),
        (lambda: effax.pmap(lambda x: x, in_axes=(0, 0))(X), ValueError, "in_axes must be"),
        (
            lambda: effax.pmap(lambda x, y: y, in_axes=(0, (0, 0, 0)))(X, (X, X)),
            ValueError,
            r"pmap in_axes\[1\]",
        ),
        (lambda: effax.pmap(lambda x: x, out_axes=1).lower(X), ValueError, "out of bounds"),
        (
            lambda: effax.pmap(lambda x: x, devices=effax.devices()[:3])(X),
            ValueError,
            "axis_size=8",
        ),
        (lambda: effax.pmap(lambda x: lax.psum(x, "j"), "i")(X), NameError, "unbound axis name: j"),
        (lambda: effax.pmap(lambda x: "no")(X), TypeError, "must return arrays"),
        (
            lambda: effax.pmap(lambda x, n: x, static_broadcasted_argnums=1)(X, []),
            ValueError,
            "hash",
        ),
        (lambda: effax.pmap(3), TypeError, "callable"),
    ],
)
def test_bad_calls_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
