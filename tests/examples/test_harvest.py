"""Sow, reap and plant: modes, tags, control flow, other transforms, and planting what was reaped."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import laws
from tests.examples import e3

harvest = e3.load("harvest")


def sow(x, name, mode="strict", tag="t"):
    return harvest.sow(x, tag=tag, name=name, mode=mode)


def reap(f, tag="t"):
    return harvest.reap(f, tag=tag)


def plant(f, tag="t"):
    return harvest.plant(f, tag=tag)


def keeps_results(f):
    return lambda *args: harvest.harvest(lambda *xs: f(*xs), tag="t")({}, *args)[0]


test_on_programs = e3.everywhere(keeps_results)


def f(x):
    y = sow(x + 1.0, "y")
    return y + 1.0


def scanned(x):
    def step(c, a):
        c = sow(jnp.sin(c) + a, "c", "append")
        sow(a, "last", "clobber")
        return c, c * a

    return lax.scan(step, x, jnp.arange(4.0))


def branched(x):
    return lax.cond(x > 0, lambda x: sow(x * 2, "k"), lambda x: sow(x * 3, "k") + 1, x)


def looped(x):
    return lax.while_loop(lambda c: c < 5, lambda c: sow(c * 2, "w", "clobber"), x)


def called(x):
    y = fx.jit(lambda x: sow(jnp.sin(x), "inner"))(x)
    return fx.checkpoint(lambda y: jnp.cos(sow(jnp.sin(y), "remat")))(y)


PROGRAMS = {"f": f, "scan": scanned, "cond": branched, "call": called}


def test_the_examples_of_oryx():
    assert reap(f)(1.0) == {"y": 2.0}
    assert plant(f)({"y": 0.0}, 5.0) == 1.0
    assert harvest.harvest(f, tag="t")({}, 5.0) == (7.0, {"y": 6.0})
    assert harvest.harvest(f, tag="t")({"y": 0.0}, 5.0) == (1.0, {})
    assert reap(f, "another")(1.0) == {}


def test_it_is_the_identity_where_nobody_harvests():
    assert f(1.0) == fx.jit(f)(1.0) == 3.0
    assert fx.grad(f)(1.0) == 1.0


def test_tags_nest():
    def g(x):
        return sow(sow(x, "a"), "a", tag="u") + 1

    found, inner = fx.jit(harvest.harvest(reap(g), tag="u"))({}, 2.0)
    assert found == {"a": 2.0}
    assert inner == {"a": 2.0}


def test_modes():
    with pytest.raises(ValueError, match="sown twice"):
        reap(lambda x: sow(sow(x, "a"), "a"))(1.0)
    assert reap(lambda x: sow(sow(x, "a", "clobber") + 1, "a", "clobber"))(1.0) == {"a": 2.0}
    found = reap(lambda x: sow(sow(x, "a", "append") + 1, "a", "append"))(1.0)["a"]
    np.testing.assert_array_equal(found, [1, 2])
    with pytest.raises(ValueError, match="not 'sometimes'"):
        sow(1.0, "a", "sometimes")


def test_scan_stacks_its_steps():
    x, expected = 0.5, []
    for a in range(4):
        x = np.sin(x) + a
        expected.append(x)
    for g in (reap(scanned), fx.jit(reap(scanned)), reap(fx.jit(scanned))):
        found = g(0.5)
        np.testing.assert_allclose(found["c"], expected, rtol=1e-6)
        assert found["last"] == 3.0
    with pytest.raises(ValueError, match="sown twice"):
        reap(lambda x: lax.scan(lambda c, _: (sow(c, "a"), None), x, None, length=3))(1.0)


def test_nested_scans_are_in_order():
    def outer(x):
        def step(c, _):
            return lax.fori_loop(0, 2, lambda i, c: sow(c + 1, "n", "append"), c), None

        return lax.scan(step, x, None, length=3)

    np.testing.assert_array_equal(reap(outer)(0.0)["n"], np.arange(1.0, 7.0))
    np.testing.assert_array_equal(plant(outer)({"n": jnp.arange(6.0) * 10}, 0.0)[0], 50.0)


def test_cond_and_while():
    assert reap(branched)(2.0) == {"k": 4.0}
    assert reap(branched)(-2.0) == {"k": -6.0}
    np.testing.assert_array_equal(fx.vmap(reap(branched))(jnp.array([2.0, -2.0]))["k"], [4, -6])
    assert reap(looped)(1.0) == {"w": 8.0}
    assert plant(looped)({"w": 7.0}, 1.0) == 7.0
    never = reap(lambda x: lax.cond(x > 0, lambda x: sow(x, "k"), lambda x: x, x))
    assert never(-1.0) == {"k": 0.0}
    with pytest.raises(TypeError, match=r"while loop writes.*'a'"):
        reap(lambda n: lax.while_loop(lambda c: c < n, lambda c: sow(c + 1, "a", "append"), 0.0))(
            fx.jit(lambda: 3.0)()
        )


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("wrap", [lambda g: g, fx.jit])
def test_planting_what_was_reaped_changes_nothing(name, wrap):
    g = PROGRAMS[name]
    x = jnp.float32(0.7)
    planted = wrap(plant(g))(wrap(reap(g))(x), x)
    fx.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), planted, g(x))


@pytest.mark.parametrize("name", ["f", "scan", "call"])
def test_vmap_on_either_side(name):
    g, xs = PROGRAMS[name], jnp.array([0.3, -0.4])
    outside, inside = fx.vmap(reap(g))(xs), reap(fx.vmap(g))(xs)
    for key, x in outside.items():
        if name == "scan" and key == "last":
            assert inside[key] == 3.0  # does not differ between lanes
        else:
            expected = x.T if name == "scan" else x
            np.testing.assert_allclose(inside[key], expected, rtol=1e-6)


def test_branches_that_batching_makes_one_program_sow_twice():
    with pytest.raises(ValueError, match="sown twice"):
        reap(fx.vmap(branched))(jnp.array([0.3, -0.4]))


def test_grad_on_either_side():
    slope = fx.grad(lambda x: jnp.sum(reap(scanned)(x)["c"]))(0.5)
    h = 1e-2
    up, down = (np.sum(reap(scanned)(0.5 + s)["c"]) for s in (h, -h))
    assert float(slope) == pytest.approx(float((up - down) / (2 * h)), rel=1e-3)
    np.testing.assert_allclose(
        reap(fx.grad(lambda x: scanned(x)[0]))(0.5)["c"], reap(scanned)(0.5)["c"], rtol=1e-6
    )
    assert float(fx.grad(lambda y: plant(f)({"y": y}, 0.0))(3.0)) == 1.0


def test_grad_of_remat_sows_once():
    found = reap(fx.grad(called))(1.0)
    assert float(found["remat"]) == pytest.approx(np.sin(np.sin(1.0)), rel=1e-6)
    slope = fx.grad(lambda x: reap(called)(x)["remat"])(1.0)
    assert float(slope) == pytest.approx(np.cos(np.sin(1.0)) * np.cos(1.0), rel=1e-5)


def test_custom_rules_are_opened_only_where_something_is_sown_inside():
    def custom(body):
        g = fx.custom_jvp(body)
        g.defjvp(lambda x, t: (g(*x), 100.0 * t[0]))
        return g

    quiet, loud = custom(jnp.sin), custom(lambda x: sow(jnp.sin(x), "q"))
    assert float(fx.grad(keeps_results(quiet))(1.0)) == 100.0
    assert float(reap(loud)(1.0)["q"]) == pytest.approx(np.sin(1.0))
    assert float(fx.grad(lambda x: reap(loud)(x)["q"])(1.0)) == pytest.approx(np.cos(1.0))
    assert float(fx.grad(loud)(1.0)) == 100.0


def test_a_plant_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"'y' has shape \(\), and \(2,\) is planted"):
        plant(f)({"y": jnp.ones(2)}, 1.0)


def test_laws():
    report = laws.check(keeps_results, max_examples=5)
    assert {v.verdict for v in report.verdicts} == {"true"}, report
