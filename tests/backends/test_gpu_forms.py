"""Effects that are written in another way for GPUs, computed here as they are written there."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import effax
import effax.numpy as jnp
from effax import export, lax
from effax.backends.xla.lowering import convolution
from effax.errors import UnhandledEffectError


def written(f, *args):
    """The text for a GPU."""
    anything = [export.DisabledSafetyCheck.custom_call("cu_lu_pivots_to_permutation")]
    made = export.export(effax.jit(f), platforms=["cuda"], disabled_checks=anything)
    return made(*args).mlir_module()


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
@pytest.mark.parametrize("f", [jnp.sort, jnp.argsort, lambda x: jnp.argmin(x, axis=0), jnp.argmax])
def test_integers_of_less_than_a_byte_are_sorted_as_bytes(dtype, f):
    x = effax.ShapeDtypeStruct((4, 3), dtype)
    (line,) = [
        line for line in written(f, x).splitlines() if "stablehlo.convert" in line and "i8>" in line
    ][:1]
    assert f"{'u' * (dtype[0] == 'u')}i{dtype[-1]}>" in line


def convolved(x, w):
    return lax.conv(x, w, (1, 1), "SAME")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("features", [3, 40])
def test_integers_are_convolved_by_floats_exactly(dtype, features):
    """cuDNN has no convolutions of integers."""
    rng, ends = np.random.default_rng(0), np.iinfo(dtype)
    x = rng.integers(ends.min, ends.max, (2, features, 6, 5), dtype, endpoint=True)
    w = rng.integers(ends.min, ends.max, (4, features, 3, 3), dtype, endpoint=True)
    (e,) = [e for e in effax.make_program(convolved)(x, w).equations if "conv" in e.effect.name]
    found = effax.jit(lambda x, w: convolution._of_integers(x, w, x.dtype, **e.attributes))(x, w)
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    np.testing.assert_array_equal(found, np.einsum("bchwij,ocij->bohw", windows, w, dtype=dtype))
    assert "convolution" in written(convolved, x, w)


def test_convolutions_of_wider_integers_are_refused():
    with effax.enable_x64(True):
        x = np.ones((1, 1, 4, 4), "int64")
        with pytest.raises(UnhandledEffectError, match="cuDNN has none of integers"):
            written(convolved, x, x)


def test_pivots_that_point_outside_are_clipped_before_the_kernel_writes():
    text = written(
        lambda p: lax.linalg.lu_pivots_to_permutation(p, 4), effax.ShapeDtypeStruct((3,), "int32")
    )
    assert text.index("stablehlo.clamp") < text.index("cu_lu_pivots_to_permutation")
