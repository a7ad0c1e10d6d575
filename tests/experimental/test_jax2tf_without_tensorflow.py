"""`jax2tf` where TensorFlow is not installed; tests/tf has the rest."""

import sys

import pytest

import effax
import effax.numpy as jnp
from effax.experimental import jax2tf
from effax.experimental.jax2tf import tensors


@pytest.fixture(autouse=True)
def _without(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    tensors.tensorflow.cache_clear()
    yield
    tensors.tensorflow.cache_clear()


@pytest.mark.parametrize(
    "use",
    [
        lambda: jax2tf.convert(jnp.sin)(1.0),
        lambda: jax2tf.call_tf(jnp.sin)(1.0),
        lambda: effax.jit(jax2tf.call_tf(jnp.sin))(1.0),
        lambda: jax2tf.dtype_of_val(1.0),
    ],
)
def test_the_error_says_what_to_install(use):
    with pytest.raises(ImportError, match="not installed: pip install tensorflow-cpu") as caught:
        use()
    assert caught.value.name == "tensorflow"


def test_shapes_need_no_tensorflow():
    struct = effax.ShapeDtypeStruct
    evaluate = jax2tf.eval_polymorphic_shape(
        lambda a, x: {"y": a @ x}, polymorphic_shapes=["a, b", jax2tf.PolyShape("b", ...)]
    )
    found, texts = evaluate(struct((8, 3), "float32"), struct((3, 5), "float32"))
    assert str(found["y"].shape) == "(a, 5)" and texts == {"y": "(a, 5)"}
    again = jax2tf.eval_polymorphic_shape(lambda d: d["y"].T, polymorphic_shapes=[texts])
    assert again({"y": struct((8, 5), "float32")})[1] == "(5, a)"
