"""Good arguments for every effect of the convolution family."""

import numpy as np

from effax.effects.rows import convolution
from effax.effects.rows.convolution import ConvDimensionNumbers
from tests.effects.cells import Sample

_random = np.random.default_rng(2)


def floats(*shape: int) -> np.ndarray:
    return _random.normal(size=shape).astype(np.float32)


def conv(lhs, rhs, specs=None, strides=None, padding=None, lhs_dilation=None, rhs_dilation=None,
         feature_groups=1, batch_groups=1):  # fmt: skip
    """A sample; channels first and no padding unless said otherwise."""
    n = lhs.ndim - 2
    order = tuple(range(lhs.ndim))
    attributes = {
        "window_strides": strides or (1,) * n,
        "padding": padding or ((0, 0),) * n,
        "lhs_dilation": lhs_dilation or (1,) * n,
        "rhs_dilation": rhs_dilation or (1,) * n,
        "dimension_numbers": ConvDimensionNumbers(*(specs or (order, order, order))),
        "feature_group_count": feature_groups,
        "batch_group_count": batch_groups,
        "precision": None,
        "preferred_element_type": None,
    }
    return Sample(convolution.conv_general_dilated, (lhs, rhs), attributes, (0, 1))


_LAST = (0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)  # NHWC, HWIO, NHWC

SAMPLES = [
    conv(floats(2, 3), floats(4, 3)),
    conv(floats(2, 3, 7), floats(4, 3, 3)),
    conv(floats(2, 3, 7), floats(4, 3, 3), strides=(2,), padding=((1, 2),)),
    conv(floats(1, 2, 9), floats(3, 2, 2), strides=(3,), rhs_dilation=(3,)),
    conv(floats(1, 2, 5), floats(3, 2, 3), lhs_dilation=(2,), padding=((2, -1),)),
    conv(
        floats(2, 3, 6, 5),
        floats(4, 3, 3, 2),
        strides=(2, 1),
        padding=((1, 1), (0, 1)),
        lhs_dilation=(1, 2),
        rhs_dilation=(2, 1),
    ),
    conv(floats(2, 6, 5, 3), floats(3, 2, 3, 4), _LAST, (1, 2), ((1, 1), (0, 0))),
    conv(floats(2, 4, 5), floats(6, 2, 3), feature_groups=2),
    conv(floats(2, 3, 5), floats(6, 1, 3), feature_groups=3, padding=((1, 1),)),
    conv(floats(4, 3, 5), floats(6, 3, 2), batch_groups=2, strides=(2,)),
    conv(floats(1, 2, 2), floats(3, 2, 3)),
]
