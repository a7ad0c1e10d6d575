"""Writes folds.npz: what jax gives for the folds of tests/programs/folds.py and their derivatives.

JAX_PLATFORMS=cpu python -m tests.goldens.make_folds     (from the root, in a venv with jax)
"""

from pathlib import Path

import numpy as np

from tests.programs.folds import answers, functions

HERE = Path(__file__).parent


def main() -> None:
    import jax
    import jax.numpy as jnp

    found = {}
    for name, (f, x) in functions(jax, jnp).items():
        found[name] = np.concatenate([np.ravel(a) for a in answers(jax, jnp, f, x)])
    np.savez_compressed(HERE / "folds.npz", **found)
    print(len(found), "folds, jax", jax.__version__)


if __name__ == "__main__":
    main()
