"""The matrix: what each interpreter does with each effect, read off the live tables.

    python -m effax.matrix                            the library's own columns
    python -m effax.matrix mine.py:Interval           a user's interpreter as one more column
    python -m effax.matrix --family indexing          some rows

A cell says how the interpreter knows the effect:

    rule       it has a rule of its own
    functor    the effect holds programs, and the functor carries any interpreter through it
    expanded   the effect is written out in others that have rules
    generic    one rule serves every effect
    home       on a reference: the handler where it was made answers, whichever that is
    —          transposition is not asked for: the effect is not linear
    refused    there can't be one; the reason is printed below the table
    (empty)    a hole: nobody wrote it, and nobody said why
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from effax.api.surface import start as start  # fills the tables
from effax.backends.reference import table as reference
from effax.backends.xla.lowering import writer as lowering
from effax.effects.columns import load, ready
from effax.effects.effect import Effect, all_effects
from effax.effects.rows import state
from effax.interpreters.batch.batched import Batch
from effax.interpreters.checkify.checking import Checkify
from effax.interpreters.functor.lifting import functor
from effax.interpreters.functor.meanings import meanings
from effax.interpreters.functor.written_out import expansions
from effax.interpreters.interpreter import Interpreter
from effax.interpreters.jvp.dual import JVP, transposable
from effax.interpreters.residual import planners
from effax.interpreters.residual.record import opened
from effax.interpreters.transpose.linear import rules as transposes

__all__ = [
    "EMPTY",
    "EXPANDED",
    "FUNCTOR",
    "GENERIC",
    "HOME",
    "NOT_LINEAR",
    "RULE",
    "Cell",
    "cell",
    "column_of",
    "find_interpreter",
    "holes",
    "library_families",
    "main",
    "rows",
    "summary",
    "table",
]
__dir__ = __all__.copy

ready()
for _column in (
    "effax.backends.reference",
    "effax.backends.xla.lowering",
    "effax.interpreters.checkify",
):
    load(_column)


@attrs.frozen
class Cell:
    """An interpreter's treatment of an effect; the reason where it is refused."""

    kind: str
    reason: str = ""


RULE: Final = Cell("rule")
FUNCTOR: Final = Cell("functor")
EXPANDED: Final = Cell("expanded")
GENERIC: Final = Cell("generic")
HOME: Final = Cell("home")
EMPTY: Final = Cell("")
NOT_LINEAR: Final = Cell("—", "not linear")

_HOST: Final = "a function of the host has no known derivative; custom_jvp gives it one"
_AXIS: Final = "only programs over a bound axis perform it, and there the places are one batch"

_FOREIGN: Final = "only the compiler knows the meaning of foreign code"

_REFERENCE: Final = "references are discharged first: compiled programs compute on their contents"

REFUSED: Final[dict[tuple[str, str], str]] = {
    **{
        (column, name): _HOST
        for column in ("jvp", "transpose")
        for name in ("pure_callback", "io_callback", "sequenced_callback")
    },
    **{
        (column, name): _FOREIGN
        for column in ("jvp", "transpose", "reference")
        for name in ("exported_call", "foreign_call", "acting_foreign_call")
    },
    ("batch", "sequenced_callback"): "lanes have no order; it appears in lowering only",
    **{
        ("reference", name): _AXIS
        for name in (
            "psum",
            "pmax",
            "pmin",
            "all_gather",
            "reduce_scatter",
            "all_to_all",
            "ragged_all_to_all",
            "ppermute",
            "axis_index",
        )
    },
    ("lowering", "check"): "checkify answers it first",
    ("jvp", "ref_set"): "the tangent would outlive the derivative; references made inside hold it",
    ("batch", "ref_set"): "all lanes would write one place; references made inside hold the batch",
    **{
        (column, effect.name): _REFERENCE
        for column in ("lowering", "reference")
        for effect in (state.new_ref, state.ref_get, state.ref_set)
    },
}
"""Cells where the effect is refused, by column and effect, and why; a rule there raises."""


def _derived(effect: Effect) -> Cell:
    if effect.references:
        return HOME
    lifting = functor.get(effect)
    if lifting is None:
        return EMPTY
    return EXPANDED if effect in expansions else FUNCTOR


def _lifting(rules: Any) -> Callable[[Effect], Cell]:
    return lambda effect: RULE if effect in rules else _derived(effect)


def _transpose(effect: Effect) -> Cell:
    if effect in transposes:
        return RULE
    if effect in meanings:
        return EXPANDED
    return EMPTY if effect in transposable else NOT_LINEAR


def _checkify(effect: Effect) -> Cell:
    if effect.references:
        return HOME
    if effect in Checkify.rules or effect in Checkify.overrides:
        return RULE
    return _derived(effect) if effect.higher_order else GENERIC


def _residual(effect: Effect) -> Cell:
    if effect.references:
        return HOME
    if effect in planners:
        return RULE
    if effect in opened or effect in meanings:
        return EXPANDED  # its program, or its definition's program, is split
    if effect not in JVP.rules and _derived(effect) == EXPANDED:
        return EXPANDED  # forward mode, which comes first, has expanded it
    # An effect that holds programs and has its own derivative is recorded or known as a whole.
    return EMPTY if effect.higher_order and effect not in JVP.rules else GENERIC


def _backend(rules: Any) -> Callable[[Effect], Cell]:
    def cell(effect: Effect) -> Cell:
        return RULE if effect in rules else EMPTY

    return cell


COLUMNS: Final[dict[str, Callable[[Effect], Cell]]] = {
    "jvp": _lifting(JVP.rules),
    "residual": _residual,
    "transpose": _transpose,
    "batch": _lifting(Batch.rules),
    "checkify": _checkify,
    "lowering": _backend(lowering.rules),
    "reference": _backend(reference.rules),
}


def column_of(interpreter: type[Interpreter]) -> Callable[[Effect], Cell]:
    """Return the column of a user's interpreter."""
    handler = interpreter._handler

    def cell(effect: Effect) -> Cell:
        if effect in handler.rules:
            return RULE
        if handler.catch_all is not None and effect.first_order:
            return GENERIC
        return _derived(effect)

    return cell


def cell(column: str, effect: Effect) -> Cell:
    """Return one cell of the library's matrix.

    Args:
      column: the name of a column.
      effect: the row.
    """
    reason = REFUSED.get((column, effect.name))
    return COLUMNS[column](effect) if reason is None else Cell("refused", reason)


def rows(families: Iterable[str] = ()) -> dict[str, list[Effect]]:
    """Return the effects defined so far, by family.

    Args:
      families: the families to list; by default all.
    """
    wanted = set(families)
    found: dict[str, list[Effect]] = {}
    for effect in all_effects():
        if not wanted or effect.family in wanted:
            found.setdefault(effect.family, []).append(effect)
    return dict(sorted(found.items()))


def holes() -> list[tuple[str, str]]:
    """Return the empty cells of the library's columns: (column, effect)."""
    families = library_families()
    return [
        (column, effect.name)
        for effect in all_effects()
        if effect.family in families
        for column in COLUMNS
        if not cell(column, effect).kind
    ]


def library_families() -> frozenset[str]:
    """Return the families that have a row file in the library."""
    import effax.effects.rows

    return frozenset(path.stem for path in Path(effax.effects.rows.__path__[0]).glob("*.py"))


def table(*interpreters: type[Interpreter], families: Iterable[str] = ()) -> str:
    """Return the matrix as text, with a column for each of the interpreters given.

    Args:
      *interpreters: interpreters to add as columns.
      families: the families to show; by default all.

    >>> print(table(families=["complex"]).splitlines()[2])
      real     rule      generic   rule      rule      rule      rule      rule
    """
    own = {name: (lambda e, name=name: cell(name, e)) for name in COLUMNS}
    columns = own | {i.__name__.lower(): column_of(i) for i in interpreters}
    found = rows(families)
    names = [effect.name for effects in found.values() for effect in effects]
    width = max(map(len, names), default=0)
    lines = [" " * (width + 4) + "".join(f"{name:<10}" for name in columns).rstrip()]
    reasons: dict[str, list[str]] = {}
    for family, effects in found.items():
        lines.append(family)
        for effect in effects:
            cells = [of(effect) for of in columns.values()]
            line = "".join(f"{c.kind:<10}" for c in cells).rstrip()
            lines.append(f"  {effect.name:<{width}}  {line}".rstrip())
            for name, c in zip(columns, cells, strict=True):
                if c.kind == "refused":
                    reasons.setdefault(f"{name}: {c.reason}", []).append(effect.name)
    if reasons:
        lines += ["", "refused"]
        lines += [f"  {reason} ({', '.join(names)})" for reason, names in reasons.items()]
    return "\n".join(lines)


def summary(*interpreters: type[Interpreter]) -> str:
    """Count the effects, and how each column treats them, a line each.

    Args:
      *interpreters: interpreters to add as columns.

    >>> print(summary().splitlines()[-1].split()[0])
    reference
    """
    families = library_families()
    own = {name: (lambda e, name=name: cell(name, e)) for name in COLUMNS}
    columns = own | {i.__name__.lower(): column_of(i) for i in interpreters}
    effects = [effect for effect in all_effects() if effect.family in families]
    lines = [f"{len(effects)} effects in {len({e.family for e in effects})} families"]
    for column, of in columns.items():
        counts: dict[str, int] = {}
        for effect in effects:
            kind = of(effect).kind or "empty"
            counts[kind] = counts.get(kind, 0) + 1
        listed = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items(), key=lambda x: -x[1]))
        lines.append(f"  {column:<10} {listed}")
    return "\n".join(lines)


def find_interpreter(name: str) -> type[Interpreter]:
    """Return the interpreter that `module:Class` or `file.py:Class` names.

    Raises `ValueError` where there is none.

    Args:
      name: the module or file, a colon and the class.
    """
    where, _, attribute = name.rpartition(":")
    if where.endswith(".py"):
        # Not under the file's own name, by which other modules may import it and use its classes.
        spec = importlib.util.spec_from_file_location(f"{Path(where).stem} of the matrix", where)
        if spec is None or spec.loader is None or not Path(where).exists():
            raise ValueError(f"there is no file {where}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    elif where:
        module = importlib.import_module(where)
    else:
        raise ValueError(f"expected an interpreter as module:Class or file.py:Class, got {name!r}")
    found = getattr(module, attribute, None)
    if not (isinstance(found, type) and issubclass(found, Interpreter)):
        raise ValueError(f"{where} has no interpreter named {attribute!r}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the matrix; the exit status is 1 if the library's part has an empty cell.

    Args:
      arguments: the command line's arguments; by default those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m effax.matrix", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("interpreters", nargs="*", help="module:Class or file.py:Class")
    parser.add_argument("--family", action="append", default=[], help="only rows of this family")
    chosen = parser.parse_args(arguments)
    try:
        interpreters = [find_interpreter(name) for name in chosen.interpreters]
    except (ImportError, ValueError) as error:
        parser.error(str(error))
    unknown = sorted(set(chosen.family) - set(rows()))
    if unknown:
        parser.error(f"no family is named {', '.join(unknown)}; there are {', '.join(rows())}")
    print(table(*interpreters, families=chosen.family))
    print()
    print(summary(*interpreters))
    missing = holes()
    for column, effect in missing:
        print(f"empty: {column} of {effect}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
