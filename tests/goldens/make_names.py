"""Write down the public names of JAX: python -m tests.goldens.make_names, under jax 0.10.

A name is public if it has no underscore in front and is no module of JAX's own that is only there
because something imported it. Names that JAX has deprecated count too, as long as they give what
they gave: `dir` lists few of them.
"""

import ast
import importlib
import inspect
import json
import warnings
from importlib.util import find_spec
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
    return sorted({*public, *deprecated(parsed(module))})


def parsed(module: str) -> ast.Module:
    """Return a module's source; some modules import what is not installed."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return ast.parse(Path(spec.origin).read_text())


def deprecated(source: ast.Module) -> set[str]:
    """Return the names that a module warns of and still has: `_deprecations` of it says both."""
    found = set()
    for node in source.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)):
            continue
        if [x.id for x in node.targets if isinstance(x, ast.Name)] != ["_deprecations"]:
            continue
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            gone = isinstance(value, ast.Tuple) and ast.unparse(value.elts[1]) == "None"
            if isinstance(key, ast.Constant) and not gone:
                found.add(str(key.value))
    return {name for name in found if not name.startswith("_")}


MORE = [
    "api_util",
    "core",
    "experimental.array_serialization.serialization",
    "experimental.array_serialization.tensorstore_impl",
    "experimental.buffer_callback",
    "experimental.colocated_python",
    "experimental.compute_on",
    "experimental.control_deps",
    "experimental.custom_partitioning",
    "experimental.fused",
    "experimental.hijax",
    "experimental.key_reuse",
    "experimental.mesh_utils",
    "experimental.mosaic",
    "experimental.pallas",
    "experimental.pallas.tpu",
    "experimental.pallas.triton",
    "experimental.pjit",
    "experimental.profiler",
    "experimental.rnn",
    "experimental.roofline",
    "experimental.scheduling_groups",
    "experimental.shard_alike",
    "experimental.source_mapper",
    "experimental.sparse",
    "experimental.sparse.linalg",
    "experimental.topologies",
    "experimental.transfer",
    "experimental.xla_metadata",
    "extend.backend",
    "extend.core",
    "extend.core.primitives",
    "extend.linear_util",
    "extend.lowering",
    "extend.mlir",
    "extend.random",
    "extend.sharding",
    "extend.source_info_util",
    "interpreters.ad",
    "interpreters.batching",
    "interpreters.mlir",
    "interpreters.partial_eval",
    "interpreters.pxla",
    "interpreters.xla",
]
"""Modules under jax whose names are those that their sources define, or import as themselves."""


def source_names(module: str) -> list[str]:
    """Return the public names that a module's source defines or hands on (`import x as x`)."""
    source = parsed(module)
    found = deprecated(source)
    for node in source.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {x.name for x in node.names if x.asname == x.name}
        elif isinstance(node, ast.Assign):
            found |= {x.id for x in node.targets if isinstance(x, ast.Name)}
    return sorted(name for name in found if not name.startswith("_") and name != "TypeVar")


def main() -> None:
    import jax

    table = {module: names(module) for module in MODULES}
    more = {f"jax.{module}": source_names(f"jax.{module}") for module in MORE}  # imports some
    array = [n for n in dir(jax.numpy.ones(3)) if not n.startswith("_")]
    path = Path(__file__).parent / "jax_names.json"
    path.write_text(
        json.dumps(
            {"version": jax.__version__, "modules": table, "more": more, "Array": array}, indent=0
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
