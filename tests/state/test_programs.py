"""Staged programs with references: effects in a row, discharge, memory written over."""

import numpy as np
import pytest
from hypothesis import given, settings

import effax
import effax.numpy as jnp
from effax import laws, lax
from effax.backends.reference.evaluate import evaluate_program, interpret
from effax.effects.rows import control
from effax.effects.rows.state import AbstractRef, OwnedRef, new_ref, ref_get, ref_set
from effax.effects.types import ShapedArray
from effax.interpreters.functor import discharge
from effax.interpreters.functor.discharge import discharged
from effax.seeing.parsing import parse

F3 = ShapedArray((3,), "float32")


def test_a_program_says_what_it_touches():
    ref = effax.new_ref(jnp.zeros(3))

    def f(given, x):
        given[...] = ref[...] + x
        local = effax.new_ref(x)
        local[...] += 1.0
        return local[...]

    program = effax.make_program(f)(effax.new_ref(jnp.zeros(3)), 2.0)
    assert program.row == {"state"}
    lines = str(program).splitlines()
    assert lines[0] == "{ lambda a:Ref{f32[3]} b:Ref{f32[3]} c:f32[] . ! state"
    assert sum("ref_get a" in line for line in lines) == 1
    assert sum("_ = ref_set b" in line for line in lines) == 1
    assert "new_ref" not in str(program)  # the function where it is made answers for it
    assert str(parse(str(program))) == str(program)


def test_all_that_is_made_inside_leaves_no_trace():
    def f(x):
        ref = effax.new_ref(x)
        effax.jit(lambda: ref.__setitem__(..., ref[...] * 2.0))()
        return ref[...]

    program = effax.make_program(f)(2.0)
    assert not program.row and all(type(x.type) is ShapedArray for x in program.inputs)


def test_a_loop_over_references_is_a_loop_over_contents():
    def f(ref):
        lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(i, 1.0), None)

    program = effax.make_program(f)(effax.new_ref(jnp.zeros(3)))
    assert [e.effect.name for e in program.equations][-1] == "ref_set"
    (loop,) = [e for e in program.equations if e.effect.name == "scan"]
    assert not loop.row and all(type(t) is ShapedArray for t in loop.attributes["body"].in_types)


def test_what_is_only_read_is_a_constant_of_the_loop():
    ref = effax.new_ref(jnp.zeros(3))
    program = effax.make_program(
        lambda x: lax.scan(lambda c, _: (c + ref[0], None), x, None, length=2)[0]
    )(1.0)
    (loop,) = [e for e in program.equations if e.effect.name == "scan"]
    assert loop.attributes["consts"] == 1 and loop.attributes["carry"] == 1
    assert "ref_set" not in str(program)


def test_discharge():
    def f(a, x, b):
        b[...] = a[...] * x
        return b[0] + a[1]

    refs = [effax.new_ref(jnp.arange(3.0)) for _ in range(2)]
    program = effax.make_program(f)(refs[0], 2.0, refs[1])
    pure, written = discharged(program)
    assert written == (False, True) and not pure.row
    assert pure.in_types == (F3, program.in_types[1], F3)
    assert discharged(program)[0] is pure
    a, b = np.array([1.0, 2.0, 3.0], np.float32), np.zeros(3, np.float32)
    for values in (pure.run(jnp.asarray(a), 2.0, jnp.asarray(b)), evaluate_program(pure, a, 2, b)):
        assert float(values[0]) == 4.0
        np.testing.assert_array_equal(values[1], 2 * a)


def test_the_reference_backend():
    def f(x):
        ref = effax.new_ref(x)
        lax.fori_loop(0, 3, lambda i, _: ref.__setitem__(..., ref[...] * 2.0), None)
        return ref[...]

    np.testing.assert_array_equal(interpret(f)(np.ones(2, np.float32)), [8, 8])


def test_effects_by_themselves():
    ref = new_ref(jnp.zeros(3))
    assert ref.type is AbstractRef(F3) and ref.type.inner_aval is F3
    assert ref.type.update(shape=(2,)) is AbstractRef(F3.update(shape=(2,)))
    assert ref_set(ref, jnp.ones(3)) == []
    np.testing.assert_array_equal(ref_get(ref), [1, 1, 1])
    for wrong in (jnp.ones(2), jnp.ones(3, np.int32)):
        with pytest.raises(ValueError, match="Invalid"):
            ref_set(ref, wrong)
    program = effax.make_program(lambda r: r[0])(AbstractRef(F3))
    assert program.in_types == (AbstractRef(F3),)


def test_a_program_with_references_is_not_lowered_unawares():
    from effax.backends.xla.dispatch import compile_program
    from effax.effects.errors import UnhandledEffectError

    program = effax.make_program(lambda r: r[0])(effax.new_ref(jnp.zeros(3)))
    with pytest.raises(UnhandledEffectError, match="discharge"):
        compile_program(program)


def test_memory_is_written_over_unless_it_was_read():
    ref = effax.new_ref(jnp.zeros(1000))
    step = effax.jit(lambda r: r.__setitem__(0, r[0] + 1.0))
    step(ref)
    first = ref.contents
    step(ref)
    assert first.is_deleted() and not ref.contents.is_deleted()
    seen = ref[...]
    step(ref)
    step(ref)
    assert not seen.is_deleted() and float(seen[0]) == 2.0 and float(ref[0]) == 4.0
    only_read = effax.jit(lambda r: r[0])
    kept = ref.contents
    only_read(ref)
    assert not kept.is_deleted()


def test_debug_nans_leaves_the_contents():
    ref = effax.new_ref(jnp.zeros(2))
    step = effax.jit(lambda r: r.__setitem__(..., jnp.log(r[...] - 1.0)))
    with effax.debug_nans(True), pytest.raises(FloatingPointError):
        step(ref)
    np.testing.assert_array_equal(ref[...], [0, 0])


BROKEN = {
    "writes are lost": (OwnedRef, "write", lambda self, value: None, "put_get"),
    "effects with programs don't write": (
        discharge,
        "_write_back",
        lambda refs, written, after: None,
        "scan_writes",
    ),
    "calls don't write": (
        discharge,
        "_write_back",
        lambda refs, written, after: None,
        "cond_writes",
    ),
}


@pytest.mark.parametrize("owner, name, wrong, law", BROKEN.values(), ids=BROKEN)
def test_laws_find_what_is_broken(owner, name, wrong, law, monkeypatch):
    monkeypatch.setattr(owner, name, wrong)
    assert laws.judge(laws.LAWS[law], max_examples=50).verdict == "false"


def test_generated_programs_have_references():
    found = set()

    @settings(max_examples=60, database=None, derandomize=True)
    @given(laws.programs(control=frozenset({"state", "scan", "cond"}), ending="state"))
    def look(sketch):
        found.update(sketch.effects())
        assert not sketch.program().row

    with effax.enable_x64(True):
        look()
    assert {new_ref, ref_get, ref_set, control.scan, control.cond} <= found
