"""Links from the documents to files of the repository lead somewhere, and the README's examples run."""

import doctest
import re

import pytest

from tests.architecture.sources import ROOT

FOLDERS = (".", "docs", "papers", "benchmarks", "examples")
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for folder in FOLDERS
    for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md")
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_links(document):
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:|#", target)]
    broken = [t for t in targets if not ((ROOT / document).parent / t.partition("#")[0]).exists()]
    assert not broken, f"{document} links to what is not there: {broken}"


def test_readme_examples():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0
