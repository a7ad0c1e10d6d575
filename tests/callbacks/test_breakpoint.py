"""`debug.breakpoint`: a session of commands at a program's breakpoint, with its variables."""

import bdb
import io

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.errors import JaxRuntimeError

SCALE = 3.0


def session(transform, commands, *args, **options):
    """Run a function under a transform; return its result and the session's output."""
    stdin, stdout = io.StringIO(commands), io.StringIO()

    def function(x, power=2):
        y = jnp.sin(x)
        parts = {"double": y * 2, "text": "kept"}
        effax.debug.breakpoint(stdin=stdin, stdout=stdout, **options)
        return (y * parts["double"]).sum()

    result = transform(function)(*args)
    effax.block_until_ready(result)
    effax.effects_barrier()
    return result, stdout.getvalue()


def looped(function):
    return lambda x: effax.lax.fori_loop(0, 2, lambda i, c: function(c), x)


def scanned(function):
    return lambda x: effax.lax.scan(lambda c, _: (function(c), None), x, None, length=2)[0]


def branched(function):
    return effax.jit(lambda x: effax.lax.cond(x > 0, function, lambda x: x, x))


def test_expressions_and_frames():
    commands = "p y\npp parts\np power\np SCALE\nu\np commands\nd\nz = y + 1\nz\nc\n"
    _, text = session(effax.jit, commands, 1.0)
    lines = [line.removeprefix("(jdb) ") for line in text.splitlines()]
    assert lines[0] == "Entering jdb:" and lines[1].startswith("Array(0.84147")
    assert lines[2].startswith("{'double': Array(1.68294") and "'text': 'kept'" in lines[2]
    assert lines[3] == "2" and lines[4] == "3.0"
    assert lines[5].startswith(f"> {__file__}(") and "->" in text
    assert repr(commands) in lines and "Array(1.84147" in lines[-2]


def test_source_and_backtrace():
    _, text = session(effax.jit, "l\nbt\nl 1, 2\na\nh\nh p\nc\n", 1.0)
    assert "->" in text and "effax.debug.breakpoint(" in text
    assert "result = transform(function)(*args)" in text, "the caller's line"
    assert '   1  """`debug.breakpoint`' in text
    assert "power = 2" in text and "print its value" in text and "q(uit)" in text


def test_the_source_of_a_function_ends_with_it():
    def function(x):
        effax.debug.breakpoint(stdin=io.StringIO("l\nc\n"), stdout=stdout)
        return x

    stdout = io.StringIO()
    function(1.0)
    effax.effects_barrier()
    shown = stdout.getvalue().splitlines()
    assert [line.split("  ")[-1] for line in shown[2:5]] == [
        "def function(x):",
        'effax.debug.breakpoint(stdin=io.StringIO("l\\nc\\n"), stdout=stdout)',
        "return x",
    ]
    assert len(shown) == 7, "the line after it, and the prompt"


def test_mistakes_do_not_end_the_session():
    commands = "p 1/0\np nothing\nu\nu\n" + "u\n" * 100 + "d\n" * 200 + "p\nl x\n\n!y\nc\n"
    _, text = session(effax.jit, commands, 1.0)
    for error in ("ZeroDivisionError", "NameError: name 'nothing'", "topmost frame"):
        assert error in text
    assert "bottommost frame" in text and "give an expression" in text
    assert "list takes numbers" in text
    assert text.rstrip().endswith("(jdb)")


CASES = {
    "eager": (lambda f: f, 1.0, 1),
    "jit": (effax.jit, 1.0, 1),
    "grad": (effax.grad, 1.0, 1),
    "jit(grad)": (lambda f: effax.jit(effax.grad(f)), 1.0, 1),
    "vmap": (effax.vmap, np.float32([1, 1, 1]), 3),
    "jit(vmap)": (lambda f: effax.jit(effax.vmap(f)), np.float32([1, 1, 1]), 3),
    "loop": (looped, 1.0, 2),
    "scan": (scanned, 1.0, 2),
    "jit(scan)": (lambda f: effax.jit(scanned(f)), 1.0, 2),
    "cond taken": (branched, 1.0, 1),
    "cond not taken": (branched, -1.0, 0),
}


# Ordered callbacks can't be batched, nor stand in one branch of two.
UNORDERED = {"vmap", "jit(vmap)", "cond taken", "cond not taken"}


@pytest.mark.parametrize(
    ("name", "ordered"),
    [(name, o) for name in CASES for o in (False, True) if not (o and name in UNORDERED)],
)
def test_it_opens_each_time_the_program_comes_by(name, ordered):
    transform, x, times = CASES[name]
    _, text = session(transform, "p x\nc\n" * 5, x, ordered=ordered)
    assert text.count("Entering jdb:") == times
    if times:
        assert "1." in text.splitlines()[1]


def test_how_many_frames():
    _, text = session(effax.jit, "u\nc\n", 1.0, num_frames=1)
    assert "topmost frame" in text
    _, text = session(effax.jit, "bt\nc\n", 1.0, filter_frames=False)
    assert "stage.py(" in text
    _, text = session(effax.jit, "bt\np 1\nl\na\nc\n", 1.0, num_frames=0)
    assert "no frames" in text


def test_quit_reaches_the_caller():
    with pytest.raises(bdb.BdbQuit):
        session(lambda f: f, "q\n", 1.0)
    for transform in (effax.jit, looped):
        with pytest.raises(JaxRuntimeError) as caught:
            session(transform, "q\n", 1.0)
        assert isinstance(caught.value.__cause__, bdb.BdbQuit)


def test_the_end_of_input_ends_the_process():
    with pytest.raises(SystemExit):
        session(lambda f: f, "", 1.0)
    with pytest.raises(JaxRuntimeError, match="SystemExit"):
        session(effax.jit, "p x\n", 1.0)


def test_what_is_refused():
    with pytest.raises(ValueError, match="Invalid backend: 'web'"):
        effax.debug.breakpoint(backend="web")
    with pytest.raises(NotImplementedError, match="ordered=True"):
        effax.debug.breakpoint(token=1)
    with pytest.raises(TypeError, match="color"):
        effax.debug.breakpoint(color=True)
