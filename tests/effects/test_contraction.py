"""The cells of the contraction family, and what its effect refuses."""

import ml_dtypes
import numpy as np
import pytest

from effax.effects.rows.contraction import dot_general, outer_axes, ragged_dot_general
from effax.interpreters.composites.ragged import ragged_as_plain
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


RAGGED = [x for x in SAMPLES if x.effect is ragged_dot_general]


@pytest.mark.parametrize("sample", RAGGED, ids=repr)
def test_ragged_products_as_products_of_rows(sample):
    """Rows that follow each other, as kernels take them: the same products."""
    lhs, _, sizes = sample.operands
    a = sample.attributes
    (lc, _), (lb, _) = a["dimension_numbers"]
    if sizes.ndim > 1 and len(outer_axes(lhs.ndim, a["ragged"], lc, lb)) > len(lb):
        return
    found = ragged_as_plain(*sample.operands, **a)
    np.testing.assert_allclose(found, sample.perform(*sample.operands), rtol=1e-5, atol=1e-5)


def test_groups_of_more_rows_than_there_are_take_those_that_are_left():
    lhs, rhs = floats(2, 4, 3), floats(2, 2, 3, 5)
    sizes = np.array([[1, 9], [6, 2]], np.int32)
    attributes = {
        "dimension_numbers": (((2,), (2,)), ((0,), (0,))),
        "ragged": 1,
        "group": (1,),
        "precision": None,
        "preferred_element_type": None,
    }
    found = ragged_as_plain(lhs, rhs, sizes, **attributes)
    np.testing.assert_allclose(found[0, :1], lhs[0, :1] @ rhs[0, 0], rtol=1e-5)
    np.testing.assert_allclose(found[0, 1:], lhs[0, 1:] @ rhs[0, 1], rtol=1e-5)
    np.testing.assert_allclose(found[1], lhs[1] @ rhs[1, 0], rtol=1e-5)


def test_a_ragged_product_in_the_wider_of_two_dtypes():
    lhs, rhs = floats(4, 3), floats(2, 3, 5, dtype=ml_dtypes.bfloat16)
    how = {"ragged": 0, "group": (0,), "precision": None}
    dims = (((1,), (1,)), ((), ()))
    sizes = np.array([1, 3], np.int32)
    found = ragged_dot_general(
        lhs, rhs, sizes, dimension_numbers=dims, preferred_element_type="float32", **how
    )
    expected = [lhs[:1] @ rhs[0].astype("float32"), lhs[1:] @ rhs[1].astype("float32")]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-5)
    with pytest.raises(TypeError, match="equal dtypes"):
        ragged_dot_general(
            lhs, rhs, sizes, dimension_numbers=dims, preferred_element_type=None, **how
        )
