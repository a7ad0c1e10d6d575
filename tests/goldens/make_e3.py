"""Writes e3.npz and e3.json: what jax computes for the programs of tests/programs/e3.py.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_e3         (from the root, in a venv with jax)

e3.npz holds one float64 vector per program, the results of all nestings end to end; e3.json the
shapes that cut it, the version of jax, and the nestings jax refused (whose numbers are the twin's).
"""

import json
from pathlib import Path

import numpy as np

from tests.programs.e3 import NESTINGS, PROGRAMS, X, nest, refused

HERE = Path(__file__).parent


def main() -> None:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    vectors, shapes, refusals = {}, {}, []
    for name, program in PROGRAMS.items():
        results = {}
        for nesting in NESTINGS:
            label = ".".join(nesting)
            try:
                result = nest(jax, jnp, nesting, program.make(jax, jnp))(X)
                assert refused(name, nesting) is None, (name, nesting)
                if program.twin:
                    twin = nest(jax, jnp, nesting, program.twin(jax, jnp))(X)
                    np.testing.assert_allclose(result, twin, rtol=1e-12)
            except (TypeError, ValueError, NotImplementedError) as error:
                # jvp of jvp of custom_vjp is a NotImplementedError of jax; effax names one class.
                assert refused(name, nesting) and program.twin, (name, nesting, error)
                refusals.append(f"{name} {label}: {str(error).splitlines()[0]}")
                result = nest(jax, jnp, nesting, program.twin(jax, jnp))(X)
            results[label] = np.asarray(result)
            assert results[label].dtype == np.float64 and np.isfinite(results[label]).all()
        vectors[name] = np.concatenate([r.ravel() for r in results.values()])
        shapes[name] = {label: r.shape for label, r in results.items()}
        print(name)
    np.savez_compressed(HERE / "e3.npz", **vectors)
    record = {"jax": jax.__version__, "shapes": shapes, "refused by jax": refusals}
    (HERE / "e3.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
