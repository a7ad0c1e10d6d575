"""Write docs/refused.md: `python -m tests.names.refused_page`.

The page is made of the tables that the tests and the library read, and of the messages in the
library's sources; `test_names` compares it with them.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from effax.as_jax import private
from effax.as_jax.absent import ABSENT
from effax.effects.settings import ABSENT as ABSENT_SETTINGS
from effax.effects.settings import INDIFFERENT
from tests.architecture.sources import ROOT
from tests.names.refused import reason
from tests.names.test_names import MODULES, missing, missing_methods

PAGE = ROOT / "docs/refused.md"
HEAD = """# What effax refuses of JAX

This page is written by `python -m tests.names.refused_page`, from the tables that the tests read. What libraries' own tests
meet of it is on the page [of libraries](libraries.md); which of JAX's own tests fail is on the page [of conformance](conformance.md).

"""


def names() -> str:
    """The public names of JAX that are not there, by module and reason."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    absent = [name for module in MODULES for name in missing(module)] + missing_methods()
    for name in absent:
        module, _, last = name.rpartition(".")
        why = reason(name)
        if why:
            found[module, why].append(last)
    lines = [f"| `{m}` | {_listed(ns)} | {why} |" for (m, why), ns in sorted(found.items())]
    return "\n".join(
        [
            "## Public names",
            "",
            "Whole modules among them can be imported through `effax.as_jax`; their names raise "
            "`NotImplementedError` where they are used.\nOthers raise `AttributeError`.",
            "",
            "| module | names | why |",
            "|---|---|---|",
            *lines,
        ]
    )


def modules() -> str:
    """Modules with names of theirs that are refused as a whole, beyond those recorded of JAX."""
    lines = [
        f"| `jax.{module}` | {_listed(names.split())} | {why} |"
        for module, (why, names) in sorted(ABSENT.items())
        if names and f"jax.{module}" not in MODULES
    ]
    return "\n".join(["", *lines]).lstrip("\n")


def settings() -> str:
    """Settings that can be read, and change nothing."""
    return (
        "## Settings\n\nThese settings of `jax.config` keep their value, since nothing here answers "
        f"them:\n{_listed(sorted(ABSENT_SETTINGS))}.\n\n"
        "These choose how JAX does something, or how fast, never what. They can be set, and change "
        f"nothing here:\n{_listed(sorted(INDIFFERENT))}."
    )


def private_names() -> str:
    """The private names that are there."""
    lines = [
        f"| `jax._src{'.' * bool(module)}{module}` | {_listed(sorted(table)) or 'the module'} |"
        for module, table in sorted(private._NAMES.items())
    ]
    public = [
        f"`{module}` ({', '.join(homes)})" for module, homes in sorted(private.PUBLIC.items())
    ]
    return "\n".join(
        [
            "## Private names",
            "",
            "Names under `jax._src` are there as far as libraries use them; any other raises "
            "`AttributeError` or `ModuleNotFoundError`.",
            "",
            "Public names may be taken from private modules that are called as the public one "
            f"(`jax._src.random.PRNGKey`), and from {', '.join(public)}.",
            "",
            "| module | names that are there |",
            "|---|---|",
            *lines,
        ]
    )


def messages() -> str:
    """Arguments that functions refuse: each `NotImplementedError` in the sources."""
    lines = []
    for path in sorted((ROOT / "effax").rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.parts[1] in ("effects", "interpreters", "backends", "as_jax"):
            continue
        for text in dict.fromkeys(_refusals(path)):
            lines.append(f"| [{relative.with_suffix('')}](../{relative}) | {text} |")
    return "\n".join(
        [
            "## Arguments",
            "",
            "Functions that are there refuse these with `NotImplementedError`; `{}` is what was given.",
            "",
            "| where | message |",
            "|---|---|",
            *lines,
        ]
    )


def _refusals(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call = node.exc
            if isinstance(call.func, ast.Name) and call.func.id == "NotImplementedError":
                text = _text(call.args[0]) if call.args else ""
                if text.strip("{} "):
                    yield text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
    return "{}"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def text() -> str:
    """The page."""
    first = names()
    more = modules()
    parts = [first + ("\n" + more if more else ""), settings(), private_names(), messages()]
    return HEAD + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    print(PAGE, file=sys.stderr)
