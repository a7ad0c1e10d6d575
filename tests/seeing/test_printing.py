"""Programs as text: types, lines of the source, scopes and rows."""

import numpy as np

import effax
import effax.lax as lax
import effax.numpy as jnp

X = np.ones(3, np.float32)


def f(x):
    with effax.named_scope("a"):
        y = jnp.sin(x)
    effax.debug.print("{}", y)
    return lax.scan(lambda c, a: (c + a, c), 0.0, y)


def program():
    return effax.make_program(f)(X)


def test_str_is_compact():
    text = str(program())
    assert text == program().pretty_print()
    assert text.splitlines()[:2] == ["{ lambda a:f32[3] . ! callback", "  b:f32[3] = sin a"]
    assert "#" not in text


def test_source_lines_name_the_user_s_code():
    first = f.__code__.co_firstlineno
    lines = program().pretty_print(source_info=True).splitlines()
    assert lines[1].endswith(f"tests/seeing/test_printing.py:{first + 2} (f)")
    [inner] = [line for line in lines if "= add" in line]
    assert inner.endswith(f"test_printing.py:{first + 4} (f.<locals>.<lambda>)")


def test_notes_stand_in_a_column():
    lines = program().pretty_print(source_info=True).splitlines()
    notes = [line.index("  # ") for line in lines if line.startswith("  ") and line[2] in "bc_"]
    assert len(notes) >= 2
    assert len(set(notes)) == 1


def test_scopes_and_rows():
    text = program().pretty_print(name_stack=True, print_effects=True)
    [sine] = [line for line in text.splitlines() if "= sin" in line]
    assert sine.endswith("# [a]")
    [show] = [line for line in text.splitlines() if "debug_callback" in line]
    assert show.endswith("# ! callback")
    assert sum("#" in line for line in text.splitlines()) == 2


def test_types_can_be_left_out():
    text = effax.make_program(lambda x: jnp.sin(x) * 2)(X).pretty_print(print_shapes=False)
    assert text == "{ lambda a .\n  b = sin a\n  c = mul b 2\n  in (c) }"


def test_custom_rules_are_printed_by_the_name_of_their_function():
    @effax.custom_jvp
    def half(x):
        return x / 2

    @effax.custom_vjp
    def third(x):
        return x / 3

    half.defjvp(lambda x, t: (half(*x), t[0] / 2))
    third.defvjp(lambda x: (third(x), None), lambda _, g: (g / 3,))
    text = str(effax.make_program(lambda x: half(x) + third(x))(1.0))
    assert "rule=<rule of half>" in text
    assert "rule=<rule of third>" in text
    assert "object at" not in text
