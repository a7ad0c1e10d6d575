"""Programs that are put together by hand: what `check_jaxpr` says of those that are wrong."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.effects import config
from effax.effects.program import Variable
from effax.extend import linear_util
from effax.extend.core import (
    CallPrimitive,
    DebugInfo,
    JaxprTypeError,
    Primitive,
    call_impl,
    check_jaxpr,
    new_jaxpr_eqn,
)
from effax.laws.check import cases
from tests.mutants.asking import kept


def program():
    return fx.make_jaxpr(lambda x: fx.lax.scan(lambda c, y: (c + y, c * y), 0.0, jnp.sin(x)))(
        np.ones(3, "float32")
    )


def test_programs_of_laws_are_programs():
    for case in kept(cases(frozenset({"g", "loop"})), 20):
        for sketch in (case.f, case.g, case.loop):
            with config.enable_x64(True):
                check_jaxpr(sketch.program())


def unmade(p):
    return p.replace(eqns=p.eqns[1:])


def made_twice(p):
    return p.replace(eqns=[*p.eqns, p.eqns[-1]])


def taken_twice(p):
    return p.replace(invars=[*p.invars, *p.invars])


def of_another_type(p):
    sine = p.eqns[0]
    wrong = Variable(None, sine.outvars[0].aval.update(dtype=np.dtype("float16")))
    return p.replace(eqns=[new_jaxpr_eqn(sine.invars, [wrong], sine.primitive, {}), *p.eqns[1:]])


def inside(p):
    *before, loop = p.eqns
    params = {**loop.params, "jaxpr": unmade(loop.params["jaxpr"])}
    return p.replace(eqns=[*before, loop.replace(params=params)])


@pytest.mark.parametrize("wrong", [unmade, made_twice, taken_twice, of_another_type, inside])
def test_what_is_wrong_is_said(wrong):
    check_jaxpr(program())
    with pytest.raises(JaxprTypeError, match=r"twice|no equation|of types"):
        check_jaxpr(wrong(program()))


def test_calls_of_functions_are_in_programs_by_name():
    twice = CallPrimitive("twice")
    assert isinstance(twice, Primitive) and twice.call_primitive and twice.multiple_results
    wrapped = linear_util.wrap_init(lambda x: [jnp.sin(x), 2 * x])
    f = lambda x: sum(twice.bind(wrapped, x))  # noqa: E731
    assert fx.make_jaxpr(f)(1.0).eqns[0].params["name"] == "twice"
    np.testing.assert_allclose(f(1.0), np.sin(1) + 2, rtol=1e-6)
    np.testing.assert_allclose(fx.jit(fx.grad(f))(1.0), np.cos(1) + 2, rtol=1e-6)
    np.testing.assert_allclose(fx.vmap(f)(jnp.arange(3.0)), np.sin(range(3)) + 2 * np.arange(3))
    assert call_impl(wrapped, 0.0, name="any") == [0.0, 0.0]


def test_what_is_known_of_a_function():
    info = DebugInfo("jit", "f at /a b/train.py:12", ("x",), lambda: ["result"])
    assert (info.func_name, info.func_filename, info.func_lineno) == ("f", "/a b/train.py", 12)
    assert info.resolve_result_paths().result_paths == ("result",)
    bare = DebugInfo("jit", "f", None, None)
    assert (bare.func_filename, bare.func_lineno) == (None, None)


@pytest.mark.parametrize("name", ["jaxpr", "body"])
def test_a_changed_parameter_is_changed_by_either_name(name):
    """Beside the others, as walkers of programs write it."""
    *_, loop = program().eqns
    other = loop.params["jaxpr"].replace(eqns=loop.params["jaxpr"].eqns)
    changed = {**loop.params, name: other}
    assert loop.replace(params=changed).attributes["body"] is other
    remade = new_jaxpr_eqn(loop.invars, loop.outvars, loop.primitive, changed)
    assert remade.params["body"] is remade.params.get("jaxpr") is other
    assert "body" in loop.params and "body" not in [*loop.params]
    assert loop.replace(params=loop.params).attributes == loop.attributes
    with pytest.raises(KeyError):
        loop.params["neither"]
