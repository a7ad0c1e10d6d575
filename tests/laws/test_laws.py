"""Every law of the library, on random programs with control flow; and laws that must fail."""

import numpy as np
import pytest

from effax import laws
from effax.effects.config import enable_x64
from effax.effects.rows import contraction, control, elementwise, indexing, shape, transcendental
from effax.interpreters.batch.batched import Batch
from effax.interpreters.functor.lifting import functor
from effax.interpreters.jvp.dual import JVP
from effax.interpreters.transpose import linear
from effax.laws.generate import CONTROL_KINDS


@pytest.mark.parametrize("name", laws.LAWS)
def test_law(name):
    verdict = laws.judge(laws.LAWS[name], max_examples=20)
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"
    # What is refused is said in so many words, and rare.
    assert verdict.refused < verdict.examples, verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", laws.LAWS)
def test_law_at_length(name):
    verdict = laws.judge(laws.LAWS[name], max_examples=200)
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"


@pytest.mark.slow
@pytest.mark.parametrize("name", laws.LAWS)
def test_law_compiled(name):
    verdict = laws.judge(laws.LAWS[name], max_examples=10, backend="xla")
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"


KINDS = sorted(CONTROL_KINDS)


ON_EACH = ("jvp_is_finite_difference", "vmap_is_map", "vjp_is_adjoint", "hessian_is_symmetric")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ON_EACH)
def test_law_on_each_kind(name, kind):
    """On programs that surely have this kind of control flow at their end."""
    law = laws.LAWS[name]
    if kind == "while" and "no while" in law.needs:
        pytest.skip("reverse mode through a while loop asks for checkpoints")
    drawn = laws.cases(law.needs, frozenset({kind}), kind)
    verdict = laws.judge(law, drawn, max_examples=8)
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"
    assert verdict.refused < verdict.examples


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", laws.LAWS)
def test_law_from_other_seeds(name, seed):
    verdict = laws.judge(laws.LAWS[name], max_examples=60, seed=seed)
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_print_as_python(kind):
    """The text of a program with any kind in it runs, and computes the same."""
    from hypothesis import given, settings

    from effax.backends.reference.evaluate import interpret

    seen = set()

    @settings(max_examples=8, deadline=None, database=None, derandomize=True)
    @given(laws.programs(control=frozenset({kind}), ending=kind))
    def check(sketch):
        names = {}
        exec(sketch.text(), names)
        args = laws.arguments(sketch, 0)
        for x, y in zip(interpret(sketch)(*args), interpret(names["f"])(*args), strict=True):
            np.testing.assert_array_equal(x, y)
        seen.update(e.name for e in sketch.effects())

    with enable_x64(True):
        check()
    expected = {
        "rules": "custom_",
        "policy": "remat",
        "checkpointed": "while",
        "host": "custom_jvp",
        "state": "ref_set",
    }
    wanted = expected.get(kind, "call" if kind in ("checked", "solving", "kernel") else kind)
    assert any(wanted in name for name in seen)


SAMPLE = [
    "jit_is_identity",
    "compiler_is_reference",
    "vjp_is_adjoint",
    "vmap_is_map",
    "scan_is_loop",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_sample_compiled(name):
    verdict = laws.judge(laws.LAWS[name], max_examples=8, backend="xla")
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"


@pytest.mark.parametrize("name", [*SAMPLE, "jvp_commutes_with_vmap", "vjp_of_scan"])
def test_sample_in_float32(name):
    law = laws.LAWS[name]
    drawn = laws.cases(law.needs, dtype=np.dtype("float32"))
    verdict = laws.judge(law, drawn, max_examples=20)
    assert verdict.verdict == "true", f"{verdict.verdict}: {verdict.detail}"


def _doubled_tangent(rule):
    def broken(primals, tangents, **attributes):
        primal, tangent = rule(primals, tangents, **attributes)
        return primal, None if tangent is None else elementwise.mul(tangent, 2.0)

    return broken


def _halved_cotangents(rule):
    def broken(ct, *operands, **attributes):
        given = rule(ct, *operands, **attributes)
        return [None if x is None else elementwise.mul(x, 0.5) for x in given]

    return broken


def _first_of_batch(rule):
    def broken(handler, values, batched, **attributes):
        result, many = rule(handler, values, batched, **attributes)
        if many:
            row = shape.slice_axis(result, 0, 0, 1)
            result = shape.concatenate(*[row] * handler.size, axis=0)
        return result, many

    return broken


def _call_forgets(rule):
    """A functor that takes the operands of a call for constants."""

    def broken(handler, effect, operands, attributes):
        operands = [
            handler.leaves(x, handler.mode(x))[0] if handler.owns(x) else x for x in operands
        ]
        return effect(*operands, **attributes)

    return broken


BROKEN = [
    (JVP.rules, transcendental.sin, _doubled_tangent, "jvp_is_finite_difference"),
    (JVP.rules, elementwise.mul, _doubled_tangent, "jvp_is_finite_difference"),
    (JVP.rules, indexing.dynamic_slice, _doubled_tangent, "jvp_is_finite_difference"),
    (linear.rules, shape.broadcast_in_dim, _halved_cotangents, "vjp_is_adjoint"),
    (linear.rules, contraction.dot_general, _halved_cotangents, "vjp_is_adjoint"),
    (linear.rules, indexing.gather, _halved_cotangents, "vjp_is_adjoint"),
    (Batch.rules, transcendental.sin, _first_of_batch, "vmap_is_map"),
    (Batch.rules, contraction.dot_general, _first_of_batch, "vmap_is_map"),
    (functor, control.call, _call_forgets, "jvp_commutes_with_jit"),
]


@pytest.mark.parametrize("table, effect, breaker, name", BROKEN)
def test_broken_rule_is_found(table, effect, breaker, name, monkeypatch):
    """A law is worth what it finds: a wrong rule is found, with a program that holds its effect."""
    monkeypatch.setitem(table, effect, breaker(table[effect]))
    verdict = laws.judge(laws.LAWS[name], max_examples=400)
    assert verdict.verdict == "false"
    assert "def f(" in verdict.detail


def test_counterexamples_are_small(monkeypatch):
    monkeypatch.setitem(
        JVP.rules, transcendental.sin, _doubled_tangent(JVP.rules[transcendental.sin])
    )
    verdict = laws.judge(laws.LAWS["jvp_is_finite_difference"], max_examples=200)
    program = verdict.detail[verdict.detail.index("def f") :]
    assert "transcendental.sin" in program
    assert program.count("\n") < 12


def test_refusals_are_undefined(monkeypatch):
    """A law over an effect without a rule says nothing, and the table gives the refusal."""
    for rule in list(JVP.rules):
        monkeypatch.delitem(JVP.rules, rule)
    verdict = laws.judge(laws.LAWS["jvp_primal"], control=frozenset(), max_examples=5)
    assert verdict.verdict in ("undefined", "true")
    assert "no rule" in verdict.detail


def test_printed_programs_run():
    """The text of a sketch is Python, and computes the same."""
    from hypothesis import given, settings

    from effax.backends.reference.evaluate import interpret

    @settings(max_examples=40)
    @given(laws.programs())
    def check(sketch):
        names = {}
        exec(sketch.text(), names)
        with enable_x64(True):
            args = laws.arguments(sketch, 0)
            for x, y in zip(interpret(sketch)(*args), interpret(names["f"])(*args), strict=True):
                np.testing.assert_array_equal(x, y)

    with enable_x64(True):
        check()


def test_programs_are_finite():
    from hypothesis import given, settings

    from effax.backends.reference.evaluate import interpret

    @settings(max_examples=60)
    @given(laws.mixed_programs())
    def check(sketch):
        with enable_x64(True):
            for x in interpret(sketch)(*laws.arguments(sketch, 1)):
                assert np.isfinite(x).all()

    with enable_x64(True):
        check()


def test_check_of_a_transformation():
    """`check` tells a transformation that keeps everything from one that does not."""
    import effax

    good = laws.check(effax.jit, max_examples=5)
    assert good.holds, str(good)

    def drops_loops(f):
        def changed(*xs):
            return tuple(elementwise.mul(y, 2.0) for y in f(*xs))

        return changed

    bad = laws.check(drops_loops, max_examples=20)
    assert bad["T f = f"].verdict == "false"
    assert bad["T (call f) = T f"].verdict == "true"
    assert bad["T (g . f) = T g . T f"].verdict == "false"
    assert "def f(" in str(bad)
