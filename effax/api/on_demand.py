"""Names of a package that are imported when they are first asked for.

A package writes where its names are from once, as imports under `if TYPE_CHECKING:`, which is what
type checkers read, and this module, in what the compiler made of them. So nobody waits for two
hundred modules to use ten:

    if TYPE_CHECKING:
        from effax.numpy.sorting import sort as sort

    _surface = Surface(globals(), sys._getframe().f_code)
    __dir__ = _surface.public

    def __getattr__(name: str) -> Any:
        return _surface.get(name)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from opcode import opmap
from types import CodeType, ModuleType
from typing import Any, Final

Namespace = dict[str, Any]

_EXTENDED_ARG: Final = opmap["EXTENDED_ARG"]
_IMPORT_FROM: Final = opmap["IMPORT_FROM"]
_IMPORT_NAME: Final = opmap["IMPORT_NAME"]
_STORE_NAME: Final = opmap["STORE_NAME"]

_binding: Final = threading.RLock()


def written_imports(code: CodeType) -> dict[str, tuple[str, str]]:
    """name -> module and the name there, of each `from module import ...` of a module's code.

    Run or not: the compiler has written, for each module, IMPORT_NAME, and for each name taken
    from it IMPORT_FROM and STORE_NAME, two bytes each, or more if their arguments are large.
    """
    found: dict[str, tuple[str, str]] = {}
    module, taken, large = "", "", 0
    for kind, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        place = large | argument
        large = place << 8 if kind == _EXTENDED_ARG else 0
        if kind == _IMPORT_NAME:
            module = code.co_names[place]
        elif kind == _IMPORT_FROM:
            taken = code.co_names[place]
        elif kind == _STORE_NAME and taken:
            found[code.co_names[place]] = module, taken
            taken = ""
    return found


class Surface:
    """The names of a package: those it holds, and those that are imported on demand.

    `finish` is given the public names that a module brings, all at once, before they are bound.
    It is called for each module once, whichever thread asks.
    """

    def __init__(
        self,
        namespace: Namespace,
        code: CodeType,
        finish: Callable[[Namespace], None] | None = None,
        aliases: dict[str, str] | None = None,
    ) -> None:
        self.namespace = namespace
        self.package: str = namespace["__name__"]
        written = written_imports(code)
        self.held = [
            name
            for name, value in namespace.items()
            if name in written or not isinstance(value, ModuleType)
        ]
        """Names that the package itself imports or makes; not modules that are its attributes."""
        self.homes = {name: home for name, home in written.items() if name not in namespace}
        for name, other in (aliases or {}).items():
            self.homes[name] = self.homes[other]
        """Where each name is from that is imported on demand: the module, and its name there."""
        self.finish = finish

    def public(self) -> list[str]:
        """Return the names that `dir` shows, and that `from package import *` takes."""
        return sorted(name for name in {*self.held, *self.homes} if not name.startswith("_"))

    def get(self, name: str) -> Any:
        """The value of a name, which is bound from now on. Raises `AttributeError` for others."""
        if name in self.homes:
            home, inner = self.homes[name]
            if home == self.package:
                return import_module(f"{home}.{inner}")  # which binds it
            module = import_module(home)  # not under the lock: modules have locks of their own
            self._bind(home, vars(module))
            return self.namespace[name]
        if name == "__all__":
            return self.public()
        inside = f"{self.package}.{name}"
        if not name.startswith("_") and find_spec(inside) is not None:
            return import_module(inside)
        from effax.numpy.removed import missing

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
