"""Each program of examples/gallery, at a small size, shows what its picture claims."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import effax
import effax.numpy as jnp
from effax import random

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"
PROGRAMS = sorted(path.stem for path in GALLERY.glob("[!_]*.py"))


def load(name):
    if str(GALLERY) not in sys.path:
        sys.path.insert(0, str(GALLERY))
    return importlib.import_module(name)


def test_digits():
    losses, _ = load("digits").run(epochs=2)
    assert losses[1, 1] < losses[0, 1] < np.log(10)


def test_throw():
    """The throw lands on the target and clears the wall; its slope is that of differences."""
    m = load("throw")
    throws, costs = m.run(rounds=60)
    places = np.array(m.flight(throws[-1], 200))
    assert costs[-1] < 0.01 < costs[0]
    assert np.interp(m.WALL, *places.T) > m.HEIGHT
    slope = effax.grad(m.cost)(jnp.array(throws[0]), 200)
    for i, e in enumerate(1e-2 * np.eye(2)):
        ahead, behind = (float(m.cost(jnp.array(throws[0] + d), 200)) for d in (e, -e))
        np.testing.assert_allclose(slope[i], (ahead - behind) / 2e-2, rtol=0.02)


def test_neural_ode():
    m = load("neural_ode")
    losses, _, _, net = m.run(steps=40, points=32)
    assert losses[-1] < 0.5 * losses[0]
    times, start = jnp.linspace(0.0, 1.0, 5), jnp.array([1.0, 0.5])

    def end(scale):
        return m.path(effax.tree.map(lambda x: scale * x, net), times, start)[-1].sum()

    slope = (end(1.01) - end(0.99)) / 0.02
    np.testing.assert_allclose(effax.grad(end)(1.0), slope, rtol=0.02, atol=0.01)


def test_gaussian_process():
    """The posterior is that of the joint normal distribution, and the evidence its density."""
    m = load("gaussian_process")
    values, (x, y), logs = m.run(steps=30, count=20)
    assert values[-1] > values[0] + 5
    noisy = np.array(m.kernel(logs, x, x)) + (np.exp(2 * logs["noise"]) + 1e-5) * np.eye(20)
    expected = scipy.stats.multivariate_normal(np.zeros(20), noisy).logpdf(np.array(y))
    np.testing.assert_allclose(m.evidence(logs, x, y), expected, rtol=1e-4)
    mean, _ = m.posterior(logs, x, y, x)
    clean = np.array(m.kernel(logs, x, x))
    np.testing.assert_allclose(mean, clean @ np.linalg.solve(noisy, y), atol=2e-3)


def test_diffusion():
    """After training, samples have the spread of the moons, and not of noise."""
    m = load("diffusion")
    losses, points = m.run(steps=400, count=400)
    moons = np.array(m.moons(random.key(9), 4000))
    assert losses[-50:].mean() < 0.6 * losses[:10].mean()
    np.testing.assert_allclose(points[-1].std(0), moons.std(0), atol=0.15)
    assert abs(points[0].std() - 1) < 0.1


def test_flow():
    """The map is one to one, its change of volume is its Jacobian's, and its density sums to 1."""
    m = load("flow")
    losses, net = m.run(steps=150)
    assert losses[-1] < losses[0] - 0.5
    x = m.ring(random.key(5), 6)
    z, volume = m.to_normal(net, x)
    np.testing.assert_allclose(m.from_normal(net, z), x, atol=1e-4)
    slopes = effax.vmap(effax.jacfwd(lambda x: m.to_normal(net, x[None])[0][0]))(x)
    np.testing.assert_allclose(volume, np.linalg.slogdet(slopes)[1], atol=1e-4)
    axis = jnp.linspace(-6, 6, 300)
    grid = jnp.stack(jnp.meshgrid(axis, axis), -1).reshape(-1, 2)
    total = jnp.exp(m.log_density(net, grid)).sum() * (12 / 299) ** 2
    np.testing.assert_allclose(total, 1, atol=0.02)


def test_kalman():
    """The likelihood is the joint normal density of all sights; smoothing is nearer than sights."""
    m = load("kalman")
    places, seen, (mean, _), noises, values = m.run(steps=40, rounds=40)
    assert values[-1] > values[0] and 0.3 < noises[1] < 3
    errors = [np.square(np.array(x) - places).sum() for x in (mean[:, ::2], seen)]
    assert errors[0] < 0.6 * errors[1]
    logs, short = jnp.log(jnp.array([0.3, 0.8])), seen[:3]
    cov, states = 10 * np.eye(4), []
    for _ in short:
        cov = m.MOVE @ cov @ m.MOVE.T + 0.3 * m.PUSH
        states.append(np.array(cov))
    joint = np.zeros((6, 6))
    for i in range(3):
        for j in range(3):
            power = np.linalg.matrix_power(np.array(m.MOVE), abs(i - j))
            both = power @ states[j] if i > j else states[i] @ power.T
            joint[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = m.SEE @ both @ m.SEE.T
    joint += 0.64 * np.eye(6)
    expected = scipy.stats.multivariate_normal(np.zeros(6), joint).logpdf(np.ravel(short))
    np.testing.assert_allclose(m.filtered(logs, short)[0], expected, rtol=1e-4)


def test_hologram():
    """Light is kept (Parseval), and gradient descent brings most of it into the picture."""
    m = load("hologram")
    delays, picture, losses = m.run(size=32, steps=80)
    assert losses[-1] < 0.3 < losses[0]
    bright = np.array(m.far_field(delays))
    np.testing.assert_allclose(bright.sum(), 1, rtol=1e-5)
    assert bright[np.array(picture) > 0].sum() > 0.6


def test_galaxies():
    """Energy is kept; the pull on a body is the sum of the others' by Newton's law."""
    m = load("galaxies")
    path, first, last = m.run(count=40, steps=60)
    assert path.shape == (60, 40, 3)
    np.testing.assert_allclose(last, first, rtol=0.01)
    places, _, masses = map(np.array, m.start(10))
    away = places[1:] - places[0]
    size = np.sqrt((away**2).sum(1, keepdims=True) + m.SOFT**2)
    pull = -effax.grad(m.potential)(places[0], jnp.array(places), jnp.array(masses))
    np.testing.assert_allclose(pull, (masses[1:, None] * away / size**3).sum(0), rtol=1e-3)


def test_molecules():
    """Momentum and, without friction, energy are kept; friction takes energy away."""
    m = load("molecules")
    cooled, free = m.run(side=4, steps=300, box=7.0)
    total = np.array(free[1] + free[2])
    assert np.ptp(total) < 0.02 * np.abs(total).max()
    assert float(cooled[1][-1] + cooled[2][-1]) < float(cooled[1][0] + cooled[2][0])
    places, _ = m.start(4, 7.0)
    force = effax.grad(m.energy)(places + 0.1 * random.normal(random.key(0), places.shape), 7.0)
    np.testing.assert_allclose(force.sum(0), 0, atol=1e-2)


def test_hyperparameters():
    """The gradient through training is that of differences, and validation errors fall."""
    m = load("hyperparameters")
    errors, _, _ = m.run(rounds=10)
    assert errors[-1, 0] < 0.8 * errors[0, 0] and errors[-1, 1] < errors[0, 1]
    train, other = m.data(random.key(0), 40), m.data(random.key(1), 50)
    decays = jnp.full(m.INPUTS, -2.0)
    value = lambda d: m.validation(d, train, other)[0]  # noqa: E731
    ahead, behind = value(decays.at[3].add(0.05)), value(decays.at[3].add(-0.05))
    np.testing.assert_allclose(effax.grad(value)(decays)[3], (ahead - behind) / 0.1, rtol=0.02)


def test_cart_pole():
    """Episodes get longer; the mean of the surrogate's gradient is zero for constant rewards."""
    m = load("cart_pole")
    lengths, _ = m.run(rounds=12)
    assert lengths[-3:].mean() > 2.5 * lengths[0]
    upright = jnp.zeros(4)
    np.testing.assert_allclose(m.moved(upright, 0.0), upright)
    assert m.moved(upright.at[2].set(0.1), 0.0)[3] > 0, "a pole that leans falls further"


def test_characters():
    """After a few steps letters cost far less than if all were as likely; what is written is letters."""
    m = load("characters")
    losses, net = m.run(steps=25, width=48)
    assert losses[-1] < 0.75 * np.log(len(m.LETTERS)) < losses[0]
    assert m.text().max() < len(m.LETTERS) and m.written(net, random.key(0), 20).shape == (20,)


def test_patterns():
    """The derivative by the feed is that of differences; a square grows."""
    m = load("patterns")
    early, late, slope = m.run(size=24, steps=200, seeds=1)
    assert (late > 0.1).sum() > (m.start(24, 1)[1] > 0.1).sum() and early.shape == (24, 24)
    state = m.start(24, 1)
    ahead, behind = (m.grown(0.035 + d, state, 200)[1] for d in (1e-3, -1e-3))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-3, atol=0.02 * np.abs(slope).max())


def test_fastest_slide():
    """The time is within a thousandth of the cycloid's, which is the least there is."""
    m = load("fastest_slide")
    _, times = m.run(count=24, rounds=40)
    (_, best) = m.cycloid()
    assert 0.999 * best < times[-1] < 1.001 * best < 0.9 * times[0]


def test_pendulums():
    """Energy is kept; small swings have the frequencies of theory and forget nothing."""
    m = load("pendulums")
    path, wild = m.forgetting(jnp.array([2.5, 2.5]), 400)
    energies = effax.vmap(m.energy)(path)
    np.testing.assert_allclose(energies, energies[0], rtol=1e-3)
    slow, calm = m.forgetting(1e-3 * jnp.array([1.0, np.sqrt(2)]), 400)
    assert calm < 0.5 < wild
    rate = np.sqrt(m.GRAVITY * (2 - np.sqrt(2)))
    expected = 1e-3 * np.cos(rate * m.STEP * np.arange(1, 401))
    np.testing.assert_allclose(slow[:, 0, 0], expected, atol=2e-5)


def test_boxes():
    """Bounds hold at points between the edges; lines are never wider than intervals."""
    m, edges = load("boxes"), np.linspace(-2, 2, 9, dtype="float32")
    boxes, lines = m.covered(m.wave, edges)
    points = np.linspace(edges[:-1], edges[1:], 50)
    values = points * np.sin(3 * points) - points / 2
    for lows, highs in (boxes.T, lines.T):
        assert np.all(lows - 1e-5 <= values) and np.all(values <= highs + 1e-5)
    radii = jnp.array([0.01, 0.1, 1.0])
    wide, tight, seen = m.widths(m.network(random.key(1)), radii, random.key(2), count=200)
    assert np.all(seen < tight) and np.all(tight < wide)
    assert tight[0] < 1.1 * seen[0]


def test_colors():
    """Four products give the matrix, which is that of a product for each column."""
    plan, matrix, dense = load("colors").run(12)
    assert plan.directions == 4
    np.testing.assert_allclose(matrix, dense, rtol=1e-6)


def test_polynomials():
    """Coefficients are those of the function's values around a circle, by a Fourier transform."""
    m = load("polynomials")
    found = m.coefficients(m.bump, 0.0, 12)
    circle = 0.5 * np.exp(2j * np.pi * np.arange(64) / 64)
    values = np.exp(np.sin(2 * circle)) / (1 + circle**2)
    wanted = (np.fft.fft(values).real / 64)[:13] * 2.0 ** np.arange(13)
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


def test_hydrogen():
    """The energies are published ones; where the proton is alone, the wave is hydrogen's."""
    m = load("hydrogen")
    k, energy = effax.jit(m.best)(2.0)
    np.testing.assert_allclose([k, energy], [1.238, -0.5865], atol=1e-3)
    np.testing.assert_allclose(m.energy(1.0, 2.0), -0.5538, atol=1e-3)
    value, acted = m.action(1.0, 40.0, jnp.array([0.3, 0.4, 20.5]))
    np.testing.assert_allclose(acted / value, -0.5 - 1 / 40, atol=1e-3)


def test_origins():
    """Each NaN is blamed on the line whose domain the point is outside of, the first of them."""
    m = load("origins")
    values, origins, texts = m.run(60)
    x, y = np.meshgrid(*2 * [np.linspace(-2, 2, 60, dtype="float32")])
    inside = x * x + y * y - 0.5
    names = np.array([text.split()[0] for text in texts])[origins]
    wanted = np.select(
        [inside < 0, x + y > 1.5, inside > 2.2**2], ["sqrt", "log", "asin"], default=""
    )
    assert np.all((origins >= 0) == np.isnan(values))
    assert np.all(np.where(origins >= 0, names, "") == wanted)


def test_key_graph():
    m = load("key_graph")
    found = m.uses(m.noisy, random.key(0))
    assert [(u.key, u.how) for u in found[:2]] == [(0, "split"), (2, "split")]
    assert m.spent(found) == {2, 4}
    with pytest.raises(effax.errors.KeyReuseError):
        load("key_reuse").check(m.noisy)(random.key(0))
    assert m.spent(found[:-2]) == set()
    assert len(m.layout(found)) == len(found) + 9


def test_layers():
    """Two layers more take no more room than their parameters."""
    m = load("layers")
    few, many = m.drawing(layers=4, width=8), m.drawing(layers=6, width=8)
    assert "4 times, the first is shown" in few.svg
    assert many.height < 1.1 * few.height


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_has_a_test_and_a_place(name):
    assert f"test_{name}" in globals()
    alone = re.compile(rf"^\[[^]]*\]\(\.\./examples/gallery/{name}\.py\)$", re.MULTILINE)
    pages = (GALLERY.parents[1] / "docs").glob("*.md")
    assert any(alone.search(page.read_text(encoding="utf-8")) for page in pages)
