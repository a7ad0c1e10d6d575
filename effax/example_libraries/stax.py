"""Layers as pairs: `init(key, shape)` gives a shape and parameters, `apply(params, x)` the result.

`serial` and `parallel` make layers of layers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import effax.numpy as jnp
from effax import lax, random
from effax.api.compiling.staging import eval_shape
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.nn import elu as elu
from effax.nn import gelu as gelu
from effax.nn import leaky_relu as leaky_relu
from effax.nn import log_softmax as log_softmax
from effax.nn import relu as relu
from effax.nn import selu as selu
from effax.nn import sigmoid as sigmoid
from effax.nn import softmax as softmax
from effax.nn import softplus as softplus
from effax.nn import standardize as standardize
from effax.nn.initializers import glorot_normal as glorot_normal
from effax.nn.initializers import normal as normal
from effax.nn.initializers import ones as ones
from effax.nn.initializers import zeros as zeros

__all__ = [
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "elu",
    "gelu",
    "glorot",
    "glorot_normal",
    "leaky_relu",
    "log_softmax",
    "logsoftmax",
    "normal",
    "ones",
    "parallel",
    "randn",
    "relu",
    "selu",
    "serial",
    "shape_dependent",
    "sigmoid",
    "softmax",
    "softplus",
    "standardize",
    "zeros",
]
__dir__ = __all__.copy

glorot, randn, logsoftmax = glorot_normal, normal, log_softmax
Shape = Any
Layer = tuple[Callable[..., Any], Callable[..., Any]]


def _shape_after(apply: Callable[..., Any], params: Any, input_shape: Shape) -> tuple[int, ...]:
    """The shape that a layer gives, for a batch whose size may be -1."""
    lengths = tuple(1 if n == -1 else n for n in input_shape)
    given = eval_shape(apply, params, ShapeDtypeStruct(lengths, "float32")).shape
    return (input_shape[0], *given[1:]) if input_shape[0] == -1 else tuple(given)


def Dense(  # noqa: N802
    out_dim: int,
    W_init: Any = None,  # noqa: N803
    b_init: Any = None,
) -> Layer:
    """Make a layer of a matrix product and an addition.

    Args:
      out_dim: the length of the last axis of the result.
      W_init: the initializer of the matrix; by default `glorot_normal()`.
      b_init: the initializer of the vector that is added; by default `normal()`.

    >>> import effax
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.Dense(2)
    >>> init(effax.random.key(0), (-1, 3))[0]
    (-1, 2)
    """
    make_weights, make_bias = W_init or glorot_normal(), b_init or normal()

    def init(rng: Any, input_shape: Shape) -> Any:
        one, other = random.split(rng)
        weights = make_weights(one, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, make_bias(other, (out_dim,)))

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        return jnp.dot(inputs, params[0]) + params[1]

    return init, apply


def _convolution(
    convolve: Callable[..., Any],
    numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    make_weights: Any,
    make_bias: Any,
) -> Layer:
    """The layer of a convolution `convolve(inputs, weights)` and a bias for each channel."""
    lhs_spec, rhs_spec, out_spec = numbers
    make_weights = make_weights or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))
    make_bias = make_bias or normal(1e-6)

    def init(rng: Any, input_shape: Shape) -> Any:
        window = iter(filter_shape)
        lengths = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel = tuple(lengths[c] if c in lengths else next(window) for c in rhs_spec)
        one, other = random.split(rng)
        bias = make_bias(other, tuple(out_chan if c == "C" else 1 for c in out_spec))
        params = make_weights(one, kernel), bias
        return _shape_after(apply, params, input_shape), params

    def apply(params: Any, inputs: Any, **_: Any) -> Any:
        return convolve(inputs, params[0]) + params[1]

    return init, apply


def GeneralConv(  # noqa: N802
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,  # noqa: N803  # noqa: N803
    b_init: Any = None,
) -> Layer:
    """Make a layer of a convolution and an addition.

    Args:
      dimension_numbers: the axes of the input, the filter and the result, in letters such as
        ("NHWC", "HWIO", "NHWC").
      out_chan: the number of channels of the result.
      filter_shape: the lengths of the filter's window.
      strides: the steps of the window along its axes; by default 1 each.
      padding: "VALID", "SAME" or pairs of numbers, as for `lax.conv_general_dilated`.
      W_init: the initializer of the filter; by default `glorot_normal` of its axes I and O.
      b_init: the initializer of the numbers that are added; by default `normal(1e-6)`.

    >>> import effax
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.GeneralConv(("NHWC", "HWIO", "NHWC"), 4, (3, 3))
    >>> init(effax.random.key(0), (1, 8, 8, 2))[0]
    (1, 6, 6, 4)
    """
    one = (1,) * len(filter_shape)
    steps = tuple(strides or one)

    def convolve(inputs: Any, weights: Any) -> Any:
        return lax.conv_general_dilated(
            inputs, weights, steps, padding, one, one, dimension_numbers=dimension_numbers
        )

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


def GeneralConvTranspose(  # noqa: N802
    dimension_numbers: tuple[str, str, str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,  # noqa: N803  # noqa: N803
    b_init: Any = None,
) -> Layer:
    """Make a layer of a transposed convolution and an addition.

    Args:
      dimension_numbers: the axes of the input, the filter and the result, in letters such as
        ("NHWC", "HWIO", "NHWC").
      out_chan: the number of channels of the result.
      filter_shape: the lengths of the filter's window.
      strides: the steps of the window along its axes; by default 1 each.
      padding: "VALID", "SAME" or pairs of numbers, as for `lax.conv_transpose`.
      W_init: the initializer of the filter; by default `glorot_normal` of its axes I and O.
      b_init: the initializer of the numbers that are added; by default `normal(1e-6)`.

    >>> import effax
    >>> from effax.example_libraries import stax
    >>> init, _ = stax.GeneralConvTranspose(("NHWC", "HWIO", "NHWC"), 4, (3, 3))
    >>> init(effax.random.key(0), (1, 8, 8, 2))[0]
    (1, 10, 10, 4)
    """
    steps = tuple(strides or (1,) * len(filter_shape))

    def convolve(inputs: Any, weights: Any) -> Any:
        return lax.conv_transpose(
            inputs, weights, steps, padding, dimension_numbers=dimension_numbers
        )

    return _convolution(convolve, dimension_numbers, out_chan, filter_shape, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
_ARGS = "`out_chan`, `filter_shape`, `strides`, `padding`, `W_init` and `b_init` are as there."
Conv.__doc__ = f"Make a `GeneralConv` of images, with the axes NHWC.\n\n{_ARGS}"
Conv1DTranspose.__doc__ = f"Make a `GeneralConvTranspose` of rows, with the axes NHC.\n\n{_ARGS}"
ConvTranspose.__doc__ = f"Make a `GeneralConvTranspose` of images, with the axes NHWC.\n\n{_ARGS}"


def BatchNorm(  # noqa: N802
    axis: Any = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Make a layer that standardises over some axes, then scales and shifts by parameters.

    Args:
      axis: the axis or axes to average over.
      epsilon: a small number that is added to the variance.
      center: whether a parameter is added.
      scale: whether the standardised inputs are multiplied by a parameter.
      beta_init: the initializer of the parameter that is added.
      gamma_init: the initializer of the parameter that is a factor.

    >>> import effax
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.BatchNorm(axis=0)
    >>> init(effax.random.key(0), (8, 3))[0]
    (8, 3)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> Any:
        lengths = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        one, other = random.split(rng)
        beta = beta_init(one, lengths) if center else ()
        return input_shape, (beta, gamma_init(other, lengths) if scale else ())

    def apply(params: Any, x: Any, **_: Any) -> Any:
        beta, gamma = params
        z = standardize(x, axes, epsilon=epsilon)
        if scale:
            z = jnp.expand_dims(gamma, axes) * z
        return z + jnp.expand_dims(beta, axes) if center else z

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Make a layer of a function without parameters.

    Args:
      fun: a function of an array, whose result has the same shape.
      **fun_kwargs: further arguments of `fun`, by keyword.

    >>> from effax.example_libraries import stax
    >>> import effax.numpy as jnp
    >>> stax.elementwise(jnp.square)[1]((), 3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    return (
        lambda rng, input_shape: (input_shape, ()),
        lambda params, inputs, **_: fun(inputs, **fun_kwargs),
    )


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)


def _pooling(fold: Callable[..., Any], start: float, mean: bool) -> Callable[..., Layer]:
    def layer(
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: Any = "VALID",
        spec: str | None = None,
    ) -> Layer:
        """Make a layer whose window slides over all axes but those of the batch and the channels.

        Args:
          window_shape: the lengths of the window.
          strides: the steps of the window along its axes; by default 1 each.
          padding: "VALID", "SAME" or pairs of numbers, as for `lax.reduce_window`.
          spec: the axes of the input in letters, such as "NHWC"; by default N is the first axis
            and C the last.

        >>> from effax.example_libraries import stax
        >>> init, apply = stax.MaxPool((2, 2), strides=(2, 2))
        >>> init(None, (1, 8, 8, 3))[0]
        (1, 4, 4, 3)
        """
        steps = tuple(strides or (1,) * len(window_shape))
        whole = (0, len(window_shape) + 1)
        if spec is not None:
            whole = (spec.index("N"), spec.index("C"))
        window = tuple(window_shape)
        for i in sorted(whole):
            window, steps = (*window[:i], 1, *window[i:]), (*steps[:i], 1, *steps[i:])

        def slide(x: Any) -> Any:
            return lax.reduce_window(x, start, fold, window, steps, padding)

        def apply(params: Any, inputs: Any, **_: Any) -> Any:
            out = slide(inputs)
            return out / slide(jnp.ones_like(inputs)) if mean else out

        def init(rng: Any, input_shape: Shape) -> Any:
            return _shape_after(apply, (), input_shape), ()

        return init, apply

    return layer


MaxPool = _pooling(lax.max, -math.inf, False)
SumPool = _pooling(lax.add, 0.0, False)
AvgPool = _pooling(lax.add, 0.0, True)


def _flatten() -> Layer:
    def init(rng: Any, input_shape: Shape) -> Any:
        return (input_shape[0], math.prod(input_shape[1:])), ()

    return init, lambda params, inputs, **_: jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flatten()


def FanOut(num: int) -> Layer:  # noqa: N802
    """Make a layer that returns its input several times, as a list.

    Args:
      num: the number of times.

    >>> from effax.example_libraries import stax
    >>> init, apply = stax.FanOut(2)
    >>> apply((), 3.0)
    [3.0, 3.0]
    """
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **_: [inputs] * num,
    )


FanInSum: Layer = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **_: sum(inputs),
)


def FanInConcat(axis: int = -1) -> Layer:  # noqa: N802
    """Make a layer that concatenates its inputs.

    Args:
      axis: the axis to concatenate along; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.FanInConcat()
    >>> apply((), [jnp.ones(1), jnp.zeros(2)]).tolist()
    [1.0, 0.0, 0.0]
    """

    def init(rng: Any, input_shape: Shape) -> Any:
        first = input_shape[0]
        at = axis % len(first)
        total = sum(lengths[at] for lengths in input_shape)
        return (*first[:at], total, *first[at + 1 :]), ()

    return init, lambda params, inputs, **_: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:  # noqa: N802
    """Make a layer that sets random elements to 0 in training, and is the identity otherwise.

    Args:
      rate: the probability to keep an element; the elements that are kept are divided by it.
      mode: "train" for training; another string for the identity.

    Raises:
      ValueError: where the layer is applied without a key.

    >>> import effax, effax.numpy as jnp
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.Dropout(0.5, mode="test")
    >>> apply((), jnp.ones(2), rng=effax.random.key(0)).tolist()
    [1.0, 1.0]
    """

    def apply(params: Any, inputs: Any, **keywords: Any) -> Any:
        rng = keywords.get("rng")
        if rng is None:
            raise ValueError(
                "stax.Dropout draws random numbers: call apply_fun(params, inputs, rng=key) with a "
                "key of effax.random"
            )
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Compose layers, one after the other.

    Args:
      *layers: the layers, pairs of functions; each takes the result of the one before it.

    >>> import effax
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2), stax.LogSoftmax)
    >>> shape, params = init(effax.random.key(0), (-1, 3))
    >>> shape, apply(params, effax.numpy.ones((5, 3))).shape
    ((-1, 2), (5, 2))
    """

    def init(rng: Any, input_shape: Shape) -> Any:
        params = []
        for make, _ in layers:
            rng, own = random.split(rng)
            input_shape, made = make(own, input_shape)
            params.append(made)
        return input_shape, params

    def apply(params: Any, inputs: Any, **keywords: Any) -> Any:
        keys = _keys(keywords.pop("rng", None), len(layers))
        for (_, function), own, key in zip(layers, params, keys, strict=True):
            inputs = function(own, inputs, rng=key, **keywords)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Put layers side by side: a list of inputs becomes a list of results.

    Args:
      *layers: the layers, pairs of functions, one for each input.

    >>> from effax.example_libraries import stax
    >>> init, apply = stax.parallel(stax.Identity, stax.Identity)
    >>> apply([(), ()], [1.0, 2.0])
    [1.0, 2.0]
    """

    def init(rng: Any, input_shape: Shape) -> Any:
        keys = random.split(rng, len(layers))
        made = [
            make(key, lengths)
            for (make, _), key, lengths in zip(layers, keys, input_shape, strict=True)
        ]
        return [lengths for lengths, _ in made], [params for _, params in made]

    def apply(params: Any, inputs: Any, **keywords: Any) -> Any:
        keys = _keys(keywords.pop("rng", None), len(layers))
        return [
            function(own, x, rng=key, **keywords)
            for (_, function), own, x, key in zip(layers, params, inputs, keys, strict=True)
        ]

    return init, apply


def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """Make a layer that depends on the shape of its input.

    Args:
      make_layer: a function that returns the layer for a shape.

    >>> import effax, effax.numpy as jnp
    >>> from effax.example_libraries import stax
    >>> init, apply = stax.shape_dependent(lambda shape: stax.elementwise(lambda x: x / shape[0]))
    >>> apply((), jnp.ones(2)).tolist()
    [0.5, 0.5]
    """
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **keywords: make_layer(inputs.shape)[1](params, inputs, **keywords),
    )
