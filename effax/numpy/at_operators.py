"""Errors for operators on `x.at` and `x.at[idx]`, which say how to update an array instead."""

from __future__ import annotations

from typing import Final

METHODS: Final = {
    "add": ("+", "add"),
    "sub": ("-", "subtract"),
    "mul": ("*", "multiply"),
    "truediv": ("/", "divide"),
    "pow": ("**", "power"),
}
"""By the name of an operator: its sign, and the method of `x.at[idx]` that applies it."""


def refusal(name: str) -> TypeError:
    """Return the error for a special method by its name without underscores, such as `iadd`."""
    if name == "setitem":
        return _no_change("x.at[idx] = y", "x.at[idx].set(y)")
    if name == "delitem":
        return _no_change("del x.at[idx]", "jnp.delete(x, idx)")
    augmented, reflected = name[0] == "i", name[0] == "r"
    sign, method = METHODS[name[1:] if augmented or reflected else name]
    if augmented:
        return _no_change(f"x.at[idx] {sign}= y", f"x.at[idx].{method}(y)")
    text = f"y {sign} x.at[idx]" if reflected else f"x.at[idx] {sign} y"
    return TypeError(
        f"{text}: x.at[idx] is a place to update, not an array; read it by x[idx], or update it by "
        f"x = x.at[idx].{method}(y)"
    )


def _no_change(text: str, instead: str) -> TypeError:
    return TypeError(
        f"{text} does not change x, as arrays are immutable; write x = {instead}, which returns a "
        "new array"
    )
