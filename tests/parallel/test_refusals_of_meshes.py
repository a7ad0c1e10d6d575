"""Refused meshes, specs and arrays of pieces; one device is enough to refuse them."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.sharding import AbstractMesh, AxisType, Mesh

ONE = effax.make_mesh((1,), ("x",))
ALONE = effax.NamedSharding(ONE, effax.P())


REFUSED = {
    "a name that is None": (
        lambda: Mesh(effax.devices(), (None, "x")),
        (ValueError, "Mesh axis names cannot be None"),
    ),
    "one type for two axes": (
        lambda: AbstractMesh((2, 1), ("x", "y"), axis_types=AxisType.Auto),
        (ValueError, "Number of axis names should match the number of axis_types"),
    ),
    "a type by name": (
        lambda: AbstractMesh((2,), ("x",), axis_types="explicit"),
        (TypeError, "axis_types must be of type AxisType"),
    ),
    "types of two kinds": (
        lambda: AbstractMesh((2, 2), ("x", "y"), axis_types=("explicit", AxisType.Explicit)),
        (TypeError, "axis_types must be of type AxisType"),
    ),
    "a tuple in a tuple": (
        lambda: effax.P("x", ("y", ("z",))),
        (ValueError, "A tuple inside PartitionSpec cannot contain a nested tuple"),
    ),
    "a subclass": (
        lambda: type("Own", (effax.P,), {}),
        (TypeError, "Subclassing `effax.P` is prohibited"),
    ),
    "a scalar cut up": (
        lambda: effax.NamedSharding(ONE, effax.P("x")).check_compatible_aval(()),
        (ValueError, r"For scalars the PartitionSpec should be P\(\)"),
    ),
    "pieces of another dtype": (
        lambda: effax.make_array_from_single_device_arrays(
            (2,), effax.NamedSharding(ONE, effax.P("x")), [jnp.zeros(2)], dtype="int8"
        ),
        (ValueError, "it must match the dtype of the addressable shards"),
    ),
    "no pieces": (
        lambda: effax.make_array_from_single_device_arrays(
            (2,), effax.NamedSharding(ONE, effax.P("x")), []
        ),
        (ValueError, "If the Array has no addressable shards, `dtype` must be provided"),
    ),
    "traced pieces": (
        lambda: effax.jit(
            lambda x: effax.make_array_from_single_device_arrays(x.shape, ALONE, [x])
        )(jnp.zeros(2)),
        (ValueError, "requires a list of concrete arrays"),
    ),
    "traced pieces of a callback": (
        lambda: effax.jit(
            lambda x: effax.make_array_from_callback(x.shape, ALONE, lambda index: x[index])
        )(jnp.zeros(2)),
        (effax.errors.UnexpectedTracerError, "cannot be called within a traced context"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_mesh_spec_or_array_is_made_of(case):
    make, (error, words) = REFUSED[case]
    with pytest.raises(error, match=words):
        make()


def test_a_callback_that_gives_elements_is_called_while_a_function_is_traced():
    made = effax.jit(
        lambda x: x + effax.make_array_from_callback((2,), ALONE, lambda i: np.ones(2))
    )
    assert made(jnp.ones(2)).tolist() == [2, 2]


def test_one_axis_may_be_named_by_a_text():
    assert dict(effax.make_mesh((1,), "data").shape) == {"data": 1}
    with pytest.raises(ValueError, match="must equal the length of axis_shapes"):
        effax.make_mesh((1, 1), "da")
