"""`checking_leaks`: values that outlive their trace are found, with who holds them."""

import gc

import pytest

import effax
import effax.numpy as jnp
from effax.errors import LeakedCarrierError

KEPT = []


class Model:
    state = None


def into_global(x):
    KEPT.append(jnp.sin(x))
    return x * 2


def into_attribute(x, model=Model):
    model.state = x * 3
    return x


def into_closure(x):
    y = x + 1

    def later():
        return y

    KEPT.append(later)
    return x


LEAKS = {
    "into_global": (into_global, "the global KEPT of the module"),
    "into_attribute": (into_attribute, "the attribute state of a type"),
    "into_closure": (into_closure, "the variable y that the function into_closure.<locals>.later"),
}
TRANSFORMS = {
    "jit": effax.jit,
    "grad": effax.grad,
    "vmap": lambda f: lambda x: effax.vmap(f)(jnp.stack([x, x])),
    "jit(grad)": lambda f: effax.jit(effax.grad(f)),
    "vjp": lambda f: lambda x: effax.vjp(f, x)[1](x),
    "fori_loop": lambda f: lambda x: effax.lax.fori_loop(0, 3, lambda i, y: f(y), x),
    "make_jaxpr": effax.make_jaxpr,
}


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    KEPT.clear()
    Model.state = None


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found(leak, transform):
    function, holder = LEAKS[leak]
    gc.unfreeze()  # the collector finds no holder among frozen objects: see tests/conftest.py
    with (
        effax.checking_leaks(),
        pytest.raises(LeakedCarrierError, match="1 traced value leaked") as caught,
    ):
        TRANSFORMS[transform](function)(jnp.float32(1))
    message = str(caught.value)
    assert holder in message
    if transform != "vmap":  # what is batched has elements, and no line
        assert "test_leaks.py" in message


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_does_not_leak_passes(transform):
    def clean(x):
        def step(c, _):
            return jnp.sin(c) * x, c

        c, ys = effax.lax.scan(step, x, None, length=3)
        return effax.lax.cond(c > 0, lambda: c, lambda: ys.sum())

    expected = TRANSFORMS[transform](clean)(jnp.float32(1))
    with effax.checking_leaks():
        found = TRANSFORMS[transform](clean)(jnp.float32(1))
    assert str(found) == str(expected)


def test_custom_rules_keep_no_values():
    @effax.custom_jvp
    def forward(x):
        return jnp.sin(x)

    forward.defjvps(lambda t, ans, x: jnp.cos(x) * t)

    @effax.custom_vjp
    def reverse(x):
        return jnp.sin(x)

    reverse.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
    for rule in (forward, reverse):
        with effax.checking_leaks():
            f = effax.jit(effax.grad(rule))
            assert float(f(0.0)) == 1
            effax.vmap(effax.grad(rule))(jnp.zeros(2))


def test_what_was_traced_before_is_checked_too():
    f = effax.jit(into_global)
    f(1.0)
    with effax.checking_leaks(), pytest.raises(LeakedCarrierError):
        f(1.0)


def test_a_failure_is_not_taken_for_a_leak():
    def fails(x):
        into_global(x)
        raise KeyError("own")

    with effax.checking_leaks():
        for transform in (effax.jit, effax.grad):
            with pytest.raises(KeyError, match="own"):
                transform(fails)(1.0)
        KEPT.clear()
        assert float(effax.grad(lambda x: x * x)(3.0)) == 6
