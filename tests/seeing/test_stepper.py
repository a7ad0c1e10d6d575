"""The page of a program going through handlers: it parses, is complete, and asks no network."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from tests.programs.e3 import PROGRAMS, X
from tests.seeing.bounds import Interval, bounds, newton

VOID = {"meta", "input", "link", "br", "hr", "img"}


class Page(HTMLParser):
    """Collects elements, their ids, and the texts of scripts; complains of tags left open."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.scripts, self.attributes, self.titles = [], set(), [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.attributes += attrs
        if "id" in found:
            assert found["id"] not in self.ids
            self.ids.add(found["id"])
        if tag not in VOID:
            self.open.append((tag, found))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            self.scripts.append((self.open[-1][1].get("type"), data))
        if self.open and self.open[-1][0] == "title":
            self.titles.append(data)

    @property
    def data(self):
        [text] = [text for kind, text in self.scripts if kind == "application/json"]
        return json.loads(text)


def f(x):
    with effax.named_scope("a"):
        y = jnp.sin(x)
    return y * x


def lines(data):
    return [text for text, _ in data["programs"][0]["lines"]]


def effects_at(data, text):
    """The effects of the steps at the equation whose line begins so."""
    [number] = [n for line, n in data["programs"][0]["lines"] if line.strip().startswith(text)]
    return [s["effect"] for s in data["steps"] if s["place"] == [0, number]]


def test_the_page_is_whole():
    page = Page(effax.stepper(f, np.float32(2), through=[effax.grad]).html)
    [script] = [text for kind, text in page.scripts if kind is None]
    used = set(re.findall(r'(?:getElementById|empty)\("(\w+)"\)', script))
    assert used <= page.ids
    assert {"data", "program", "stack", "events", "values", "next", "back"} <= used
    for key in ("ArrowRight", "ArrowLeft", "Home", "End"):
        assert key in script
    assert page.titles == ["grad(f)"]


def test_the_page_asks_no_network():
    html = effax.stepper(f, np.float32(2), through=[effax.grad]).html
    page = Page(html)
    assert not {name for name, _ in page.attributes} & {"src", "href", "action"}
    assert not re.search(r"https?:|//\w|@import|url\(|fetch\(|XMLHttp", html.replace("file:", ""))


def test_the_steps_of_a_gradient():
    page = effax.stepper(f, np.float32(2), through=[effax.grad])
    data = Page(page.html).data
    assert page.steps == len(data["steps"]) == 13
    assert lines(data)[1:3] == ["  b:f32[] = sin a", "  c:f32[] = mul b a"]
    # Forwards, then the transposes of what was recorded, at the equation it came from.
    assert effects_at(data, "b:f32[]") == ["sin", "sin", "cos", "mul", "mul", "add"]
    first = data["steps"][0]
    assert first["stack"] == ["JVP", "Record", "XLA"]
    assert (first["handler"], first["how"], first["taken"]) == ("JVP", "by its rule", 0)
    assert first["binds"] == [["b", "Dual(0.909297, <f32[]>)"]]
    recorded = data["steps"][3]
    assert (recorded["handler"], recorded["stack"][recorded["taken"]]) == ("Record", "Record")
    assert data["result"] == "0.0770037"
    assert data["programs"][0]["inputs"] == [["a", "Dual(2, <f32[]>)"]]


@pytest.mark.parametrize("through", [[], [effax.jit], [effax.jit, effax.grad, effax.grad]])
def test_every_step_says_who_took_the_effect(through):
    data = Page(effax.stepper(f, np.float32(2), through=through).html).data
    assert data["steps"]
    for step in data["steps"]:
        assert step["stack"][step["taken"]] == step["handler"]
        assert step["how"]
        assert step["line"]


def test_lines_inside_loops_are_followed():
    def g(x):
        return jnp.sum(lax.scan(lambda c, a: (jnp.sin(c) * a, c), 1.0, x)[1])

    x = np.ones((2, 3), np.float32)
    data = Page(effax.stepper(g, x, through=[effax.vmap, effax.grad]).html).data
    assert set(effects_at(data, "f:f32[] = sin")) >= {"sin", "cos", "mul"}
    assert {"JVP", "Record", "Batch", "Stage", "XLA"} == {s["handler"] for s in data["steps"]}


def test_a_user_s_interpreter():
    data = Page(effax.stepper(newton, Interval(0.5, 1.0), through=[bounds]).html).data
    assert data["title"] == "transform(newton)"
    [scan] = [s for s in data["steps"] if s["handler"] == "Interval" and s["effect"] == "scan"]
    assert scan["how"] == "by the functor"
    assert scan["operands"] == ["Interval(lo=0.5, hi=1)"] * 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_of_e3(name):
    f = PROGRAMS[name].make(effax, jnp)
    page = effax.stepper(lambda x: f(jnp.asarray(x)), X, through=[effax.jacfwd])
    data = Page(page.html).data
    assert {"JVP", "Batch"} <= {s["handler"] for s in data["steps"]}
    numbers = {n for _, n in data["programs"][0]["lines"]}
    assert all(s["place"] is None or s["place"][1] in numbers for s in data["steps"])


def test_a_limit():
    page = effax.stepper(f, np.float32(2), through=[effax.grad], limit=4)
    assert page.steps == 4
    assert Page(page.html).data["left_out"] == 9


def test_any_text_is_embedded_safely(tmp_path):
    def g(x):
        effax.debug.print("</script><!-- {} é", x)
        return x

    g.__name__ = "<b>&"
    page = effax.stepper(g, np.float32(2), path=tmp_path / "page.html")
    effax.effects_barrier()
    read = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "</script><!-- {} é" in read.data["steps"][-1]["attributes"]
    assert read.titles == ["<b>&"]
    assert page._repr_html_().startswith("<iframe srcdoc=")
    assert page.save(str(tmp_path / "other.html")).exists()


def test_failures_pass():
    with pytest.raises(TypeError):
        effax.stepper(lambda x: jnp.sin(x, x), 1.0)
    with pytest.raises(TypeError, match="scalar"):
        effax.stepper(jnp.sin, np.ones(3, np.float32), through=[effax.grad])
