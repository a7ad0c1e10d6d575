"""Import redirection for test modules.

A test file says ``import jax``, ``from jax import lax``, ``from jax._src import
test_util as jtu``.  Its module globals get a private ``__import__``
(test_builtins), which maps

  jax                  -> a facade over the target package
  jax.X                -> <target>.X
  jax._src.X           -> jaxshims' stand-in for that internal module
  jax.test_util        -> jaxshims' own gradient checkers
  jaxlib...            -> placeholders

The source text is not touched.  With a target other than jax, ``jax`` is also
installed in sys.modules through a meta-path finder (install), so that imports
made elsewhere (importlib.import_module("jax.lax"), helper libraries,
subprocesses started by a test) reach the target as well.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.abc
import importlib.machinery
import math
import os
import sys
import types

TARGET = os.environ.get("HARNESS_TARGET", "jax")

# Public modules that the harness replaces, because they are the yardstick.
_PUBLIC_OVERRIDES = {
    "jax.test_util": "public_test_util",
    "jax.experimental.sparse.test_util": "sparse_test_util",
}

# Small helpers of public modules, undocumented, for a target without them.
_HELPERS = {"jax.experimental.jet.fact": lambda n: float(math.factorial(n))}


def target():
    return importlib.import_module(TARGET)


class Facade(types.ModuleType):
    """The module that tests see as ``jax``: the target, plus a private _src."""

    def __init__(self):
        super().__init__("jax", "facade over " + TARGET)
        self.__dict__["__path__"] = []

    def __getattr__(self, name):
        if name == "_src":
            return load("jax._src")
        if name == "config":
            return _config_facade()
        if name == "test_util":
            return load("jax.test_util")
        try:
            value = getattr(target(), name)
            if isinstance(value, types.ModuleType) and _asked_by_test_module(1):
                _make_lenient(value)
            return value
        except AttributeError:
            if not name.startswith("__") and _asked_by_test_module(1):
                import jaxshims

                return jaxshims.MissingPublic("jax." + name)
            raise

    def __setattr__(self, name, value):
        if name in ("_src", "test_util") or name.startswith("__"):
            self.__dict__[name] = value
        else:
            setattr(target(), name, value)

    def __delattr__(self, name):
        delattr(target(), name)

    def __dir__(self):
        return dir(target())


class _ConfigFacade:
    """jax.config of the target, with parse_flags_with_absl if it has none."""

    def __init__(self, config):
        object.__setattr__(self, "_config", config)

    def __getattr__(self, name):
        if name in ("parse_flags_with_absl", "config_with_absl"):

            def parse():
                from jaxshims import _absl

                _absl.parse()

            return parse
        if name == "_read":
            return functools.partial(getattr, self._config)
        return getattr(self._config, name)

    def __setattr__(self, name, value):
        setattr(self._config, name, value)


_config_cache = None


def _config_facade():
    global _config_cache
    config = target().config
    if _config_cache is None or _config_cache._config is not config:
        _config_cache = _ConfigFacade(config)
    return _config_cache


_facade = Facade()


def load(name: str):
    """The module that ``name`` (jax, jax.X, jax._src.X, jaxlib) stands for."""
    if name == "jax":
        return _facade
    if name == "jaxlib" or name.startswith("jaxlib."):
        import jaxshims

        return jaxshims.module(name)
    if name == "jax._src" or name.startswith("jax._src."):
        import jaxshims

        return jaxshims.module(name)
    if name in _PUBLIC_OVERRIDES:
        return importlib.import_module("jaxshims." + _PUBLIC_OVERRIDES[name])
    module = importlib.import_module(TARGET + name[len("jax") :])
    import jaxshims

    if jaxshims.importing:
        _make_lenient(module)
    return module


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    root = name.partition(".")[0]
    if level != 0 or root not in ("jax", "jaxlib"):
        return builtins.__import__(name, globals, locals, fromlist, level)
    import jaxshims

    try:
        module = load(name)
    except ModuleNotFoundError as e:
        if not jaxshims.importing or not str(e.name).startswith(TARGET):
            raise
        # A public module that the target lacks: let the rest of the file be
        # collected; the tests that use the module will fail.
        module = jaxshims.MissingPublic(name)
    if not fromlist:
        if "." in name:
            return _top(root, name, module)
        return module
    for attr in fromlist:
        full = f"{name}.{attr}"
        if full in _PUBLIC_OVERRIDES:
            module = jaxshims.With(module, attr, load(full))
        if attr == "*" or hasattr(module, attr):
            continue
        try:
            load(full)
        except ModuleNotFoundError:
            if not jaxshims.importing:
                raise ImportError(
                    f"cannot import name {attr!r} from {name!r} (target {TARGET})", name=name
                ) from None
            kind = jaxshims.Missing if attr.startswith("_") else jaxshims.MissingPublic
            module = jaxshims.With(module, attr, _HELPERS.get(full) or kind(full))
    return module


class _Top(types.ModuleType):
    """Result of ``import jax.a.b [as c]`` when a part of it needs care.

    ``import jax.a.b as c`` makes CPython take attributes a, then b, off the
    module that __import__ returned.
    """

    def __init__(self, base, attr, value):
        super().__init__(base.__name__)
        self.__dict__["__base"] = base
        self.__dict__[attr] = value

    def __getattr__(self, name):
        return getattr(self.__dict__["__base"], name)


def _top(root, name, module):
    base = load(root)
    parts = name.split(".")[1:]
    # If the plain attribute walk finds the right module, use the facade.
    cur = base
    try:
        for p in parts:
            cur = getattr(cur, p)
        if cur is module:
            return base
    except AttributeError:
        pass
    import jaxshims

    for depth in range(len(parts), 0, -1):
        parent_name = ".".join([root] + parts[: depth - 1])
        try:
            parent = load(parent_name)
        except ModuleNotFoundError:
            parent = jaxshims.MissingPublic(parent_name)
        module = _Top(parent, parts[depth - 1], module)
    return module


# While a test module is being collected, a public name that the target lacks
# must not cost the whole file: the module gets a placeholder, and the tests
# that use it fail.  Only code of the test module itself sees placeholders.


def _asked_by_test_module(depth: int) -> bool:
    import jaxshims

    if not jaxshims.importing:
        return False
    return "__harness_test__" in sys._getframe(depth + 1).f_globals


class _LenientModule(types.ModuleType):
    def __getattr__(self, name):
        if not name.startswith("__") and _asked_by_test_module(1):
            import jaxshims

            return jaxshims.MissingPublic(f"{self.__name__}.{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


_lenient: list[types.ModuleType] = []


def _make_lenient(module) -> None:
    if TARGET != "jax" and type(module) is types.ModuleType:
        module.__class__ = _LenientModule
        _lenient.append(module)


def _refusing_new(cls, *args, **kwargs):
    """For a public class called in a decorator with what the target refuses."""
    import jaxshims

    if jaxshims.importing:
        try:
            object.__new__(cls).__init__(*args, **kwargs)
        except NotImplementedError as e:
            return jaxshims.MissingPublic(f"jax.sharding.{cls.__name__}: {e}")
    return object.__new__(cls)


def begin_collection() -> None:
    for name, module in list(sys.modules.items()):
        if name == TARGET or name.startswith(TARGET + "."):
            _make_lenient(module)
    if TARGET != "jax":
        spec = getattr(importlib.import_module(TARGET + ".sharding"), "PartitionSpec", None)
        if spec is not None and spec.__new__ is object.__new__:
            spec.__new__ = _refusing_new


def end_collection() -> None:
    while _lenient:
        _lenient.pop().__class__ = types.ModuleType


_builtins: dict | None = None


def test_builtins() -> dict:
    global _builtins
    if _builtins is None:
        _builtins = dict(builtins.__dict__)
        _builtins["__import__"] = _import
    return _builtins


class _AliasLoader(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        sys.modules[module.__spec__.name] = load(module.__spec__.name)


class _AliasFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        root = fullname.partition(".")[0]
        if root != "jax" or sys.modules.get("jax") not in (None, _facade):
            return None  # not ours, or the real jax has been imported by somebody
        try:
            load(fullname)
        except ModuleNotFoundError:
            return None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(), is_package=True)


def install():
    """Installs the sys.modules aliasing (only for a target other than jax)."""
    if TARGET != "jax" and not any(isinstance(f, _AliasFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, _AliasFinder())
