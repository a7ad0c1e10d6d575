"""Examples of pages, copied from the site, can be pasted at Python's prompt."""

import codeop
import importlib.util
import re

import pytest

from tests.architecture.sources import ROOT

SPEC = importlib.util.spec_from_file_location("prompts", ROOT / "docs" / "prompts.py")
prompts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prompts)
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("errors/*.md")])
PROMPT = re.compile(r"^ *(?:>>> |\.\.\. )(.*)$", re.M)
"""A line that the site's copy button copies, and what it copies of it."""


def paste(lines):
    """Type lines at a prompt that only compiles. Raises `SyntaxError` as the prompt does."""
    waiting = []
    for line in lines:
        waiting.append(line)
        if codeop.compile_command("\n".join(waiting)) is not None:
            waiting = []
    assert not waiting, "a statement is not ended"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_can_be_pasted(page):
    text = prompts.close_blocks(page.read_text(encoding="utf-8"))
    for block in re.findall(r"^ *```python\n(.*?)^ *```", text, re.M | re.S):
        paste(PROMPT.findall(block))


def test_a_block_without_its_last_line_can_not():
    example = "```python\n>>> def f(x):\n...     return x\n>>> f(1)\n1\n```\n"
    with pytest.raises(SyntaxError):
        paste(PROMPT.findall(example))
    paste(PROMPT.findall(prompts.close_blocks(example)))
