"""`pallas_call` by itself: grids, blocks, references, aliases, and what is refused."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax as fx
import effax.numpy as jnp
from effax.experimental import pallas as pl
from effax.experimental.pallas import tpu as pltpu
from effax.experimental.pallas import triton as plgpu
from tests.pallas.kernels import like

pytestmark = pytest.mark.cpu

INT = np.dtype("int32")


def show_points(shape, block, grid, index_map=lambda *i: i[:2]):
    """Each point writes its coordinates, as the digits of a number."""

    def kernel(o_ref):
        digits = sum(pl.program_id(k) * 10 ** (len(grid) - 1 - k) for k in range(len(grid)))
        o_ref[...] = jnp.full(o_ref.shape, digits)

    spec = pl.BlockSpec(block, index_map)
    out = fx.ShapeDtypeStruct(shape, INT)
    return np.asarray(pl.pallas_call(kernel, out, grid=grid, in_specs=[], out_specs=spec)())


def blocks_of(rows, columns, high=2, wide=3):
    numbers = 10 * np.arange(rows)[:, None] + np.arange(columns)
    return np.kron(numbers, np.ones((high, wide), int))


def test_points_and_blocks():
    assert_array_equal(show_points((8, 6), (2, 3), (4, 2)), blocks_of(4, 2))


def test_blocks_that_reach_beyond_the_array():
    assert_array_equal(show_points((7, 5), (2, 3), (4, 2)), blocks_of(4, 2)[:7, :5])
    assert_array_equal(show_points((1, 2), (2, 3), (1, 1)), np.zeros((1, 2)))


def test_the_last_point_that_writes_a_block_wins():
    found = show_points((4, 6), (2, 3), (2, 2, 5))
    assert_array_equal(found, 10 * blocks_of(2, 2) + 4)


def test_squeezed_axes():
    for gone in (None, pl.squeezed, pl.Squeezed()):

        def kernel(o_ref):
            assert o_ref.shape == (2,)
            o_ref[...] = jnp.full((2,), 10 * pl.program_id(1) + pl.program_id(0))

        spec = pl.BlockSpec((gone, 2), lambda i, j: (i, j))
        out = fx.ShapeDtypeStruct((3, 4), INT)
        found = pl.pallas_call(kernel, out, out_specs=spec, grid=(3, 2), interpret=True)()
        assert_array_equal(found, [[0, 0, 10, 10], [1, 1, 11, 11], [2, 2, 12, 12]])


def test_whole_arrays_by_default():
    assert_array_equal(show_points((4, 4), None, (2, 3), None), np.full((4, 4), 12))
    assert_array_equal(show_points((4, 4), (4, 4), (2, 3), None), np.full((4, 4), 12))


def test_elements():
    block = (pl.Element(2), pl.Element(3))
    found = show_points((8, 6), block, (4, 2), lambda i, j: (2 * i, 3 * j))
    assert_array_equal(found, blocks_of(4, 2))


def test_padded_elements():
    block = (pl.Element(2, (1, 0)), pl.Element(3, (2, 0)))
    found = show_points((7, 7), block, (4, 3), lambda i, j: (2 * i, 3 * j))
    assert_array_equal(found, blocks_of(4, 3)[1:, 2:])


def test_windows_that_overlap():
    """A convolution: each point reads three elements, one further than the last one's."""

    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...] * w_ref[...], keepdims=True)

    x, w = np.arange(8, dtype="float32") ** 2, np.array([1, -2, 1], "float32")
    f = pl.pallas_call(
        kernel,
        like(x, (6,)),
        grid=6,
        in_specs=[pl.BlockSpec((pl.Element(3),), lambda i: (i,)), pl.BlockSpec()],
        out_specs=pl.BlockSpec((1,), lambda i: (i,)),
    )
    assert_array_equal(f(x, w), np.full(6, 2))
    (found,) = fx.vjp(lambda x: f(x, w), x)[1](jnp.arange(6.0))
    assert_array_equal(found, np.convolve(np.arange(6.0), w))


def test_scratch_stays_between_points():
    def kernel(x_ref, o_ref, sum_ref):
        i = pl.program_id(0)
        sum_ref[...] = jnp.where(i == 0, 0, sum_ref[...]) + x_ref[...]
        o_ref[...] = sum_ref[...]

    x = np.arange(5.0, dtype="float32")
    spec = pl.BlockSpec((1,), lambda i: (i,))
    for scratch in ([pltpu.VMEM((1,), "float32")], {"sum_ref": pltpu.SMEM((1,), "float32")}):
        sums = pl.pallas_call(
            kernel, like(x), grid=5, in_specs=[spec], out_specs=spec, scratch_shapes=scratch
        )
        assert_array_equal(sums(x), np.cumsum(x))
        assert_array_equal(fx.vmap(sums)(np.stack([x, 2 * x])), np.cumsum([x, 2 * x], 1))
        (ct,) = fx.vjp(sums, x)[1](x)
        assert_array_equal(ct, np.cumsum(x[::-1])[::-1])


def test_what_nobody_wrote_is_nan_and_outside_of_arrays_too():
    def kernel(x_ref, o_ref, p_ref):
        o_ref[0] = x_ref[0]
        p_ref[...] = jnp.isnan(x_ref[...])

    x = np.ones(3, "float32")
    spec = pl.BlockSpec((2,), lambda i: (i,))
    o, p = pl.pallas_call(
        kernel,
        (like(x), fx.ShapeDtypeStruct((4,), bool)),
        grid=2,
        in_specs=[spec],
        out_specs=(spec, spec),
    )(x)
    assert_array_equal(o, [1, np.nan, 1])
    assert_array_equal(p, [False, False, False, True])


def test_aliases_begin_as_arguments():
    def kernel(x_ref, y_ref, o_ref):
        o_ref[0] = y_ref[0] + x_ref[1]

    def f(x, y):
        return pl.pallas_call(kernel, like(x), input_output_aliases={0: 0})(x, y)

    x, y = np.arange(3, dtype="float32"), np.full(3, 5, "float32")
    assert_array_equal(f(x, y), [6, 1, 2])
    assert_array_equal(fx.jacrev(f)(x, y), [[0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert_array_equal(fx.jacfwd(f, 1)(x, y), np.diag([1, 0, 0]))
    assert_array_equal(fx.vmap(f, (None, 0))(x, np.stack([y, 2 * y]))[:, 0], [6, 11])


def test_trees_of_arguments_and_results():
    def kernel(args, o_ref, p_ref):
        o_ref[...] = args["a"][...] + args["b"][...]
        p_ref[...] = args["a"][...] * args["b"][...]

    x = {"a": np.arange(4.0, dtype="float32"), "b": np.ones(4, "float32")}
    half = pl.BlockSpec((2,), lambda i: (i,))
    o, p = pl.pallas_call(
        kernel,
        [like(x["a"])] * 2,
        grid=2,
        in_specs=[{"a": half, "b": half}],
        out_specs=(half, half),
    )(x)
    assert_array_equal(o, x["a"] + 1)
    assert_array_equal(p, x["a"])


def test_what_a_kernel_closes_over():
    w = jnp.arange(4.0)

    def f(w):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] * w

        spec = pl.BlockSpec((None, 4), lambda i: (i, 0))
        out = fx.ShapeDtypeStruct((2, 4), np.float32)
        return pl.pallas_call(kernel, out, grid=2, in_specs=[spec], out_specs=spec)

    x = np.ones((2, 4), "float32")
    assert_array_equal(f(w)(x), x * w)
    assert_array_equal(fx.jacrev(lambda w: f(w)(x).sum(0))(w), 2 * np.eye(4))


def test_when_and_loop():
    def kernel(n_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref[...])

        @pl.loop(1, n_ref[0], init_carry=jnp.int32(1))
        def product(i, carry):
            o_ref[i] = carry
            return carry * i

        pl.when(n_ref[0] > 2)(lambda: pl.store(o_ref, 0, product))

    f = pl.pallas_call(kernel, fx.ShapeDtypeStruct((5,), INT))
    assert_array_equal(f(np.array([5], INT)), [24, 1, 1, 2, 6])
    assert_array_equal(f(np.array([2], INT)), [0, 1, 0, 0, 0])


def test_atomics_give_what_was_there():
    def kernel(x_ref, o_ref, before_ref):
        before_ref[...] = plgpu.atomic_add(o_ref, pl.ds(1, 2), x_ref[...])
        plgpu.atomic_max(o_ref, 0, 9.0)

    x = np.array([1, 2], "float32")
    out = fx.ShapeDtypeStruct((3,), np.float32)
    o, before = pl.pallas_call(
        lambda x, _, o, b: kernel(x, o, b), (out, like(x)), input_output_aliases={1: 0}
    )(x, np.array([3, 4, 5], "float32"))
    assert_array_equal(o, [9, 5, 7])
    assert_array_equal(before, [4, 5])


def test_scoped_arrays():
    def kernel(x_ref, o_ref):
        @partial(pl.run_scoped, t=pltpu.VMEM((4,), np.float32))
        def _(t):
            t[...] = x_ref[...] * 2
            o_ref[...] = t[...] + 1

    x = np.arange(4, dtype="float32")
    assert_array_equal(pl.pallas_call(kernel, like(x))(x), 2 * x + 1)


def test_printing(capfd):
    def kernel(x_ref, o_ref):
        pl.debug_print("x is {}", x_ref[0])
        o_ref[...] = x_ref[...]

    x = np.arange(2, dtype="float32")
    spec = pl.BlockSpec((1,), lambda i: (i,))
    pl.pallas_call(kernel, like(x), grid=2, in_specs=[spec], out_specs=spec)(x)
    fx.effects_barrier()
    assert capfd.readouterr().out == "x is 0.0\nx is 1.0\n"


def test_what_references_hold_is_printed(capfd):
    x = np.arange(2, dtype="float32")
    pl.pallas_call(lambda x, o: pl.debug_print("x", x), like(x))(x)
    fx.effects_barrier()
    assert capfd.readouterr().out == "x [0. 1.]\n"


def test_a_kernel_is_traced_once_for_arguments_of_the_same_types():
    traces = []

    def kernel(x_ref, o_ref):
        traces.append(x_ref.shape)
        o_ref[...] = x_ref[...] + 1

    f = pl.pallas_call(kernel, like(X))
    for _ in range(3):
        assert_array_equal(f(X), X + 1)
    assert_array_equal(fx.jit(f)(X), X + 1)
    assert traces == [X.shape]
    with pytest.raises(fx.effects.errors.RefError):
        f(X[:2])
    assert len(traces) == 2


def test_lists_of_results_are_tuples():
    found = pl.pallas_call(lambda x, o: o.set(x[...]), [like(X)])(X)
    assert isinstance(found, tuple)


def test_an_empty_grid_writes_nothing():
    spec = pl.BlockSpec((1,), lambda i: (i,))
    x = np.ones(2, "float32")
    f = pl.pallas_call(lambda x, o: None, like(x), grid=0, in_specs=[spec], out_specs=spec)
    assert np.isnan(f(x)).all()


def _copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


X = np.ones((4, 4), "float32")
FOUR = pl.BlockSpec((4,), lambda i: (i,))


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda: pl.pallas_call(_copy, like(X), in_specs=[FOUR])(X), "one entry for each axis"),
        (lambda: pl.pallas_call(_copy, like(X), in_specs=FOUR)(X), "a tuple or a list"),
        (lambda: pl.pallas_call(_copy, like(X), in_specs=[])(X), "a tree like the arguments"),
        (
            lambda: pl.pallas_call(
                _copy, like(X), grid=2, in_specs=[pl.BlockSpec((4, 4), lambda i: i)]
            )(X),
            "must return 2 values",
        ),
        (
            lambda: pl.pallas_call(
                _copy, like(X), grid=2, in_specs=[pl.BlockSpec((4, 4), lambda i: (0.5, i))]
            )(X),
            "integer scalars",
        ),
        (lambda: pl.pallas_call(lambda x, o: x[...], like(X))(X), "must return None"),
        (lambda: pl.pallas_call(_copy, like(X), grid=-1)(X), "not be negative"),
        (
            lambda: pl.pallas_call(_copy, like(X, (2, 2)), input_output_aliases={0: 0})(X),
            "can't be an alias",
        ),
        (
            lambda: pl.pallas_call(_copy, like(X), input_output_aliases={1: 0})(X),
            "there are 1 arguments",
        ),
        (lambda: pl.program_id(0), "in a kernel"),
        (
            lambda: pl.pallas_call(lambda x, o: o.set(x[...] * pl.program_id(1)), like(X), grid=2)(
                X
            ),
            "axis 1 is out of bounds",
        ),
    ],
)
def test_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_lengths_of_a_grid_are_known():
    with pytest.raises(TypeError, match="must be known"):
        fx.jit(lambda n: pl.pallas_call(_copy, like(X), grid=n)(X))(3)


def test_small_helpers():
    assert pl.cdiv(7, 2) == 4
    assert pl.align_to(9, 8) == 16
    assert [pl.next_power_of_2(n) for n in (0, 1, 3, 8)] == [1, 1, 4, 8]
    assert pl.strides_from_shape((2, 3, 4)) == (12, 4, 1)
    assert_allclose(pl.reciprocal(4.0), 0.25)
