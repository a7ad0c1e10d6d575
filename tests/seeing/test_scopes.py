"""Named scopes: in the equations of transformed programs, in StableHLO's locations, in HLO.

The names are JAX 0.10.2's for the same functions (`op_name` of its compiled HLO), where effax and
JAX perform the same effects.
"""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax.backends.xla.dispatch import lower

X = np.float32(0.5)


def layered(x):
    with effax.named_scope("a"):
        y = jnp.sin(x)  # the line of sin
        with effax.named_scope("b"):
            return effax.jit(jnp.cos)(y) * y


def line_of(comment):
    with open(__file__, encoding="utf-8") as lines:
        return next(i for i, text in enumerate(lines, 1) if text.rstrip().endswith(comment))


def names(function, *args):
    compiled = effax.jit(function).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', compiled))


def test_the_names_of_a_function():
    assert names(layered, X) == {
        "jit(layered)/a/b/jit(cos)/cos",
        "jit(layered)/a/b/mul",
        "jit(layered)/a/sin",
    }


def test_the_names_of_a_gradient():
    found = names(effax.grad(layered), X)
    assert found >= {
        "jit(layered)/jvp(a)/sin",
        "jit(layered)/jvp(a)/cos",
        "jit(layered)/jvp(a)/b/jit(cos)/cos",
        "jit(layered)/transpose(jvp(a))/b/jit(cos)/mul",
        "jit(layered)/transpose(jvp(a))/mul",
    }


def test_the_names_of_a_batch_of_gradients():
    found = names(effax.vmap(effax.grad(layered)), np.ones(3, np.float32))
    assert "jit(layered)/vmap(jvp(a))/b/jit(cos)/sin" in found
    assert "jit(layered)/vmap(transpose(jvp(a)))/mul" in found


def test_a_transform_inside_a_scope_labels_the_scopes_inside_it():
    def f(x):
        with effax.named_scope("outside"):
            return effax.grad(layered)(x)

    found = names(f, X)
    assert "jit(f)/outside/jvp(a)/sin" in found
    assert "jit(f)/outside/transpose(jvp(a))/mul" in found


def test_a_program_that_was_staged_before_is_labelled_when_it_runs():
    program = effax.make_program(layered)(X)
    batched = effax.make_program(effax.vmap(lambda x: program.run(x)[0]))(np.ones(3, np.float32))
    assert {e.scope for e in batched.equations} == {"vmap(a)", "vmap(a)/b"}


def test_calls_in_no_scope_by_name_are_labelled():
    """In the equations `jvp()`; in HLO the call stands between the parentheses, as in JAX."""
    inner = effax.jit(jnp.sin)
    gradient = effax.make_program(effax.value_and_grad(inner))(X)
    calls = [e.scope for e in gradient.equations if e.effect.name == "call"]
    assert calls == ["jvp()", "transpose(jvp())"]

    def f(x):
        with effax.named_scope("foo"):
            return effax.vmap(lambda x, t: effax.jvp(inner, (x,), (t,)))(x, x)

    xs = np.ones(2, np.float32)
    (call,) = effax.make_program(f)(xs).equations
    assert call.scope == "foo/vmap(jvp())"
    assert "jit(f)/foo/vmap(jvp(jit(sin)))/cos" in names(f, xs)
    branch = effax.vmap(lambda x, p: lax.cond(p, jnp.sin, jnp.cos, x), (0, None))
    lowered = effax.jit(branch).lower(xs, True).as_text("hlo", debug_info=True)
    assert "jit(<lambda>)/vmap()/cond/branch_0_fun/cos" in lowered


def test_labels_alone_do_not_make_locations():
    """Locations are written where there is a scope by name; a label is no reason to lower twice."""
    program = effax.make_program(effax.grad(effax.jit(jnp.sin)))(X)
    assert "loc(" not in lower(program)[0]


def test_a_user_s_interpreter_labels_scopes():
    class Sign(effax.Interpreter):
        value: effax.Leaf

    Sign.leafwise(effax.effects.sin, effax.effects.mul)

    def f(x):
        def g(y):
            with effax.named_scope("a"):
                return jnp.sin(y)

        return Sign.transform(g)(Sign(x)).value

    assert [e.scope for e in effax.make_program(f)(X).equations] == ["Sign(a)"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: lax.scan(lambda c, _: (layered(c), None), x, None, length=3)[0], "scan/body/a"),
        (lambda x: lax.while_loop(lambda c: c < 3, lambda c: layered(c) + 1, x), "while/body/a"),
        (lambda x: lax.cond(x > 0, layered, lambda x: x, x), "cond/branch_1_fun/a"),
    ],
    ids=["scan", "while", "cond"],
)
def test_names_inside_control_flow(function, expected):
    assert f"jit(<lambda>)/{expected}/sin" in names(function, X)


def test_scopes_inside_of_a_transformed_program_keep_their_names():
    """The equation that holds the program says what was done to it: vmap(transpose(jvp(outer)))."""

    def f(x, flag):
        with effax.named_scope("outer"):
            return lax.cond(flag, layered, lambda x: x, x)

    transformed = effax.vmap(effax.grad(f), (0, None))
    inside = "jit(f)/vmap(jvp(outer))/cond/branch_1_fun/a/sin"
    assert inside in names(transformed, np.ones(3, np.float32), True)
    program = effax.make_program(transformed)(np.ones(3, np.float32), True)
    conds = [e for e in program.equations if e.effect.name == "cond"]
    assert [e.scope for e in conds] == ["vmap(jvp(outer))", "vmap(transpose(jvp(outer)))"]
    scopes = {e.scope for cond in conds for b in cond.attributes["branches"] for e in b.equations}
    assert scopes == {"", "a", "a/b"}


def test_a_custom_derivative_inside_a_scope():
    @effax.custom_jvp
    def f(x):
        with effax.named_scope("inner"):
            return jnp.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), jnp.cos(primals[0]) * tangents[0]

    def g(x):
        with effax.named_scope("outer"):
            return f(x)

    program = effax.make_program(effax.vmap(effax.grad(g)))(np.ones(3, np.float32))
    scopes = {e.effect.name: e.scope for e in program.equations}
    assert scopes["cos"] == "vmap(jvp(outer))"
    assert scopes["mul"] == "vmap(transpose(jvp(outer)))"


def test_locations_name_file_and_line():
    lowered = effax.jit(layered).lower(X)
    assert "loc(" not in lowered.as_text()
    found = re.search(
        r'loc\("jit\(layered\)/a/sin"\("layered"\("([^"]*)":(\d+):\d+\)\)\)',
        lowered.as_text(debug_info=True),
    )
    assert found is not None
    assert found.groups() == (__file__, str(line_of("# the line of sin")))
    compiled = lowered.compile().as_text()
    assert f'"{__file__}"' in compiled
    assert f"line={line_of('# the line of sin')} " in compiled


def test_modules_have_locations():
    module = effax.jit(layered).lower(X).compiler_ir()
    text = module.operation.get_asm(enable_debug_info=True)
    assert 'loc("jit(layered)/a/sin"' in text and "loc(" not in str(module)


def test_modules_of_programs_with_references_have_locations():
    ref = effax.new_ref(jnp.zeros(()))

    def f(x):
        ref[...] += jnp.sin(x)

    text = effax.jit(f).lower(X).as_text(debug_info=True)
    assert 'loc("jit(f)/sin"' in text


def test_hlo_says_scopes_if_asked():
    lowered = effax.jit(effax.grad(layered)).lower(X)
    assert "op_name" not in lowered.as_text("hlo")
    text = lowered.as_text("hlo", debug_info=True)
    assert 'op_name="jit(layered)/jvp(a)/sin"' in text
    assert os.path.basename(__file__) in text


def test_the_second_computation_of_a_checkpointed_function_is_named():
    f = effax.checkpoint(layered)
    forward, gradient = (
        effax.jit(g).lower(X).as_text("hlo", debug_info=True) for g in (f, effax.grad(f))
    )
    assert 'op_name="jit(layered)/checkpoint"' in forward
    assert "rematted" not in forward
    assert "checkpoint/rematted_computation" in gradient


def test_no_locations_where_no_one_asks():
    lowered = effax.jit(jnp.sin).lower(X)
    assert "loc(" not in lowered.as_text()
    assert re.search(r'loc\("jit\(\w+\)/sin"\("', lowered.as_text(debug_info=True))


def test_locations_survive_any_name():
    def f(x):
        with effax.named_scope('größe "q" \\ \n'):
            return jnp.sin(x)

    assert effax.jit(f)(X) == jnp.sin(X)
    assert len(names(f, X)) == 1


def test_located_programs_give_the_same_values():
    def plain(x):
        return jnp.cos(jnp.sin(x)) * jnp.sin(x)

    np.testing.assert_allclose(
        effax.jit(effax.grad(layered))(X), effax.jit(effax.grad(plain))(X), rtol=1e-6
    )


def test_every_line_of_a_located_program_has_its_location():
    program = effax.make_program(layered)(X)
    body = lower(program)[0].partition("\n#loc")[0]
    operations = re.findall(r"%\d+ = .*", body)
    assert operations
    assert all(x.endswith(")") and " loc(#loc" in x for x in operations)


def test_pmap_has_locations():
    text = effax.pmap(layered).lower(np.ones(1, np.float32)).as_text(debug_info=True)
    assert re.search(r'a\)?/sin"\("layered"', text)  # one place is a batch of one: `vmap(a)`


def test_pmap_without_scopes_has_locations_where_asked():
    lowered = effax.pmap(jnp.sin).lower(np.ones(1, np.float32))
    assert "loc(" not in lowered.as_text()
    assert re.search(r'loc\("jit\(sin\)/shard_map/sin/sin"', lowered.as_text(debug_info=True))


def test_rematerialised_programs_are_checkpoints():
    found = names(effax.checkpoint(layered), X)
    assert "jit(layered)/checkpoint/a/sin" in found


def test_several_places_are_named():
    script = (
        "import re, numpy as np, effax, effax.numpy as jnp\n"
        "def f(x):\n"
        "    with effax.named_scope('a'):\n"
        "        return jnp.sin(x)\n"
        "text = effax.pmap(f).lower(np.ones(2, np.float32)).as_text(debug_info=True)\n"
        "assert 'loc(\"jit(f)/shard_map\"(' in text, text\n"
        'assert re.search(r\'loc\\("jit\\(f\\)/shard_map/f/a/sin"\\("f"\\(\', text), text\n'
        "np.testing.assert_allclose(effax.pmap(f)(np.ones(2, np.float32)), np.sin(1), rtol=1e-6)\n"
    )
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, **flags})


def test_scopes_are_left_when_a_function_fails():
    def f(x):
        try:
            with effax.named_scope("fails"):
                raise KeyError("inside")
        except KeyError:
            return jnp.sin(x)

    assert [e.scope for e in effax.make_program(f)(X).equations] == [""]


def test_an_equation_says_where_it_is_from_by_the_names_of_jax():
    from effax.extend import source_info_util

    sin = next(e for e in effax.make_jaxpr(layered)(X).eqns if e.primitive.name == "sin")
    assert str(sin.source_info.name_stack) == "a"
    place = source_info_util.summarize(sin.source_info)
    assert place.endswith(f"test_scopes.py:{line_of('the line of sin')} (layered)")
