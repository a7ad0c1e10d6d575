"""`examples/scaling` on eight CPU devices: losses on meshes, and what is sent; run by `test_mesh.py`."""

import sys
from pathlib import Path

import numpy as np
import pytest

import effax

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "scaling"))
import plan
import transformer

SMALL = transformer.Sizes(
    layers=4, width=16, heads=2, head=8, hidden=32, words=24, length=8, batch=16, microbatches=2
)
MESHES = (1, 2, 2, 2), (2, 1, 4, 1)


@pytest.fixture(scope="module")
def alone():
    return transformer.train((1, 1, 1, 1), SMALL, 4)


@pytest.mark.parametrize("axes", MESHES)
def test_losses_are_those_of_one_device(alone, axes):
    np.testing.assert_allclose(transformer.train(axes, SMALL, 4), alone, rtol=1e-5)
    assert alone[-1] < alone[0]


@pytest.mark.parametrize("axes", [(1, 2, 2, 2), (2, 2, 1, 2)])
def test_the_compiled_step_sends_what_the_plan_says(axes):
    planned, compiled = plan.compared(SMALL, axes)
    assert compiled == planned


def test_groups_of_devices_are_read_in_both_notations():
    axes = (2, 2, 1, 2)
    for groups in (
        "replica_groups={{0,1},{2,3},{4,5},{6,7}}",
        "replica_groups=[4,2]<=[8]",
        "source_target_pairs={{0,1}}",
    ):
        assert plan._axes_of(groups, axes) == ("tensor",)
    assert plan._axes_of("replica_groups=[2,4]<=[4,2]T(1,0)", (4, 1, 1, 2)) == ("data",)


def test_a_large_model_fits_the_chips_that_the_curve_gives_it():
    for chips, axes, parts in plan.curve():
        assert np.prod(axes) == chips and plan.held(plan.LARGE, axes) < plan.MEMORY
        assert all(x >= 0 for x in parts)
