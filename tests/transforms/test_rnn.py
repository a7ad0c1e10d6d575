"""Long short-term memory, against sequences read one by one in NumPy."""

import numpy as np
import pytest
from scipy.special import expit

import effax as fx
import effax.numpy as jnp
from effax.experimental import rnn

SIZES = {"input_size": 3, "hidden_size": 2, "num_layers": 2}


def given(bidirectional, batch=4, time=5, seed=0):
    draw = np.random.default_rng(seed)
    n = 2 * (2 if bidirectional else 1)
    count = rnn.get_num_params_in_lstm(**SIZES, bidirectional=bidirectional)
    x = draw.normal(size=(batch, time, 3))
    h, c = draw.normal(size=(2, n, batch, 2))
    arrays = (x, h, c, draw.normal(size=count) * 0.7)
    lengths = np.array([5, 1, 3, 0][:batch], np.int32)
    return [jnp.asarray(a, "float32") for a in arrays], lengths


def read(sequence, h, c, parts):
    """The outputs and states of one sequence, element by element."""
    turn_in, turn, bias_in, bias = (np.asarray(p, "float64") for p in parts)
    outputs = []
    for x in sequence:
        enter, keep, new, leave = np.split(turn_in @ x + turn @ h + bias_in + bias, 4)
        c = expit(keep) * c + expit(enter) * np.tanh(new)
        h = expit(leave) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs).reshape(-1, 2), h, c


def by_hand(x, h0, c0, weights, lengths, bidirectional):
    kinds = rnn.unpack_lstm_weights(weights, **SIZES, bidirectional=bidirectional)
    directions = 2 if bidirectional else 1
    y = np.zeros((*x.shape[:2], directions * 2))
    hn, cn = np.array(h0, "float64"), np.array(c0, "float64")
    for b, length in enumerate(lengths):
        sequence = np.asarray(x[b, :length], "float64")
        for layer in range(2):
            both = []
            for d in range(directions):
                i = layer * directions + d
                parts = [kind[i] for kind in kinds]
                out, hn[i, b], cn[i, b] = read(sequence[:: 1 - 2 * d], hn[i, b], cn[i, b], parts)
                both.append(out[:: 1 - 2 * d])
            sequence = np.concatenate(both, -1)
        y[b, :length] = sequence
    return y, hn, cn


@pytest.mark.parametrize("bidirectional", [False, True])
def test_sequences_are_read_to_their_ends(bidirectional):
    arrays, lengths = given(bidirectional)
    found = rnn.lstm(*arrays, lengths, **SIZES, dropout=0.0, bidirectional=bidirectional)
    for one, other in zip(found, by_hand(*arrays, lengths, bidirectional), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_weights_in_dicts_and_compiled(bidirectional):
    arrays, lengths = given(bidirectional)
    how = {**SIZES, "dropout": 0.0, "bidirectional": bidirectional}
    parts = rnn.unpack_lstm_weights(arrays[3], **SIZES, bidirectional=bidirectional)
    direct = rnn.lstm(*arrays, lengths, **how)
    found = fx.jit(lambda *a: rnn.lstm_ref(*a, *parts, lengths, **how))(*arrays[:3])
    for one, other in zip(found, direct, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_derivatives_and_batches():
    arrays, lengths = given(True, batch=2, time=3)

    def total(*arrays):
        y, h, c = rnn.lstm(*arrays, lengths[:2] % 4, **SIZES, dropout=0.0, bidirectional=True)
        return (y**2).sum() + (h * c).sum()

    fx.test_util.check_grads(total, arrays, order=1, atol=2e-2, rtol=2e-2)
    many = jnp.stack([arrays[3], arrays[3] * 0.5])
    batched = fx.vmap(lambda w: total(*arrays[:3], w))(many)
    np.testing.assert_allclose(batched, [total(*arrays[:3], w) for w in many], rtol=1e-5)


def test_gates_are_changed_over():
    arrays, _ = given(True)
    swapped = rnn.swap_lstm_gates(arrays[3], **SIZES, bidirectional=True)
    before, after = (
        rnn.unpack_lstm_weights(w, **SIZES, bidirectional=True) for w in (arrays[3], swapped)
    )
    for kind, other in zip(before, after, strict=True):
        for i in kind:
            first, second, third, fourth = np.split(kind[i], 4)
            np.testing.assert_array_equal(other[i], np.concatenate([first, second, fourth, third]))


def test_refusals():
    arrays, lengths = given(False)
    how = {**SIZES, "bidirectional": False}
    with pytest.raises(NotImplementedError, match=r"dropout=0\.5"):
        rnn.lstm(*arrays, lengths, **how, dropout=0.5)
    with pytest.raises(NotImplementedError, match="int32, got float32"):
        rnn.lstm(*arrays, lengths.astype("float32"), **how, dropout=0.0)
    with pytest.raises(ValueError, match="a vector of 104 weights"):
        rnn.lstm(*arrays[:3], arrays[3][:-1], lengths, **how, dropout=0.0)
