"""Every page of docs/ runs as it is written, is reached from the index, and leads somewhere."""

import doctest
import re

import pytest

from tests.architecture.sources import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("errors/*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_names_every_page():
    for folder, name in ((DOCS, "index.md"), (DOCS / "errors", "../errors.md")):
        index = (folder / name).read_text(encoding="utf-8")
        pages = {page.name for page in PAGES if page.parent == folder} - {name}
        assert [page for page in sorted(pages) if page not in index] == []
