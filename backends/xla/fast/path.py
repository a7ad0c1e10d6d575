"""Other ways to write an effect in StableHLO, where XLA is slow at the plain one.

A fast path is a function in the object language that computes what the effect computes:

    @fast_path(sorting.sort, "sort_bits", on=("cpu",), when=_one_float)
    def sort_bits(x, *, dimension, is_stable, num_keys): ...

`when` is asked with the operands' names (which know their types) and the attributes, and says for
which it is worth it. Within a path its own effect is written plainly, and so are those of the paths
it is `without`. The setting `fast_paths` says which are taken: "all", "none", or names; `-name`
leaves one out. Values stay the same: to the bit for integers and whatever is only moved or chosen;
for floats with at most one unit in the last place more error than the plain rule has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from effax.backends.xla.lowering.writer import Name, Writer, rules
from effax.effects import config
from effax.effects.columns import load, load_family
from effax.effects.effect import Effect
from effax.effects.rows.control import call, cond, row_type, scan
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.reduction import reduce_or
from effax.effects.types import ShapedArray, int32, typeof
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
    effect: Effect,
    name: str,
    *,
    on: Sequence[str],
    when: Callable[..., bool],
    without: Sequence[str] = (),
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
            closed = {name, *without} - w.paths
            w.paths |= closed
            results = w.body(program, operands)
            w.paths -= closed
            return results if effect.multiple else results[0]

        rules[effect] = lower_by_choice
        return function

    return fill


def loop(
    name: str,
    step: Callable[..., Sequence[Any]],
    rows: Sequence[Any],
    *,
    consts: Sequence[Any] = (),
    carry: Sequence[Any] = (),
    reverse: bool = False,
) -> Sequence[Any]:
    """The last carry, then what the steps give: `step(*consts, *carry, *row)` for each row."""
    types = [*map(typeof, (*consts, *carry)), *(row_type(typeof(x)) for x in rows)]
    found = scan(
        *(*consts, *carry, *rows),
        body=stage(step, types, name).program,
        consts=len(consts),
        carry=len(carry),
        length=typeof(rows[0]).shape[0],
        reverse=reverse,
        unroll=1,
    )
    return cast("Sequence[Any]", found)


def plain_where(doubt: Any, effect: Effect, near: Callable[..., Any], *operands: Any) -> Any:
    """The effect itself if any element is in doubt, else what is near enough for all."""
    any_doubt = reduce_or(doubt, axes=tuple(range(typeof(doubt).ndim)))
    ways = (lambda *xs: [near(*xs)], lambda *xs: [effect(*xs)])
    types = [typeof(x) for x in operands]
    branches = tuple(stage(way, types, effect.name).program for way in ways)
    return cond(convert_element_type(any_doubt, dtype=int32), *operands, branches=branches)[0]
