"""The cost of `import effax`: not jax, not SciPy, not the MLIR bindings."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

UNWANTED = ("jax", "scipy", "jaxlib.mlir", "torch", "pytest", "hypothesis")


@pytest.mark.parametrize("module", ["effax", "effax.numpy"])
def test_import_is_light(module):
    code = f"import sys, {module}\nprint(*(name for name in {UNWANTED!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], f"`import {module}` also imports {done.stdout}"
