"""Good arguments for every effect of the indexing family."""

from typing import Any

import numpy as np

from effax.effects.rows import indexing
from effax.effects.rows.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather_dims,
    scatter_dims,
    window_sizes,
)
from tests.effects.cells import Sample

_random = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return _random.normal(size=shape).astype(np.float32)


def ints(*rows: Any, dtype: Any = np.int32) -> np.ndarray:
    return np.array(rows, dtype)


# (operand shape, indices, dimension numbers, slice sizes): rows, elements, windows, batching.
LAYOUTS = [
    ((5,), ints([0], [3], [3]), GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((4, 3), ints([2], [9], [-1], [0]), GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
    ((4, 3), ints([2, 1], [3, 2]), GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1)),
    ((4, 5), ints([1, 2], [2, 0]), GatherDimensionNumbers((0, 2), (), (1, 0)), (2, 3)),
    (
        (2, 4, 3),
        ints([[1], [7]], [[0], [2]]),
        GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)),
        (1, 1, 3),
    ),
    ((3,), np.zeros((0, 1), np.int32), GatherDimensionNumbers((), (0,), (0,)), (1,)),
    ((3, 2), np.zeros((4, 0), np.int32), GatherDimensionNumbers((0, 1), (), ()), (3, 2)),
]
MODES = [
    GatherScatterMode.CLIP,
    GatherScatterMode.FILL_OR_DROP,
    GatherScatterMode.PROMISE_IN_BOUNDS,
]


def _allowed(indices: np.ndarray, mode: GatherScatterMode) -> np.ndarray:
    """The indices, or ones that keep the promise to be inside every layout."""
    promised = mode is GatherScatterMode.PROMISE_IN_BOUNDS
    return np.clip(indices, 0, 2) if promised else indices


def _gathers() -> list[Sample]:
    samples = []
    for shape, indices, dims, sizes in LAYOUTS:
        for mode in MODES:
            at = _allowed(indices, mode)
            for fill in (None, 7.0):
                attributes = {
                    "dimension_numbers": dims,
                    "slice_sizes": sizes,
                    "mode": mode,
                    "fill_value": fill,
                    "indices_are_sorted": False,
                    "unique_indices": False,
                }
                if fill is None or mode is GatherScatterMode.FILL_OR_DROP:
                    samples.append(Sample(indexing.gather, (floats(*shape), at), attributes, (0,)))
    return samples


def _updates(shape: tuple[int, ...], indices: Any, dims: Any, sizes: tuple[int, ...]) -> Any:
    attributes = {
        "dimension_numbers": dims,
        "slice_sizes": sizes,
        "mode": GatherScatterMode.CLIP,
        "fill_value": None,
        "indices_are_sorted": False,
        "unique_indices": False,
    }
    return floats(*indexing.gather.result_type(floats(*shape), indices, **attributes).shape)


def _scatters() -> list[Sample]:
    samples = []
    for shape, indices, dims, sizes in LAYOUTS:
        assert gather_dims(scatter_dims(dims)) == dims
        updates = _updates(shape, indices, dims, sizes)
        assert updates.size == 0 or (
            window_sizes(len(shape), updates.shape, scatter_dims(dims)) == sizes
        )
        for effect in indexing.SCATTERS:
            for mode in MODES:
                repeats = effect is indexing.scatter_mul and updates.size > 1
                attributes = {
                    "dimension_numbers": scatter_dims(dims),
                    "mode": mode,
                    "indices_are_sorted": False,
                    "unique_indices": False,
                }
                moving = (0,) if repeats else (0, 2)
                operands = (floats(*shape), _allowed(indices, mode), updates)
                samples.append(Sample(effect, operands, attributes, moving))
    return samples


_UNIQUE = {
    "dimension_numbers": scatter_dims(LAYOUTS[1][2]),
    "mode": GatherScatterMode.FILL_OR_DROP,
    "indices_are_sorted": False,
    "unique_indices": True,
}
_POINT = (floats(4, 3), ints([2], [0]), floats(2, 3))

UNIQUE = [Sample(effect, _POINT, _UNIQUE, (0, 2)) for effect in indexing.SCATTERS]

SAMPLES = [
    *_gathers(),
    *_scatters(),
    Sample(indexing.dynamic_slice, (floats(5), np.int32(3)), {"sizes": (3,)}, (0,)),
    Sample(
        indexing.dynamic_slice, (floats(4, 5), np.int32(1), np.int32(-2)), {"sizes": (2, 3)}, (0,)
    ),
    Sample(indexing.dynamic_slice, (floats(),), {"sizes": ()}, (0,)),
    Sample(indexing.dynamic_update_slice, (floats(5), floats(2), np.int32(4)), {}, (0, 1)),
    Sample(
        indexing.dynamic_update_slice,
        (floats(4, 5), floats(2, 5), np.int32(1), np.int32(0)),
        {},
        (0, 1),
    ),
    Sample(indexing.dynamic_update_slice, (floats(), floats()), {}, (0, 1)),
]
