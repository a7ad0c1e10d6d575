"""Long programs in pieces: which are cut, where, and that they compute the same."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from benchmarks import models
from effax.backends.xla.dispatch import is_long
from effax.backends.xla.pieces.flat import flat
from effax.backends.xla.pieces.fusing import Fusions
from effax.backends.xla.pieces.program import MUCH, cut
from effax.effects import config

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def with_pieces():
    """The suite is run without any fast path, too."""
    with config.fast_paths("all"):
        yield


def transformer(layers, wrapped=lambda f: f):
    loss = models.transformer(effax, jnp, layers)
    return wrapped(effax.value_and_grad(loss)), models.transformer_inputs(np, layers)


def chain_of_springs(steps):
    def energy(q, w):
        return jnp.sum(w * (1 - jnp.cos(q))) + 0.5 * jnp.sum((q[1:] - q[:-1]) ** 2)

    def f(q, w):
        p = jnp.zeros_like(q)
        for _ in range(steps):
            p = p - 0.01 * effax.grad(energy)(q, w)
            q = q + 0.01 * p
        return jnp.sum(p * p) + energy(q, w)

    n = 16
    q, w = (RNG.standard_normal(n).astype("float32") for _ in range(2))
    return effax.value_and_grad(f), (q, w)


def recurrent(steps):
    def f(w, xs):
        h = jnp.zeros(8)
        for i in range(steps):
            z = h @ w["h"] + xs[i] @ w["x"]
            h = h + jnp.tanh(z) * (1 + 0.1 * h)
        return jnp.sum(h)

    w = {k: RNG.standard_normal((8, 8)).astype("float32") / 5 for k in "hx"}
    return effax.value_and_grad(f), (w, RNG.standard_normal((steps, 8)).astype("float32"))


def convolutional(blocks):
    def f(kernels, x):
        for k in kernels:
            y = effax.lax.conv(x, k, (1, 1), "SAME")
            x = x + effax.nn.relu((y - jnp.mean(y)) / (1 + jnp.std(y)))
        return jnp.sum(x)

    kernels = [RNG.standard_normal((2, 2, 3, 3)).astype("float32") / 4 for _ in range(blocks)]
    return effax.value_and_grad(f), (kernels, RNG.standard_normal((1, 2, 6, 6)).astype("float32"))


def growth(program):
    return Fusions(program).growth(MUCH)


def program_of(f, args):
    return effax.jit(f).trace(*args).program


def calls(program):
    return [e for e in program.equations if e.attributes.get("apart")]


MODELS = {
    "transformer": lambda: transformer(8),
    "springs": lambda: chain_of_springs(12),
    "recurrent": lambda: recurrent(40),
    "convolutional": lambda: convolutional(20),
}


@pytest.mark.parametrize("name", MODELS)
def test_same_values_in_pieces(name):
    f, args = MODELS[name]()
    assert is_long(program_of(f, args))
    found = effax.jit(f)(*args)
    with config.fast_paths("-pieces"):
        expected = effax.jit(lambda *args: f(*args))(*args)
    for x, y in zip(effax.tree.leaves(found), effax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4 * np.abs(y).max())


def test_layers_become_calls_of_one_function():
    program = program_of(*transformer(12))
    made = cut(program)
    functions = [e.attributes["program"] for e in calls(made)]
    most = sorted((functions.count(p) for p in {*functions}), reverse=True)
    assert most[0] >= 10 and most[1] >= 10  # the layers forward, and backward
    assert len(made.equations) < len(program.equations) / 20


def test_layers_that_are_jitted_are_written_out_first():
    block = effax.jit(lambda x: x + jnp.exp(x) / (1 + x * x) * jnp.sum(x, keepdims=True))

    def f(x):
        for _ in range(80):
            x = block(x)
        return x

    program = program_of(f, (np.ones(4, "float32"),))
    assert len(program.equations) < 100 and is_long(program)
    assert calls(cut(program))
    again = flat(program)
    np.testing.assert_allclose(again.run(np.ones(4)), program.run(np.ones(4)), rtol=1e-6)


def test_programs_whose_fusions_repeat_little_stay_whole(monkeypatch):
    monkeypatch.setattr("effax.backends.xla.pieces.program.GROWTH", 6.0)
    network = models.network(jnp)
    program = program_of(effax.value_and_grad(network), models.network_inputs(np, 100))
    assert is_long(program) and growth(program) < 2
    assert cut(program) is program


def test_growth_counts_what_fusions_repeat():
    def repeated(step, depth):
        def f(x):
            for _ in range(depth):
                x = step(x)
            return x

        return growth(program_of(f, (np.ones(8, "float32"),)))

    assert repeated(lambda x: x * x + x, 60) == 1, "elements are computed once where they lie alike"
    assert repeated(lambda x: jnp.roll(x, 1) * x, 1) < 2
    assert repeated(lambda x: jnp.roll(x, 1) * x, 60) == MUCH, "each place needs two others"


def test_pieces_that_would_keep_more_stay_whole(monkeypatch):
    monkeypatch.setattr("effax.backends.xla.pieces.program.KEPT", 1.25)

    def f(w):
        x = w
        for _ in range(40):
            x = x + jnp.tanh(x) * jnp.sin(x * w)
        return jnp.sum(x)

    program = program_of(effax.grad(f), (np.ones(1000, "float32"),))
    assert is_long(program) and growth(program) > 3.5
    assert not calls(cut(program))


def test_no_piece_holds_a_convolution():
    program = program_of(*convolutional(60))
    for e in calls(cut(program)):
        assert all(
            inner.effect.name != "conv_general_dilated"
            for inner in e.attributes["program"].equations
        )


def test_effects_stay_in_order():
    said = []

    def f(x):
        for i in range(160):
            x = jnp.sin(x) * x + x
            if i % 40 == 0:
                effax.debug.callback(lambda _, i=i: said.append(i), x, ordered=True)
        return x

    program = program_of(f, (0.5,))
    assert is_long(program)
    effax.jit(f)(0.5)
    effax.effects_barrier()
    assert said == [0, 40, 80, 120]


@pytest.mark.cpu
def test_pieces_keep_less_and_repeat_less():
    """Cheap values are computed again in the derivative, as XLA's fusions would."""
    f, args = transformer(8)
    pieces = effax.jit(f).lower(*args).compile()
    with config.fast_paths("-pieces"):
        whole = effax.jit(lambda *args: f(*args)).lower(*args).compile()
    kept, before = (c.memory_analysis().temp_size_in_bytes for c in (pieces, whole))
    assert kept < before
    assert len(pieces.as_text()) < 0.8 * len(whole.as_text())
