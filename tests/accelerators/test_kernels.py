"""Kernels compiled by the compilers of chips that are not there."""

import numpy as np
import pytest

import effax as fx
from effax.experimental import pallas as pl
from effax.experimental import serialize_executable
from tests.accelerators.test_topologies import needs_compilers, on
from tests.pallas import kernels

GPU = "H200"
CASES = {
    "gelu": (lambda x, y: kernels.gelu(x, y, 1024), (8192,), (8192,)),
    "edge": (lambda x, y: kernels.gelu(x, y, 1024), (8000,), (8000,)),
    "matmul": (lambda x, y: kernels.matmul(x, y, 32), (256, 512), (512, 256)),
    "softmax": (kernels.softmax, (256, 512)),
    "masked": (kernels.masked, (6,)),
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
    from effax.effects import elementwise

    monkeypatch.setitem(arithmetic._BINARY, elementwise.add, ("arith.nonsense", "", ""))

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    f = pl.pallas_call(kernel, fx.ShapeDtypeStruct((8,), np.float32))
    with pytest.raises(fx.errors.JaxRuntimeError):
        fx.jit(f).lower(on(GPU, 8)).compile()
