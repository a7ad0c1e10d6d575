"""`jax2tf.call_tf`: functions of TensorFlow in effax, compared with the same by effax."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental.jax2tf import call_tf, convert
from tests.tf.test_convert import near

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorFlow's own

RNG = np.random.default_rng(1)
X, Y = RNG.standard_normal((3, 4)).astype("f4"), RNG.standard_normal((4, 2)).astype("f4")


def of_tensors(args):
    x, y = args["x"], args["y"]
    return {"m": tf.sin(x) @ y, "s": tf.reduce_sum(x), "i": tf.argmax(x, 1)}


def of_arrays(args):
    x, y = args["x"], args["y"]
    return {"m": jnp.sin(x) @ y, "s": x.sum(), "i": jnp.argmax(x, 1)}


def total(f):
    return lambda args: (lambda out: (out["m"] ** 2).sum() + out["s"])(f(args))


ARGS = {"x": X, "y": Y}
called = call_tf(of_tensors)


@pytest.mark.parametrize("how", [lambda f: f, effax.jit], ids=["eager", "jit"])
def test_values_and_gradients(how):
    near(how(called)(ARGS), of_arrays(ARGS))
    near(how(effax.grad(total(called)))(ARGS), effax.grad(total(of_arrays))(ARGS))
    near(how(effax.grad(how(total(called))))(ARGS), effax.grad(total(of_arrays))(ARGS))


def test_a_staged_call_is_compiled_into_the_program():
    text = effax.jit(called).lower(ARGS).as_text()
    assert "stablehlo.sine" in text and "callback" not in text


def test_batches_and_loops():
    xs = {"x": RNG.standard_normal((5, 3, 4)).astype("f4"), "y": Y}
    axes = ({"x": 0, "y": None},)
    for f, g in [(called, of_arrays), (effax.grad(total(called)), effax.grad(total(of_arrays)))]:
        near(effax.vmap(f, axes)(xs), effax.vmap(g, axes)(xs))
        near(effax.jit(effax.vmap(f, axes))(xs), effax.vmap(g, axes)(xs))
    halve = call_tf(lambda x: x / 2)
    found = effax.lax.scan(lambda c, a: (halve(c) + a, c), 1.0, jnp.arange(3.0))
    near(found, effax.lax.scan(lambda c, a: (c / 2 + a, c), 1.0, jnp.arange(3.0)))


@pytest.mark.parametrize("how", [lambda f: f, effax.jit], ids=["eager", "jit"])
def test_second_derivatives_and_complex_ones(how):
    f, g = call_tf(lambda x: tf.sin(x) * x**2), lambda x: jnp.sin(x) * x**2
    near(how(effax.grad(effax.grad(f)))(0.7), effax.grad(effax.grad(g))(0.7))
    z = np.complex64(1 + 2j)
    f, g = call_tf(lambda z: tf.math.real(z**2 * (1 + 1j))), lambda z: (z**2 * (1 + 1j)).real
    near(how(effax.grad(f))(z), effax.grad(g)(z))


def test_a_custom_gradient_of_tensorflow_is_kept():
    @tf.custom_gradient
    def f(x):
        return x * 2, lambda dy: dy * 100

    assert float(effax.grad(call_tf(f))(1.0)) == 100
    assert float(effax.jit(effax.grad(call_tf(f)))(1.0)) == 100


def test_variables_are_read_when_a_program_is_staged():
    v = tf.Variable(3.0)
    f = call_tf(lambda x: x * v)
    jitted = effax.jit(f)
    assert (float(f(2.0)), float(jitted(2.0))) == (6, 6)
    v.assign(5.0)
    assert (float(f(2.0)), float(jitted(2.0)), float(effax.jit(lambda x: f(x))(2.0))) == (10, 6, 10)
    wide = tf.Variable(np.int64(4))
    f = call_tf(lambda x: tf.cast(x, tf.int64) + wide)
    assert int(f(1)) == int(effax.jit(f)(1)) == 5


def test_a_function_that_acts_is_called_back():
    v = tf.Variable(1.0)

    def add(x):
        v.assign_add(x)
        return x * v

    f = effax.jit(call_tf(add))
    assert float(f(2.0)) == 6 and float(f(2.0)) == 10 and float(v) == 5
    assert "callback" in f.lower(2.0).as_text()


def test_results_of_unknown_shapes():
    def by_python(x):
        return tf.py_function(lambda a: a.numpy() * 2, [x], tf.float32)

    assert float(call_tf(by_python)(2.0)) == 4
    with pytest.raises(ValueError, match=r"give call_tf the shapes .* \(output_shape_dtype=\)"):
        effax.jit(call_tf(by_python))(2.0)
    out = effax.ShapeDtypeStruct((), "float32")
    assert float(effax.jit(call_tf(by_python, output_shape_dtype=out))(2.0)) == 4
    pure = call_tf(by_python, False, output_shape_dtype=out)
    near(effax.jit(effax.vmap(pure))(jnp.arange(3.0)), jnp.arange(3.0) * 2)
    f = call_tf(lambda x: tf.boolean_mask(x, x > 0))
    near(f(X), jnp.asarray(X[X > 0]))


def test_results_that_were_not_announced():
    out = effax.ShapeDtypeStruct((2,), "float32")
    for how in (lambda f: f, effax.jit):
        with pytest.raises(ValueError, match=r"result 0 .* has the shape \(3,\)"):
            how(call_tf(tf.identity, output_shape_dtype=out))(jnp.ones(3))
        with pytest.raises(ValueError, match="a tree of the structure"):
            how(call_tf(tf.identity, output_shape_dtype=[out]))(jnp.ones(2))


def test_ordered_calls_happen_in_order():
    seen = []

    def note(x):
        return tf.py_function(lambda a: seen.append(float(a)) or a, [x], tf.float32)

    out = effax.ShapeDtypeStruct((), "float32")
    f = call_tf(note, ordered=True, output_shape_dtype=out)
    effax.jit(lambda x: f(x) + f(x + 1) + f(x + 2))(1.0).block_until_ready()
    effax.effects_barrier()
    assert seen == [1, 2, 3]


def test_a_graph_inside_of_an_export_is_refused():
    with pytest.raises(NotImplementedError, match="call_tf_graph=True"):
        call_tf(tf.sin, call_tf_graph=True)


def test_there_and_back():
    f = tf.function(convert(lambda args: called(args)["m"] * 2), autograph=False)
    near(f(ARGS), of_arrays(ARGS)["m"] * 2)
    g = call_tf(convert(of_arrays))
    for how in (lambda f: f, effax.jit):
        near(how(g)(ARGS), of_arrays(ARGS))
        near(how(effax.grad(total(g)))(ARGS), effax.grad(total(of_arrays))(ARGS))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint32", "bool", "complex64"])
def test_dtypes(dtype):
    x = jnp.arange(3).astype(dtype)
    near(call_tf(tf.identity)(x), x)
    near(effax.jit(call_tf(tf.identity))(x), x)


def test_results_of_64_bits_become_32_without_x64():
    f = call_tf(lambda x: (tf.cast(x, tf.float64), tf.constant(3, tf.int64), None))
    for how in (lambda f: f, effax.jit):
        near(how(f)(1.5), (jnp.float32(1.5), jnp.int32(3), None))
