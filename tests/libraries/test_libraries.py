"""Libraries written for JAX run here as they are published: `make libraries`.

The programs are what users of the libraries write; they and the libraries say `import jax`. The
libraries are in build/libraries, or the folder that EFFAX_LIBRARIES names.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("EFFAX_LIBRARIES", ROOT / "build/libraries"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (FOLDER / "optax").is_dir(), reason="`make libraries` installs them"),
]


@pytest.mark.parametrize("program", sorted(p.stem for p in (HERE / "programs").glob("*.py")))
def test_a_program_of_its_users_runs(program):
    paths = [FOLDER, ROOT]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "effax.as_jax", str(HERE / f"programs/{program}.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
