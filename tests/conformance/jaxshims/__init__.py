"""Stand-ins for the ``jax._src`` modules that JAX's tests import.

``module("jax._src.lax.lax")`` returns a module object whose attributes come,
in this order, from

 1. overrides that the target itself offers: a dict ``INTERNALS`` in
    ``<target>._conformance`` (optional), keyed "jax._src.core.call_p";
 2. the shim file written for it (see FILES), which uses only the target's
    public API;
 3. public modules of the target that hold the same object (see PUBLIC);
 4. a submodule of the same kind;
 5. a placeholder (Missing).  Using one in a running test skips the test with
    the mark "needs-internal: <name>", which the driver counts apart.
"""

from __future__ import annotations

import importlib
import os
import types
import unittest
import warnings

TARGET = os.environ.get("HARNESS_TARGET", "jax")

# True while a test module is being executed at collection.
importing = False


class NeedsInternal(unittest.SkipTest):
    def __init__(self, name):
        super().__init__(f"needs-internal: {name}")


class MissingPublicError(AttributeError):
    pass


class _MissingBase:
    """Base class standing for a class that does not exist."""

    _harness_name = "?"

    def __new__(cls, *args, **kwargs):
        if importing:
            return super().__new__(cls)
        raise NeedsInternal(cls._harness_name)


class Missing:
    """Placeholder for a private name; any use in a test skips the test."""

    def __init__(self, name):
        object.__setattr__(self, "_harness_name", name)

    def _fail(self):
        raise NeedsInternal(self._harness_name)

    def __getattr__(self, name):
        if name in ("__name__", "__qualname__"):
            return self._harness_name.rpartition(".")[2]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return type(self)(f"{self._harness_name}.{name}")

    def __setattr__(self, name, value):
        if not importing:
            self._fail()

    def __call__(self, *args, **kwargs):
        if importing:
            return type(self)(self._harness_name)
        self._fail()

    def __getitem__(self, key):
        if importing:
            if isinstance(key, int):
                raise IndexError(key)  # ends an iteration: nothing to iterate over
            return type(self)(self._harness_name)
        self._fail()

    def __setitem__(self, key, value):
        self._fail()

    def __delitem__(self, key):
        self._fail()

    def __mro_entries__(self, bases):
        return (
            type(
                "Missing_" + self._harness_name.rpartition(".")[2],
                (_MissingBase,),
                {"_harness_name": self._harness_name},
            ),
        )

    def __or__(self, other):
        return self

    def __ror__(self, other):
        return self

    def __instancecheck__(self, instance):
        self._fail()

    def __subclasscheck__(self, cls):
        self._fail()

    def __enter__(self):
        self._fail()

    def __exit__(self, *exc):
        return False

    def __eq__(self, other):
        if importing:
            return self is other
        self._fail()

    def __ne__(self, other):
        if importing:
            return self is not other
        self._fail()

    def __hash__(self):
        if not importing:
            self._fail()
        return id(self)

    def __bool__(self):
        if importing:
            return True
        self._fail()

    def __repr__(self):
        return f"<missing {self._harness_name}>"


def _arith(self, *others):
    if importing:
        return self
    self._fail()


for _op in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "len",
    "int",
    "float",
    "index",
    "contains",
):
    setattr(Missing, f"__{_op}__", _arith)
del Missing.__len__, Missing.__index__, Missing.__int__, Missing.__float__


class MissingPublic(Missing):
    """Placeholder for a public name that the target lacks: its use fails."""

    def _fail(self):
        raise MissingPublicError(f"target {TARGET} has no {self._harness_name}")

    def __getattr__(self, name):
        if name.startswith("_") and not name.startswith("__"):
            return Missing(f"{self._harness_name}.{name}")
        return super().__getattr__(name)


class With(types.ModuleType):
    """View of a module with one attribute that the target lacks."""

    def __init__(self, module, attr, value):
        super().__init__(module.__name__)
        self.__dict__["__wrapped"] = module
        self.__dict__[attr] = value

    def __getattr__(self, attr):
        return getattr(self.__dict__["__wrapped"], attr)


# Shim files: internal module -> module of this package.
FILES = {
    "ad_checkpoint": "ad_checkpoint",
    "test_util": "test_util",
    "config": "config",
    "dtypes": "dtypes",
    "core": "core",
    "util": "util",
    "lax_reference": "lax_reference",
    "internal_test_util.lax_test_util": "lax_test_util",
    "internal_test_util.test_harnesses": "test_harnesses",
    "test_warning_util": "test_warning_util",
    "array": "array",
    "typing": "typing",
    "lax.control_flow.common": "lax_control_flow_common",
    "lax.lax": "lax_lax",
    "lax.utils": "lax_utils",
    "numpy.util": "numpy_util",
    "dlpack": "dlpack",
    "lib": "lib",
    "xla_bridge": "xla_bridge",
    "compilation_cache": "compilation_cache",
    "dispatch": "dispatch",
    "hypothesis_test_util": "hypothesis_test_util",
    "sharding": "sharding",
    "sharding_impls": "sharding_impls",
    "random": "random",
    "random.prng": "random_prng",
    "mesh": "mesh",
    "deprecations": "deprecations",
}

# Public modules (of the target, without the "jax." prefix; "" is jax itself)
# in which an internal module's names are looked up.
PUBLIC = {
    "ad_checkpoint": ["ad_checkpoint", ""],
    "abstract_arrays": ["extend.core"],
    "api": [""],
    "api_util": ["api_util"],
    "array": [""],
    "callback": ["", "experimental"],
    "checkify": ["experimental.checkify"],
    "compute_on": ["experimental.compute_on"],
    "core": ["core", "extend.core", "errors", "extend.core.primitives", "", "sharding"],
    "custom_api_util": [],
    "custom_batching": ["custom_batching"],
    "custom_derivatives": ["custom_derivatives"],
    "custom_partitioning": ["experimental.custom_partitioning"],
    "debugger": ["debug"],
    "debugging": ["debug"],
    "dispatch": ["interpreters.xla"],
    "dlpack": ["dlpack"],
    "dtypes": ["dtypes", "numpy"],
    "error_check": ["experimental.error_check"],
    "errors": ["errors"],
    "export": ["export"],
    "export._export": ["export"],
    "export.shape_poly": ["export"],
    "ffi": ["ffi"],
    "flatten_util": ["flatten_util"],
    "interpreters.ad": ["interpreters.ad"],
    "interpreters.batching": ["interpreters.batching"],
    "interpreters.mlir": ["interpreters.mlir"],
    "interpreters.partial_eval": ["interpreters.partial_eval"],
    "interpreters.pxla": ["interpreters.pxla"],
    "lax": ["lax"],
    "lax.control_flow": ["lax"],
    "lax.lax": ["lax", "extend.core.primitives"],
    "lax.linalg": ["lax.linalg", "extend.core.primitives"],
    "lax.parallel": ["lax", "extend.core.primitives"],
    "lax.slicing": ["lax", "extend.core.primitives"],
    "lax.windowed_reductions": ["lax", "extend.core.primitives"],
    "layout": ["experimental.layout"],
    "lib.mlir.ir": ["extend.mlir.ir"],
    "lib.mlir.dialects.hlo": ["extend.mlir.dialects.stablehlo"],
    "linear_util": ["extend.linear_util"],
    "literals": [],
    "mesh": ["sharding"],
    "mesh_utils": ["experimental.mesh_utils"],
    "monitoring": ["monitoring"],
    "named_sharding": ["sharding"],
    "nn.functions": ["nn"],
    "numpy.lax_numpy": ["numpy"],
    "numpy.util": [],
    "partition_spec": ["sharding"],
    "pjit": ["experimental.pjit", ""],
    "pmap": [""],
    "profiler": ["profiler"],
    "public_test_util": [],
    "random": ["random", "extend.core.primitives"],
    "random.core": ["random"],
    "random.prng": ["extend.random", "extend.core.primitives"],
    "random.rbg": ["extend.random"],
    "random.threefry2x32": ["extend.random"],
    "scipy.special": ["scipy.special"],
    "shard_alike": ["experimental.shard_alike"],
    "shard_map": [""],
    "sharding": ["sharding"],
    "sharding_impls": ["sharding"],
    "source_info_util": ["extend.source_info_util"],
    "sparse": ["experimental.sparse"],
    "stages": ["stages"],
    "state.types": ["ref"],
    "state": ["ref"],
    "state.primitives": ["ref", "extend.core.primitives"],
    "tree_util": ["tree_util"],
    "xla_bridge": ["extend.backend", ""],
    "xla_metadata": ["experimental.xla_metadata"],
}

# Names spelled differently in public.
RENAMES = {
    "api.clear_backends": "extend.backend.clear_backends",
    "pjit.pjit": "experimental.pjit.pjit",
    "debugging.debug_print": "debug.print",
    "debugging.debug_callback": "debug.callback",
    "state.primitives.ref_get": "ref.get",
    "state.primitives.ref_set": "ref.set",
    "state.primitives.ref_swap": "ref.swap",
    "state.primitives.ref_addupdate": "ref.addupdate",
    "core.MemorySpace": "memory.Space",
    "mesh.get_concrete_mesh": "sharding.get_mesh",
    "random.prng.PRNGImpl": "extend.random.define_prng_impl",
}

_MISSING = object()
_absent: set[str] = set()


def target_attr(path: str, default=_MISSING):
    """target_attr("lax.add"): the target's public object, imported if need be."""
    if path in _absent and default is not _MISSING:
        return default
    obj = importlib.import_module(TARGET)
    done = TARGET
    for part in path.split(".") if path else ():
        done += "." + part
        try:
            obj = getattr(obj, part)
        except AttributeError:
            try:
                obj = importlib.import_module(done)
            except ImportError:
                if default is _MISSING:
                    raise MissingPublicError(f"target has no {done}") from None
                _absent.add(path)
                return default
    return obj


_overrides: dict | None = None


def _target_internals() -> dict:
    global _overrides
    if _overrides is None:
        try:
            mod = importlib.import_module(TARGET + "._conformance")
            _overrides = dict(mod.INTERNALS)
        except ImportError:
            _overrides = {}
    return _overrides


def _undeprecated(holder, attr):
    """A public attribute, unless asking for it warns of its deprecation."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return getattr(holder, attr, _MISSING)
        except DeprecationWarning:
            return _MISSING


class ShimModule(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        rel = name.removeprefix("jax._src").lstrip(".")
        d = self.__dict__
        d["__path__"] = []
        d["__harness_rel"] = rel
        d["__harness_file"] = None
        if rel in FILES and name.startswith("jax._src"):
            d["__harness_file"] = importlib.import_module(f"{__name__}.{FILES[rel]}")

    def __getattr__(self, attr):
        d = self.__dict__
        name, rel = d["__name__"], d["__harness_rel"]
        if attr.startswith("__") and attr.endswith("__"):
            raise AttributeError(attr)
        full = f"{name}.{attr}"
        overrides = _target_internals()
        if full in overrides:
            return overrides[full]
        file = d["__harness_file"]
        if file is not None:
            value = getattr(file, attr, _MISSING)
            if value is not _MISSING and not (
                isinstance(value, types.ModuleType)
                and attr not in getattr(file, "__all_modules__", ())
            ):
                return value
        rename = RENAMES.get(f"{rel}.{attr}")
        if rename is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                value = target_attr(rename, None)
            if value is not None:
                return value
        sub = f"{rel}.{attr}" if rel else attr
        if name.startswith("jax._src") and (
            sub in FILES or sub in PUBLIC or any(k.startswith(sub + ".") for k in (*FILES, *PUBLIC))
        ):
            return module(full)
        for pub in PUBLIC.get(rel, ()):
            holder = target_attr(pub, None)
            if holder is None:
                continue
            value = _undeprecated(holder, attr)
            if value is not _MISSING:
                return value
        return Missing(full)

    def __setattr__(self, attr, value):
        if attr.startswith("__"):
            self.__dict__[attr] = value
            return
        raise NeedsInternal(f"{self.__name__}.{attr} (assignment)")


_modules: dict[str, ShimModule] = {}


def module(name: str) -> ShimModule:
    if name not in _modules:
        _modules[name] = ShimModule(name)
    return _modules[name]
