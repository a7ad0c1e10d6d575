"""Refusals of lax, in the words that users of XLA's operations look for; and its conversions."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax

X, ONES = jnp.zeros((3, 4, 5)), np.ones(5, np.float32)


def gather(offset=(), collapsed=(0, 1, 2), to=(0, 1, 2), x_batch=(), i_batch=(), sizes=(1, 1, 1)):
    indices = np.zeros((3, 2, len(to)), np.int32)
    dims = lax.GatherDimensionNumbers(offset, collapsed, to, x_batch, i_batch)
    return lambda: lax.gather(X, indices, dims, sizes)


def scatter(window=(), inserted=(0, 1, 2), to=(0, 1, 2), x_batch=(), i_batch=(), lengths=(3, 2)):
    indices = np.zeros((3, 2, len(to)), np.int32)
    dims = lax.ScatterDimensionNumbers(window, inserted, to, x_batch, i_batch)
    return lambda: lax.scatter(X, indices, jnp.zeros(lengths), dims)


REFUSALS = {
    "offset_dims in gather op must be sorted": gather((3, 2), (0,), (0,), sizes=(1, 4, 5)),
    "offset_dims in gather op must not repeat": gather((2, 2), (0,), (0,), sizes=(1, 4, 5)),
    "Offset dimension 1 in gather op is out of bounds; got 4": gather((3, 4), (0,), (0,)),
    "Invalid start_index_map mapping in gather op": gather(to=(0, 1, 3)),
    "start_index_map in gather op must not repeat": gather(to=(0, 1, 1)),
    "collapsed_slice_dims in gather op must be sorted": gather(collapsed=(1, 0, 2)),
    "Invalid operand_batching_dims set in gather op": gather(collapsed=(), x_batch=(3,)),
    "start_index_map and operand_batching_dims in gather op": gather(collapsed=(), x_batch=(0,)),
    "Gather op cannot have the index vector dimension as a batching": gather(
        (), (1, 2), (1, 2), (0,), (2,)
    ),
    "Gather op requires equal numbers": gather((), (1, 2), (1, 2), (0,)),
    r"to have the same shape, got \(3,\) and \(2,\)": gather((), (1, 2), (1, 2), (0,), (1,)),
    "Gather op must have one slice size": gather(sizes=(1, 1)),
    "All components of the offset index in a gather op": gather((2,)),
    r"Slice size at index 2 in gather op is out of range.*got 6 for f32\[3,4,5\]": gather(
        (2,), (0, 1), sizes=(1, 1, 6)
    ),
    "only collapse slice dims with bound 1, but bound is 2 for index 1": gather(sizes=(1, 2, 1)),
    "operand batching dims with bound 0/1, but bound is 2": gather(
        (), (1, 2), (1, 2), (0,), (0,), (2, 1, 1)
    ),
    "Updates tensor must be of rank 2; got 1": scatter(lengths=(3,)),
    "update_window_dims in scatter op must be sorted": scatter((3, 2), lengths=(3, 2, 1, 1)),
    "Invalid inserted_window_dims set in scatter op": scatter(inserted=(0, 1, 3)),
    "Scatter op requires operand batching dimensions and indices": scatter(
        (), (1, 2), (1, 2), (0,), (1,)
    ),
    "Scatter op has window of size 2; doesn't match operand of rank 3": scatter(inserted=(0, 1)),
    "Invalid scatter_dims_to_operand_dims mapping": scatter(to=(0, 1, 5)),
    "Bounds of the window dimensions .* updates bound is 6, operand bound is 5": scatter(
        (2,), (0, 1), lengths=(3, 2, 6)
    ),
    "Bounds of the scatter dimensions of updates": scatter(lengths=(2, 3)),
    "index arguments to dynamic_slice must be integers of the same type": lambda: lax.dynamic_slice(
        X, (np.int32(1), np.int16(2), 0), (1, 1, 1)
    ),
    "window_dimensions must have every element be positive": lambda: lax.reduce_window(
        ONES, 0.0, lax.add, (0,)
    ),
    r"init_values to be scalars but init_values have shapes \[\(1,\)\]\.": (
        lambda: lax.reduce_window(ONES, ONES[:1], lax.max, (2,))
    ),
    "Invalid axis -1 for operand": lambda: lax.argmax(ONES, -1, "int32"),
    "reduce found non-scalar initial value": lambda: lax.reduce(ONES, ONES, lax.add, (0,)),
    "reduce output must have the same tree structure as the operands": lambda: lax.reduce(
        ONES, 0.0, lambda x, y: [x + y, x], (0,)
    ),
    "reduce_window output must have the same tree structure": lambda: lax.reduce_window(
        ONES, 0.0, lambda x, y: (x + y,), (2,)
    ),
    "padding_value must be a scalar": lambda: lax.pad(ONES, ONES, [(0, 0, 0)]),
    "padding_config": lambda: lax.pad(ONES, 0.0, [(0, 0, 0)] * 2),
    "interior padding in padding_config must be nonnegative": (
        lambda: lax.pad(ONES, 0.0, [(0, 1, -1)])
    ),
    "Dimension size after padding is not at least 0": lambda: lax.pad(ONES, 0.0, [(-6, 0, 0)]),
    "Sum of sizes 6 must be equal": lambda: lax.split(ONES, [6]),
    "conv_general_dilated lhs and rhs must have the same number of dimensions": (
        lambda: lax.conv_general_dilated(
            np.ones((1, 1, 1)),
            np.ones((1, 1, 1, 1)),
            (1,),
            [(0, 0)],
            dimension_numbers=lax.ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2)),
        )
    ),
    "window and window_strides must have the same number of dimensions": (
        lambda: lax.conv(np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 1, 1)), [1], "SAME")
    ),
    "rem does not accept dtype complex64": lambda: lax.rem(2 + 3j, 4 + 5j),
    "population_count does not accept dtype bool": lambda: lax.population_count(True),
}


@pytest.mark.parametrize("words", REFUSALS)
def test_what_is_refused_is_named(words):
    with pytest.raises((TypeError, ValueError), match=words):
        REFUSALS[words]()


def test_unsigned_starts_past_the_end_stay_there():
    x, far = jnp.arange(200), np.uint32(2**31 + 1)
    for many in (fx.jit, lambda f: f):
        assert many(lambda i: lax.dynamic_slice(x, [i], [1]))(far).tolist() == [199]
        assert int(many(lambda i: x[i])(far)) == 199
        assert many(lambda i: x[jnp.stack([i, i])])(far).tolist() == [199, 199]
        assert many(lambda i: lax.dynamic_update_slice(x, x[:1], [i]))(far)[-1] == 0
    mixed = lax.dynamic_slice(jnp.arange(6).reshape(2, 3), [jnp.asarray(-1), np.uint32(1)], (1, 1))
    assert mixed.tolist() == [[4]]


def test_an_unsigned_start_is_not_wrapped():
    program = fx.make_program(lambda x, i: lax.dynamic_slice(x, [i], [1]))(ONES, np.uint32(3))
    assert [e.effect.name for e in program.equations] == ["dynamic_slice"]


@pytest.mark.parametrize("make", [np.complex64, jnp.complex64])
def test_a_complex_number_made_real_warns(make):
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert lax.convert_element_type(make(complex(2, 1)), "int32") == 2
    assert lax.convert_element_type(make(1j), bool)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32"])
def test_folds_of_bits_are_reductions(dtype):
    bits = np.array([[3, 5, 7], [1, 0, 1]], dtype)
    for fold, start, wanted in (
        (lax.bitwise_and, np.invert(np.zeros((), dtype)), np.bitwise_and.reduce(bits, 0)),
        (lax.bitwise_or, np.zeros((), dtype), np.bitwise_or.reduce(bits, 0)),
        (lax.bitwise_xor, np.zeros((), dtype), np.bitwise_xor.reduce(bits, 0)),
    ):
        program = fx.make_program(lambda x, f=fold, s=start: lax.reduce(x, s, f, (0,)))(bits)
        (equation,) = program.equations
        assert equation.effect.name == fold.__name__.replace("bitwise", "reduce")
        np.testing.assert_array_equal(lax.reduce(bits, start, fold, (0,)), wanted)


def test_a_transform_of_no_axes_changes_the_dtype_alone():
    assert lax.fft(ONES, "FFT", ()).dtype == "complex64"
    assert fx.vmap(lambda x: lax.fft(x, "RFFT", ()))(ONES).dtype == "float32"
    with pytest.raises(ValueError, match="RFFT takes real numbers"):
        lax.fft(ONES + 0j, "RFFT", ())


def test_padding_is_made_of_ints():
    pads = lax.padtype_to_pads(*np.array([[5, 6], [2, 3], [2, 2]]), "SAME")
    assert [type(n) for pair in pads for n in pair] == [int] * 4
