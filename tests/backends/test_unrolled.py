"""Unrolled loops over the rows of an array: their slices as calls, and the sums of their products."""

from collections import Counter

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from benchmarks import deep, models
from effax.backends.xla.pieces import slices, sums
from effax.backends.xla.pieces.slices import stepped
from effax.backends.xla.pieces.sums import together
from effax.effects import config
from effax.effects.rows.control import call
from tests.backends.test_pieces import program_of

STEPS = 2 * sums.LEAST + 3


@pytest.fixture(autouse=True)
def with_pieces():
    """The suite is run without any fast path, too."""
    with config.fast_paths("all"):
        yield


def counted(program):
    return Counter(e.effect.name for e in program.equations)


def rows(starts, x):
    """A product for each slice: beside it a call costs nothing."""
    weight = jnp.ones((slices.WORK, 3))
    return [weight @ x[i] for i in starts]


def both(program, changed, *args):
    """The results of a program and of what became of it."""
    return [effax.jit(lambda *xs, p=p: call(*xs, program=p))(*args) for p in (program, changed)]


@pytest.mark.parametrize(
    "starts", [range(20), range(19, -1, -1), range(0, 40, 2), [*range(20), *range(20)]]
)
def test_steady_slices_become_calls_of_one_function(starts):
    x = np.random.default_rng(0).normal(size=(40, 3)).astype("f4")
    program = program_of(lambda x: rows(starts, x), (x,))
    changed = stepped(program)
    called = [e for e in changed.equations if e.attributes.get("apart")]
    assert len(called) == len({*starts}) == 20
    assert len({id(e.attributes["program"]) for e in called}) == 1
    assert counted(changed)["slice"] == 0
    for ours, plain in zip(*both(program, changed, x), strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_slices_that_are_fused_stay():
    x = np.zeros((40, 4, slices.SMALL // 2), "f4")
    weight = jnp.ones((4, 4))
    for f in (
        lambda x: [jnp.sin(x[i, 0, :3]) for i in range(20)],  # no product is near
        lambda x: [jnp.sin(x[i]) @ (weight @ x[i]).T for i in range(20)],  # it is large
    ):
        program = program_of(f, (x,))
        assert stepped(program) is program
    program = program_of(lambda x: [weight @ x[i] for i in range(20)], (x,))
    assert stepped(program) is not program  # it is large, and would be written in any case


@pytest.mark.parametrize(
    "starts", [range(slices.LEAST - 1), [*range(15), 17, 16], [0] * 20, [*range(16), 20]]
)
def test_other_slices_stay(starts):
    program = program_of(lambda x: rows(starts, x), (np.zeros((40, 3), "f4"),))
    assert stepped(program) is program


def test_slices_by_two_axes_stay():
    def diagonal(x):
        return [x[i : i + 2, i : i + 2].sum() for i in range(20)]

    program = program_of(diagonal, (np.zeros((40, 40), "f4"),))
    assert stepped(program) is program


def test_a_gradient_of_many_products_is_that_of_few():
    params, xs = models.recurrent_inputs(np, STEPS)
    program = program_of(effax.grad(models.recurrent(jnp)), (params, xs))
    changed = together(program)
    before, after = counted(program), counted(changed)
    assert before["dot_general"] == 5 * STEPS - 1
    # The products that go from step to step stay; of the two weights' there are three sums each.
    assert after["dot_general"] == 3 * STEPS - 1 + 2 * 3
    assert after["concatenate"] == 2 * 2 * 3
    assert after["reduce_sum"] == before["reduce_sum"] - STEPS + 3
    for ours, plain in zip(*both(program, changed, *effax.tree.leaves((params, xs))), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)


def test_sums_of_few_or_large_products_stay():
    def total(xs, ys):
        return sum(x.T @ y for x, y in zip(xs, ys, strict=True))

    few = [np.ones((3, 2), "f4")] * (sums.LEAST - 1)
    large = [np.ones((3, sums.SMALL), "f4")] * sums.LEAST
    for given in (few, large):
        program = program_of(total, (given, [np.ones((3, 2), "f4")] * len(given)))
        assert together(program) is program


def test_products_that_are_used_besides_stay():
    def total(xs, y):
        products = [jnp.vdot(x, y) for x in xs]
        return sum(products), products

    program = program_of(total, ([np.ones(3, "f4")] * 20, np.ones(3, "f4")))
    assert together(program) is program


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "complex64"])
def test_a_sum_of_terms_of_several_kinds(dtype):
    rng = np.random.default_rng(1)
    xs = [jnp.asarray(rng.normal(size=(4, 3)) * 3).astype(dtype) for _ in range(40)]

    def total(xs, start):
        for i, x in enumerate(xs):
            term = x.T @ x if i % 2 else (x[:2].T @ x[:2]).T
            start = term + start if i % 3 else start + (term + x[:3])
        return start

    start = jnp.ones((3, 3), dtype)
    program = program_of(total, (xs, start))
    changed = together(program)
    for ours, plain in zip(*both(program, changed, *xs, start), strict=True):
        plain = np.asarray(plain, "complex64" if dtype == "complex64" else "float32")
        np.testing.assert_allclose(
            np.asarray(ours).astype(plain.dtype), plain, rtol=3e-2 if dtype == "bfloat16" else 1e-4
        )


def test_products_inside_functions_count_as_work():
    xs, w = models.lstm_inputs(np, 30)
    text = effax.jit(effax.value_and_grad(models.lstm(effax, jnp), 1)).lower(xs, w).as_text()
    assert "_part" in text
    assert text.count("@slice(") == 31


def test_the_fast_path_can_be_left():
    params, xs = models.recurrent_inputs(np, STEPS)
    f = effax.value_and_grad(models.recurrent(jnp))
    text = effax.jit(f).lower(params, xs).as_text()
    with config.fast_paths("-pieces"):
        plain = effax.jit(lambda *args: f(*args)).lower(params, xs).as_text()
    assert "@slice(" in text and "concatenate" in text
    assert "@slice(" not in plain and "concatenate" not in plain


def test_the_table_of_deep_programs():
    taken = deep.Taken(1.0, 1e-3, 2e6, 0.0)
    lines = deep.table(
        {"layers_48": (taken, taken._replace(compiling=50.0)), "leapfrog": (taken, "late")}
    )
    rows = [line for line in lines.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 2 * 3
    assert rows[2] == "| 48 transformer layers | compiling | 1 s | 50 s | 0.02 of 0.05 |"
    assert rows[3] == "|  | running | 1 ms | 1 ms | **1.00 of 0.3** |"
    assert rows[7] == "|  | memory | 2 MB | late |  |"
