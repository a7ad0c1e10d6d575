"""Lengths written as text: `"2*b + floordiv(n, 4)"`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from effax.api.compiling.dimensions import OPERATIONS, Atom, Dimension, Length, length_of

_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def parsed(text: str) -> ast.expr:
    """Return the syntax of a text, where `^` is a power. Raises `SyntaxError`."""
    return ast.parse(text.strip().replace("^", "**"), mode="eval").body


def expression(node: ast.expr, text: str, scope: Any) -> Length:
    """Return the length that a piece of the syntax of `text` says; `ValueError` if it says none."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return length_of({(Atom(name),): 1}, scope)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -expression(inner, text, scope)
        case ast.UnaryOp(op=ast.UAdd(), operand=inner):
            return expression(inner, text, scope)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
            return expression(left, text, scope) ** power
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            sides = expression(left, text, scope), expression(right, text, scope)
            return _BINARY[type(op)](*sides)
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in OPERATIONS:
            sides = expression(left, text, scope), expression(right, text, scope)
            symbolic = next((x for x in sides if isinstance(x, Dimension)), None)
            return (
                OPERATIONS[name](*sides) if symbolic is None else symbolic.operation(name, *sides)
            )
    raise ValueError(
        f"syntax error in symbolic shape {text!r}: {ast.unparse(node)!r} is not a length"
    )
