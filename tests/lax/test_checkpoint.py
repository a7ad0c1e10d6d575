"""Checkpointed functions: the same numbers, fewer residuals."""

import re
from functools import partial

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.ad_checkpoint import checkpoint_name
from effax.api.derivatives.residuals import saved_residuals
from effax.backends.xla.lowering.writer import module_text

policies = effax.checkpoint_policies
W = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
X = np.arange(3, dtype=np.float32)


def network(w, x):
    y = checkpoint_name(jnp.sin(w @ x), "hidden")
    return effax.jit(lambda y: jnp.tanh(w @ jnp.sin(y)))(y)


CASES = [
    (None, 2),
    (policies.nothing_saveable, 2),
    (policies.dots_saveable, 4),
    (policies.save_only_these_names("hidden"), 3),
    (policies.save_only_these_names("other"), 2),
    (
        policies.save_from_both_policies(
            policies.dots_saveable, policies.save_only_these_names("hidden")
        ),
        5,
    ),
]


@pytest.mark.parametrize(("policy", "count"), CASES)
def test_what_is_stored(policy, count):
    assert len(saved_residuals(effax.checkpoint(network, policy=policy), W, X)) == count


@pytest.mark.parametrize("policy", [p for p, _ in CASES] + [policies.everything_saveable])
def test_derivatives_are_those_of_the_function(policy):
    def total(f):
        return lambda w, x: jnp.sum(f(w, x) ** 2)

    f, g = total(network), total(effax.checkpoint(network, policy=policy))
    np.testing.assert_allclose(g(W, X), f(W, X), rtol=1e-6)
    for make in (effax.grad, lambda f: effax.jit(effax.grad(f)), lambda f: effax.hessian(f, 1)):
        np.testing.assert_allclose(make(g)(W, X), make(f)(W, X), rtol=1e-4, atol=1e-5)
    many = np.stack([X, 2 * X])
    found, wanted = (effax.vmap(effax.grad(h, 1), (None, 0))(W, many) for h in (g, f))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_inside_a_loop():
    def loop(step):
        return lambda x: jnp.sum(effax.lax.scan(lambda c, _: (step(c), None), x, None, length=4)[0])

    def step(c):
        return jnp.sin(jnp.cos(c))

    found, wanted = (
        effax.grad(loop(f))(X) for f in (effax.checkpoint(step, prevent_cse=False), step)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_static_arguments():
    f = effax.checkpoint(lambda x, n: x**n, static_argnums=1)
    np.testing.assert_allclose(effax.grad(f)(2.0, 3), 12.0)


def test_policies_are_functions():
    with pytest.raises(TypeError, match="policy"):
        effax.checkpoint(network, policy="everything")


def offloading(saved, offloaded):
    return policies.save_and_offload_only_these_names(
        names_which_can_be_saved=saved,
        names_which_can_be_offloaded=offloaded,
        offload_src="device",
        offload_dst="pinned_host",
    )


@pytest.mark.parametrize(
    ("policy", "count"),
    [
        (offloading(["hidden"], []), 3),
        (offloading([], ["hidden"]), 3),
        (offloading([], ["other"]), 2),
        (policies.offload_dot_with_no_batch_dims("device", "pinned_host"), 4),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_offloaded_residuals(policy, count, transform):
    """On CPU another memory is the same: values are stored, and derivatives are those."""
    f = effax.checkpoint(network, policy=policy)
    assert len(saved_residuals(f, W, X)) == count
    total = transform(effax.grad(lambda w: f(w, X).sum()))
    np.testing.assert_allclose(
        total(W), effax.grad(lambda w: network(w, X).sum())(W), rtol=1e-5, atol=1e-6
    )
    slope = effax.jvp(total, (W,), (W,))[1]
    plain = effax.jvp(effax.grad(lambda w: network(w, X).sum()), (W,), (W,))[1]
    np.testing.assert_allclose(slope, plain, rtol=1e-4, atol=1e-5)


def test_offloading_says_what_it_can_not():
    with pytest.raises(ValueError, match="exclusive"):
        offloading(["a", "b"], ["b"])
    with pytest.raises(ValueError, match="'disk'"):
        policies.offload_dot_with_no_batch_dims("device", "disk")
    moved = effax.make_program(
        effax.grad(
            lambda w: effax.checkpoint(network, policy=offloading([], ["hidden"]))(w, X).sum()
        )
    )(W)
    assert "to_memory[src=device dst=pinned_host]" in str(moved)
    assert "to_memory[src=pinned_host dst=device]" in str(moved)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_memories_of_chips_are_for_values_inside_of_programs(platform):
    """For a GPU XLA would leave a result there, and say that it is the device's."""

    def text(f):
        return module_text(effax.make_program(f)(X), platform)[0]

    host, device = effax.memory.Space.Host, effax.memory.Space.Device
    with pytest.raises(NotImplementedError, match=r"Space\.Device"):
        text(lambda x: effax.device_put(x, host))
    there = text(lambda x: effax.device_put(effax.device_put(x, host), device))
    assert re.findall(r'placement = "(\w+)"', there) == ["pinned_host", "device", "device"]
    plain = text(lambda x: x + 1)
    assert "placement" not in plain
    policy = offloading([], ["hidden"])
    stored = text(lambda x: effax.vjp(effax.checkpoint(network, policy=policy), W, x)[1])
    assert stored.count('placement = "pinned_host"') == 1
    assert stored.count('placement = "device"') == 3


def _in_a_scan(x):
    weights = jnp.stack([jnp.eye(4) * 0.5] * 3)
    return lax.scan(lambda c, w: (jnp.sin(jnp.sin(c @ w) @ w), None), x, weights)[0].sum()


def _in_a_branch(x):
    w = jnp.eye(4) * 0.5
    branches = (lambda x: jnp.sin(effax.jit(jnp.sin)(x @ w) @ w), lambda x: jnp.cos(x @ w))
    return lax.cond(x.sum() > 0, *branches, x).sum()


@pytest.mark.parametrize(
    ("function", "policy", "count"),
    [
        (_in_a_scan, "nothing_saveable", 6),
        (_in_a_scan, "everything_saveable", 4),
        (_in_a_scan, "dots_saveable", 4),
        (_in_a_branch, "nothing_saveable", 9),
        (_in_a_branch, "everything_saveable", 6),
        (_in_a_branch, "dots_saveable", 6),
    ],
)
def test_policies_are_asked_inside_of_loops_and_branches(function, policy, count) -> None:
    kept = effax.checkpoint(function, policy=getattr(effax.checkpoint_policies, policy))
    x = jnp.eye(4) * 0.5
    program = str(effax.make_jaxpr(effax.value_and_grad(kept))(x))
    assert program.count("= dot_general") == count
    assert np.allclose(effax.grad(kept)(x), effax.grad(function)(x), rtol=1e-5)


def test_names_are_kept_inside_of_a_scan_that_goes_backwards() -> None:
    def function(x):
        def step(c, w):
            return jnp.sin(checkpoint_name(c @ w, "product")), c.sum()

        weights = jnp.stack([jnp.eye(4) * 0.5] * 3)
        last, sums = lax.scan(step, x, weights, reverse=True)
        return last.sum() + sums.sum()

    policy = effax.checkpoint_policies.save_only_these_names("product")
    kept = effax.checkpoint(function, policy=policy)
    x = jnp.eye(4) * 0.5
    program = str(effax.make_jaxpr(effax.value_and_grad(kept))(x))
    assert program.count("= dot_general") == 2
    expected = effax.vmap(effax.grad(function))(jnp.stack([x, -x]))
    assert np.allclose(effax.vmap(effax.grad(kept))(jnp.stack([x, -x])), expected, rtol=1e-5)
    assert np.allclose(effax.hessian(kept)(x), effax.hessian(function)(x), atol=1e-5)


def computed(f, *args):
    """The text of what a derivative does at each tangent."""
    return str(effax.make_program(effax.linearize(f, *args)[1])(*args))


def both_sines(c):
    return jnp.sin(c), jnp.sin(c)


BRANCHED = {
    "branches": lambda x: lax.cond(x > 0.0, both_sines, both_sines, x),
    "steps": lambda x: lax.scan(lambda c, _: both_sines(c), x, None, length=1),
    "calls": lambda x: effax.jit(both_sines)(x),
}


@pytest.mark.parametrize("name", BRANCHED)
@pytest.mark.parametrize("cosines", [True, False])
def test_results_are_not_computed_again(name, cosines):
    """The second computation gives the residuals, not the results that were given already."""
    policy = (lambda effect, *_, **__: effect.name == "cos") if cosines else None
    f = effax.checkpoint(BRANCHED[name], policy=policy)
    text = computed(f, 1.0)
    carried = name == "steps" and not cosines  # the cosine of a step is that of the carry before
    assert text.count(" sin ") == carried
    assert (" cos " in text) is not cosines
    slopes = effax.jvp(f, (1.0,), (1.0,))[1]
    np.testing.assert_allclose(np.hstack(slopes), [np.cos(1.0)] * 2, rtol=1e-6)


def test_arguments_that_are_not_needed_are_not_stored():
    def f(x):
        return x * checkpoint_name(jnp.multiply(2.0, 2.0), "four")

    named = policies.save_only_these_names("four")
    ((_, place),) = saved_residuals(effax.checkpoint(f, policy=named), 1.0)
    assert place.startswith("named 'four'")
    assert saved_residuals(effax.checkpoint(f), 1.0) == []


def test_arrays_mentioned_in_a_function_are_among_what_is_stored():
    first, *_ = saved_residuals(lambda x: jnp.sin(x) * np.array([3.0]), 1.0)
    assert (first[0].shape, first[1]) == ((1,), "from a constant")


def test_what_is_stored_is_told_in_the_order_of_the_program():
    def f(x, y):
        z = checkpoint_name(jnp.sin(3.0), "z")
        return z * (x * y * jnp.cos(y))

    found = [place for _, place in saved_residuals(f, 2.0, 4.0)]
    assert found[:2] == ["from the argument x", "from the argument y"]
    places = [place.split(" from ")[0] for place in found[2:]]
    made = ["output of mul", "output of cos", "output of neg"]
    assert places == ["named 'z'", *made]


def test_only_what_is_computed_again_is_kept_apart():
    """Without a first computation there is nothing for the compiler to merge with."""
    f = effax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    assert "optimization_barrier" not in effax.jit(f).lower(1.0).as_text()
    assert "optimization_barrier" in effax.jit(effax.grad(f)).lower(1.0).as_text()
    assert "optimization_barrier" in effax.jit(effax.vmap(effax.grad(f))).lower(X).as_text()


@pytest.mark.parametrize("prevent_cse", [False, (False, False)])
def test_the_compiler_may_merge_if_asked_to(prevent_cse):
    f = effax.checkpoint(lambda x, y: jnp.sin(jnp.sin(x)) * y, prevent_cse=prevent_cse)
    assert "optimization_barrier" not in effax.jit(effax.grad(f)).lower(1.0, 2.0).as_text()


def test_a_function_is_traced_once_for_arguments_of_the_same_types():
    class Count:
        traces = 0

    @partial(effax.checkpoint, static_argnums=1)
    def f(x, power, scale=1.0):
        Count.traces += 1
        return scale * x**power, {"n": 3}

    for _ in range(3):
        f(2.0, 2), f(2.0, 3), f(jnp.ones(2), 2, scale=2.0)
    assert Count.traces == 3
    assert f(2.0, 2)[1]["n"] == 3 and float(effax.grad(lambda x: f(x, 3)[0])(2.0)) == 12.0
    assert Count.traces == 3
    f(2.0, True)
    with effax.enable_x64(True):
        f(2.0, 2)
    assert Count.traces == 5, "an equal value of another type, and another setting"


SCALE = 1.0


def scaled(x):
    return SCALE * x


@pytest.mark.parametrize(
    "wrap", [effax.checkpoint, lambda f: lambda x: lax.cond(True, f, f, x)], ids=["remat", "cond"]
)
def test_a_trace_is_used_only_while_what_the_function_refers_to_is_the_same(wrap):
    global SCALE
    w, parts, factor = jnp.float32(1), [1.0], 1.0
    captures, reads = wrap(lambda x: x * w), wrap(lambda x: x * parts[0])
    closes, refers = wrap(lambda x: x * factor), wrap(scaled)
    assert all(float(f(2.0)) == 2.0 for f in (captures, reads, closes, refers) for _ in range(2))
    w, parts[0], factor, SCALE = jnp.float32(3), 3.0, 3.0, 3.0
    assert all(float(f(2.0)) == 6.0 for f in (captures, reads, closes, refers) for _ in range(2))
    SCALE = 1.0


def test_branches_are_traced_once_for_arguments_of_the_same_types():
    class Count:
        traces = 0

    def branch(x):
        Count.traces += 1
        return x @ x

    for shape in (2, 3, 2, 3):
        lax.cond(True, branch, branch, jnp.ones((shape, shape)))
    assert Count.traces == 2
    with effax.default_matmul_precision("tensorfloat32"):
        lax.cond(True, branch, branch, jnp.ones((2, 2)))
    assert Count.traces == 3


def test_static_arguments_that_have_no_hash():
    f = effax.checkpoint(lambda x, parts: x * parts[0], static_argnums=1)
    assert float(f(2.0, [3])) == 6.0 and float(f(2.0, [4])) == 8.0
