"""NaN provenance: the line that made it, under every transform and through control flow."""

import inspect

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import laws
from tests.examples import e3

nan = e3.load("nan_provenance")


def is_traced(x):
    return isinstance(x, nan.Traced)


def keeps_results(f):
    def values(*args):
        found = nan.provenance(f)(*args)
        return fx.tree.map(lambda x: x.value if is_traced(x) else x, found, is_leaf=is_traced)

    return values


def line(function, offset):
    """The text by which a line of a function is known, `offset` lines below its first."""
    return f"test_nan_provenance.py:{inspect.getsourcelines(function)[1] + offset} "


def origins(f, *args):
    return nan.explain(nan.provenance(f)(*args))


def only(found):
    """The one origin of a result, and how many elements it has."""
    ((text, count),) = found[0].items()
    return text, count


test_on_programs = e3.everywhere(keeps_results)
X = jnp.array([1.0, -2.0, 3.0])


def f(x):
    y = jnp.log(x)
    z = y / jnp.maximum(x, -5.0)
    return z * 2.0


def test_the_first_line_is_named_not_those_after_it():
    text, count = only(origins(f, X))
    assert text.startswith("log at ")
    assert line(f, 1) in text
    assert count == 1
    assert origins(f, jnp.abs(X)) == [{}]


@pytest.mark.parametrize("wrap", [fx.jit, fx.vmap, lambda g: fx.jit(fx.vmap(g))])
def test_under_jit_and_vmap(wrap):
    x = X if wrap is fx.jit else jnp.stack([X, -X, jnp.abs(X)])
    expected = {True: 1, False: 3}[wrap is fx.jit]
    for g in (wrap(nan.provenance(f)), nan.provenance(wrap(f))):
        text, count = only(nan.explain(g(x)))
        assert text.startswith("log at ")
        assert count == expected


def test_in_scan_the_step_that_made_it_counts_once():
    def g(x):
        def step(c, a):
            c = jnp.sqrt(c) - a
            return c, c

        return lax.scan(step, x, jnp.arange(5.0))

    last, steps = origins(g, 3.0)
    assert list(last) == list(steps)
    (text,) = steps
    assert text.startswith("sqrt at ")
    expected = np.isnan(np.asarray(g(3.0)[1])).sum()
    assert steps[text] == expected > 1


def test_in_while_and_cond():
    def g(x):
        return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.log(s[1])), (0, x))[1]

    assert only(origins(g, 3.0))[0].startswith("log at ")

    def h(x):
        return lax.cond(x > 0, jnp.log, lambda x: jnp.sqrt(x), x)

    assert only(origins(h, -3.0))[0].startswith("sqrt at ")
    assert origins(h, 3.0) == [{}]


def test_in_grad_the_backward_pass_is_named_by_its_forward_line():
    def g(x):
        return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))

    text, count = only(origins(fx.grad(g), jnp.array([0.0, 1.0])))
    assert line(g, 1) in text
    assert count == 1
    slope = fx.grad(lambda x: jnp.sum(keeps_results(f)(x)))(jnp.abs(X))
    np.testing.assert_allclose(slope, fx.grad(lambda x: jnp.sum(f(x)))(jnp.abs(X)), rtol=1e-6)


def test_arguments_and_constants_have_no_line():
    assert only(origins(jnp.sin, jnp.array([1.0, np.nan]))) == ("an argument", 1)
    assert only(origins(lambda x: x * jnp.nan, 3.0)) == ("a constant", 1)


def test_elements_keep_their_own_origin_when_moved():
    def g(x):
        y = jnp.concatenate([jnp.log(x), jnp.sqrt(x - 10.0)])
        return y[::-1].reshape(2, 3)

    result = nan.provenance(g)(jnp.array([1.0, -2.0, 30.0]))
    ((logs, _), (roots, _)) = sorted(nan.explain(result)[0].items())
    assert logs.startswith("log")
    assert roots.startswith("sqrt")
    where = np.asarray(result.origin) == nan.sites[logs]
    np.testing.assert_array_equal(where, [[0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(np.isnan(result.value), result.origin != nan.NONE)


def test_a_sum_has_the_first_origin_in_the_text():
    text, count = only(origins(lambda x: jnp.sum(jnp.log(x) + jnp.sqrt(-x)), X))
    assert text.startswith("log at ")
    assert count == 1


def test_what_is_out_of_bounds_begins_at_the_gather():
    found = origins(lambda x: x.at[jnp.array([0, 9])].get(mode="fill"), X)
    assert only(found)[0].startswith("gather at ")


def test_integers_are_plain():
    result = nan.provenance(lambda x: (jnp.argmax(x), x > 0))(X)
    assert not any(map(is_traced, result))


def test_laws():
    report = laws.check(keeps_results, max_examples=5)
    assert {v.verdict for v in report.verdicts} == {"true"}, report
