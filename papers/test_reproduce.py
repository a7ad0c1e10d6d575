"""The figures are drawn, as SVG that can be read, with a curve for each name."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import reproduce

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("figure", reproduce.FIGURES, ids=lambda f: f.__name__)
def test_a_figure_is_a_picture(figure):
    root = ElementTree.fromstring(figure(reproduce.script(figure.__name__), False))
    curves = root.findall(f"{SVG}polyline")
    assert len(curves) >= 3
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for curve in curves:
        points = [tuple(map(float, p.split(","))) for p in curve.attrib["points"].split()]
        assert len(points) >= 3
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)


@pytest.mark.parametrize(
    "run", sorted(reproduce.HERE.glob("*/run.py")), ids=lambda p: p.parent.name
)
def test_every_script_says_what_it_could_not_reproduce(run):
    said = re.search(r"NOTE  .*not reproduced(: .{15}|;)", run.read_text(encoding="utf-8"))
    assert said is not None
