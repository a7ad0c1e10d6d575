"""No fast path takes more than twice the memory of the plain form, as XLA plans it; one thrice.

Programs are compiled, not run, for operands of tens of megabytes: what a path takes for its own
tables, however small the operand, is no matter.
"""

import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import ShapeDtypeStruct as Struct
from effax.backends.xla.fast.path import PATHS
from effax.effects import config
from effax.effects.columns import load

load("effax.backends.xla.lowering")
load("effax.backends.xla.fast")

TWICE = 2.02
"""Tables of a fixed size, and the extrema of blocks, come to less than a hundredth of an operand."""
THRICE = {"fold": 3.02}
"""Its operand is written down, which the plain form computes inside; no more than 16 MB."""
LONG, ODD = 1 << 24, (1 << 24) - 1
LANES = [((LONG,), 0), ((ODD,), 0), ((4096, 4096), 1), ((4095, 4097), 1), ((4096, 4096), 0)]
TALL = [((1 << 18, 64), 1), ((1 << 17, 200), 1)]
EACH = ["cos", "sin", "tan", "acos", "asin", "atan", "cbrt"]


def _arg(name):
    return lambda axis: lambda x: getattr(jnp, name)(x, axis=axis)


def _deep(w):
    def loss(x):
        for _ in range(40):
            x = x + 0.1 * jnp.roll(x, 1) * jnp.roll(x, -1)
        return jnp.sum(x)

    return fx.grad(loss)(w)


def _windows(x):
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return (pooled**2).sum()


def _convolve(groups, rank):
    space = "DHW"[3 - rank :]
    numbers = f"N{space}C", f"{space}IO", f"N{space}C"
    return lambda x, y: lax.conv_general_dilated(
        x, y, (1,) * rank, "SAME", dimension_numbers=numbers, feature_group_count=groups
    )


QUESTIONS = {
    **{
        (name, f"{dtype} {shape} {axis}"): (_arg(name)(axis), [Struct(shape, dtype)])
        for name, dtypes in [
            ("argmax", "bool int8 int32 bfloat16 float16 float32"),
            ("argmin", "float32"),
        ]
        for dtype in dtypes.split()
        for shape, axis in [*LANES, *TALL]
    },
    **{
        (path, f"{dtype} {shape} {axis}"): (
            lambda x, name=name, axis=axis: getattr(jnp, name)(x, axis=axis),
            [Struct(shape, dtype)],
        )
        for path, name in {
            **{"reduce_max": "max", "reduce_min": "min", "cumsum": "cumsum", "cumprod": "cumprod"},
            "sort_bits": "sort",
        }.items()
        for dtype in ("int32", "bfloat16", "float16", "float32")
        for shape, axis in [*LANES[:3], *TALL[:1]]
    },
    **{(name, "f32"): (getattr(jnp, name), [Struct((LONG,), "float32")]) for name in EACH},
    **{
        (name, dtype): (getattr(lax, name), [Struct((LONG,), dtype)] * 2)
        for name, dtype in [
            ("atan2", "float32"),
            ("pow", "float32"),
            ("div", "int32"),
            ("rem", "int32"),
        ]
    },
    **{
        ("cumlogsumexp", f"{shape} {axis}"): (
            lambda x, axis=axis: lax.cumlogsumexp(x, axis), [Struct(shape, "float32")]
        )
        for shape, axis in [*LANES, *TALL[:1]]
    },
    **{
        ("fold", f"{name} {shape}"): (
            lambda x, name=name: getattr(jnp, name)(jnp.arctan(x), -1), [Struct(shape, "float32")]
        )
        for name, shape in [("argmax", (1 << 18, 16)), ("argmax", (2048, 2048)), ("max", (2048, 2048))]
    },
    ("rem_float", "f32"): (lax.rem, [Struct((LONG,), "float32")] * 2),
    **{
        ("convolution", f"{groups} {rank}"): (
            _convolve(groups, rank),
            [Struct((4, *(1 << (18 // rank),) * rank, 16), "float32"),
             Struct((*(3,) * rank, 16 // groups, 16), "float32")],
        )
        for groups, rank in [(16, 1), (16, 2), (4, 2), (1, 3)]
    },
    **{(name, "f32"): (getattr(lax, name), [Struct((LONG,), "float32")])
       for name in ("cummax", "cummin")},
    ("sort_packed", "argsort"): (jnp.argsort, [Struct((LONG,), "int32")]),
    ("associative_scan", "f32"): (
        lambda x: lax.associative_scan(jnp.multiply, x), [Struct((LONG,), "float32")]
    ),
    ("pieces", "f32"): (_deep, [Struct((LONG,), "float32")]),
    ("select_and_scatter_add", "f32"): (fx.grad(_windows), [Struct((8, 512, 512, 8), "float32")]),
    ("triangular_solve", "f32"): (
        lambda a, b: lax.linalg.triangular_solve(a, b, lower=True),
        [Struct((64, 256, 256), "float32"), Struct((64, 256, 256), "float32")],
    ),
}  # fmt: skip


def _bytes(function, operands, paths):
    with config.fast_paths(paths), config.enable_compilation_cache(False):
        found = fx.jit(lambda *xs: function(*xs)).lower(*operands).compile().memory_analysis()
    kept = found.argument_size_in_bytes + found.output_size_in_bytes
    return kept + found.temp_size_in_bytes


def test_every_path_is_asked():
    assert {name for name, _ in QUESTIONS} == set(PATHS)


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_a_path_takes_no_more_memory_than_it_may(question):
    function, operands = QUESTIONS[question]
    most = THRICE.get(question[0], TWICE)
    assert _bytes(function, operands, "all") <= most * _bytes(function, operands, "none")
