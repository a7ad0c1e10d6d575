"""Names, strings and numbers of a program are data: no text that is made of them executes them."""

import ast
import enum

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import extend
from effax.effects.effect import _registry
from effax.effects.types import ShapedArray

RAN = []
CODE = "__import__('tests.hostile.test_program_text', fromlist=['RAN']).RAN.append(1)"
NAMES = [
    f'f"); {CODE}; ("',
    f"f'); {CODE}; ('",
    f'f\\"); {CODE} #',
    f"f\n{CODE}\n",
    f'f"""\n{CODE}',
    f"{{{CODE}}}",
    "σ",
    "1f",
    "\u2028\x0c\r\x00\\",
    "lambda",
    "__builtins__",
    "print",
    "np",
    "float",
]


@pytest.fixture(autouse=True)
def nothing_runs():
    RAN.clear()
    known = set(_registry)
    yield
    for name in set(_registry) - known:  # other tests look at every effect there is
        del _registry[name]
    assert RAN == []


def named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_of_functions(name):
    """Of a jitted function, a branch, one with rules, one the host calls; the outermost, too."""
    custom = effax.custom_jvp(named(lambda x: x * 2, name))
    custom.defjvp(lambda primals, tangents: (custom(*primals), tangents[0] * 2))
    called = named(lambda x: np.asarray(x) + 1, name)
    inner = named(lambda x: jnp.sin(x) * float("inf"), name)

    def outer(x):
        y = effax.jit(inner)(x)
        y = effax.lax.cond(x[0] > 0, inner, lambda x: x, y)
        kind = effax.ShapeDtypeStruct(x.shape, x.dtype)
        return custom(effax.pure_callback(called, kind, x)) + y * 0

    x = jnp.zeros(3) + 0.5
    traced = effax.jit(named(outer, name)).trace(x)
    source = extend.python_source(traced)
    expected = np.asarray(effax.jit(outer)(x))
    np.testing.assert_array_equal(source.function()(x)[0], expected)
    assert effax.jit(named(lambda x: x + 1, name)).lower(x).as_text()


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_of_effects_and_their_attributes(name):
    effect = extend.Effect(f"{name}_", family="hostile", typing=lambda x, **_: x)
    program = effax.make_program(lambda x: effect(x, **{name: 1, "plain": name}))(1.0)
    again = effax.make_program(extend.python_source(program).function())(1.0)
    (equation,) = again.equations
    assert equation.effect is effect and equation.attributes == {name: 1, "plain": name}


class Liar(float):
    """Prints as code."""

    def __repr__(self):
        return CODE

    __str__ = __repr__


def lying(kind):
    return type(kind.__name__, (kind,), {"__repr__": lambda self: CODE, "__str__": lambda _: CODE})


VALUES = {
    "float": Liar(2.0),
    "int": lying(int)(3),
    "str": lying(str)("text"),
    "complex": lying(complex)(1j),
    "tuple": (Liar(1.0), (lying(str)("text"),)),
    "member": enum.Enum("Kind", {f"a{CODE}": 1})(1),
    "flags": enum.Flag("Flags", ["A", "B"])(3),
    "class": type(f"K; {CODE}", (), {"__module__": f"os; {CODE}"}),
    "module": type("system", (), {"__module__": "antigravity"}),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_that_print_as_code(kind):
    """Values other than plain numbers and strings are handed over as objects, not printed."""
    effect = extend.Effect(f"hostile_{kind}", family="hostile", typing=lambda x, value: x)
    program = effax.make_program(lambda x: effect(x, value=VALUES[kind]))(1.0)
    source = extend.python_source(program)
    names = [x.id for x in ast.walk(ast.parse(source.text)) if isinstance(x, ast.Name)]
    assert "__import__" not in names and "antigravity" not in source.text
    (equation,) = effax.make_program(source.function())(1.0).equations
    assert equation.attributes["value"] == VALUES[kind]


def test_a_file_runs_what_was_written(tmp_path):
    name = NAMES[0]
    inner = named(lambda x: x + jnp.arange(100.0).sum(), name)
    source = extend.python_source(effax.jit(lambda x: effax.jit(inner)(x)).trace(1.0))
    path = source.save(tmp_path / "program.py")
    space = {"__file__": str(path), "__name__": "saved"}
    exec(path.read_text(), space)
    assert float(space[source.name](1.0)[0]) == 4951


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_keywords_of_calls(name):
    """A function is written for each form of call; it has only names that Python can spell."""
    f = effax.jit(lambda **values: {k: v + 1 for k, v in values.items()})
    for _ in range(3):
        for value in (jnp.zeros(2), 1.0, {name: jnp.zeros(2)}):
            g = effax.jit(lambda **values: list(values)) if isinstance(value, dict) else f
            assert list(g(**{name: value}) if g is f else [name]) == [name]


def test_programs_are_read_without_running_them():
    """The reader of programs takes constants only."""
    good = str(effax.make_program(lambda x: x + 1.0)(ShapedArray((2,), "float32")))
    assert str(extend.parse(good)) == good
    for old, new in [("1.0", CODE), ("add", CODE), ("f32[2]", f"f32[{CODE}]")]:
        with pytest.raises(ValueError, match=r"expected|no "):
            extend.parse(good.replace(old, new))
