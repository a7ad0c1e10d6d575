"""Files that JAX wrote of exported functions, with what these give.

    $EFFAX_BENCH_JAX tests/goldens/make_exported_files.py > tests/goldens/exported_files.json

JAX needs the package flatbuffers for it.
"""

import base64
import collections
import json
import os

import numpy as np

X = np.linspace(-2.0, 3.0, 6, dtype=np.float32).reshape(2, 3)


def main() -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax
    import jax.numpy as jnp
    from jax import export
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    def trees(params, x, *, n, unused):
        y = jnp.sin(x) @ params["w"] + params["b"][0]
        return {"y": y, "n": n + 1, "o": collections.OrderedDict(z=x[0], a=(x > 0, None))}

    def drawn(key, x):
        return jax.random.normal(key, (3,)) * x

    def several(x):
        return jnp.cos(x), x.astype(jnp.bfloat16)

    def cut(x):
        return x * 2, x.sum(0)

    params = {"w": jnp.ones((3, 2)), "b": [np.float32(2), None]}
    symbolic = jax.ShapeDtypeStruct(export.symbolic_shape("b, 2*b + 1"), "float32")
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Explicit,))
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    jit = jax.jit
    made = {
        "trees": (export.export(jit(trees))(params, X, n=np.int32(3), unused=X), 2),
        "keys": (export.export(jit(drawn))(jax.random.key(0), X[0, 0]), 1),
        "platforms": (export.export(jit(several), platforms=["tpu", "cpu"])(X), 0),
        "symbolic": (export.export(jit(lambda x: x * 2))(symbolic), 0),
        "cut": (export.export(jit(cut))(x), 0),
    }
    found = {
        name: base64.b64encode(e.serialize(vjp_order=order)).decode()
        for name, (e, order) in made.items()
    }
    results = {
        "y": trees(params, X, n=3, unused=X)["y"],
        "gradient": jax.grad(lambda x: (trees(params, x, n=3, unused=X)["y"] ** 2).sum())(X),
        "drawn": drawn(jax.random.key(0), 2.0),
        "several": several(X)[0],
        "cut": cut(X)[1],
    }
    results = {k: np.asarray(v, "float32").tolist() for k, v in results.items()}
    print(json.dumps({"jax": jax.__version__, "files": found, "results": results}, indent=1))


if __name__ == "__main__":
    main()
