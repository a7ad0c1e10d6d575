"""`jax2tf.convert`: functions of effax in TensorFlow, compared with effax itself.

`make tensorflow` runs these where TensorFlow is installed.
"""

import subprocess
import sys

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental import jax2tf
from effax.experimental.jax2tf import convert
from effax.export import DisabledSafetyCheck

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorFlow's own

RNG = np.random.default_rng(0)
W, B = RNG.standard_normal((3, 4)).astype("f4"), np.zeros(4, "f4")
PARAMS = {"w": W, "b": B}
X = RNG.standard_normal((5, 3)).astype("f4")


def near(found, wanted, tol=1e-6):
    """Trees of the same structure, whose leaves have the same dtypes and nearly the same values."""
    a, tree = effax.tree_util.tree_flatten(found)
    b, wanted_tree = effax.tree_util.tree_flatten(wanted)
    assert tree == wanted_tree
    for x, y in zip(a, b, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.dtype.kind in "Vb":  # bfloat16 and booleans, which NumPy does not subtract
            x, y = x.astype("f4"), y.astype("f4")
        scale = max(1.0, float(np.abs(y).max(initial=0)))
        assert np.abs(x - y).max(initial=0) <= tol * scale


def model(params, x):
    h = jnp.tanh(x @ params["w"] + params["b"])
    return {"h": h, "best": jnp.argmax(h, axis=1), "sum": (h**2).sum()}


def loss(results, total):
    return results["sum"] + total(results["h"] ** 3)


def of_effax(params, x):
    return loss(model(params, x), jnp.sum)


def variables():
    return {name: tf.Variable(x) for name, x in PARAMS.items()}


HOWS = {
    "eager": lambda f: f,
    "function": lambda f: tf.function(f, autograph=False),
    "compiled": lambda f: tf.function(f, autograph=False, jit_compile=True),
}
how = pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)


@how
def test_values_of_trees(how):
    near(how(convert(model))(PARAMS, X), model(PARAMS, X))


@how
def test_gradients_with_respect_to_variables(how):
    f, params = convert(model), variables()

    def step(x):
        with tf.GradientTape() as tape:
            y = loss(f(params, x), tf.reduce_sum)
        return tape.gradient(y, params)

    near(how(step)(X), effax.grad(of_effax)(PARAMS, X))


def test_second_derivatives():
    def f(x):
        return jnp.sin(x) * x**2

    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = convert(f)(x)
            slope = tape.gradient(y, x)
        return outer.gradient(slope, x)

    wanted = effax.grad(effax.grad(f))(jnp.float32(0.7))
    for how in (second, tf.function(second, autograph=False)):
        near(how(tf.constant(0.7)), wanted)


def test_a_custom_rule_is_kept():
    @effax.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * 100,))
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = convert(f)(x)
    assert float(tape.gradient(y, x)) == 100


def test_gradients_that_are_left_out():
    x = tf.constant(1.0)
    with pytest.raises(LookupError, match="with_gradient=True"), tf.GradientTape() as tape:
        tape.watch(x)
        y = convert(jnp.sin, with_gradient=False)(x)
        tape.gradient(y, x)


def test_integers_have_no_gradient():
    def f(i, x):
        return x[i] * 2, i + 1

    i, x = tf.constant([2, 0]), tf.constant([1.0, 2.0, 3.0])
    for how in HOWS.values():

        def step(i, x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y, n = convert(f)(i, x)
            return n, tape.gradient(y, x)

        n, dx = how(step)(i, x)
        assert n.numpy().tolist() == [3, 1] and dx.numpy().tolist() == [2, 0, 2]


@how
def test_complex_gradients_are_those_of_tensorflow(how):
    """TensorFlow's gradients are conjugate to effax's, so a converted function conjugates them."""

    def gradient(cube):
        def step(z):
            with tf.GradientTape() as tape:
                tape.watch(z)
                y = tf.math.real(cube(z) * (2 - 1j))
            return tape.gradient(y, z)

        return how(step)(tf.constant(1 + 2j, tf.complex64))

    near(gradient(convert(lambda z: z**3)), gradient(lambda z: z * z * z), 1e-5)


@pytest.mark.parametrize(
    "dtype",
    ["bfloat16", "float16", "float32", "int8", "int32", "uint8", "uint32", "bool", "complex64"],
)
def test_dtypes(dtype):
    x = jnp.arange(3).astype(dtype)
    found = convert(lambda x: (x, x[::-1]))(tf.constant(np.asarray(x)))
    near(found, (x, x[::-1]))
    assert found[0].dtype.name == dtype == jax2tf.dtype_of_val(x).name


def test_gradients_in_bfloat16():
    x = tf.constant([1.0, 2.0], tf.bfloat16)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = convert(lambda x: (x * x).sum())(x)
    found = tape.gradient(y, x)
    assert found.dtype == tf.bfloat16 and [float(v) for v in found] == [2, 4]


def test_operands_of_64_bits_become_32_without_x64():
    found = convert(lambda x, n: (x * 2, n))(tf.constant(1.5, tf.float64), np.int64(3))
    assert [x.dtype.name for x in found] == ["float32", "int32"]
    assert jax2tf.dtype_of_val(tf.constant(1.5, tf.float64)) == tf.float32
    with effax.enable_x64(True):
        found = convert(lambda x, n: (x * 2, n))(tf.constant(1.5, tf.float64), np.int64(3))
    assert [x.dtype.name for x in found] == ["float64", "int64"]


def test_numbers_and_keywords_and_nothing():
    f = convert(lambda x, *, scale, shift=None: {"y": x * scale, "none": shift})
    found = f(2, scale=1.5)
    assert float(found["y"]) == 3 and found["none"] is None
    assert convert(lambda: ())() == ()


def test_containers_of_a_module():
    """A `tf.Module` replaces the containers that are assigned to it."""
    module = tf.Module()
    module.params = [{"w": tf.Variable(2.0)}, (tf.Variable(3.0),)]

    def f(params):
        assert [type(params), type(params[0]), type(params[1])] == [list, dict, tuple]
        return params[0]["w"] * params[1][0]

    assert float(convert(f)(module.params)) == 6


def test_random_numbers_and_loops_and_sorts():
    def f(x):
        noise = effax.random.normal(effax.random.key(0), x.shape)
        walk, _ = effax.lax.scan(lambda c, a: (c * 0.5 + a, None), jnp.zeros(3), x + noise)
        return jnp.sort(walk), effax.lax.top_k(walk, 2), jnp.fft.fft(walk)

    near(tf.function(convert(f), autograph=False)(X), f(X))


@how
def test_unknown_lengths(how):
    f = convert(lambda x: model(PARAMS, x), polymorphic_shapes="b, _")
    g = tf.function(f, autograph=False, input_signature=[tf.TensorSpec((None, 3), tf.float32)])
    assert g.get_concrete_function().output_shapes["h"].as_list() == [None, 4]

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = loss(g(x), tf.reduce_sum)
        return tape.gradient(y, x)

    for n in (1, 2, 7):
        x = RNG.standard_normal((n, 3)).astype("f4")
        near(g(x), model(PARAMS, x))
        near(how(step)(tf.constant(x)), effax.grad(of_effax, 1)(PARAMS, x))


def test_unknown_lengths_that_do_not_fit():
    f = convert(
        lambda x, y: x.sum() + y.sum(),
        polymorphic_shapes=[jax2tf.PolyShape("2*b", ...), "b"],
        polymorphic_constraints=["b <= 3"],
    )
    specs = [tf.TensorSpec((None, 3), tf.float32), tf.TensorSpec((None,), tf.float32)]
    g = tf.function(f, autograph=False, input_signature=specs)
    assert float(g(np.ones((4, 3), "f4"), np.ones(2, "f4"))) == 14
    for n, m, message in [
        (5, 2, r"the length 2\*b, which is 4, and was called with 5"),
        (4, 3, "the length b, which is 2, and was called with 3"),
        (8, 4, "the constraint b <= 3"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            g(np.ones((n, 3), "f4"), np.ones(m, "f4"))
    with pytest.raises(ValueError, match="has none there"):
        tf.function(convert(jnp.sin), input_signature=[specs[1]], autograph=False)(X[0])


def test_an_export_is_made_once_for_the_same_types():
    calls = []

    def f(x):
        calls.append(x.shape)
        return x * 2

    g = convert(f, polymorphic_shapes="b, _")
    for _ in range(3):
        g(X)
    assert len(calls) == 1
    g(X[:2])
    assert len(calls) == 2


def test_linear_algebra_of_jaxlib_is_refused_and_that_of_xla_is_not():
    a = np.eye(3, dtype="f4") * 2 + 0.1
    with pytest.raises(NotImplementedError, match=r"lapack_spotrf_ffi, which jaxlib has on a CPU"):
        convert(jnp.linalg.cholesky)(a)
    options = {
        "native_serialization_platforms": ["tpu"],
        "native_serialization_disabled_checks": [DisabledSafetyCheck.platform()],
    }
    near(convert(jnp.linalg.cholesky, **options)(a), jnp.linalg.cholesky(a))
    near(convert(jnp.linalg.eigvalsh, **options)(a), jnp.linalg.eigvalsh(a))


def test_refusals():
    with pytest.raises(TypeError, match="expected a callable"):
        convert(1)
    with pytest.raises(ValueError, match="native_serialization_platforms must be a sequence"):
        convert(jnp.sin, native_serialization_platforms=["gpu"])
    with pytest.raises(ValueError, match="outside all transformations"):
        effax.jit(convert(jnp.sin))(1.0)
    with pytest.raises(TypeError, match="dtype string can't become arrays"):
        convert(jnp.sin)(tf.constant("text"))
    with pytest.raises(TypeError, match="expected a tensor or variable"):
        convert(jnp.sin)("text")
    with pytest.raises(ValueError, match="number of axes"):
        tf.function(convert(jnp.sin), autograph=False).get_concrete_function(
            tf.TensorSpec(None, tf.float32)
        )
    with pytest.warns(DeprecationWarning, match="`enable_xla` is deprecated"):
        convert(jnp.sin, enable_xla=True)


def test_through_the_door():
    program = """
import tensorflow as tf
import jax, jax.numpy as jnp
from jax.experimental import jax2tf
f = tf.function(jax2tf.convert(lambda x: jnp.sin(x) * 2, polymorphic_shapes="b"), autograph=False)
print(f(tf.zeros(3)).shape, jax.jit(jax2tf.call_tf(tf.square))(3.0))
"""
    command = [sys.executable, "-m", "effax.as_jax", "-c", program]
    done = subprocess.run(command, timeout=120, check=False, capture_output=True, text=True)
    assert done.stdout == "(3,) 9.0\n", done.stderr
