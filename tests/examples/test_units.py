"""Units of measure: what adds up goes through everything, and what does not is refused by name."""

import doctest

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import effax as fx
import effax.numpy as jnp
from effax import laws, lax
from tests.examples.samples import POINTS, PROGRAMS, X, load, make

units = load("units")
Quantity, UnitError, checked, quantity, shown = (
    getattr(units, name) for name in ("Quantity", "UnitError", "checked", "quantity", "shown")
)

# The unit of each program's result where x is in metres, or why there is none.
METRES = {
    "polynomial": "sub of m^3 and m",
    "dense_tanh": "tanh of m",
    "logsumexp": "exp of m",
    "where": "sin of m",
    "sort": ("m^2",),
    "cumsum": ("m^2",),
    "gather": ("m^2",),
    "scatter_add": "sin of m",
    "scan": "sin of m|add of 1 and m",
    "cond": "sin of m",
    "fori_loop": "sin of m",
    "while_loop": "add of m and 1",
    "jit": "exp of m^2",
    "checkpoint": "sin of m",
    "custom_jvp": "sin of m",
    "custom_vjp": "sin of m",
    "relu": ("m",),
    "cholesky": "exp of m",
    "fft": ("m^2",),
    "normalize": ("1",),
    "dynamic_slice": ("m^2",),
    "switch": "sin of m",
    "associative_scan": "of m^2 and m",  # x, x^2, x^3 ... are not of one unit
    "custom_linear_solve": "sin of m",
    "vmap": "sin of m",
}


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


def unit(y):
    return shown(y.unit) if isinstance(y, Quantity) else "1"


def test_its_example_runs():
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_of_e3_on_lengths(name):
    expected, f = METRES[name], checked(PROGRAMS[name].make(fx, jnp))
    if isinstance(expected, tuple):
        found = f(quantity(X, m=1))
        assert unit(found) == expected[0]
        np.testing.assert_allclose(getattr(found, "value", found), make(name)(X), rtol=1e-12)
    else:
        with pytest.raises(UnitError, match=expected.replace("^", r"\^")):
            f(quantity(X, m=1))


def ratio(name):
    """The program, of lengths in units of one: every one of them adds up."""
    f = PROGRAMS[name].make(fx, jnp)
    return lambda x: checked(lambda x, one: f(x / one) * one)(
        Quantity(x, (("m", 1),)), quantity(1.0, m=1)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_of_e3_on_ratios(name):
    found = ratio(name)(jnp.asarray(X))
    assert unit(found) == "m"
    np.testing.assert_allclose(found.value, make(name)(X), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_under_jit_vmap_and_grad(name):
    f, x = make(name), jnp.asarray(X)
    compiled = fx.jit(ratio(name))(x)
    assert unit(compiled) == "m"
    np.testing.assert_allclose(compiled.value, f(x), rtol=1e-9, atol=1e-12)
    mapped = fx.vmap(ratio(name))(POINTS)
    np.testing.assert_allclose(mapped.value, fx.vmap(f)(POINTS), rtol=1e-9, atol=1e-12)
    if name != "while_loop":  # reverse mode needs checkpoints there
        slope = fx.grad(lambda x: jnp.sum(ratio(name)(x).value))(x)
        np.testing.assert_allclose(
            slope, fx.grad(lambda x: jnp.sum(f(x)))(x), rtol=1e-9, atol=1e-12
        )


@settings(max_examples=25, deadline=None, derandomize=True)
@given(laws.programs(max_steps=4), st.integers(0, 9))
def test_what_adds_up_does_not_depend_on_the_scale(sketch, seed):
    """The theorem of dimensional analysis: in centimetres the result is 100^k times the other."""
    args = laws.arguments(sketch, seed)
    try:
        found = checked(lambda *xs: tuple(sketch(*xs)))(*(quantity(x, m=1) for x in args))
    except UnitError:
        assume(False)
    larger = sketch(*(100 * x for x in args))
    for y, z in zip(found, larger, strict=True):
        power = dict(getattr(y, "unit", ())).get("m", 0)
        value = np.asarray(getattr(y, "value", y))
        np.testing.assert_allclose(z, value * 100.0**power, rtol=1e-7, atol=1e-9)


def test_laws():
    report = laws.check(
        checked,
        embed=lambda *xs: [Quantity(x, ()) for x in xs],
        project=lambda found: fx.tree.map(
            lambda x: x.value if isinstance(x, Quantity) else x,
            found,
            is_leaf=lambda x: isinstance(x, Quantity),
        ),
        max_examples=4,
    )
    assert all(v.verdict == "true" for v in report.verdicts), str(report)


# ------------------------------------------------------------------------- control flow


def test_a_carry_keeps_its_unit():
    def fall(height, speed, dt, g):
        def step(state, _):
            h, v = state
            return (h + v * dt, v - g * dt), h

        return lax.scan(step, (height, speed), None, length=5)

    (h, v), path = checked(fall)(
        quantity(10.0, m=1), quantity(0.0, m=1, s=-1), quantity(0.1, s=1), quantity(9.8, m=1, s=-2)
    )
    assert (unit(h), unit(v), unit(path)) == ("m", "m s^-1", "m")
    assert path.value.shape == (5,)


def test_a_carry_that_changes_its_unit_is_refused():
    def powers(x):
        return lax.scan(lambda c, _: (c * x, c), x, None, length=3)[0]

    with pytest.raises(UnitError, match=r"m in one branch or step of a loop, m\^2 in another"):
        checked(powers)(quantity(2.0, m=1))


def test_a_carry_that_starts_as_a_number_is_refused():
    def total(x):
        return lax.fori_loop(0, 3, lambda i, c: c + x, 0.0)

    with pytest.raises(UnitError, match="add of 1 and m"):
        checked(total)(quantity(2.0, m=1))


def test_while_and_cond():
    def double(x, limit):
        return lax.while_loop(lambda c: c < limit, lambda c: 2 * c, x)

    found = checked(double)(quantity(1.0, m=1), quantity(5.0, m=1))
    assert (float(found.value), unit(found)) == (8.0, "m")
    with pytest.raises(UnitError, match="lt of m and s"):
        checked(double)(quantity(1.0, m=1), quantity(5.0, s=1))

    def either(x, y):
        return lax.cond(x > 0, lambda: x, lambda: y)

    assert unit(checked(either)(quantity(1.0, m=1), quantity(2.0, m=1))) == "m"
    with pytest.raises(UnitError, match="s in one branch or step of a loop, m in another"):
        checked(either)(quantity(1.0, m=1), quantity(2.0, s=1))


# ---------------------------------------------------------------------------- first order


def test_a_gradient_has_the_unit_of_a_quotient():
    """The other order: units of `grad(f)`."""

    def energy(v, mass):
        return 0.5 * mass * jnp.sum(v**2)

    momentum = checked(fx.grad(energy))(quantity(np.ones(3), m=1, s=-1), quantity(2.0, kg=1))
    assert unit(momentum) == "kg m s^-1"
    np.testing.assert_allclose(momentum.value, 2 * np.ones(3))


def test_units_of_linear_algebra_and_powers():
    a, b = quantity(np.eye(3), N=1), quantity(np.ones(3), m=1)
    assert unit(checked(jnp.matmul)(a, b)) == "N m"
    assert unit(checked(jnp.linalg.norm)(b)) == "m"
    assert unit(checked(lambda x: x**0.5)(b)) == "m^0.5"
    assert unit(checked(lambda x: jnp.cbrt(x) ** 3 / x)(b)) == "1"
    assert unit(checked(jnp.var)(b)) == "m^2"
    assert unit(checked(jnp.linalg.cholesky)(quantity(np.eye(3), m=2))) == "m"
    assert unit(checked(jnp.arctan2)(b, b)) == "1"


def test_zero_is_of_any_unit():
    x = quantity(np.array([-1.0, 2.0]), m=1)
    assert unit(checked(lambda x: jnp.maximum(x, 0.0))(x)) == "m"
    assert unit(checked(lambda x: jnp.where(x > 0, x, 0.0))(x)) == "m"
    assert unit(checked(lambda x: x + np.zeros(2))(x)) == "m"
    with pytest.raises(UnitError, match="max of m and 1"):
        checked(lambda x: jnp.maximum(x, 1.0))(x)


def test_rounding_is_of_numbers():
    x = quantity(2.5, m=1)
    for f in (jnp.floor, lambda x: x.astype(int)):
        with pytest.raises(UnitError, match="of m: it takes numbers without a unit"):
            checked(f)(x)
    assert float(checked(jnp.sign)(x)) == 1.0
    assert int(checked(jnp.argmax)(quantity(np.array([1.0, 3.0]), m=1))) == 1
