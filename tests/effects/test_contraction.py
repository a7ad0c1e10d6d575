"""The cells of the contraction family, and what its effect refuses."""

import numpy as np
import pytest

from effax.effects.rows.contraction import dot_general
from tests.effects.cells import check_batch, check_jvp, check_reference, check_transpose
from tests.samples.contraction import NARROW, SAMPLES, floats


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_xla_agrees_with_the_reference(sample):
    check_reference(sample)


@pytest.mark.parametrize("sample", NARROW, ids=repr)
def test_narrow_floats_are_summed_in_wider_ones(sample):
    check_reference(sample, tolerance=2e-2)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_jvp_is_a_difference_quotient(sample):
    check_jvp(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_transpose_is_the_adjoint(sample):
    check_transpose(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_batch_is_a_loop(sample):
    check_batch(sample)


def test_cotangents_have_the_operands_dtype():
    from effax.api.derivatives.forward import Linearized

    x, y = floats(2, 3, dtype=np.float16), floats(3, 2, dtype=np.float16)

    def product(x, y):
        return [
            dot_general(
                x,
                y,
                dimension_numbers=(((1,), (0,)), ((), ())),
                precision=None,
                preferred_element_type="float32",
            )
        ]

    linear = Linearized(product, (x, y))
    left, right = linear.pull([np.ones((2, 2), np.float32)])
    assert (left.dtype, right.dtype) == (np.float16, np.float16)
    np.testing.assert_allclose(left, np.ones((2, 2)) @ y.T, rtol=1e-2)


def test_refusals_name_both_types():
    attributes = {"precision": None, "preferred_element_type": None}
    with pytest.raises(TypeError, match=r"contracting dimensions.*f32\[2,3\].*f32\[2,4\]"):
        dot_general(
            floats(2, 3),
            floats(2, 4),
            dimension_numbers=(((1,), (0,)), ((), ())),
            **attributes,
        )
    with pytest.raises(TypeError, match=r"equal dtypes.*f32\[2\].*i32\[2\]"):
        dot_general(
            floats(2),
            np.arange(2, dtype=np.int32),
            dimension_numbers=(((0,), (0,)), ((), ())),
            **attributes,
        )
    with pytest.raises(TypeError, match=r"axes of f32\[2\]"):
        dot_general(floats(2), floats(2), dimension_numbers=(((1,), (0,)), ((), ())), **attributes)
