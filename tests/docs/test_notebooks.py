"""The notebooks of pages say what the pages say, and give what they show."""

import ast
import contextlib
import doctest
import importlib.util
import io

import pytest

from tests.architecture.sources import ROOT

SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "make_notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = notebooks.pages()


def run(source, names):
    """The kind of a cell's output, and its text."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, "cell", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    except Exception as error:
        return "error", type(error).__name__
    if printed.getvalue():
        return "stream", printed.getvalue()
    return ("execute_result", repr(value)) if value is not None else (None, "")


def recorded(cell):
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            return "error", output["ename"].rpartition(".")[2]
        return output["output_type"], output.get("text") or output["data"]["text/plain"]
    return None, ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_what_its_page_has(page):
    cells = notebooks.notebook(page)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert not any(">>>" in source for source in code)
    examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    strip = lambda text: [x.strip() for x in text.splitlines() if x.strip()]  # noqa: E731
    plain = [notebooks.OPTION.sub("", e.source) for e in examples]
    assert strip("\n".join(code)) == strip("\n".join(plain))


@pytest.mark.parametrize("name", ["tour", "debugging", "sharp_bits"])
def test_the_cells_of_a_notebook_give_what_they_show(name):
    names = {"__name__": "__main__"}
    for cell in notebooks.notebook(ROOT / "docs" / f"{name}.md")["cells"]:
        if cell["cell_type"] == "code":
            kind, found = run(cell["source"], names)
            wanted_kind, wanted = recorded(cell)
            assert kind == wanted_kind, cell["source"]
            same = doctest.OutputChecker().check_output(f"{wanted}\n", f"{found}\n", FLAGS)
            assert same, (cell["source"], found)
