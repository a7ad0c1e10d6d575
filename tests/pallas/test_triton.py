"""Kernels for GPUs: the text that is written, run by a machine in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import effax as fx
import effax.numpy as jnp
from effax.backends.xla.lowering.blocks.calls import Kernel
from effax.backends.xla.lowering.blocks.triton_kernel import module
from effax.effects.effect import find_effect
from effax.effects.errors import UnhandledEffectError
from effax.experimental import pallas as pl
from effax.experimental.pallas import triton as plgpu
from tests.pallas import kernels
from tests.pallas.kernels import drawn, like
from tests.pallas.triton_machine import execute


def run(f, *args):
    """A function's results, its kernels run as what is written for a GPU."""
    program = fx.make_program(f)(*args)
    values = dict(zip(program.inputs, [*program.consts, *args], strict=True))

    def read(x):
        return values[x] if x in values else np.asarray(x.value, x.type.dtype)

    for e in program.equations:
        operands = [read(x) for x in e.inputs]
        if e.effect is find_effect("kernel"):
            kernel = Kernel.of([x.type for x in e.inputs], e.attributes)
            first, text = module(kernel)
            results = execute(first, text, kernel.grid, operands, [x.type for x in e.outputs])
        else:
            results = e.effect(*operands, **e.attributes)
            results = results if e.effect.multiple else [results]
        values.update(zip(e.outputs, map(np.asarray, results), strict=True))
    found = [read(x) for x in program.outputs]
    return found[0] if len(found) == 1 else found


PAIRS = {
    "gelu": (kernels.gelu, kernels.gelu_plain, drawn(8, 8)),
    "edge": (kernels.gelu, kernels.gelu_plain, drawn(7, 7)),
    "matmul": (
        lambda x, y: kernels.matmul(x, y, 16),
        kernels.matmul_plain,
        drawn((32, 64), (64, 16)),
    ),
    "softmax": (kernels.softmax, kernels.softmax_plain, drawn((3, 8))),
    "powers": (kernels.powers, kernels.powers_plain, (np.abs(drawn(8)[0]) + 0.5,)),
    "masked": (kernels.masked, kernels.masked_plain, drawn(6)),
}
pairs = pytest.mark.parametrize("kernel, plain, args", PAIRS.values(), ids=PAIRS)


@pairs
def test_value(kernel, plain, args):
    assert_allclose(run(kernel, *args), plain(*args), rtol=1e-5, atol=1e-5)


@pairs
def test_derivative(kernel, plain, args):
    """A kernel of values and tangents, written for the GPU too."""
    tangents = tuple(np.cos(x) for x in args)
    _, expected = fx.jvp(plain, args, tangents)
    _, found = run(lambda *xs: fx.jvp(kernel, xs, tangents), *args)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pairs
def test_batch(kernel, plain, args):
    many = tuple(np.stack([x, 0.5 * x]) for x in args)
    assert_allclose(run(fx.vmap(kernel), *many), fx.vmap(plain)(*many), rtol=1e-5, atol=1e-5)


def called(kernel, *args, out=None, **options):
    x = args[0]
    return run(pl.pallas_call(kernel, out or like(x), **options), *args)


def test_folds_and_axes():
    def kernel(x_ref, o_ref, i_ref, c_ref, t_ref):
        x = x_ref[...]
        o_ref[...] = jnp.prod(x, axis=1) + jnp.min(x, axis=1)
        i_ref[...] = jnp.argmax(x, axis=1) + 10 * jnp.argmin(x, axis=1)
        c_ref[...] = jnp.cumsum(x, axis=0)
        t_ref[...] = x.T

    (x,) = drawn((4, 8))
    out = (like(x, (4,)), fx.ShapeDtypeStruct((4,), np.int32), like(x), like(x, (8, 4)))
    o, i, c, t = called(kernel, x, out=out)
    assert_allclose(o, x.prod(1) + x.min(1), rtol=1e-5)
    assert_allclose(i, x.argmax(1) + 10 * x.argmin(1))
    assert_allclose(c, x.cumsum(0), rtol=1e-5)
    assert_allclose(t, x.T)


def test_loops_and_branches():
    def kernel(n_ref, o_ref):
        n = n_ref[0]
        steps = fx.lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))[1]
        o_ref[...] = fx.lax.switch(n % 3, [lambda: steps, lambda: steps + 10, lambda: -steps]) + (
            jnp.arange(4)
        )

    for n in (1, 8, 17, 36):
        steps = int(np.log2(n))
        expected = [steps, steps + 10, -steps][n % 3] + np.arange(4)
        found = called(kernel, np.array([n], np.int32), out=fx.ShapeDtypeStruct((4,), np.int32))
        assert_allclose(found, expected)


def test_parts_are_written_where_they_lie():
    """Reads before a write see the values that were there before it."""

    def after_all(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1
        before = o_ref[1]
        o_ref[1] = o_ref[0] + 100.0
        o_ref[pl.ds(2, 2)] = o_ref[pl.ds(0, 2)] + before

        @pl.loop(4, 7)
        def _(i):
            o_ref[i] += o_ref[i - 1]

    def parts(x_ref, o_ref):
        o_ref[pl.ds(0, 4)] = x_ref[pl.ds(4, 4)]
        old = o_ref[0]
        o_ref[0] = 5.0
        o_ref[pl.ds(4, 4)] = o_ref[pl.ds(0, 4)] + old

        @pl.when(old > 100)
        def _():
            o_ref[1] = -1.0

    x = np.arange(8, dtype="float32")
    assert_allclose(called(parts, x), [5, 5, 6, 7, 9, 9, 10, 11])
    assert_allclose(called(after_all, x), [1, 101, 3, 103, 108, 114, 121, 8])


def test_threads_wait_before_and_after_a_part_is_replaced():
    def kernel(x_ref, o_ref):
        o_ref[0] = x_ref[1]
        o_ref[1] = o_ref[0]

    program = fx.make_program(pl.pallas_call(kernel, like(X)))(X)
    (e,) = [e for e in program.equations if e.effect is find_effect("kernel")]
    _, text = module(Kernel.of([x.type for x in e.inputs], e.attributes))
    lines = [line.strip() for line in text.split("\n")]
    seen = "".join(
        word[-1]
        for line in lines
        for word in ("tt.load", "tt.store", "gpu.barrieR")
        if word.lower() in line
    )
    assert seen == "dReR" * 2  # load, wait, store, wait


def test_small_floats_and_booleans():
    def kernel(x_ref, b_ref, o_ref, p_ref):
        o_ref[...] = jnp.where(b_ref[...], jnp.tanh(x_ref[...]), 0)
        p_ref[...] = (x_ref[...] > 0) & ~b_ref[...]

    x = drawn(8)[0].astype("float16")
    b = np.arange(8) % 2 == 0
    o, p = called(kernel, x, b, out=(like(x), fx.ShapeDtypeStruct((8,), bool)))
    assert_allclose(o, np.where(b, np.tanh(x), 0), rtol=1e-3)
    assert_allclose(p, (x > 0) & ~b)


def accumulated(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros(4)

    o_ref[...] += x_ref[...]


ROWS = pl.BlockSpec((4,), lambda i: (i,))
X = np.arange(16, dtype="float32")


def test_points_that_write_the_same_block_are_steps_of_a_loop():
    first = pl.BlockSpec((4,), lambda i: (0,))
    found = called(accumulated, X, out=like(X, (4,)), grid=4, in_specs=[ROWS], out_specs=first)
    assert_allclose(found, X.reshape(4, 4).sum(0))


def unordered(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def kept(x_ref, o_ref, s_ref):
    s_ref[...] += x_ref[...]
    o_ref[...] = s_ref[...]


@pytest.mark.parametrize(
    "call, match",
    [
        (
            lambda: called(
                unordered,
                X,
                out=like(X, (8,)),
                grid=(2, 2),
                in_specs=[pl.BlockSpec((4,), lambda i, j: (2 * i + j,))],
                out_specs=pl.BlockSpec((4,), lambda i, j: (j,)),
            ),
            "axes .0. of the grid write the same blocks",
        ),
        (
            lambda: called(
                kept,
                X,
                grid=4,
                in_specs=[ROWS],
                out_specs=ROWS,
                scratch_shapes=[fx.ShapeDtypeStruct((4,), np.float32)],
            ),
            "keep something from points",
        ),
        (lambda: called(unordered, X[:6]), "powers of two"),
        (lambda: called(lambda x, o: o.set(jnp.sort(x[...])), X), "'sort' has no rule"),
        (lambda: called(lambda x, o: pl.debug_print("{}", x[0]), X), "can't be performed"),
    ],
)
def test_what_a_gpu_has_not_is_refused_by_name(call, match):
    with pytest.raises(UnhandledEffectError, match=match):
        call()


@pytest.mark.cpu
def test_hints_and_aliases_stand_in_the_call():
    def f(x):
        return pl.pallas_call(
            lambda x, o: o.set(x[...] * 2),
            like(x),
            input_output_aliases={0: 0},
            compiler_params=plgpu.CompilerParams(num_warps=8, num_stages=2),
        )(x)

    text = fx.jit(f).trace(X).lower(lowering_platforms=("cuda",)).as_text()
    assert "__gpu$xla.gpu.triton" in text
    assert "num_warps = 8 : i32" in text
    assert "num_stages = 2 : i32" in text
    assert "output_operand_alias<" in text
    assert "triton" not in fx.jit(f).lower(X).as_text()
