"""The cells of the indexing family, and what its effects refuse."""

import numpy as np
import pytest

from effax.effects.rows import indexing
from effax.effects.rows.indexing import GatherScatterMode
from tests.effects.cells import check_batch, check_jvp, check_reference, check_transpose
from tests.samples.indexing import LAYOUTS, SAMPLES, UNIQUE, floats

ALL = [*SAMPLES, *UNIQUE]


@pytest.mark.parametrize("sample", ALL, ids=repr)
def test_xla_agrees_with_the_reference(sample):
    check_reference(sample)


@pytest.mark.parametrize("sample", ALL, ids=repr)
def test_jvp_is_a_difference_quotient(sample):
    check_jvp(sample)


@pytest.mark.parametrize("sample", ALL, ids=repr)
def test_transpose_is_the_adjoint(sample):
    check_transpose(sample)


# A promise broken by rolled indices means nothing.
BATCH = [s for s in SAMPLES if s.attributes.get("mode") is not GatherScatterMode.PROMISE_IN_BOUNDS]


@pytest.mark.parametrize("sample", BATCH, ids=repr)
def test_batch_is_a_loop(sample):
    check_batch(sample)


def test_ties_share_the_tangent_of_an_extremum():
    from effax.api.derivatives.forward import jvp_flat

    (shape, indices, dims, _) = LAYOUTS[0]
    attributes = {
        "dimension_numbers": indexing.scatter_dims(dims),
        "mode": GatherScatterMode.CLIP,
        "indices_are_sorted": False,
        "unique_indices": False,
    }
    x, updates = np.zeros(shape, np.float32), np.zeros(3, np.float32)

    def largest(x, updates):
        return [indexing.scatter_max(x, indices, updates, **attributes)]

    directions = np.arange(1, 6, dtype=np.float32), np.array([10, 20, 30], np.float32)
    _, (tangent,) = jvp_flat(largest, (x, updates), directions)
    # Index 0 is contended by the old value and one update, index 3 by two updates besides.
    np.testing.assert_allclose(tangent, [(1 + 10) / 2, 2, 3, (4 + 20 + 30) / 3, 5])


def test_refusals_name_both_types():
    _, indices, dims, sizes = LAYOUTS[1]
    attributes = {
        "dimension_numbers": dims,
        "slice_sizes": sizes,
        "mode": GatherScatterMode.CLIP,
        "fill_value": None,
        "indices_are_sorted": False,
        "unique_indices": False,
    }
    with pytest.raises(ValueError, match=r"integer type.*f32\[4,1\]"):
        indexing.gather(floats(4, 3), indices.astype(np.float32), **attributes)
    with pytest.raises(TypeError, match=r"Slice size at index 1 .*got 3 for f32\[4,2\]"):
        indexing.gather(floats(4, 2), indices, **attributes)
    with pytest.raises(TypeError, match=r"f32\[5\].*f32\[6\]|f32\[6\].*f32\[5\]"):
        indexing.dynamic_update_slice(floats(5), floats(6), np.int32(0))
    with pytest.raises(TypeError, match="one start index per axis"):
        indexing.dynamic_slice(floats(5, 2), np.int32(0), sizes=(1, 1))
