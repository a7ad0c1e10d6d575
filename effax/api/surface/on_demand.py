"""Names of a package that are imported when they are first asked for.

A package lists its names once, as imports in its module `names`. Type checkers read that file as it
is. At run time the file is executed with an `__import__` that notes what each statement asks for
and imports nothing, so that nobody waits for two hundred modules to use ten:

    if TYPE_CHECKING:
        from effax.numpy.names import *

    _surface = Surface(globals())
    __dir__ = _surface.public

    def __getattr__(name: str) -> Any:
        return _surface.get(name)

The table is thus made by Python's own import statement, from the file's cached byte code, whichever
loader finds it (a folder, a zip file, PyInstaller's archive, whose collector follows the imports).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace
from typing import Any, Final

Namespace = dict[str, Any]
Home = tuple[str, str]
"""The module that a name is imported from, and its name there."""

_binding: Final = threading.RLock()


def noted_imports(module: str) -> dict[str, Home]:
    """Return the public names that a module imports, with their homes; nothing is imported.

    Args:
      module: the name of a module that consists of `from ... import ...` and `name = other`.

    >>> noted_imports("effax.lax.names")["cond"]
    ('effax.lax.branching', 'cond')
    """
    spec = find_spec(module)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    homes = SimpleNamespace()

    def note(home: str, _: Any, __: Any, names: tuple[str, ...], ___: int) -> SimpleNamespace:
        for name in names:  # the import statement reads these names at once
            setattr(homes, name, (home, name))
        return homes

    made = module_from_spec(spec)  # not in `sys.modules`: a real import still runs it
    found = vars(made)
    # Python 3.15 calls `__lazy_import__` for import statements if all imports are lazy.
    found["__builtins__"] = {"__import__": note, "__lazy_import__": note}
    spec.loader.exec_module(made)
    return {n: home for n, home in found.items() if type(home) is tuple and not n.startswith("_")}


class Surface:
    """The public names of a package, which are imported on demand.

    `finish` is given the public names that a module brings, all at once, before they are bound.
    It is called for each module once, whichever thread asks.
    """

    def __init__(
        self, namespace: Namespace, finish: Callable[[Namespace], None] | None = None
    ) -> None:
        self.namespace = namespace
        self.package: str = namespace["__name__"]
        self.homes = noted_imports(f"{self.package}.names")
        """The module each name is imported from, and its name there."""
        self.finish = finish

    def public(self) -> list[str]:
        """Return the names that `dir` shows, and that `from package import *` takes."""
        return sorted(self.homes)

    def get(self, name: str) -> Any:
        """Return the value of a name, which is bound from now on.

        Raises `AttributeError` for a name that is neither public nor a module of the package.
        """
        if name in self.homes:
            home, inner = self.homes[name]
            if home == self.package:
                return import_module(f"{home}.{inner}")  # sets the parent's attribute too
            module = import_module(home)  # without the lock, since modules have their own locks
            self._bind(home, vars(module))
            return self.namespace[name]
        if name == "__all__":
            return self.public()
        inside = f"{self.package}.{name}"
        if not name.startswith("_") and find_spec(inside) is not None:
            return import_module(inside)
        from effax.api.surface.removed import missing

        missing(self.package, name)

    def _bind(self, home: str, held: Namespace) -> None:
        with _binding:
            found = {
                name: held[inner]
                for name, (module, inner) in self.homes.items()
                if module == home and name not in self.namespace
            }
            if self.finish is not None:
                self.finish(found)
            self.namespace.update(found)
