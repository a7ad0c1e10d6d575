"""`pure_callback` and `io_callback`: results, batches, derivatives, errors."""

import logging

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.api.callbacks import io_callback, pure_callback

F32 = effax.ShapeDtypeStruct((), np.float32)


def by_numpy(x, y):
    return np.asarray(x) * np.asarray(y) + 1


def f(x, y, method="sequential"):
    return pure_callback(by_numpy, F32, x, y, vmap_method=method)


@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit])
def test_results(wrap):
    out = wrap(f)(np.float32(2), np.float32(3))
    assert isinstance(out, effax.Array) and out.dtype == np.float32 and float(out) == 7
    assert float(wrap(lambda x: jnp.sin(f(x, x)) * 2)(jnp.float32(0))) == pytest.approx(
        2 * np.sin(1)
    )


@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit])
def test_trees(wrap):
    out = {"a": F32, "b": (effax.ShapeDtypeStruct((2,), np.int32), None)}

    def host(pair, *, key):
        return {"a": np.float32(pair[0] + key), "b": (np.array([1, 2], np.int32), None)}

    result = wrap(lambda x: pure_callback(host, out, (x, x), key=x))(np.float32(2))
    assert float(result["a"]) == 4 and result["b"][0].tolist() == [1, 2]
    assert result["b"][1] is None


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), ())] * 3),
        ("sequential_unrolled", [((), ())] * 3),
        ("expand_dims", [((3,), (1,))]),
        ("broadcast_all", [((3,), (3,))]),
        ("legacy_vectorized", [((3,), ())]),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit])
def test_methods_of_vmap(method, shapes, wrap):
    seen = []

    def host(x, y):
        seen.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def g(x, y):
        return pure_callback(host, F32, x, y, vmap_method=method)

    out = wrap(effax.vmap(g, in_axes=(0, None)))(np.float32([1, 2, 3]), np.float32(1))
    assert out.tolist() == [2, 3, 4]
    assert seen == shapes


def test_batches_of_batches():
    xs = np.arange(6, dtype=np.float32).reshape(2, 3)
    for method in ("sequential", "expand_dims", "broadcast_all"):
        g = effax.vmap(effax.vmap(lambda x, method=method: f(x, x, method)))
        np.testing.assert_array_equal(g(xs), xs * xs + 1)


def test_vmap_needs_a_method():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        effax.vmap(lambda x: f(x, x, None))(np.float32([1, 2]))
    with pytest.raises(ValueError, match="allowed methods"):
        f(1.0, 2.0, "quick")


def test_derivatives_are_the_authors_business():
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        effax.grad(lambda x: f(x, x))(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        effax.grad(lambda x: io_callback(lambda v: v, F32, x))(1.0)

    @effax.custom_jvp
    def sine(x):
        return pure_callback(lambda x: np.sin(np.asarray(x)), F32, x)

    sine.defjvps(lambda t, ans, x: jnp.cos(x) * t)
    assert float(effax.jit(effax.grad(sine))(0.0)) == 1


def test_what_was_announced_is_required():
    def wrong_shape(x):
        return np.zeros(3, np.float32)

    def wrong_dtype(x):
        return np.zeros((), np.int64)

    for host in (wrong_shape, wrong_dtype):
        with pytest.raises(effax.errors.JaxRuntimeError, match="was announced as f32") as caught:
            pure_callback(host, F32, 1.0)
        assert host.__name__ in str(caught.value.__cause__)
        with pytest.raises(effax.errors.JaxRuntimeError, match=r"was announced as f32\[\]"):
            effax.jit(lambda x, host=host: pure_callback(host, F32, x))(1.0).block_until_ready()
    with pytest.raises(
        effax.errors.JaxRuntimeError, match="returned 2 results, but result_shape_dtypes has 1"
    ):
        pure_callback(lambda x: (x, x), F32, 1.0)
    assert float(pure_callback(lambda x: 2.5, F32, 1.0)) == 2.5
    for f in (
        lambda x: pure_callback(np.float64, F32, x),
        lambda x: io_callback(np.float64, F32, x),
    ):
        assert f(1.0).dtype == effax.jit(f)(1.0).dtype == np.float32
    with pytest.raises(ValueError, match="64-bit types"):
        pure_callback(wrong_dtype, np.zeros(2), 1.0)


def test_an_exception_arrives_with_its_traceback():
    def fails(x):
        raise KeyError("lost")

    with pytest.raises(effax.errors.JaxRuntimeError, match=r"in fails(?s:.*)KeyError") as caught:
        pure_callback(fails, F32, 1.0)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(effax.errors.JaxRuntimeError, match=r"in fails(?s:.*)KeyError: 'lost'"):
        effax.jit(lambda x: pure_callback(fails, F32, x))(1.0).block_until_ready()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (lambda f, x: pure_callback(f, x, x), "pure_callback"),
        (lambda f, x: io_callback(f, x, x), "io_callback"),
        (lambda f, x: io_callback(f, x, x, ordered=True), "io_callback"),
        (lambda f, x: effax.debug.callback(f, x, ordered=True), "debug.callback"),
    ],
)
def test_an_exception_is_logged_where_it_is_raised(asked, name, caplog):
    def fail(x):
        raise ValueError("no such number")

    with pytest.raises(effax.errors.JaxRuntimeError), caplog.at_level(logging.ERROR, "effax"):
        effax.block_until_ready(effax.jit(lambda x: asked(fail, x))(np.float32(1)))
        effax.effects_barrier()
    assert f"effax.{name} failed" in caplog.text
    assert "in fail" in caplog.text and "backends/xla" not in caplog.text


def test_an_unused_pure_callback_is_dropped():
    seen = []

    @effax.jit
    def g(x):
        pure_callback(lambda x: seen.append(1) or x, F32, x)
        return x

    g(1.0).block_until_ready()
    assert not seen


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback_acts_as_often_as_the_program_comes_by(ordered):
    log = []

    def draw(i):
        log.append(int(i))
        return np.int32(len(log))

    @effax.jit
    def g(n):
        def body(c, i):
            return c + io_callback(
                draw, effax.ShapeDtypeStruct((), np.int32), i, ordered=ordered
            ), i

        return lax.scan(body, jnp.int32(0), n)[0]

    assert int(g(np.arange(4))) == 10
    assert sorted(log) == [0, 1, 2, 3]
    if ordered:
        assert log == [0, 1, 2, 3]
    g(np.arange(4)).block_until_ready()
    assert len(log) == 8


def test_io_callback_without_results():
    log = []
    assert effax.jit(lambda x: io_callback(lambda v: log.append(v.tolist()), None, x))(1) is None
    effax.effects_barrier()
    assert log == [1]


def test_batched_io_callback():
    log = []

    def host(x):
        log.append(float(x))
        return np.float32(x * 2)

    out = effax.vmap(lambda x: io_callback(host, F32, x))(np.float32([1, 2]))
    assert out.tolist() == [2, 4] and log == [1, 2]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        effax.vmap(lambda x: io_callback(host, F32, x, ordered=True))(np.float32([1, 2]))


def test_a_callback_may_compute_with_effax():
    step = effax.jit(lambda x: jnp.sin(x) * 2)
    out = effax.jit(
        lambda x: pure_callback(lambda x: step(x), effax.ShapeDtypeStruct((1000,), np.float32), x)
    )(jnp.zeros(1000))
    assert float(out.sum()) == 0


def test_the_reference_calls_too():
    from effax.backends.reference.evaluate import interpret

    assert interpret(f)(np.float32(2), np.float32(3)) == 7


def test_layouts_are_row_major():
    def g(x):
        y = x.T @ x
        return pure_callback(lambda y: np.asarray(y)[0], effax.ShapeDtypeStruct((3,), y.dtype), y.T)

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(effax.jit(g)(x), (x.T @ x)[0])


def test_a_struct_like_an_array_is_what_a_callback_is_told():
    x = jnp.arange(24, dtype="float32").reshape(2, 3, 4)
    like = effax.ShapeDtypeStruct.like(x)
    assert like == effax.ShapeDtypeStruct((2, 3, 4), np.float32)
    np.testing.assert_array_equal(
        effax.jit(lambda x: pure_callback(np.asfortranarray, like, x))(x), x
    )
    put = effax.device_put(x, effax.devices()[0])
    assert effax.ShapeDtypeStruct.like(put).sharding == put.sharding
    assert effax.ShapeDtypeStruct.like(2.0).weak_type
    assert effax.eval_shape(lambda k: k, effax.random.key(0)).dtype == (
        effax.ShapeDtypeStruct.like(effax.random.key(0)).dtype
    )


def test_a_mapped_function_may_give_nothing():
    seen = []
    mesh, spec = effax.make_mesh((1,), ("x",)), effax.P("x")

    def show(x):
        io_callback(lambda x: seen.append(float(x.sum())), None, x)

    shown = effax.shard_map(show, mesh=mesh, in_specs=spec, out_specs=None)
    assert effax.jit(shown)(np.ones(3, np.float32)) is None
    effax.effects_barrier()
    assert seen == [3.0]
    second = effax.shard_map(lambda _, x: x + 1, mesh=mesh, in_specs=(None, spec), out_specs=spec)
    assert second(None, np.ones(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="tree prefix"):
        effax.shard_map(lambda x: x, mesh=mesh, in_specs=spec, out_specs=None)(np.ones(3))
    same = effax.shard_map(lambda x: x, mesh=mesh, in_specs=None, out_specs=spec)
    assert same(np.ones(3)).tolist() == [1.0] * 3
