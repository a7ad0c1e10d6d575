"""Other ways to write an effect in StableHLO, where XLA is slow at the plain one.

A fast path is a function in the object language that computes what the effect computes:

    @fast_path(sorting.sort, "sort_bits", on=("cpu",), when=_one_float)
    def sort_bits(x, *, dimension, is_stable, num_keys): ...

`when` is asked with the operands' names (which know their types) and the attributes, and says for
which it is worth it. Within a path its own effect is written plainly. The setting `fast_paths`
says which are taken: "all", "none", or names; `-name` leaves one out. Values stay the same: to the
bit for integers and whatever is only moved or chosen; for floats with at most one unit in the last
place more error than the plain rule has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from effax.backends.xla.lowering.writer import Name, Writer, rules
from effax.effects import config
from effax.effects.columns import load, load_family
from effax.effects.effect import Effect
from effax.effects.rows.control import call, remat
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.stage import stage

PATHS: Final[dict[str, Effect]] = {"pieces": call}
"""The paths by name, with their effects; `pieces` is one of whole programs (`xla/pieces`)."""


def taken(name: str) -> bool:
    """Whether the settings in force take this path."""
    asked = str(config.trace_key().fast_paths)
    if asked in ("all", "none"):
        return asked == "all"
    load("effax.backends.xla.fast")  # afterwards PATHS has all names
    words = {word.strip() for word in asked.split(",")}
    unknown = {word.removeprefix("-") for word in words} - PATHS.keys()
    if unknown:
        raise ValueError(
            f"fast_paths={asked!r}: no fast path is called {', '.join(sorted(unknown))}; the "
            f"names are {', '.join(sorted(PATHS))}, all and none"
        )
    if any(word.startswith("-") for word in words):
        return f"-{name}" not in words
    return name in words


def fast_path(
    effect: Effect, name: str, *, on: Sequence[str], when: Callable[..., bool]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put another way to write an effect before the rules it has, on these platforms."""

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        load_family("effax.backends.xla.lowering", effect.family)
        plain = rules[effect]
        PATHS[name] = effect

        def lower_by_choice(
            w: Writer, types: Sequence[ShapedArray], *operands: Name, **attributes: Any
        ) -> Any:
            allowed = w.platform in on and name not in w.paths and not w.plainly
            if not allowed or not when(*operands, **attributes) or not taken(name):
                return plain(w, types, *operands, **attributes)

            def written(*values: Any) -> Sequence[Any]:
                result = function(*values, **attributes)
                return result if effect.multiple else [result]

            program = stage(written, [x.type.cut_by(None) for x in operands], name).program
            w.paths.add(name)
            results = w.body(program, operands)
            w.paths.remove(name)
            return results if effect.multiple else results[0]

        rules[effect] = lower_by_choice
        return function

    return fill


def computed(*values: Any) -> Sequence[Any]:
    """The values, behind a barrier: XLA computes each once, and fuses none into what reads it."""
    same = stage(lambda *xs: list(xs), [typeof(x) for x in values], "computed").program
    return cast(
        "Sequence[Any]", remat(*values, program=same, policy=None, prevent_cse=True, again=True)
    )
