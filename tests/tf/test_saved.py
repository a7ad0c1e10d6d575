"""Converted functions that leave the process: SavedModel and TFLite."""

import subprocess
import sys

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental.jax2tf import convert
from tests.tf.test_convert import PARAMS, X, loss, model, near, of_effax, variables

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # TensorFlow's own


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A SavedModel with variables, an unknown batch length, and gradients."""
    f = convert(model, polymorphic_shapes=[None, "b, _"])
    module = tf.Module()
    module.params = variables()
    module.call = tf.function(
        lambda x: f(module.params, x),
        autograph=False,
        input_signature=[tf.TensorSpec((None, 3), tf.float32, name="x")],
    )
    path = str(tmp_path_factory.mktemp("saved"))
    tf.saved_model.save(
        module,
        path,
        signatures={"serving_default": module.call.get_concrete_function()},
        options=tf.saved_model.SaveOptions(experimental_custom_gradients=True),
    )
    return path


def test_a_saved_model_is_called_at_other_sizes(saved):
    read = tf.saved_model.load(saved)
    for n in (1, 5):
        near(dict(read.call(X[:n])), model(PARAMS, X[:n]))
        found = read.signatures["serving_default"](x=tf.constant(X[:n]))
        near(dict(found), model(PARAMS, X[:n]))


def test_a_saved_model_has_gradients(saved):
    read = tf.saved_model.load(saved)
    with tf.GradientTape() as tape:
        y = loss(read.call(tf.constant(X)), tf.reduce_sum)
    near(dict(tape.gradient(y, read.params)), effax.grad(of_effax)(PARAMS, X))


READER = """
import sys
import numpy as np
import tensorflow as tf
read = tf.saved_model.load(sys.argv[1])
x = np.load(sys.argv[2])
np.save(sys.argv[3], read.signatures["serving_default"](x=tf.constant(x))["h"].numpy())
assert not any(name.split(".")[0] in ("effax", "jaxlib") for name in sys.modules)
"""


def test_a_saved_model_is_read_where_effax_is_not(saved, tmp_path):
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(x, X)
    command = [sys.executable, "-c", READER, saved, str(x), str(y)]
    done = subprocess.run(
        command, cwd=tmp_path, timeout=120, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    near(np.load(y), model(PARAMS, X)["h"])


def lite(f, x):
    """The result of a function in TFLite, by its own operations only, and their names."""
    module = tf.Module()
    module.call = tf.function(
        convert(f, with_gradient=False),
        autograph=False,
        input_signature=[tf.TensorSpec(x.shape, tf.float32)],
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [module.call.get_concrete_function()], module
    )
    interpreter = tf.lite.Interpreter(model_content=converter.convert())
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def test_tflite():
    w = PARAMS["w"]
    near(lite(lambda x: effax.nn.softmax(jnp.tanh(x @ w)), X), effax.nn.softmax(jnp.tanh(X @ w)))
    near(lite(lambda x: jnp.cumsum(x, axis=0), X), jnp.cumsum(X, axis=0))

    def convolved(x):
        kernel = jnp.ones((2, 2, 1, 2))
        return effax.lax.conv_general_dilated(
            x.reshape(1, 5, 3, 1),
            kernel,
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    near(lite(convolved, X), convolved(X))
