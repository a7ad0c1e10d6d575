"""Printed programs read back print the same, and mean the same."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.extend import parse
from tests.programs.e3 import PROGRAMS, X, nest

WITH_RULES = {"custom_jvp", "custom_vjp", "relu"}  # their rules are Python functions

SMALL = """{ lambda a:f32[3] .
  b:f32[3] = sin a
  c:f32[] = reduce_sum[axes=(0,)] b
  in (c, 2.0:f32[]) }"""


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WITH_RULES])
@pytest.mark.parametrize("nesting", [(), ("grad",), ("vmap",), ("jvp",)], ids=str)
def test_the_programs_of_e3(name, nesting):
    if (name, nesting) == ("while_loop", ("grad",)):
        pytest.skip("no such derivative")
    f = nest(effax, jnp, nesting, PROGRAMS[name].make(effax, jnp))
    traced = effax.jit(f).trace(X)
    again = parse(str(traced.program))
    assert str(again) == str(traced.program)
    assert again.in_types == tuple(t.strong() for t in traced.program.in_types)
    found = again.run(*traced.captured, X)[0]
    np.testing.assert_allclose(found, f(jnp.asarray(X)), rtol=1e-6, atol=1e-6)


def test_notes_are_left_out():
    def f(x):
        with effax.named_scope("a"):
            return jnp.sin(x) * x

    program = effax.make_program(f)(X)
    noted = program.pretty_print(source_info=True, name_stack=True)
    assert "# " in noted
    assert str(parse(noted)) == str(program)


@pytest.mark.parametrize("name", ["None", "two words", "inf", "1st", "a=b]", "<lambda>", "f.g"])
def test_strings_are_told_from_other_words(name):
    def f(x):
        return x + 1

    f.__name__ = name
    program = effax.make_program(effax.jit(f))(1.0)
    again = parse(str(program))
    assert again.equations[-1].attributes["name"] == name
    assert str(again) == str(program)


def test_numbers_of_all_kinds():
    def f(x):
        return jnp.where(x > 0, -jnp.inf, x) * 1e-30 + jnp.nan, x * 1j, jnp.exp(x) == 3

    program = effax.make_program(f)(X)
    assert str(parse(str(program))) == str(program)


def test_a_shared_program_is_shared():
    inner = effax.jit(jnp.sin)
    program = parse(str(effax.make_program(lambda x: inner(inner(x)))(X)))
    first, second = (e.attributes["program"] for e in program.equations)
    assert first is second


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("sin a", "sine a", "line 2, column 14 .* the name of an effect, found 'sine a'"),
        ("sin a", "sin z", r"a variable bound before \(z is not\)"),
        ("sin a", "sin", "operands and attributes of sin"),
        ("sin a", "sin a a", "operands and attributes of sin"),
        ("axes=(0,)", "axes=(7,)", "line 3.*operands and attributes of reduce_sum"),
        ("axes=(0,)", "axis=(0,)", "operands and attributes of reduce_sum"),
        ("axes=(0,)", "axes=(0,", "the value of an attribute"),
        ("c:f32[] =", "c:f32[3] =", r"results of types f32\[\] for reduce_sum"),
        ("c:f32[] =", "b:f32[] d:f32[] =", "results of types"),
        ("a:f32[3]", "a:f33[3]", "a type"),
        ("a:f32[3]", "a", "':'"),
        ("2.0:f32[]", "two:f32[]", "a number"),
        ("{ lambda", "lambda", "'{'"),
        ("}", "} }", "nothing more"),
        ("in (c, 2.0:f32[]) }", "", "the name of a variable"),
    ],
)
def test_what_is_no_program_is_refused_with_its_place(before, after, message):
    assert str(parse(SMALL)) == SMALL
    assert before in SMALL
    with pytest.raises(ValueError, match=message):
        parse(SMALL.replace(before, after, 1))


def test_every_beginning_of_a_program_is_refused():
    program = str(effax.make_program(PROGRAMS["gather"].make(effax, jnp))(X))
    for n in range(len(program)):
        with pytest.raises(ValueError, match="of the text of a program"):
            parse(program[:n])


@pytest.mark.parametrize("name", sorted(WITH_RULES))
def test_functions_are_refused(name):
    program = effax.make_program(PROGRAMS[name].make(effax, jnp))(X)
    with pytest.raises(ValueError, match="'rule': it is a Python function"):
        parse(str(program))


def test_only_text_is_parsed():
    with pytest.raises(TypeError, match="expected the text of a program"):
        parse(effax.make_program(jnp.sin)(1.0))
