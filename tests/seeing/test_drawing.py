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


def drawn(program, **how):
    root = check(effax.visualize(program, **how))
    return [r for r in rectangles(root) if r.kind == "effect"]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("nesting", [(), ("grad",), ("vmap",)], ids=["plain", "grad", "vmap"])
def test_the_programs_of_e3(name, nesting):
    if (name, nesting) == ("while_loop", ("grad",)):
        pytest.skip("no such derivative")
    f = nest(effax, jnp, nesting, PROGRAMS[name].make(effax, jnp))
    program = effax.make_program(f)(X)
    assert len(drawn(program, fold=False)) == count_equations(program)
    check(effax.visualize(program))


def test_a_batch_of_gradients_of_a_long_program():
    def f(x):
        for _ in range(5):
            x = jnp.where(x > 0, jnp.sin(x), x * x) + effax.nn.softmax(x)
        return jnp.sum(x)

    program = effax.make_program(effax.vmap(effax.grad(f)))(OFFSETS)
    assert len(drawn(program, fold=False)) == count_equations(program) > 150
    assert len(drawn(program)) < 80


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
    drawing = effax.visualize(program, path=path)
    assert path.read_text(encoding="utf-8") == drawing.svg == drawing._repr_svg_()
    assert drawing.save(str(path)) == path


def test_what_was_traced_is_drawn_and_what_is_no_program_refused():
    assert len(drawn(effax.jit(jnp.sin).trace(1.0))) == 1
    with pytest.raises(TypeError, match="a program or a function, got int"):
        effax.visualize(1)
    with pytest.raises(TypeError, match="path="):
        effax.visualize(effax.make_program(jnp.sin)(1.0), "sin.svg")
    with pytest.raises(ValueError, match="family, flops, bytes"):
        effax.visualize(jnp.sin, 1.0, color="cost")


def layers(params, x):
    for i, layer in enumerate(params):
        with effax.named_scope(f"layer{i}"):
            x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.sum(x)


PARAMS = [{"w": np.ones((4, 4), "float32"), "b": np.ones(4, "float32")} for _ in range(5)]


def words(drawing):
    return [t.text for t in check(drawing).iter(f"{SVG}text")]


def test_inputs_have_the_names_of_arguments():
    found = words(effax.visualize(layers, PARAMS, np.ones((2, 4), "float32")))
    assert {"params[0]['b']", "params[4]['w']", "x"} <= set(found)


def test_a_closed_over_array_is_an_input_with_a_letter():
    held = jnp.ones(3)
    found = words(effax.visualize(lambda x: jnp.sin(x) + held, jnp.ones(3)))
    assert {"x", "b"} <= set(found)


def test_scopes_that_repeat_are_drawn_once():
    drawing = effax.visualize(effax.grad(layers), PARAMS, np.ones((2, 4), "float32"))
    found = words(drawing)
    assert "jvp(layer0)" in found and "jvp(layer1)" not in found
    assert {"5 times, the first is shown", "4 times, the first is shown"} <= set(found)
    unfolded = effax.visualize(effax.grad(layers), PARAMS, np.ones((2, 4), "float32"), fold=False)
    assert drawing.height < 0.7 * unfolded.height


def test_what_repeats_without_scopes_is_drawn_once():
    def f(x, ws):
        for w in ws:
            x = jnp.where(x @ w > 0, jnp.sin(x), jnp.tanh(x * 2.0) - x)
        return x

    ws = [np.ones((4, 4), "float32")] * 3
    assert words(effax.visualize(f, np.ones((2, 4), "float32"), ws)).count("tanh") == 1


def test_what_is_wired_otherwise_is_drawn_again():
    def f(x):
        for i in range(6):
            a, b = jnp.sin(x), jnp.cos(x)
            x = a - b if i % 2 else b - a
        return x

    titles = words(effax.visualize(f, 1.0))
    assert titles.count("sin") == 2 and "3 times, the first is shown" in titles


def test_a_program_that_was_drawn_is_not_drawn_again():
    inner = effax.jit(lambda x: jnp.sin(x) * jnp.cos(x))
    titles = words(effax.visualize(lambda x: inner(inner(x)), 1.0))
    assert titles.count("sin") == 1 and "program: drawn above" in titles


def test_colours_are_shares_of_the_cost():
    """The product has nearly all operations; the transposition none, and half of the bytes."""

    def f(x, y):
        return (x @ y).T

    x = np.ones((64, 64), "float32")

    def fills(color):
        root = check(effax.visualize(f, x, x, color=color))
        boxes = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "effect"]
        return [int(re.findall(r"(\d+)%\)", r.get("fill"))[0]) for r in boxes]

    assert fills("flops") == [59, 97]
    tips = [t.text for t in check(effax.visualize(f, x, x)).iter(f"{SVG}title")]
    assert any("about 5.24e+05 operations and 4.92e+04 bytes" in tip for tip in tips)


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_the_suffix_decides_the_format(tmp_path, suffix):
    drawing = effax.visualize(jnp.sin, 1.0)
    text = drawing.save(tmp_path / f"sin{suffix}").read_text(encoding="utf-8")
    assert text.endswith(drawing.svg) and text.startswith("<!doctype") == (suffix == ".html")


def test_a_png_is_one(tmp_path):
    drawing = effax.visualize(jnp.sin, 1.0)
    try:
        import resvg_py  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        with pytest.raises(ImportError, match="pip install resvg_py"):
            drawing.save(tmp_path / "sin.png")
    else:
        assert drawing.save(tmp_path / "sin.png").read_bytes()[1:4] == b"PNG"
    for name in ("sin.pdf", "sin"):
        with pytest.raises(ValueError, match=r"as \.svg, \.html or \.png"):
            drawing.save(tmp_path / name)
