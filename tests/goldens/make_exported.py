"""Modules that JAX exported, with what they give: `python make_exported.py > exported.json`."""

import base64
import json

import numpy as np


def main() -> None:
    import jax
    import jax.numpy as jnp
    from jax import export

    def f(x, n):
        return {"y": jnp.sin(x) * n, "top": jax.lax.top_k(x, 2)[0], "n": n + 1}

    X = np.linspace(-2.0, 3.0, 5, dtype=np.float32)
    found = []
    for platforms in (["cpu"], ["cuda", "cpu", "tpu"]):
        made = export.export(jax.jit(f), platforms=platforms)(X, np.int32(3))
        found.append(
            {
                "platforms": platforms,
                "module": base64.b64encode(made.mlir_module_serialized).decode(),
                "results": {k: np.asarray(v).tolist() for k, v in f(X, np.int32(3)).items()},
            }
        )
    print(json.dumps({"x": X.tolist(), "jax": jax.__version__, "modules": found}, indent=1))


if __name__ == "__main__":
    main()
