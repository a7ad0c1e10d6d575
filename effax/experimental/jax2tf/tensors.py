"""TensorFlow's tensors and dtypes beside those of effax."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from effax.api.compiling.struct import ShapeDtypeStruct
from effax.effects.dtypes import ELEMENTS
from effax.effects.tree import register_pytree_node
from effax.effects.types import canonical_dtype, float0, typeof


@cache
def tensorflow() -> Any:
    """Return the module `tensorflow`.

    Raises:
      ImportError: where it is not installed.
    """
    try:
        import tensorflow as tf
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise ModuleNotFoundError(
            "effax.experimental.jax2tf calls TensorFlow, which is not installed: "
            "pip install tensorflow-cpu",
            name="tensorflow",
        ) from None
    _register_containers(tf)
    return tf


def _register_containers(tf: Any) -> None:
    """Make trees of the containers by which a `tf.Module` replaces those that are assigned to it.

    A function receives them as the plain tuples, lists and dicts that they stand for.
    """
    module = tf.Module()
    module.sequence, module.pair, module.table = [tf.Module()], (tf.Module(),), {"a": tf.Module()}

    def of_table(table: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        names = tuple(sorted(table))
        return tuple(table[name] for name in names), names

    register_pytree_node(
        type(module.sequence), lambda xs: (tuple(xs), None), lambda _, xs: list(xs)
    )
    register_pytree_node(type(module.pair), lambda xs: (tuple(xs), None), lambda _, xs: tuple(xs))
    register_pytree_node(
        type(module.table), of_table, lambda names, xs: dict(zip(names, xs, strict=True))
    )


def tensor_dtype(dtype: Any) -> Any:
    """Return TensorFlow's dtype for one of effax: booleans for `float0`, which it does not have."""
    return tensorflow().dtypes.as_dtype(np.bool_ if dtype == float0 else dtype)


def array_dtype(dtype: Any) -> Any:
    """Return the dtype that an array of effax has for a tensor's dtype.

    Raises:
      TypeError: for a dtype that no array has, such as that of texts.
    """
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    if numpy_dtype not in ELEMENTS or dtype.name.startswith("q"):
        raise TypeError(
            f"jax2tf: tensors of the dtype {dtype.name} can't become arrays of effax, which hold "
            "numbers and booleans"
        )
    return canonical_dtype(numpy_dtype)


def is_tensor(x: Any) -> bool:
    """Whether a value is a tensor or a variable of TensorFlow."""
    tf = tensorflow()
    return isinstance(x, tf.Tensor | tf.Variable)


def struct_of(x: Any) -> ShapeDtypeStruct:
    """Return the type of a tensor, variable, array or number; unknown lengths are None.

    Raises:
      TypeError: for a value that is none of these.
      ValueError: for a tensor whose number of axes is unknown.
    """
    if not is_tensor(x):
        try:
            type = typeof(x)
        except TypeError:
            raise TypeError(
                "jax2tf: expected a tensor or variable of TensorFlow, an array or a number, got "
                f"{x!r}"
            ) from None
        return ShapeDtypeStruct(type.shape, type.dtype)
    if x.shape.rank is None:
        raise ValueError(
            f"jax2tf: the number of axes of {x!r} is unknown; give it a shape (tf.ensure_shape), "
            "whose lengths may be None"
        )
    return ShapeDtypeStruct(x.shape.as_list(), array_dtype(x.dtype))


def as_tensor(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Return a tensor, variable, array or number as a tensor of the dtype for an effax dtype."""
    tf = tensorflow()
    if getattr(x, "dtype", None) == float0:
        x = np.zeros(x.shape, np.bool_)
    elif not is_tensor(x):
        x = np.asarray(x)
    return tf.identity(tf.cast(tf.convert_to_tensor(x), tensor_dtype(dtype)), name=name)


def conjugate(x: Any) -> Any:
    """Return the conjugate of a tensor.

    TensorFlow's gradients and cotangents of complex numbers are the conjugates of those of effax.
    """
    return tensorflow().math.conj(x) if x.dtype.is_complex else x


def dtype_of_val(val: Any) -> Any:
    """Return the TensorFlow dtype by which a converted function takes a value.

    Args:
      val: a tensor, variable, array or number. Without `enable_x64`, 64 bits become 32.

    Raises:
      ImportError: where TensorFlow is not installed.
      TypeError: for a value that can't become an array.
    """
    return tensor_dtype(struct_of(val).dtype)
