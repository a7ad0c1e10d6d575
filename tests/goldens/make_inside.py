"""Writes inside.json: what jax gives for the functions of tests/parallel/inside.py, under shard_map.

JAX_PLATFORMS=cpu python -m tests.goldens.make_inside     (from the root, in a venv with jax)
"""

import json
import os
from pathlib import Path


def main() -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    import jax
    import numpy as np

    from tests.parallel.inside import answers

    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    found = answers(jax, mesh)
    path = Path(__file__).with_name("inside.json")
    lines = ",\n".join(
        f"{json.dumps(k)}: {json.dumps([[float(f'{x:.7g}') for x in leaf] for leaf in v])}"
        for k, v in found.items()
    )
    path.write_text(f'{{"jax": {json.dumps(jax.__version__)},\n{lines}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
