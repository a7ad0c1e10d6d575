"""Kernels compiled by the compilers of chips that are not there."""

import numpy as np
import pytest

import effax as fx
from effax.experimental import pallas as pl
from effax.experimental import serialize_executable
from effax.experimental.pallas import layers
from tests.accelerators.test_topologies import needs_compilers, on
from tests.pallas import kernels

GPU = "H200"
CASES = {
    "gelu": (lambda x, y: kernels.gelu(x, y, 1024), (8192,), (8192,)),
    "edge": (lambda x, y: kernels.gelu(x, y, 1024), (8000,), (8000,)),
    "matmul": (lambda x, y: kernels.matmul(x, y, 32), (256, 512), (512, 256)),
    "softmax": (kernels.softmax, (256, 512)),
    "masked": (kernels.masked, (6,)),
    "chosen": (lambda x: kernels.chosen(np.arange(4, dtype="int32"), x), (64, 128)),
    "powers": (kernels.powers, (8,)),
}


def cubin(f, *shapes):
    compiled = fx.jit(f).lower(*(on(GPU, *s) for s in shapes)).compile()
    data, *_ = serialize_executable.serialize(compiled)
    return data


@needs_compilers
@pytest.mark.parametrize("f, shapes", [(f, s) for f, *s in CASES.values()], ids=CASES)
def test_a_kernel_is_compiled_for_a_gpu_and_so_are_its_derivative_and_batch(f, shapes):
    def derivative(*xs):
        return fx.jvp(f, xs, xs)

    assert b"\x7fELF" in cubin(f, *shapes)
    assert b"\x7fELF" in cubin(derivative, *shapes)
    assert b"\x7fELF" in cubin(fx.vmap(f), *((4, *s) for s in shapes))


@needs_compilers
def test_a_gradient_is_compiled_for_a_gpu():
    f, *shapes = CASES["matmul"]
    assert b"\x7fELF" in cubin(fx.grad(lambda x, y: f(x, y).sum(), (0, 1)), *shapes)


@needs_compilers
def test_text_that_the_compiler_does_not_take_is_an_error(monkeypatch):
    """So that the others say something."""
    from effax.backends.xla.lowering.blocks import arithmetic
    from effax.effects.rows import elementwise

    monkeypatch.setitem(arithmetic._BINARY, elementwise.add, ("arith.nonsense", "", ""))

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    f = pl.pallas_call(kernel, fx.ShapeDtypeStruct((8,), np.float32))
    with pytest.raises(fx.errors.JaxRuntimeError):
        fx.jit(f).lower(on(GPU, 8)).compile()


TPU = "TPU v5e"
ON_TPU = {
    "gelu": CASES["gelu"],
    "edge": CASES["edge"],
    "matmul": (lambda x, y: kernels.matmul(x, y, 128), (256, 512), (512, 256)),
    "norm": (lambda x, w: kernels.norm(x, w, 8), (64, 256), (256,)),
}


@needs_compilers
@pytest.mark.parametrize("f, shapes", [(f, s) for f, *s in ON_TPU.values()], ids=ON_TPU)
def test_a_kernel_is_compiled_for_a_tpu_and_so_are_its_derivatives(f, shapes):
    def derivative(*xs):
        return fx.jvp(f, xs, xs)

    def gradient(*xs):
        return fx.grad(lambda *ys: f(*ys).sum())(*xs)

    args = [on(TPU, *s) for s in shapes]
    for g in (f, derivative):
        text = fx.jit(g).lower(*args).compile().as_text()
        assert text.count("tpu_custom_call") == 1
    assert fx.jit(gradient).lower(*args).compile().cost_analysis()["flops"] > 0


@needs_compilers
def test_a_batch_is_compiled_for_a_tpu():
    f, *shapes = ON_TPU["matmul"]
    compiled = fx.jit(fx.vmap(f)).lower(*(on(TPU, 4, *s) for s in shapes)).compile()
    assert "tpu_custom_call" in compiled.as_text()


@needs_compilers
def test_prefetched_scalars_are_compiled_for_a_tpu():
    order = on(TPU, 4, dtype="int32")
    compiled = fx.jit(kernels.chosen).lower(order, on(TPU, 64, 128)).compile()
    assert "tpu_custom_call" in compiled.as_text()


@needs_compilers
def test_blocks_that_are_no_tiles_are_refused_when_lowering():
    with pytest.raises(fx.errors.UnhandledEffectError, match="cut through tiles"):
        fx.jit(kernels.softmax).lower(on(TPU, 256, 512))


@needs_compilers
@pytest.mark.parametrize("chip, block", [(GPU, 64), (TPU, 128)])
def test_attention_and_its_gradient_need_no_memory_for_weights(chip, block):
    def gradient(*xs):
        def loss(*xs):
            out = layers.attention(*xs, is_causal=True, block_q=block, block_k=block)
            return out.astype("float32").sum()

        return fx.grad(loss, (0, 1, 2))(*xs)

    x = on(chip, 1, 4, 2048, 128, dtype="bfloat16")
    compiled = fx.jit(gradient).lower(x, x, x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * 2048 * 2048
