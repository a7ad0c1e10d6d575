"""The source on an object: the string that follows the statement that names it."""

from __future__ import annotations

import ast
import inspect
import sys
from itertools import pairwise
from types import ModuleType


def beneath(x: object) -> str | None:
    """The string after `name = ...` in the module that has an object by this name, if any has."""
    for module in list(sys.modules.values()):
        names = {n for n, value in getattr(module, "__dict__", {}).items() if value is x}
        if names and (found := _after(module, names)):
            return found
    return None


def _after(module: ModuleType, names: set[str]) -> str | None:
    try:
        statements = ast.parse(inspect.getsource(module)).body
    except (OSError, TypeError):  # made without a source
        return None
    for statement, following in pairwise(statements):
        match statement, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if name in names:
                return inspect.cleandoc(text)
    return None
