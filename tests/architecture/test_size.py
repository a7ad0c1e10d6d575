"""Aim at 400 lines a file, 30 to 150 for a cell; 500 is the budget. `make sizes` lists the longest."""

from tests.architecture.sources import ROOT, library_files, listing

LIMIT = 600  # the budget, and room to finish a thought before splitting


def test_no_file_outgrows_its_subject():
    lengths = {
        path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in library_files()
    }
    complaints = [
        f"{path}: {n} lines (limit {LIMIT}): a family to split"
        for path, n in lengths.items()
        if n > LIMIT
    ]
    assert not complaints, listing(complaints)
