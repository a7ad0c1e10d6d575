"""Jupyter's views of effax's objects."""

import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from types import SimpleNamespace

import pytest

import effax as fx
import effax.numpy as jnp
from effax.seeing.notebook import VIEWS, register
from effax.sharding import NamedSharding, PartitionSpec
from tests.architecture.sources import ROOT


class Balanced(HTMLParser):
    """Each element that begins ends, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


class Shell:
    """As much of IPython's shell as registering takes."""

    def __init__(self):
        self.views = {}
        self.display_formatter = SimpleNamespace(formatters={"text/html": self})

    def for_type_by_name(self, module, name, view):
        self.views[module, name] = view

    def shown(self, x):
        kind = type(x)
        return Balanced(self.views[kind.__module__, kind.__qualname__](x)).text


@pytest.fixture
def shell():
    found = Shell()
    fx.load_ipython_extension(found)
    return found


def f(weight, x):
    return jnp.tanh(x @ weight)


ARGS = jnp.ones((3, 2)), jnp.ones((4, 3))
MESH = fx.make_mesh((1,), ("rows",))


def test_classes_have_the_names_by_which_they_are_known():
    for module, name in VIEWS:
        assert getattr(import_module(module), name).__module__ == module


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: jnp.arange(6.0).reshape(2, 3), ["f32[2,3]", "CpuDevice(id=0)", "24 B", "Array(["]),
        (lambda: fx.make_program(f)(*ARGS), ["dot_general", "tanh", "f32[4,2]"]),
        (lambda: fx.jit(f).trace(*ARGS), ["Traced f(weight: f32[3,2]", "tanh"]),
        (lambda: fx.jit(f).trace(*ARGS).lower(), ["Lowered f(", "stablehlo.tanh"]),
        (lambda: fx.jit(f).trace(*ARGS).lower().compile(), ["Compiled f(", "flops", "HloModule"]),
        (lambda: MESH, ["rows: 1", "CpuDevice(id=0)"]),
        (lambda: NamedSharding(MESH, PartitionSpec("rows")), ["P('rows',)", "rows: 1"]),
        (lambda: fx.tree.structure({"b<": [1, 2], "c": None}), ["'b<'", "list", "NoneType"]),
    ],
)
def test_notebooks_show_an_object(shell, make, words):
    text = shell.shown(make())
    assert [word for word in words if word not in text] == []


def test_a_deleted_array_is_shown(shell):
    x = jnp.ones(3)
    x.delete()
    assert "deleted" in shell.shown(x)


def test_a_long_program_is_shown_as_text(shell):
    def long(x):
        for _ in range(301):
            x = jnp.sin(x)
        return x

    view = shell.views["effax.effects.program", "Program"]
    assert "<svg" not in view(fx.make_program(long)(1.0))
    assert "<svg" in view(fx.make_program(jnp.sin)(1.0))


def test_an_array_on_several_devices_shows_its_pieces():
    code = """
import effax as fx, effax.numpy as jnp
from effax.seeing.notebook import of_array
from effax.sharding import NamedSharding, PartitionSpec as P
mesh = fx.make_mesh((2, 2), ("a", "b"))
x = fx.device_put(jnp.ones((4, 6)), NamedSharding(mesh, P("a", "b")))
text = of_array(x)
assert all(f"CPU {i}<" in text for i in range(4)) and "4 devices" in text, text
assert "<table" not in of_array(fx.device_put(jnp.ones((4, 2, 2)), NamedSharding(mesh, P("a"))))
"""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "EFFAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=flags, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-800:]


def test_a_shell_that_runs_is_told(monkeypatch):
    found = Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: found))
    import_module("effax.seeing.notebook").register_if_shown()
    assert set(found.views) == set(VIEWS)
    register(found)
