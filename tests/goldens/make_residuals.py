"""Writes residuals.json: the bytes that jax stores for the programs of tests/programs/residuals.py.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_residuals     (from the root, in a venv with jax)

By jax's own account, of the jitted functions: what `print_saved_residuals` prints.
"""

import json
from pathlib import Path

from tests.programs.residuals import nbytes, programs

HERE = Path(__file__).parent


def main() -> None:
    import jax
    import jax.numpy as jnp
    from jax._src.ad_checkpoint import saved_residuals

    found = {}
    for name, (f, *args) in programs(jax, jnp).items():
        found[name] = nbytes(saved_residuals(jax.jit(f), *args))
    record = {"jax": jax.__version__, "bytes": found}
    (HERE / "residuals.json").write_text(json.dumps(record, indent=1) + "\n")
    print(record)


if __name__ == "__main__":
    main()
