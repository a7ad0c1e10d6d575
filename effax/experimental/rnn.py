"""Long short-term memory (Hochreiter & Schmidhuber 1997) in layers, with the weights in one vector.

The vector is cuDNN's: of each layer and direction the matrices by which the input and the state are
multiplied, then of each both biases; the rows of each matrix and bias are four gates: input,
forget, cell, output. The functions are scans, so that they run and are transformed on all devices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import effax.numpy as jnp
from effax import lax, nn, random
from effax.effects.value import Array, ArrayLike, PrecisionLike

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_ref",
    "swap_lstm_gates",
    "unpack_lstm_weights",
]
__dir__ = __all__.copy

Weights = tuple[dict[int, Array], dict[int, Array], dict[int, Array], dict[int, Array]]


def _shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool) -> Any:
    """The shapes of matrices in the order of the vector, and of biases."""
    directions = 2 if bidirectional else 1
    gates = 4 * hidden_size
    matrices = [
        (gates, n)
        for layer in range(num_layers)
        for _ in range(directions)
        for n in (directions * hidden_size if layer else input_size, hidden_size)
    ]
    return matrices, [(gates,)] * len(matrices)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """The number of weights of all layers.

    >>> from effax.experimental import rnn
    >>> rnn.get_num_params_in_lstm(3, 2, num_layers=1, bidirectional=False)
    56
    """
    matrices, biases = _shapes(input_size, hidden_size, num_layers, bidirectional)
    return sum(math.prod(shape) for shape in (*matrices, *biases))


def init_lstm_weight(
    rng: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Random weights, uniform between -k and k, where k is 1 over the root of `hidden_size`.

    Args:
      rng: a key.
      input_size: the number of features of an input.
      hidden_size: the number of elements of a layer's state.
      num_layers: the number of layers.
      bidirectional: whether each layer reads its sequence backwards too.

    Returns:
      A float32 vector of `get_num_params_in_lstm(...)` elements.
    """
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    k = math.sqrt(1 / hidden_size)
    return random.uniform(rng, (n,), jnp.float32, minval=-k, maxval=k)


def unpack_lstm_weights(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Weights:
    """The matrices and biases in a vector of weights.

    Args:
      weights: array_like of `get_num_params_in_lstm(...)` elements.
      input_size, hidden_size, num_layers, bidirectional: as for `init_lstm_weight`.

    Returns:
      Four dicts: matrices of the input, matrices of the state, biases of the input, biases of the
      state; by the number of the layer, or with two directions by twice that, and one more for the
      direction that reads backwards.

    Raises:
      ValueError: for another number of elements.
    """
    weights = jnp.asarray(weights)
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    sizes = [math.prod(shape) for part in shapes for shape in part]
    if weights.shape != (sum(sizes),):
        raise ValueError(
            f"an LSTM of these sizes has a vector of {sum(sizes)} weights, got {weights.shape}"
        )
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    parts = [
        weights[end - size : end].reshape(shape)
        for end, size, shape in zip(ends, sizes, [*shapes[0], *shapes[1]], strict=True)
    ]
    n = len(shapes[0])
    kinds = parts[:n:2], parts[1:n:2], parts[n::2], parts[n + 1 :: 2]
    of_input, of_state, bias_of_input, bias_of_state = (dict(enumerate(k)) for k in kinds)
    return of_input, of_state, bias_of_input, bias_of_state


def swap_lstm_gates(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """The vector of weights with the last two gates changed over, as MIOpen has them.

    Args:
      weights, input_size, hidden_size, num_layers, bidirectional: as for `unpack_lstm_weights`.
    """
    kinds = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    swapped = []
    for pair in (kinds[:2], kinds[2:]):
        for i in pair[0]:
            for kind in pair:
                first, second, third, fourth = jnp.split(kind[i], 4)
                swapped += [jnp.ravel(part) for part in (first, second, fourth, third)]
    return jnp.concatenate(swapped)


def lstm(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    weights: ArrayLike,
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike = None,
) -> tuple[Array, Array, Array]:
    """Read sequences by layers of long short-term memory.

    A sequence that has ended leaves its states as they are, and gives zeros.

    Args:
      x: the sequences, of shape (batch, time, input_size).
      h_0, c_0: the states before them, of shape (layers times directions, batch, hidden_size).
      weights: vector as `init_lstm_weight` makes it.
      seq_lengths: int32 vector, the length of each sequence.
      input_size, hidden_size, num_layers, bidirectional: as for `init_lstm_weight`.
      dropout: 0.0; others are refused.
      precision: the precision of products.

    Returns:
      The last layer's outputs, of shape (batch, time, directions times hidden_size), and the states
      afterwards.

    Raises:
      NotImplementedError: with dropout, or lengths that are not int32.
      ValueError: where the number of weights is not that of the sizes.

    >>> import effax, effax.numpy as jnp
    >>> from effax.experimental import rnn
    >>> weights = rnn.init_lstm_weight(effax.random.key(0), 3, 2, 1, False)
    >>> state = jnp.zeros((1, 4, 2))
    >>> x, lengths = jnp.ones((4, 5, 3)), jnp.full(4, 5)
    >>> y, h, c = rnn.lstm(x, state, state, weights, lengths, 3, 2, 1, 0.0, False)
    >>> y.shape, h.shape, bool((y[:, -1] == h[0]).all())
    ((4, 5, 2), (1, 4, 2), True)
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _layers(x, h_0, c_0, parts, seq_lengths, dropout, bidirectional, precision)


def lstm_ref(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    W_ih: Mapping[int, ArrayLike],  # noqa: N803  (the names of JAX's parameters)
    W_hh: Mapping[int, ArrayLike],  # noqa: N803
    b_ih: Mapping[int, ArrayLike],
    b_hh: Mapping[int, ArrayLike],
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:
    """`lstm` of weights in four dicts, as `unpack_lstm_weights` gives them.

    Args:
      x, h_0, c_0, seq_lengths, dropout, bidirectional: as for `lstm`.
      W_ih, W_hh: the matrices of the input and of the state.
      b_ih, b_hh: their biases.
      input_size, hidden_size, num_layers: read of the arrays.

    Returns:
      Outputs and states, as `lstm`.
    """
    return _layers(x, h_0, c_0, (W_ih, W_hh, b_ih, b_hh), seq_lengths, dropout, bidirectional, None)


def _layers(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    dropout: float,
    bidirectional: bool,
    precision: PrecisionLike,
) -> tuple[Array, Array, Array]:
    lengths = jnp.asarray(seq_lengths)
    if lengths.dtype != jnp.int32:
        raise NotImplementedError(f"`seq_lengths` can only be int32, got {lengths.dtype}")
    if dropout:
        raise NotImplementedError(
            f"lstm: dropout={dropout}: which outputs cuDNN drops is not known; drop them between "
            "calls of one layer each"
        )
    directions = 2 if bidirectional else 1
    found = jnp.swapaxes(jnp.asarray(x), 0, 1)  # time first
    present = (jnp.arange(found.shape[0])[:, None] < lengths[None])[..., None]
    states = []
    for first in range(0, len(weights[0]), directions):
        outputs = []
        for i in range(first, first + directions):
            matrix, turn, *biases = (kind[i] for kind in weights)
            given = (
                jnp.matmul(found, jnp.transpose(matrix), precision=precision)
                + sum(biases)[None, None]
            )
            state, y = _direction(given, present, (h_0[i], c_0[i]), turn, i != first, precision)
            states.append(state)
            outputs.append(y)
        found = jnp.concatenate(outputs, -1)
    hidden, cells = zip(*states, strict=True)
    return jnp.swapaxes(found, 0, 1), jnp.stack(hidden), jnp.stack(cells)


def _direction(
    given: Array, present: Array, start: Any, turn: Any, backwards: bool, precision: PrecisionLike
) -> tuple[Any, Array]:
    """One layer in one direction: the states at the end, the outputs.

    `given` are the gates' parts of the inputs, `present` the places before a sequence's end: read
    backwards, a sequence begins at its last element, as the places after it change nothing.
    """
    turned = jnp.transpose(turn)

    def step(state: Any, at: Any) -> Any:
        h, c = state
        gates, here = at
        gates = gates + jnp.matmul(h, turned, precision=precision)
        enter, keep, new, leave = jnp.split(gates, 4, -1)
        cell = nn.sigmoid(keep) * c + nn.sigmoid(enter) * jnp.tanh(new)
        out = nn.sigmoid(leave) * jnp.tanh(cell)
        return (jnp.where(here, out, h), jnp.where(here, cell, c)), jnp.where(here, out, 0)

    return lax.scan(step, start, (given, present), reverse=backwards)
