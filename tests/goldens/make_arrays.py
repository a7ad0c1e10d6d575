"""Writes arrays.json: what jax gives for the expressions of tests/numpy/expressions.py.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_arrays     (from the root, in a venv with jax)

Per expression: the leaves of the result (shape, dtype, weak type, elements), or the names of the
classes of the error that jax raises.
"""

import json
from pathlib import Path

from tests.numpy.expressions import EXPRESSIONS, described, environment


def main() -> None:
    import jax
    import jax.numpy as jnp

    values = environment(jax, jnp)
    results = {}
    for line in EXPRESSIONS:
        try:
            result = eval(line, values)
            results[line] = [described(x) for x in jax.tree_util.tree_leaves(result)]
        except Exception as error:
            results[line] = [c.__name__ for c in type(error).__mro__ if c is not object]
    path = Path(__file__).with_name("arrays.json")
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results.items())
    path.write_text(f'{{"jax": "{jax.__version__}",\n{lines}}}\n')


if __name__ == "__main__":
    main()
