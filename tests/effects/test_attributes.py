"""`effects.name` is the same thing whatever was imported before."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


@pytest.mark.parametrize("name", ["check", "complex", "kernel"])
@pytest.mark.parametrize("before", ["import effax", "import effax.matrix"])
def test_an_effect_is_meant_where_its_family_has_the_same_name(name, before):
    code = f"{before}\nfrom effax import effects\nprint(effects.{name}.family)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == name, done.stderr


def test_families_are_attributes():
    from effax import effects

    assert effects.elementwise.add is effects.add
