"""`check`, `check_error`, `debug_check`, and the `Error` they make, under every transformation."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental import checkify
from effax.experimental.checkify import check, check_error, debug_check

XS = np.float32([1, -1, 2, -3])
LANES = "at mapped index 1: x=-1.0 is low (`check` failed)\nat mapped index 3: x=-3.0 is low (`check` failed)"


def f(x):
    check(x > 0, "x={x} is low", x=x)
    return jnp.log(x)


@pytest.mark.parametrize(
    "checked",
    [
        checkify.checkify(f),
        effax.jit(checkify.checkify(f)),
        checkify.checkify(effax.jit(f)),
        effax.jit(checkify.checkify(effax.jit(f))),
        effax.jit(effax.jit(checkify.checkify(f))),
    ],
)
def test_values_and_errors(checked):
    error, out = checked(np.float32(2))
    assert error.get() is None and error.get_exception() is None and error.get_all() == []
    error.throw()
    assert float(out) == pytest.approx(np.log(2))
    error, out = checked(np.float32(-2))
    assert error.get() == "x=-2.0 is low (`check` failed)"
    assert isinstance(error.get_exception(), checkify.FailedCheckError)
    with pytest.raises(checkify.JaxRuntimeError, match=r"x=-2\.0 is low"):
        error.throw()
    with pytest.raises(ValueError):
        error.throw()
    assert np.isnan(out)


@pytest.mark.parametrize(
    "checked",
    [
        effax.vmap(checkify.checkify(f)),
        checkify.checkify(effax.vmap(f)),
        effax.jit(effax.vmap(checkify.checkify(f))),
        effax.vmap(effax.jit(checkify.checkify(f))),
        effax.vmap(checkify.checkify(effax.jit(f))),
        checkify.checkify(effax.vmap(effax.jit(f))),
        effax.jit(checkify.checkify(effax.jit(effax.vmap(f)))),
    ],
)
def test_which_lanes_failed(checked):
    error, out = checked(XS)
    assert error.get() == LANES
    np.testing.assert_allclose(out[::2], np.log(XS[::2]), rtol=1e-6)
    assert checked(np.abs(XS))[0].get() is None


def test_batches_of_batches():
    xs = XS.reshape(2, 2)
    wanted = (
        "at mapped index 0, 1: x=-1.0 is low (`check` failed)\n"
        "at mapped index 1, 1: x=-3.0 is low (`check` failed)"
    )
    assert checkify.checkify(effax.vmap(effax.vmap(f)))(xs)[0].get() == wanted
    assert effax.vmap(effax.vmap(checkify.checkify(f)))(xs)[0].get() == wanted
    inner = effax.vmap(checkify.checkify(effax.vmap(f)))(xs)[0].get()
    assert inner == (
        "at mapped index 0: at mapped index 1: x=-1.0 is low (`check` failed)\n"
        "at mapped index 1: at mapped index 1: x=-3.0 is low (`check` failed)"
    )


def test_under_derivatives():
    for checked in (
        checkify.checkify(effax.grad(f)),
        effax.jit(checkify.checkify(effax.grad(f))),
        checkify.checkify(effax.grad(effax.jit(f))),
    ):
        error, slope = checked(np.float32(-2))
        assert error.get() == "x=-2.0 is low (`check` failed)"
        assert float(slope) == -0.5
    slope, error = effax.grad(lambda x: checkify.checkify(f)(x)[::-1], has_aux=True)(np.float32(-2))
    assert float(slope) == -0.5 and error.get() == "x=-2.0 is low (`check` failed)"
    error, (_, tangent) = checkify.checkify(lambda x: effax.jvp(f, (x,), (x,)))(np.float32(-2))
    assert error.get() == "x=-2.0 is low (`check` failed)" and float(tangent) == 1
    error, slopes = checkify.checkify(effax.vmap(effax.grad(f)))(XS)
    assert error.get() == LANES and slopes.tolist() == pytest.approx((1 / XS).tolist())


def test_of_the_checks_of_a_batch_that_failed_the_first_is_raised():
    def again(fine):
        checkify.check(fine, "a check that is made twice")

    def g(x, y):
        again(x > 0)
        checkify.check(y > 0, "y is low")
        again(y > 0)

    errors = [
        checkify.checkify(effax.vmap(g))(np.ones(2), -np.ones(2))[0],
        checkify.checkify(effax.pmap(g))(np.ones(1), -np.ones(1))[0],
    ]
    for error in errors:
        assert "y is low" in error.get() and len(error.get_all()) == 2
        with pytest.raises(checkify.JaxRuntimeError, match=r"^y is low"):
            error.throw()
    staged, _ = checkify.checkify(checkify.check_error)(error)
    assert "y is low" in staged.get() and len(staged.get_all()) == 2


def test_arrays_in_a_message_are_shown_as_arrays():
    def g(x):
        checkify.check(x > 0, "{tree}, {x:.2f}", tree={"x": x}, x=x)

    text = "{'x': Array(-1., dtype=float32)}, -1.00 (`check` failed)"
    assert checkify.checkify(g)(np.float32(-1))[0].get() == text
    with pytest.raises(checkify.JaxRuntimeError) as caught:
        g(np.float32(-1))
    assert str(caught.value).startswith(text)


def test_without_checkify():
    assert float(f(np.float32(1))) == 0
    with pytest.raises(checkify.JaxRuntimeError, match=r"x=-1\.0 is low"):
        f(np.float32(-1))
    with pytest.raises(checkify.JaxRuntimeError, match=r"^x=.* is low.*\n.*at mapped index 1"):
        effax.vmap(f)(XS)
    with pytest.raises(effax.errors.UnhandledEffectError, match=r"wrap it in checkify\.checkify"):
        effax.jit(f)(np.float32(1))


def test_debug_checks():
    def g(x):
        debug_check(x > 0, "low")
        check(x > -5, "very low", debug=True)
        return x

    assert float(g(np.float32(-9))) == -9
    assert float(effax.jit(g)(np.float32(-9))) == -9
    assert checkify.checkify(g)(np.float32(-9))[0].get_all() == [
        "low (`check` failed)",
        "very low (`check` failed)",
    ]
    assert effax.jit(checkify.checkify(g))(np.float32(-1))[0].get() == "low (`check` failed)"


def test_the_first_of_several():
    def g(x):
        check(x > 0, "one")
        check(x > 1, "two")
        check(x > 2, "three")

    for wrap in (lambda g: g, effax.jit):
        error, _ = wrap(checkify.checkify(g))(np.float32(0.5))
        assert error.get() == "two (`check` failed)"
        assert error.get_all() == ["two (`check` failed)", "three (`check` failed)"]


def test_payloads_of_every_kind():
    def g(x):
        check(
            x.sum() > 99,
            "{0} {1} {2} {c} {h} {t[k]}",
            x,
            x.astype(np.int32),
            x > 1,
            c=x[0] + 1j,
            h=x.astype(np.float16),
            t={"k": jnp.uint8(3)},
        )

    x = np.float32([1.5, 2.5])
    wanted = "[1.5 2.5] [1 2] [ True  True] (1.5+1j) [1.5 2.5] 3 (`check` failed)"
    for g_ in (checkify.checkify(g), effax.jit(checkify.checkify(g))):
        assert g_(x)[0].get() == wanted
    with effax.enable_x64(True):
        assert checkify.checkify(lambda x: check(x > 0, "{}", x))(np.float64(-0.1))[0].get() == (
            "-0.1 (`check` failed)"
        )


def test_check_error_is_the_inverse():
    def again(x):
        error, out = effax.jit(checkify.checkify(f))(x)
        check_error(error)
        return out

    assert float(again(np.float32(1))) == 0
    with pytest.raises(checkify.JaxRuntimeError, match=r"x=-1\.0 is low"):
        again(np.float32(-1))
    for checked in (checkify.checkify(again), effax.jit(checkify.checkify(again))):
        assert checked(np.float32(-1))[0].get() == "x=-1.0 is low (`check` failed)"
    assert effax.vmap(checkify.checkify(again))(XS)[0].get() == LANES
    assert checkify.checkify(effax.vmap(again))(XS)[0].get() == LANES
    check_error(checkify.init_error)

    def of_batch(xs):
        error, out = checkify.checkify(effax.vmap(f))(xs)
        check_error(error)
        return out

    assert checkify.checkify(of_batch)(XS)[0].get() == LANES
    error, _ = effax.vmap(checkify.checkify(f))(XS)
    with pytest.raises(checkify.JaxRuntimeError, match=r"at mapped index 1: x=-1\.0"):
        error.throw()


def test_kinds_that_nobody_asked_for_are_left_to_the_outer():
    inner = checkify.checkify(f, errors=checkify.nan_checks)
    error, (inner_error, _) = checkify.checkify(inner)(np.float32(-1))
    assert error.get() == "x=-1.0 is low (`check` failed)"
    assert inner_error.get().startswith("nan generated by primitive: log")
    assert effax.jit(inner)(np.float32(1))[0].get() is None


def test_errors_are_trees():
    error, _ = checkify.checkify(f)(np.float32(-1))
    leaves, tree = effax.tree_util.tree_flatten(error)
    assert effax.tree_util.tree_unflatten(tree, leaves).get() == error.get()
    assert repr(error) == "Error(x=-1.0 is low (`check` failed))"
    moved = effax.jit(lambda e: e)(error)
    assert moved.get() == error.get()


@pytest.mark.parametrize("bad", [np.float32(1), np.array([True]), "yes"])
def test_bad_predicates(bad):
    with pytest.raises(TypeError, match="check takes a scalar pred as argument"):
        check(bad, "msg")


def test_bad_arguments():
    with pytest.raises(TypeError, match="PyTrees of arrays"):
        check(True, "{}", "text")
    with pytest.raises(TypeError, match="check_error takes an Error"):
        check_error("error")
    with pytest.raises(TypeError, match="checkify takes a function"):
        checkify.checkify(3)


def test_traced_once():
    traces = []

    def g(x):
        traces.append(1)
        return f(x)

    checked = effax.jit(checkify.checkify(g))
    checked(np.float32(1))
    checked(np.float32(-1))
    assert len(traces) == 1


def test_checks_inside_custom_rules_do_not_escape():
    @effax.custom_vjp
    def g(x):
        check(x > 0, "primal {}", x)
        return jnp.log(x)

    def forward(x):
        check(x > 0, "forward {}", x)
        return jnp.log(x), x

    def backward(x, ct):
        check(ct > 0, "backward")
        return (ct / x,)

    g.defvjp(forward, backward)
    inside = effax.jit(effax.grad(lambda x: checkify.checkify(g)(x)[::-1], has_aux=True))
    slope, error = inside(np.float32(-2))
    assert float(slope) == -0.5 and error.get() == "primal -2.0 (`check` failed)"
    error, slope = effax.jit(checkify.checkify(effax.grad(g)))(np.float32(-2))
    assert float(slope) == -0.5 and error.get() == "forward -2.0 (`check` failed)"
