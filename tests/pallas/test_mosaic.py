"""Kernels for TPUs: the modules that are written, as far as jaxlib itself can check them."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.backends.xla.lowering.blocks import mosaic_kernel
from effax.effects.errors import UnhandledEffectError
from effax.experimental import pallas as pl
from effax.experimental.pallas import tpu as pltpu
from tests.pallas import kernels
from tests.pallas.kernels import like

S = fx.ShapeDtypeStruct


def lowered(f, *args):
    """The module of StableHLO, and that of the kernel, which was parsed and verified."""
    texts = []
    written = mosaic_kernel.bytecode

    def seen(text):
        texts.append(text)
        return written(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mosaic_kernel, "bytecode", seen)
        whole = fx.jit(f).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
    assert whole.count("tpu_custom_call") == len(texts)
    return whole, texts


def f32(*shape):
    return S(shape, "float32")


CASES = {
    "gelu": (lambda x, y: kernels.gelu(x, y, 1024), f32(8192), f32(8192)),
    "matmul": (lambda x, y: kernels.matmul(x, y, 128), f32(256, 512), f32(512, 256)),
    "norm": (lambda x, w: kernels.norm(x, w, 8), f32(64, 256), f32(256)),
    "chosen": (kernels.chosen, S((4,), "int32"), f32(64, 128)),
}


@pytest.mark.parametrize("f, args", [(f, a) for f, *a in CASES.values()], ids=CASES)
def test_modules_are_well_formed(f, args):
    _, (text,) = lowered(f, *args)
    assert "tpu.core_type" in text
    assert text.count("func.func @transform_") == text.count("transform_indices")


@pytest.mark.parametrize("name", ["gelu", "matmul", "norm"])
def test_derivatives_are_kernels(name):
    f, *args = CASES[name]
    _, texts = lowered(lambda *xs: fx.jvp(f, xs, xs), *args)
    assert len(texts) == 1


def test_products_scratch_arrays_and_branches():
    f, *args = CASES["matmul"]
    _, (text,) = lowered(f, *args)
    assert '"tpu.matmul"' in text
    assert "scratch_operands = 1" in text
    assert "iteration_bounds = array<i64: 2, 2, 4>" in text
    assert "scf.if" in text


def test_hints_stand_in_the_call():
    def f(x):
        params = pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary"),
            vmem_limit_bytes=2**20,
            has_side_effects=True,
        )
        spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        return pl.pallas_call(
            lambda x, o: o.set(x[...] * 2),
            like(x),
            grid=(2, 2),
            in_specs=[spec],
            out_specs=spec,
            input_output_aliases={0: 0},
            compiler_params=params,
        )(x)

    whole, (text,) = lowered(f, f32(16, 256))
    assert "[#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>]" in text
    assert "scoped_memory_configs" in whole
    assert "has_side_effect = true" in whole
    assert "output_operand_alias<" in whole


def test_results_that_begin_as_arguments_are_copied_before_they_are_read():
    def f(x, y):
        def kernel(x_ref, y_ref, o_ref):
            o_ref[...] += y_ref[...]

        spec = pl.BlockSpec((8, 128), lambda i: (0, 0))
        rows = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            like(x),
            grid=4,
            in_specs=[spec, rows],
            out_specs=spec,
            input_output_aliases={0: 0},
        )(x, y)

    x, y = np.ones((8, 128), "float32"), np.ones((32, 128), "float32")
    assert float(f(x, y)[0, 0]) == 5.0
    _, (text,) = lowered(f, x, y)
    copied, _, rest = text.partition("scf.if")[2].partition("}")
    assert "vector.load %m0" in copied
    assert "vector.store" in copied
    assert "%m2" in copied
    assert "arith.addf" in rest


def test_scalars_live_in_smem():
    def kernel(n_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * n_ref[0, 1].astype("float32")

    def f(n, x):
        specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()]
        return pl.pallas_call(kernel, like(x), in_specs=specs)(n, x)

    _, (text,) = lowered(f, S((1, 2), "int32"), f32(8, 128))
    assert "memref<1x2xi32, #tpu.memory_space<smem>>" in text
    assert "memref.load" in text


def called(kernel, *args, **options):
    return lambda: lowered(pl.pallas_call(kernel, like(args[0]), **options), *args)


X = f32(8, 128)


@pytest.mark.parametrize(
    "call, match",
    [
        (called(lambda x, o: o.set(jnp.sort(x[...])), X), "'sort' has no rule for a TPU"),
        (called(lambda x, o: o.set(x[...]), S((8, 128), bool)), "arrays of bool"),
        (called(lambda x, o: o.set(x[...]), f32()), "arrays without axes"),
        (called(lambda x, o: pl.debug_print("{}", x[0, 0]), X), "can't be performed"),
        (
            called(
                lambda x, o: o.set(jnp.concatenate([x[...], x[...]])),
                X,
                grid=2,
                in_specs=[pl.BlockSpec((4, 128), lambda i: (i, 0))],
            ),
            "cut through tiles",
        ),
        (
            called(lambda x, o: o.set(x[...]), X, in_specs=[pl.BlockSpec(memory_space=pltpu.ANY)]),
            "copies from and to 'any'",
        ),
    ],
)
def test_what_a_tpu_has_not_is_refused_by_name(call, match):
    with pytest.raises(UnhandledEffectError, match=match):
        call()
