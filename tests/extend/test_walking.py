"""The loop over equations that programs written for JAX have, on generated programs."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.effects import config
from effax.experimental.xla_metadata import set_xla_metadata
from effax.extend import core, source_info_util
from effax.laws.check import cases
from tests.mutants.asking import kept


def walked(jaxpr, consts, *args):
    """Evaluate a program as `jax.core.eval_jaxpr` does."""
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(v):
        return v.val if isinstance(v, core.Literal) else known[v]

    for eqn in jaxpr.eqns:
        params = eqn.primitive.get_bind_params(dict(eqn.params))
        names = source_info_util.current_name_stack() + eqn.source_info.name_stack
        line = eqn.source_info.traceback
        with source_info_util.user_context(line, name_stack=names), eqn.ctx.manager:
            found = eqn.primitive.bind(*map(read, eqn.invars), **params)
        found = found if eqn.primitive.multiple_results else [found]
        known.update(zip(eqn.outvars, found, strict=True))
    return [read(v) for v in jaxpr.outvars]


def copied(jaxpr):
    """The same program of new equations, those of programs in it too."""

    def again(x):
        if isinstance(x, core.ClosedJaxpr):
            return core.ClosedJaxpr(copied(x.jaxpr), x.consts)
        if isinstance(x, core.Jaxpr):
            return copied(x)
        return tuple(map(again, x)) if type(x) is tuple else x

    eqns = [
        core.new_jaxpr_eqn(
            *(e.invars, e.outvars, e.primitive, {k: again(x) for k, x in e.params.items()}),
            *(e.effects, e.source_info, e.ctx),
        )
        for e in jaxpr.eqns
    ]
    return core.Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, eqns, jaxpr.effects)


@pytest.mark.parametrize("part", ["f", "g", "loop"])
def test_a_program_that_is_walked_or_copied_is_the_program(part):
    with config.enable_x64(True):
        for case in kept(cases(frozenset({"g", "loop"})), 25):
            sketch = getattr(case, part)
            args = case.arrays(sketch)
            closed = fx.make_jaxpr(lambda *xs, f=sketch: tuple(f(*xs)))(*args)
            again = copied(closed.jaxpr)
            core.check_jaxpr(again)
            assert str(again) == str(closed.jaxpr)
            for found in (
                walked(closed.jaxpr, closed.consts, *args),
                fx.jit(lambda *xs, p=closed: walked(p.jaxpr, p.consts, *xs))(*args),
                walked(again, closed.consts, *args),
            ):
                for x, y in zip(sketch(*args), found, strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def test_lines_scopes_and_metadata_are_kept():
    @set_xla_metadata(a="b")
    def f(x):
        with fx.named_scope("layer"):
            return jnp.sin(x)

    first = fx.make_jaxpr(f)(1.0)
    second = fx.make_jaxpr(lambda x: walked(first.jaxpr, first.consts, x))(1.0)
    for one, other in zip(first.eqns, second.eqns, strict=True):
        assert one.source_info == other.source_info
        assert one.ctx.xla_metadata == other.ctx.xla_metadata == {"a": "b"}


def test_metadata_stays_where_scopes_are_closed():
    @set_xla_metadata(a="b")
    def f(x):
        with fx.named_scope("layer"), source_info_util.reset_name_stack():
            return jnp.sin(x)

    (sine,) = fx.make_jaxpr(f)(1.0).eqns
    assert (str(sine.source_info.name_stack), sine.ctx.xla_metadata) == ("", {"a": "b"})


def test_parts_of_programs_are_lists_as_in_jax():
    program = fx.make_jaxpr(lambda x: jnp.sin(x) + np.ones(2, "float32"))(1.0)
    eqn = program.eqns[0]
    for part in (program.invars, program.outvars, program.constvars, program.in_avals):
        assert type(part) is list
    assert type(eqn.invars) is type(eqn.outvars) is type(program.out_avals) is list
    again = core.JaxprEqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params, eqn.effects)
    assert isinstance(again, core.JaxprEqn) and again.outvars == eqn.outvars


@pytest.mark.parametrize("transform", [fx.jit, fx.vmap])
def test_a_traced_value_has_no_memory(transform):
    with pytest.raises(fx.errors.ConcretizationTypeError, match="is_deleted"):
        transform(lambda x: x.is_deleted())(jnp.ones(2))
    assert fx.grad(lambda x: x * (1 - x.is_deleted()))(1.0) == 1


@pytest.mark.parametrize("transform", [fx.jit, fx.vmap])
def test_keys_are_traced_where_their_words_are(transform):
    def f(key):
        assert isinstance(key, fx.core.Tracer) and isinstance(key, fx.Array)
        assert not fx.core.is_concrete(key)
        return fx.random.bits(key)

    key = fx.random.key(0)
    assert not isinstance(key, fx.core.Tracer) and fx.core.is_concrete(key)
    transform(f)(fx.random.split(key, 2) if transform is fx.vmap else key)


def _split_and_drawn(key, x):
    first, second = fx.random.split(key)
    return {"key": first, "draws": [x + fx.random.normal(second), first]}


def test_programs_of_keys_are_run_on_keys():
    """brainstate keeps the program, and gives it the keys that it has."""
    key = fx.random.key(0)
    program = fx.make_jaxpr(_split_and_drawn)(key, 1.0)
    expected = fx.tree.leaves(_split_and_drawn(key, 1.0))
    runs = (
        fx.core.eval_jaxpr(program.jaxpr, program.consts, key, 1.0),
        fx.jit(core.jaxpr_as_fun(program))(key, 1.0),
        walked(program.jaxpr, program.consts, key, 1.0),
    )
    for found in runs:
        for one, other in zip(found, expected, strict=True):
            if isinstance(other, fx.Array) and fx.dtypes.issubdtype(
                other.dtype, fx.dtypes.prng_key
            ):
                one, other = fx.random.key_data(one), fx.random.key_data(other)
            np.testing.assert_allclose(one, other, rtol=1e-6)
    for found in runs[:2]:
        assert [x.dtype for x in found] == [x.dtype for x in expected]


def test_a_further_argument_may_be_keys():
    key = fx.random.key(3)

    def f(x):
        return x + fx.random.normal(x.handler.new_arg(fx.typeof(key)))

    program = fx.make_jaxpr(f)(1.0)
    found = fx.core.eval_jaxpr(program.jaxpr, program.consts, 1.0, key)
    np.testing.assert_allclose(found[0], 1 + fx.random.normal(key), rtol=1e-6)
