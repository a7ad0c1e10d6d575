"""Positions in dtypes of few bits, which hold neither the sizes of arrays nor, some, an index of XLA's."""

from typing import Any

import numpy as np
import pytest

import effax.numpy as jnp

LONG = np.arange(300.0, dtype="float32")


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda i: jnp.take(LONG, i), [3.0, 0.0, 7.0]),
        (lambda i: jnp.take(LONG, i, mode="wrap"), [3.0, 0.0, 7.0]),
        (lambda i: jnp.take(LONG, i, mode="clip"), [3.0, 0.0, 7.0]),
        (lambda i: jnp.put(LONG, i, -1, inplace=False)[:8], [-1, 1, 2, -1, 4, 5, 6, -1]),
        (lambda i: jnp.put(LONG, i, -1, "clip", inplace=False)[:8], [-1, 1, 2, -1, 4, 5, 6, -1]),
        (lambda i: jnp.put(LONG, i, -1, "wrap", inplace=False)[:8], [-1, 1, 2, -1, 4, 5, 6, -1]),
        (lambda i: jnp.unravel_index(i, (300,))[0], [3, 0, 7]),
        (lambda i: jnp.unravel_index(i, (150, 2))[1], [1, 0, 1]),
        (lambda i: jnp.repeat(jnp.arange(3), i), [0] * 3 + [2] * 7),
        (lambda i: jnp.insert(LONG, i, -1)[:8], [-1, 0, 1, 2, -1, 3, 4, 5]),
        (lambda i: jnp.insert(LONG, i[0], -1)[:5], [0, 1, 2, -1, 3]),
        (lambda i: jnp.delete(LONG, i)[:6], [1, 2, 4, 5, 6, 8]),
        (lambda i: jnp.choose(i, [LONG[:3]] * 200, mode="clip"), [0.0, 1.0, 2.0]),
        (lambda i: jnp.choose(i, [LONG[:3]] * 200, mode="wrap"), [0.0, 1.0, 2.0]),
    ],
)
def test_few_bits_are_positions(dtype: str, function: Any, wanted: Any) -> None:
    assert function(jnp.array([3, 0, 7], dtype)).tolist() == wanted


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_negative_positions_count_from_the_end_of_a_long_array(dtype: str) -> None:
    places = jnp.array([-1, -128], dtype)
    assert jnp.put(LONG, places, -1, inplace=False)[places].tolist() == [-1, -1]
    assert jnp.put(LONG, places, -1, "clip", inplace=False).tolist() == [-1, *LONG[1:].tolist()]
    assert jnp.unravel_index(places, (300,))[0].tolist() == [299, 172]


def test_put_moves_positions_outside_to_the_nearest() -> None:
    """By default, as in JAX's documentation and results; NumPy's default raises, its "clip" agrees."""
    found = jnp.put(jnp.zeros(6), jnp.array([-9, 7, -2]), jnp.array([1.0, 2.0, 3.0]), inplace=False)
    assert found.tolist() == [1, 0, 0, 0, 3, 2]


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_indices_of_eight_bits_meet_longer_axes(mode: str) -> None:
    rows, columns = np.array([-1, 3, 127], "int8"), np.array([1, 3, 200], "uint8")
    found = jnp.ravel_multi_index((rows, columns), (200, 300), mode=mode, dtype="int32")
    wide = (rows.astype("int64"), columns.astype("int64"))
    assert found.tolist() == np.ravel_multi_index(wide, (200, 300), mode=mode).tolist()


def test_put_refuses_positions_that_are_no_integers() -> None:
    with pytest.raises(TypeError, match="put: ind must be integers, got float32"):
        jnp.put(jnp.zeros(3), 1.5, 1, inplace=False)
