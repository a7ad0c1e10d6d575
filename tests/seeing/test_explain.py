"""`explain`: who took each effect, how, and what they performed outside."""

import io
import threading

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax.backends.reference.evaluate import interpret
from effax.effects import handler
from effax.effects.rows import elementwise
from effax.interpreters.stage import Stage
from tests.seeing.bounds import Interval, bounds, newton

X = np.float32(2)


def lines(log):
    return [str(e).replace("[dtype=float32 weak_type=True]", "") for e in log]


def f(x):
    return jnp.sin(x) * x


def test_forward_mode():
    with effax.explain(quiet=True) as log:
        effax.jvp(f, (X,), (X,))
    assert lines(log) == [
        "sin(Dual(2, 2)) -> JVP by its rule",
        "  sin(2) -> XLA computes",
        "  cos(2) -> XLA computes",
        "  mul(2, -0.416147) -> XLA computes",
        "mul(Dual(0.909297, -0.832294), Dual(2, 2)) -> JVP by its rule",
        "  mul(0.909297, 2) -> XLA computes",
        "  mul(-0.832294, 2) -> XLA computes",
        "  mul(2, 0.909297) -> XLA computes",
        "  add(-1.66459, 1.81859) -> XLA computes",
    ]


def test_what_is_known_passes_the_recorder():
    with effax.explain(quiet=True) as log:
        effax.grad(f)(X)
    sine = next(e for e in log if e.effect.name == "sin")
    assert [(e.effect.name, e.handler, e.how, e.passed) for e in sine.children] == [
        ("sin", "XLA", "computes", ["Record"]),
        ("cos", "XLA", "computes", ["Record"]),
        ("mul", "Record", "records", []),
    ]
    assert sine.stack == ("JVP", "Record", "XLA")


def test_the_functor_is_named():
    with effax.explain(quiet=True) as log:
        effax.jvp(effax.jit(f), (X,), (X,))
    [call] = [e for e in log if e.handler == "JVP" and e.effect.name == "call"]
    assert call.derived
    assert call.how == "by the functor"
    assert {e.handler for e in call.children} == {"JVP", "XLA"}
    assert not any(e.derived for e in log if e.effect.name == "sin")


def test_expanded_effects_are_named():
    x = np.arange(4, dtype=np.float32)
    with effax.explain(quiet=True, effects=["cumsum", "cumlogsumexp"]) as log:
        effax.jvp(lax.cumlogsumexp, (x,), (x,))
    assert {e.how for e in log if e.handler == "JVP"} <= {"by its rule", "writes it out"}


def test_a_user_s_interpreter():
    with effax.explain(quiet=True) as log:
        bounds(newton)(Interval(0.5, 1.0))
    [scan] = [e for e in log if e.handler == "Interval" and e.effect.name == "scan"]
    assert scan.derived
    assert scan.operands == ("Interval(lo=0.5, hi=1)", "Interval(lo=0.5, hi=1)")
    rules = [e for e in scan.children if e.effect.name == "mul"]
    assert rules
    assert all(e.handler == "Interval" and e.how == "by its rule" for e in rules)
    assert scan.children[-1].effect.name == "scan"
    assert scan.children[-1].handler == "XLA"


def test_the_user_s_line_is_kept():
    with effax.explain(quiet=True) as log:
        effax.grad(f)(X)
    line = f.__code__.co_firstlineno + 1
    assert all(f"test_explain.py:{line} (f)" in e.place for e in log if e.effect.name == "sin")


def test_it_is_printed_as_it_happens():
    out = io.StringIO()
    with effax.explain(file=out) as log:
        jnp.sin(X)
        assert "sin(2) -> XLA computes" in out.getvalue()
    assert len(out.getvalue().splitlines()) == len(log)


def test_standard_output_is_the_default(capsys):
    with effax.explain():
        jnp.sin(X)
    assert "sin(2) -> XLA computes  # " in capsys.readouterr().out


def test_a_limit():
    out = io.StringIO()
    with effax.explain(limit=3, file=out) as log:
        effax.grad(f)(X)
    assert len(log) == 3
    assert log.count > 3
    assert log.left_out == log.count - 3
    assert str(log).splitlines()[-1].startswith(f"... {log.left_out} more")
    assert len(out.getvalue().splitlines()) == 4


def test_filters():
    with effax.explain(quiet=True, families=["transcendental"]) as log:
        effax.grad(f)(X)
    assert {e.effect.name for e in log} == {"sin", "cos"}
    with effax.explain(quiet=True, effects=[effax.effects.mul]) as log:
        effax.grad(f)(X)
    assert {e.effect.name for e in log} == {"mul"}
    assert log[0].depth == 0


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no effect named 'sine'"):
        effax.explain(effects=["sine"]).__enter__()
    with pytest.raises(ValueError, match="no family of effects named 'waves'"):
        effax.explain(families=["waves"]).__enter__()


def test_everything_is_put_back():
    before = Stage.perform, handler.Handler.perform, handler.bottom.perform
    with effax.explain(quiet=True), effax.explain(quiet=True):
        assert Stage.perform is not before[0]
    assert before == (Stage.perform, handler.Handler.perform, handler.bottom.perform)
    assert handler.current.get() is handler.bottom


def test_a_failure_passes_and_is_noted():
    with pytest.raises(TypeError), effax.explain(quiet=True) as log:
        elementwise.add(np.float32(1), np.int32(1))
    assert log[0].failed
    assert handler.current.get() is handler.bottom


def test_the_reference_computes_too():
    with effax.explain(quiet=True) as log:
        interpret(jnp.sin)(X)
    assert log[-1].handler == "Reference"
    assert log[-1].how == "computes"


def test_values_are_what_they_are_without_it():
    plain = effax.vmap(effax.grad(f))(np.arange(3, dtype=np.float32))
    with effax.explain(quiet=True):
        watched = effax.vmap(effax.grad(f))(np.arange(3, dtype=np.float32))
    np.testing.assert_allclose(plain, watched, rtol=1e-6)


def test_other_threads_are_not_heard():
    with effax.explain(quiet=True) as log:
        thread = threading.Thread(target=lambda: effax.grad(f)(X))
        thread.start()
        thread.join()
    assert len(log) == 0


def test_nothing_is_kept_alive():
    with effax.explain(quiet=True) as log:
        effax.jit(effax.grad(f))(X)
    assert all(e.installed is None and e.at is None for e in log)
    assert not log.origins
