"""Each program of examples/gallery, at a small size, shows what its picture claims."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"
PROGRAMS = sorted(path.stem for path in GALLERY.glob("[!_]*.py"))


def load(name):
    if str(GALLERY) not in sys.path:
        sys.path.insert(0, str(GALLERY))
    return importlib.import_module(name)


def test_digits():
    losses, _ = load("digits").run(epochs=2)
    assert losses[1, 1] < losses[0, 1] < np.log(10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_has_a_test_and_a_place(name):
    assert f"test_{name}" in globals()
    alone = re.compile(rf"^\[[^]]*\]\(\.\./examples/gallery/{name}\.py\)$", re.MULTILINE)
    pages = (GALLERY.parents[1] / "docs").glob("*.md")
    assert any(alone.search(page.read_text(encoding="utf-8")) for page in pages)
