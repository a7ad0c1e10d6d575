"""The library's files and those around it, each once, by its place at the root of the checkout."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ("effects", "interpreters", "backends")


def library_files() -> list[Path]:
    """Every module of the library, as a path relative to the root; links are not entered."""
    roots = [ROOT / name for name in (*KERNEL, "effax")]
    links = {ROOT / "effax" / name for name in KERNEL}
    return sorted(
        path.relative_to(ROOT)
        for root in roots
        for path in root.rglob("*.py")
        if not links.intersection(path.parents)
    )


def all_files() -> list[Path]:
    """Every module of the library, its tests, examples, papers and benchmarks."""
    others = ("tests", "examples", "papers", "benchmarks")
    found = (path for name in others for path in (ROOT / name).rglob("*.py"))
    return sorted([*library_files(), *(path.relative_to(ROOT) for path in found)])


def module_name(path: Path) -> str:
    """`effects/types.py` -> `effax.effects.types`."""
    parts = list(path.with_suffix("").parts)
    if parts[0] != "effax":
        parts.insert(0, "effax")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file of the library."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path, *, at_load: bool = False) -> Iterator[tuple[int, str]]:
    """(line, module) for each absolute import in a file; `at_load`: only those run by importing it."""
    nodes: list[ast.AST] = [tree(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""
        elif at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        elif at_load and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            nodes.extend(node.orelse)
            continue
        nodes.extend(ast.iter_child_nodes(node))


def listing(complaints: list[str]) -> str:
    """Complaints, one per line, as the message of a failed test."""
    return "\n" + "\n".join(complaints)
