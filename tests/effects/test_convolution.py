"""The cells of the convolution family, and what its effect refuses."""

import pytest

from tests.effects.cells import check_batch, check_jvp, check_reference, check_transpose
from tests.samples.convolution import SAMPLES, conv, floats


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_xla_agrees_with_the_reference(sample):
    check_reference(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_jvp_is_a_difference_quotient(sample):
    check_jvp(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_transpose_is_the_adjoint(sample):
    check_transpose(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_batch_is_a_loop(sample):
    check_batch(sample)


def refused(sample):
    sample.perform(*sample.operands)


def test_refusals_say_what_was_found():
    with pytest.raises(ValueError, match=r"3 features of lhs.*2 input features.*f32\[1,3,5\]"):
        refused(conv(floats(1, 3, 5), floats(4, 2, 3)))
    with pytest.raises(ValueError, match="window and window_strides must have the same number"):
        refused(conv(floats(1, 2, 5), floats(4, 2, 3), strides=(1, 1)))
    with pytest.raises(ValueError, match="must divide the 3 output features"):
        refused(conv(floats(1, 4, 5), floats(3, 2, 3), feature_groups=2))
    with pytest.raises(ValueError, match=r"same number of dimensions.*f32\[1,4,5\]"):
        refused(conv(floats(1, 4, 5), floats(3, 4)))
