"""Write down the public names of JAX: python -m tests.goldens.make_names, under jax 0.10.

A name is public if it has no underscore in front and is no module of JAX's own that is only there
because something imported it. Names that JAX has deprecated raise or warn when asked for; they
count if `dir` lists them.
"""

import importlib
import inspect
import json
import warnings
from pathlib import Path

MODULES = [
    "jax",
    "jax.numpy",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.lax",
    "jax.lax.linalg",
    "jax.random",
    "jax.nn",
    "jax.nn.initializers",
    "jax.scipy",
    "jax.scipy.special",
    "jax.scipy.linalg",
    "jax.scipy.stats",
    "jax.scipy.signal",
    "jax.scipy.ndimage",
    "jax.scipy.optimize",
    "jax.scipy.fft",
    "jax.scipy.integrate",
    "jax.scipy.interpolate",
    "jax.scipy.sparse.linalg",
    "jax.scipy.cluster",
    "jax.scipy.cluster.vq",
    "jax.scipy.spatial.transform",
    "jax.tree",
    "jax.tree_util",
    "jax.flatten_util",
    "jax.image",
    "jax.ops",
    "jax.dtypes",
    "jax.dlpack",
    "jax.example_libraries.stax",
    "jax.example_libraries.optimizers",
    "jax.experimental.jet",
    "jax.experimental.ode",
    "jax.experimental.checkify",
    "jax.experimental",
    "jax.experimental.compilation_cache.compilation_cache",
    "jax.experimental.layout",
    "jax.experimental.multihost_utils",
    "jax.experimental.random",
    "jax.experimental.serialize_executable",
    "jax.export",
    "jax.ffi",
    "jax.monitoring",
    "jax.debug",
    "jax.errors",
    "jax.ad_checkpoint",
    "jax.custom_batching",
    "jax.custom_derivatives",
    "jax.ref",
    "jax.profiler",
    "jax.stages",
    "jax.sharding",
    "jax.typing",
]


def names(module: str) -> list[str]:
    found = importlib.import_module(module)
    public = []
    for name in dir(found):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(found, name)
            except AttributeError:
                continue  # removed: asking for it only explains what to use instead
        if inspect.ismodule(value) and not value.__name__.startswith("jax"):
            continue
        public.append(name)
    return public


def main() -> None:
    import jax

    table = {module: names(module) for module in MODULES}
    array = [n for n in dir(jax.numpy.ones(3)) if not n.startswith("_")]
    path = Path(__file__).parent / "jax_names.json"
    path.write_text(
        json.dumps({"version": jax.__version__, "modules": table, "Array": array}, indent=0) + "\n"
    )


if __name__ == "__main__":
    main()
