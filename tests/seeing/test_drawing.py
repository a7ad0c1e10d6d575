"""Pictures of programs: nothing overlaps, nothing is outside, and everything is there."""

import re
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects.program import count_equations
from tests.programs.e3 import OFFSETS, PROGRAMS, X, nest

SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"name": 7.3, "small": 6.1, "type": 6.1}
HEIGHTS = {"name": 10, "small": 8, "type": 8}


class Rectangle(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float

    def inside(self, other, slack=0.11):
        return (
            self.x >= other.x - slack
            and self.y >= other.y - slack
            and self.x + self.width <= other.x + other.width + slack
            and self.y + self.height <= other.y + other.height + slack
        )

    def apart(self, other, slack=0.11):
        return (
            self.x + self.width <= other.x + slack
            or other.x + other.width <= self.x + slack
            or self.y + self.height <= other.y + slack
            or other.y + other.height <= self.y + slack
        )


def rectangles(root):
    for r in root.iter(f"{SVG}rect"):
        sizes = (float(r.get(k, 0)) for k in ("x", "y", "width", "height"))
        yield Rectangle(r.get("class"), *sizes)


def texts(root):
    for t in root.iter(f"{SVG}text"):
        kind = t.get("class")
        width, x = len(t.text) * SIZES[kind], float(t.get("x"))
        x -= width / 2 if t.get("text-anchor") == "middle" else 0
        yield Rectangle(t.text, x, float(t.get("y")) - HEIGHTS[kind], width, HEIGHTS[kind])


def points(root):
    """Places along the edges."""
    for path in root.iter(f"{SVG}path"):
        n = [float(x) for x in re.findall(r"-?[\d.]+", path.get("d"))]
        ends, curve = [(n[0], n[1]), (n[2], n[3]), (n[8], n[9]), (n[10], n[11])], n[2:10]
        for (x0, y0), (x1, y1) in (ends[:2], ends[2:]):
            yield from ((x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for t in np.linspace(0, 1, 5))
        p = np.array(curve).reshape(4, 2)
        for t in np.linspace(0, 1, 9):
            s = 1 - t
            yield tuple(s**3 * p[0] + 3 * s * s * t * p[1] + 3 * s * t * t * p[2] + t**3 * p[3])


def check(drawing):
    root = ElementTree.fromstring(drawing.svg)
    page, *boxes = rectangles(root)
    assert page.kind == "page"
    assert root.get("viewBox") == f"0 0 {page.width:.0f} {page.height:.0f}"
    for i, a in enumerate(boxes):
        assert a.inside(page)
        for b in boxes[i + 1 :]:
            assert a.apart(b) or a.inside(b) or b.inside(a), (a, b)
    words = list(texts(root))
    leaves = [a for a in boxes if not any(b is not a and b.inside(a) for b in boxes)]
    for i, word in enumerate(words):
        assert word.inside(page), word
        for box in leaves:
            assert word.apart(box) or word.inside(box), (word, box)
        for other in words[i + 1 :]:
            assert word.apart(other), (word, other)
    where = np.array(list(points(root))).reshape(-1, 2)
    for box in leaves:
        within = (where > [box.x + 0.2, box.y + 0.2]) & (
            where < [box.x + box.width - 0.2, box.y + box.height - 0.2]
        )
        assert not within.all(axis=1).any(), box
    return root


def drawn(program):
    root = check(effax.visualize(program))
    return [r for r in rectangles(root) if r.kind == "effect"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("nesting", [(), ("grad",), ("vmap",)], ids=["plain", "grad", "vmap"])
def test_the_programs_of_e3(name, nesting):
    if (name, nesting) == ("while_loop", ("grad",)):
        pytest.skip("no such derivative")
    f = nest(effax, jnp, nesting, PROGRAMS[name].make(effax, jnp))
    program = effax.make_program(f)(X)
    assert len(drawn(program)) == count_equations(program)


def test_a_batch_of_gradients_of_a_long_program():
    def f(x):
        for _ in range(5):
            x = jnp.where(x > 0, jnp.sin(x), x * x) + effax.nn.softmax(x)
        return jnp.sum(x)

    program = effax.make_program(effax.vmap(effax.grad(f)))(OFFSETS)
    assert len(drawn(program)) == count_equations(program) > 150


def test_several_results_and_literals():
    program = effax.make_program(lambda x, y: (x, 2.0, jnp.add(y, 1), y))(1.0, 2)
    root = check(effax.visualize(program))
    words = {t.text for t in root.iter(f"{SVG}text")}
    assert {"a", "b", "result 0", "result 1 = 2.0", "add(·, 1)", "i32[]", "f32[]"} <= words


def test_a_program_of_nothing():
    assert drawn(effax.make_program(lambda: ())()) == []


def test_tips_name_the_user_s_line():
    program = effax.make_program(lambda x: jnp.sum(x, axis=0))(X)
    root = ElementTree.fromstring(effax.visualize(program).svg)
    [tip] = [t.text for t in root.iter(f"{SVG}title") if t.text.startswith("reduce_sum")]
    line = test_tips_name_the_user_s_line.__code__.co_firstlineno + 1
    assert "axes=(0,)" in tip
    assert f"test_drawing.py:{line} (" in tip


def test_families_have_colours_of_their_own():
    program = effax.make_program(lambda x: jnp.sum(jnp.sin(x) * 2))(X)
    root = ElementTree.fromstring(effax.visualize(program).svg)
    fills = {r.get("fill") for r in root.iter(f"{SVG}rect") if r.get("class") == "effect"}
    assert len(fills) == 3
    legend = {r.get("fill") for r in root.iter(f"{SVG}rect") if r.get("class") == "legend"}
    assert legend == fills


def test_names_of_the_user_are_escaped():
    def odd(x):
        return x + 1

    odd.__name__ = "<&>"
    program = effax.make_program(effax.jit(odd))(1.0)
    check(effax.visualize(program))


def test_it_is_saved_and_shown(tmp_path):
    program = effax.make_program(jnp.sin)(1.0)
    path = tmp_path / "sin.svg"
    drawing = effax.visualize(program, path)
    assert path.read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()
    assert drawing.save(str(path)) == path


def test_what_was_traced_is_drawn_and_what_is_no_program_refused():
    assert len(drawn(effax.jit(jnp.sin).trace(1.0))) == 1
    with pytest.raises(TypeError, match="make_program"):
        effax.visualize(jnp.sin)
