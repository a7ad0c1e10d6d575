"""Write the Learn pages as notebooks: `python docs/make_notebooks.py FOLDER`.

A page's prose becomes cells of Markdown. Its examples become cells of code, each up to the next
result, which stands below as the cell's output. A cell that is to raise has the tag
`raises-exception`, by which Jupyter goes on to the cells after it.
"""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.M | re.S)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")
OPTION = re.compile(r" *# doctest:.*")
PRINTERS = ("print", "effects_barrier")

Cell = dict[str, Any]


def pages() -> list[Path]:
    """The pages that the index lists under "Learn", where they have examples."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    learn = index.partition("\n## Learn\n")[2].partition("\n## ")[0]
    found = [DOCS / name for name in re.findall(r"^- \[[^]]*\]\(([^)]+)\)", learn, re.M)]
    return [page for page in found if ">>>" in page.read_text(encoding="utf-8")]


def notebook(page: Path) -> dict[str, Any]:
    """Return the notebook of a page, in version 4.5 of Jupyter's format."""
    cells: list[Cell] = []
    prose = True
    for piece in BLOCK.split(page.read_text(encoding="utf-8")):
        if prose and piece.strip():
            cells.append({"cell_type": "markdown", "source": LINK.sub(_elsewhere, piece.strip())})
        elif not prose:
            cells += _of_block(piece)
        prose = not prose
    for i, cell in enumerate(cells):
        cell.update(id=f"cell-{i}", metadata=cell.get("metadata", {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _elsewhere(link: re.Match[str]) -> str:
    """The start of a link, as it leads from the site's folder of notebooks."""
    path = Path(os.path.normpath(DOCS / link[1]))
    if path in pages():
        return f"]({path.stem}.ipynb"
    name = path.relative_to(DOCS.parent)
    return f"](../{name.with_suffix('.html') if name.suffix == '.md' else f'source/{name}.html'}"


def _of_block(block: str) -> Iterator[Cell]:
    """The cells of a block of examples, or of code without prompts."""
    examples = doctest.DocTestParser().get_examples(block)
    if not examples:
        yield _code(block.rstrip("\n"), "")
    lines: list[str] = []
    for i, example in enumerate(examples):
        lines.append(OPTION.sub("", example.source).rstrip("\n"))
        if example.want or i == len(examples) - 1:
            yield _code("\n".join(lines), example.want.rstrip("\n"))
            lines = []


def _code(source: str, want: str) -> Cell:
    cell: Cell = {"cell_type": "code", "execution_count": None, "source": source, "outputs": []}
    if want.startswith("Traceback"):
        name, _, value = want.splitlines()[-1].partition(": ")
        error = {"ename": name, "evalue": value, "traceback": want.splitlines()}
        cell["outputs"] = [{"output_type": "error", **error}]
        cell["metadata"] = {"tags": ["raises-exception"]}
    elif want and _has_value(source):
        result = {"output_type": "execute_result", "execution_count": None, "metadata": {}}
        cell["outputs"] = [{**result, "data": {"text/plain": want}}]
    elif want:
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": want + "\n"}]
    return cell


def _has_value(source: str) -> bool:
    """True if the cell shows the value of its last line, and not what it prints."""
    last = ast.parse(source).body[-1]
    if not isinstance(last, ast.Expr):
        return False
    called = ast.unparse(last.value.func) if isinstance(last.value, ast.Call) else ""
    return called.rpartition(".")[2] not in PRINTERS


def write(folder: Path) -> None:
    """Write the notebooks of all pages to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        text = json.dumps(notebook(page), indent=1, ensure_ascii=False)
        (folder / f"{page.stem}.ipynb").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
