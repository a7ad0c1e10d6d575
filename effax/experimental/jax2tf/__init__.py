"""Functions of effax in TensorFlow, and functions of TensorFlow in effax.

`convert` makes a function of TensorFlow's tensors of one of arrays: for eager calls, `tf.function`,
SavedModel and TFLite. `call_tf` makes the opposite. TensorFlow is imported when one of them is
called; where it is not installed, an `ImportError` says so.
"""

from effax.experimental.jax2tf.calling import call_tf as call_tf
from effax.experimental.jax2tf.converting import convert as convert
from effax.experimental.jax2tf.shapes import PolyShape as PolyShape
from effax.experimental.jax2tf.shapes import eval_polymorphic_shape as eval_polymorphic_shape
from effax.experimental.jax2tf.tensors import dtype_of_val as dtype_of_val
from effax.export import DisabledSafetyCheck as DisabledSafetyCheck

__all__ = [
    "DisabledSafetyCheck",
    "PolyShape",
    "call_tf",
    "convert",
    "dtype_of_val",
    "eval_polymorphic_shape",
]
__dir__ = __all__.copy
