"""The importer that answers for `jax` and its submodules."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import effax
from effax.as_jax.absent import absent_module, is_absent
from effax.as_jax.kinds import say_jax
from effax.as_jax.listing import list_names
from effax.as_jax.logs import obey_jaxs_loggers
from effax.as_jax.private import INSTEAD, private_module
from effax.as_jax.version import __version__
from effax.effects import config

DOOR: Final = str(Path(__file__).parent / "door")
"""A folder for `sys.path`: a module `jax` that comes here, and the metadata of a package `jax`."""


class Jax(ModuleType):
    """The module `jax`: effax, under another name and version."""

    def __init__(self) -> None:
        super().__init__("jax", effax.__doc__)
        self.__path__: list[str] = []
        self.__version__ = __version__
        self.__version_info__ = effax.__version_info__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("_src", "lib", "version"):
            return import_module(f"jax.{name}")
        found = getattr(effax, name)
        if isinstance(found, ModuleType):
            # `import jax` loads JAX's modules, and programs look for them in `sys.modules`.
            sys.modules.setdefault(f"jax.{name}", found)
        return found

    def __dir__(self) -> list[str]:
        return dir(effax)


class Finder(MetaPathFinder, Loader):
    """Finds `jax.x` where there is an `effax.x`, or something that stands for it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find what a name under `jax` stands for, if anything."""
        # `from jax.experimental import it` asks for a part of `effax.experimental`.
        if is_absent(fullname, "effax."):
            return ModuleSpec(fullname, self, is_package=True)
        if _jaxs(fullname) in INSTEAD and not PathFinder.find_spec(fullname, path):
            return ModuleSpec(fullname, self, is_package=True)
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        if fullname != "jax" and stand_in(fullname) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, imported under the name that it has in effax."""
        if spec.name == "jax":
            config.adopt("JAX")  # now, as JAX does
            return Jax()
        if is_absent(spec.name, "effax."):
            return absent_module(spec.name)
        found = stand_in(_jaxs(spec.name))
        assert found is not None  # otherwise there would be no spec
        module = found if isinstance(found, ModuleType) else import_module(found)
        _own_specs[spec.name] = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it was run under its own name, whose spec it keeps."""
        spec = module.__spec__
        if spec is not None and spec.name in _own_specs:
            module.__spec__ = _own_specs.pop(spec.name)
            list_names(module)
            if module is effax.numpy:
                module.__name__ = "jax.numpy"  # array_api_compat and SciPy know JAX's arrays by it


_own_specs: Final[dict[str, ModuleSpec | None]] = {}
_finder: Final = Finder()


def _jaxs(name: str) -> str:
    """The name under `jax` of a module that is asked for under `effax`."""
    return "jax" + name.removeprefix("effax") if name.startswith("effax.") else name


def stand_in(name: str) -> str | ModuleType | None:
    """Find what stands for a submodule of jax: a module of effax's, by name, or one made for it."""
    if name in INSTEAD:
        return INSTEAD[name]
    if name == "jax._src" or name.startswith("jax._src."):
        return private_module(name)
    ours = "effax" + name.removeprefix("jax")
    try:
        return ours if find_spec(ours) is not None else None
    except ModuleNotFoundError:
        return None


def enter() -> None:
    """Make `import jax` mean effax, in this process and in those that it starts from now on.

    Raises `ImportError` where the real jax is imported already.
    """
    there = sys.modules.get("jax")
    if isinstance(there, Jax) or (there is None and _finder in sys.meta_path):
        return
    if there is not None and not hasattr(there, "of_effax"):
        raise ImportError(
            f"effax.as_jax: jax {getattr(there, '__version__', '')} is imported already, from "
            f"{getattr(there, '__file__', 'somewhere')}, and modules that took names from it keep "
            "them; call effax.as_jax() first, or start with `python -m effax.as_jax`",
            name="jax",
        )
    sys.modules.pop("jax", None)
    sys.meta_path.insert(0, _finder)
    obey_jaxs_loggers()
    say_jax()
    if DOOR not in sys.path:
        sys.path.insert(1, DOOR)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if DOOR not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([DOOR, *filter(None, paths)])
