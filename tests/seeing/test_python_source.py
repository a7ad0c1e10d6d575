"""Programs as Python: running the text performs the same effects."""

import runpy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax import extend, laws
from effax.backends.reference.evaluate import evaluate_program
from effax.effects.program import Literal
from tests.programs.e3 import PROGRAMS, X, nest

CUSTOM = {"custom_jvp", "custom_vjp", "custom_linear_solve", "relu"}
x32 = X.astype(np.float32)


def source_of(function, *args):
    return extend.python_source(effax.jit(function).trace(*args))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("nesting", [(), ("grad",), ("vmap",), ("jvp",)], ids=str)
def test_the_programs_of_e3(name, nesting):
    if (name, nesting) == ("while_loop", ("grad",)):
        pytest.skip("no such derivative")
    f = nest(effax, jnp, nesting, PROGRAMS[name].make(effax, jnp))
    traced = effax.jit(f).trace(x32)
    written = extend.python_source(traced).function()
    np.testing.assert_allclose(written(jnp.asarray(X))[0], f(jnp.asarray(X)), rtol=1e-6, atol=1e-6)
    if name not in CUSTOM and not gives_literals(traced.program):
        again = effax.make_program(extend.python_source(traced.program).function())
        assert str(again(*map(zeros, traced.program.in_types))) == str(traced.program)


def gives_literals(program):
    """A literal result is written as an array: one effect more."""
    inside = [p for e in program.equations for p in e.programs()]
    return any(type(x) is Literal for x in program.outputs) or any(map(gives_literals, inside))


def zeros(t):
    return effax.ShapeDtypeStruct.of(t)


@pytest.mark.parametrize("name", ["custom_jvp", "custom_vjp", "relu", "scan", "cond", "checkpoint"])
def test_what_is_written_has_the_same_derivatives(name):
    f = PROGRAMS[name].make(effax, jnp)
    written = source_of(f, x32).function()
    for transform in (effax.jacrev, effax.jacfwd):
        found = transform(lambda x: written(x)[0])(x32)
        np.testing.assert_allclose(found, transform(f)(x32), rtol=1e-5, atol=1e-6)


def test_a_rule_that_lies_is_kept():
    @effax.custom_jvp
    def f(x):
        return x * 2

    f.defjvp(lambda p, t: (f(*p), 100 * t[0]))

    @effax.custom_vjp
    def g(x, n):
        return x * n, n

    g.defvjp(lambda x, n: (g(x, n), (x,)), lambda r, ct: (ct[0] * r[0], None))
    for lying, expected in ((f, 100.0), (lambda x: g(x, 3)[0], 5.0)):
        written = source_of(lying, np.float32(5)).function()
        assert effax.grad(lambda x, w=written: w(x)[0])(np.float32(5)) == expected
        assert effax.jvp(lambda x, w=written: w(x)[0], (np.float32(5),), (np.float32(1),))[1] == (
            expected
        )


def test_programs_of_rules_are_local_to_them():
    inner = effax.jit(jnp.cos)

    @effax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda p, t: (f(*p), inner(p[0]) * t[0]))

    def g(x):
        return f(x) * inner(x) + f(inner(x))

    written = source_of(g, x32).function()
    np.testing.assert_allclose(written(x32)[0], g(x32), rtol=1e-6)
    np.testing.assert_allclose(
        effax.jacrev(lambda x: written(x)[0])(x32), effax.jacrev(g)(x32), rtol=1e-5, atol=1e-6
    )


def test_programs_inside_are_local_functions_written_once():
    inner = effax.jit(jnp.sin)
    text = str(source_of(lambda x: inner(inner(x)), x32))
    assert text.count("def ") == 2
    assert text.count("control.call(") == 2


def test_what_is_captured_is_written_out_or_kept(tmp_path):
    few, many = np.arange(5, dtype=np.float32), np.linspace(0, 1, 100, dtype=np.float32)
    source = source_of(lambda x: x * few + jnp.sum(jnp.sin(many)), x32)
    assert list(source.constants) == ["c0"]
    assert "np.array([0.0, 1.0, 2.0, 3.0, 4.0]" in source.text
    expected = x32 * few + np.sum(np.sin(many))
    np.testing.assert_allclose(source.function()(x32)[0], expected, rtol=1e-5)
    path = source.save(tmp_path / "written.py")
    assert (tmp_path / "written.npz").exists()
    found = runpy.run_path(str(path))[source.name](x32)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_file_needs_no_constants(tmp_path):
    path = source_of(jnp.sin, x32).save(tmp_path / "sine.py")
    [name] = [n for n, v in runpy.run_path(str(path)).items() if callable(v)]
    np.testing.assert_allclose(runpy.run_path(str(path))[name](x32)[0], np.sin(x32), rtol=1e-6)
    assert not (tmp_path / "sine.npz").exists()


def test_functions_of_the_host_are_objects(capsys, tmp_path):
    def f(x):
        effax.debug.print("x is {}", x)
        return x

    source = source_of(f, np.float32(2))
    assert len(source.objects) == 1
    source.function()(np.float32(2))
    effax.effects_barrier()
    assert capsys.readouterr().out == "x is 2.0\n"
    with pytest.raises(ValueError, match=r"refers to .* a file can't"):
        source.save(tmp_path / "f.py")


def test_numbers_that_have_no_repr():
    def f(x):
        return jnp.where(x > 0, jnp.inf, jnp.nan), jnp.sum(x), 2.5, 1j

    written = source_of(f, x32).function()
    for found, expected in zip(written(x32), f(x32), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_low_precision_and_keys():
    values = np.arange(40).astype(jnp.bfloat16)

    def f(x):
        noise = effax.random.normal(effax.random.PRNGKey(0), x.shape)
        return x * noise, jnp.sum(values.astype(np.float32)), values[:2]

    written = source_of(f, x32).function()
    for found, expected in zip(written(x32), f(x32), strict=True):
        np.testing.assert_allclose(
            np.asarray(found, np.float32), np.asarray(expected, np.float32), rtol=1e-6
        )


def test_names_of_programs_never_hide_what_is_used():
    for name in ("program", "shape", "np", "lambda", "two words", "body1", "constants"):

        def f(x):
            return lax.fori_loop(0, 2, lambda i, y: y + 1, jnp.reshape(x, (5, 1)))

        f.__name__ = name
        source = source_of(f, x32)
        np.testing.assert_array_equal(source.function()(x32)[0], x32[:, None] + 2)


def test_what_is_no_program_is_refused():
    with pytest.raises(TypeError, match="make_program"):
        extend.python_source(jnp.sin)


def test_generated_programs():
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(laws.programs())
    def check(sketch):
        program = sketch.program()
        written = extend.python_source(program).function()
        again = effax.make_program(written)(*map(zeros, program.in_types))
        values = laws.arguments(sketch, 0)
        for a, b in zip(
            evaluate_program(again, *values), evaluate_program(program, *values), strict=True
        ):
            np.testing.assert_array_equal(a, b)

    with effax.enable_x64(True):
        check()


@pytest.mark.parametrize("text", ["f32[2,3]", "f32[]~weak", "bf16[1]", "bool[]", "c64[4]", "u8[0]"])
def test_types_are_read_back(text):
    from effax.seeing.python_text import read_type

    assert repr(read_type(text)) == text


@pytest.mark.parametrize("text", ["f32", "f33[2]", "f32[a]", "", "f32[2"])
def test_what_is_no_type_is_refused(text):
    from effax.seeing.python_text import read_type

    with pytest.raises(ValueError, match="expected a type such as"):
        read_type(text)
