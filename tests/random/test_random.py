"""Random numbers as values: keys and their errors, transformations, and what samples look like.

That the numbers are those of jax.random is tests/random/test_streams.py.
"""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, random
from effax.backends.reference.evaluate import interpret
from effax.effects.config import enable_x64
from effax.sharding import NamedSharding, PartitionSpec

KEY = random.PRNGKey(3)


# ------------------------------------------------------------------------------------------- keys


def words(key):
    return np.asarray(random.key_data(key)).tolist()


@pytest.mark.parametrize(
    ("seed", "low"),
    [
        (-1, 2**32 - 1),
        (2**40 + 5, 5),
        (np.int64(2**33 + 1), 1),
        (np.uint8(200), 200),
        (np.int8(-1), 2**32 - 1),
        (True, 1),
        (np.array(7), 7),
    ],
)
def test_seeds(seed, low):
    assert words(random.PRNGKey(seed)) == [0, low]


def test_seeds_of_64_bits():
    with enable_x64(True):
        assert words(random.PRNGKey(-1)) == [2**32 - 1, 2**32 - 1]
        assert words(random.PRNGKey(2**33 + 5)) == [2, 5]
        assert words(random.PRNGKey(np.int32(-2))) == [0, 2**32 - 2]


def test_traced_seeds():
    assert words(effax.jit(random.PRNGKey)(11)) == [0, 11]
    keys = effax.vmap(random.key)(jnp.arange(4))
    assert keys.shape == (4,)
    assert words(keys) == [[0, i] for i in range(4)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random.PRNGKey(2**63), OverflowError, "too large"),
        (lambda: random.PRNGKey(1.5), TypeError, "must be an integer"),
        (lambda: random.PRNGKey([1, 2]), TypeError, "scalar seed"),
        (lambda: random.key(random.key(0)), TypeError, "was given a PRNG key"),
        (lambda: random.key(0, impl="philox"), ValueError, "unrecognized PRNG implementation"),
        (lambda: random.key(0, impl="x", dtype="y"), ValueError, "Cannot specify both"),
        (lambda: random.uniform(0), TypeError, "unexpected PRNG key type"),
        (lambda: random.uniform(np.zeros(3, "uint32")), TypeError, "last axis has length 2"),
        (lambda: random.uniform(np.zeros(2, "int32")), TypeError, "uint32"),
        (lambda: random.uniform(random.split(KEY)), ValueError, "single key"),
        (lambda: random.split(random.split(random.key(0))), ValueError, "Use vmap"),
        (lambda: random.fold_in(KEY, -1), OverflowError, "out of bounds for uint32"),
        (lambda: random.fold_in(KEY, -1.5), OverflowError, "integer -1 out of bounds"),
        (lambda: random.fold_in(KEY, 1j), TypeError, "the complex number 1j"),
        (lambda: random.fold_in(KEY, np.arange(2)), TypeError, "accepts a scalar"),
        (lambda: random.split(KEY, -1), TypeError, "negative"),
        (lambda: random.uniform(KEY, (2,), int), ValueError, "float dtype"),
        (lambda: random.normal(KEY, (2,), "int32"), ValueError, "float or complex dtype"),
        (lambda: random.normal(KEY, 2.5), TypeError, "Shapes must be 1D"),
        (lambda: random.bits(KEY, (2,), "int32"), ValueError, "unsigned int dtype"),
        (lambda: random.randint(KEY, (2,), 0, 2, "float32"), TypeError, "int dtype"),
        (lambda: random.randint(KEY, (3,), np.zeros(2, int), 5), ValueError, "broadcast"),
        (lambda: random.uniform(KEY, (), minval=np.zeros(3)), TypeError, "broadcast"),
        (lambda: random.bernoulli(KEY, 1), TypeError, "floating dtype"),
        (lambda: random.bernoulli(KEY, 0.5, mode="x"), ValueError, "mode"),
        (lambda: random.permutation(KEY, 2.5), TypeError, "integer or at least 1-dimensional"),
        (lambda: random.permutation(KEY, np.arange(3), axis=1), ValueError, "out of bounds"),
        (lambda: random.choice(KEY, 5, 3), TypeError, "sequence"),
        (lambda: random.choice(KEY, 0, (3,)), ValueError, "greater than 0"),
        (lambda: random.choice(KEY, 3, (4,), replace=False), ValueError, "larger sample"),
        (
            lambda: random.choice(KEY, 3, (1,), p=jnp.ones(2)),
            ValueError,
            r"must have the shape \(3,\)",
        ),
        (lambda: random.gumbel(KEY, (), mode="x"), ValueError, "valid mode"),
        (lambda: random.dirichlet(KEY, 1.0), ValueError, "alpha.ndim"),
        (
            lambda: random.categorical(KEY, jnp.ones(3), shape=(4,), replace=False),
            ValueError,
            "exceed",
        ),
        (lambda: random.multivariate_normal(KEY, 1.0, jnp.eye(2)), ValueError, "mean.ndim"),
        (lambda: random.multivariate_normal(KEY, jnp.ones(2), jnp.eye(3)), ValueError, "cov.shape"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_key_arrays():
    keys = random.split(random.key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert keys.dtype == random.key_dtype() == random.key(1).dtype
    assert random.key_impl(keys) == "threefry2x32"
    assert keys[1, 2].shape == ()
    assert words(keys[:, 0]) == np.asarray(random.key_data(keys))[:, 0].tolist()
    assert words(keys[..., 1]) == np.asarray(random.key_data(keys))[:, 1].tolist()
    assert words(keys.reshape(6)) == words(keys.ravel())
    assert keys.reshape(3, -1).shape == (3, 2)
    assert words(keys.T) == np.asarray(random.key_data(keys)).transpose(1, 0, 2).tolist()
    assert [k.shape for k in keys] == [(3,), (3,)]
    assert np.asarray(keys == keys).all() and not np.asarray(keys != keys).any()
    assert "key<fry>" in repr(keys)
    for refused in (lambda: bool(keys[0, 0]), lambda: len(keys[0, 0]), lambda: np.asarray(keys)):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(TypeError):
        keys + 1


def test_keys_are_pytrees():
    key = random.key(0)

    def step(key, _):
        key, inner = random.split(key)
        return key, random.uniform(inner)

    last, drawn = effax.jit(lambda k: lax.scan(step, k, None, length=3))(key)
    for expected in np.asarray(drawn):
        key, inner = random.split(key)
        assert expected == random.uniform(inner)
    assert words(last) == words(key)
    batch = effax.vmap(lambda k: random.normal(k, (2,)))(random.split(key, 3))
    assert batch.shape == (3, 2)


def test_splits_differ():
    keys = np.asarray(random.split(KEY, 1000))
    assert len({tuple(k) for k in keys}) == 1000
    folded = effax.vmap(lambda i: random.fold_in(KEY, i))(jnp.arange(1000, dtype="uint32"))
    np.testing.assert_array_equal(folded, keys)  # as with jax's partitionable bits
    deeper = np.asarray(effax.vmap(random.split)(jnp.asarray(keys))).reshape(-1, 2)
    assert len({tuple(k) for k in deeper} | {tuple(k) for k in keys}) == 3000


def test_same_key_same_numbers():
    assert (random.normal(KEY, (5,)) == random.normal(KEY, (5,))).all()
    assert (random.normal(KEY, (5,)) != random.normal(random.split(KEY)[0], (5,))).any()
    # The first numbers of a longer draw are those of a shorter one.
    assert (random.bits(KEY, (3,)) == random.bits(KEY, (7,))[:3]).all()


# -------------------------------------------------------------------------------- transformations

SAMPLERS = {
    "bits": lambda k: random.bits(k, (5,)),
    "uniform": lambda k: random.uniform(k, (5,), minval=-1.0, maxval=2.0),
    "normal": lambda k: random.normal(k, (5,)),
    "randint": lambda k: random.randint(k, (5,), 0, 100),
    "permutation": lambda k: random.permutation(k, 6),
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (5,)),
    "categorical": lambda k: random.categorical(k, jnp.arange(4.0)),
    "choice": lambda k: random.choice(k, 7, (3,), replace=False),
    "gamma": lambda k: random.gamma(k, 2.0, (3,)),
    "poisson": lambda k: random.poisson(k, 3.0, (3,)),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_reference_agrees(name):
    """NumPy and XLA draw the same numbers."""
    draw = SAMPLERS[name]
    one, other = np.asarray(draw(KEY)), interpret(draw)(np.asarray(KEY))
    assert one.dtype == other.dtype
    np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", SAMPLERS)
def test_jit_and_vmap(name):
    draw = SAMPLERS[name]
    keys = random.split(KEY, 3)
    each = np.stack([np.asarray(draw(k)) for k in keys])
    np.testing.assert_allclose(effax.vmap(draw)(keys), each, rtol=1e-6)
    np.testing.assert_allclose(effax.jit(draw)(keys[0]), each[0], rtol=1e-6)


def test_gradients():
    """Samples move with the parameters of their distribution."""
    scale = effax.grad(lambda s: (s * random.normal(KEY, (4,))).sum())(2.0)
    np.testing.assert_allclose(scale, random.normal(KEY, (4,)).sum(), rtol=1e-6)
    u = random.uniform(KEY, (4,))
    low, high = effax.grad(
        lambda a, b: random.uniform(KEY, (4,), minval=a, maxval=b).sum(), argnums=(0, 1)
    )(0.0, 1.0)
    np.testing.assert_allclose((low, high), ((1 - u).sum(), u.sum()), rtol=1e-6)


@pytest.mark.parametrize("sampler", [random.gamma, random.loggamma])
@pytest.mark.parametrize("a", [0.7, 3.0])
def test_gamma_gradient(sampler, a):
    """d/da of a sample: the mean of it is d/da of the mean."""
    slope = effax.grad(lambda a: sampler(KEY, a, (20_000,)).mean())(a)
    from scipy.special import polygamma

    expected = 1.0 if sampler is random.gamma else float(polygamma(1, a))
    np.testing.assert_allclose(slope, expected, rtol=0.05)


def test_keys_do_not_move():
    y, t = effax.jvp(lambda s: s * random.uniform(KEY), (1.0,), (1.0,))
    np.testing.assert_allclose(t, y)


# ------------------------------------------------------------------------------------ distributions

N = 40_000
MOMENTS = [
    ("uniform", lambda: random.uniform(KEY, (N,)), 0.5, 1 / 12),
    ("normal", lambda: random.normal(KEY, (N,)), 0.0, 1.0),
    ("exponential", lambda: random.exponential(KEY, (N,)), 1.0, 1.0),
    ("laplace", lambda: random.laplace(KEY, (N,)), 0.0, 2.0),
    ("logistic", lambda: random.logistic(KEY, (N,)), 0.0, np.pi**2 / 3),
    ("gumbel", lambda: random.gumbel(KEY, (N,)), np.euler_gamma, np.pi**2 / 6),
    ("gumbel high", lambda: random.gumbel(KEY, (N,), mode="high"), np.euler_gamma, np.pi**2 / 6),
    (
        "gumbel highest",
        lambda: random.gumbel(KEY, (N,), mode="highest"),
        np.euler_gamma,
        np.pi**2 / 6,
    ),
    ("gamma", lambda: random.gamma(KEY, 3.0, (N,)), 3.0, 3.0),
    ("beta", lambda: random.beta(KEY, 2.0, 3.0, (N,)), 0.4, 0.04),
    ("chisquare", lambda: random.chisquare(KEY, 4.0, (N,)), 4.0, 8.0),
    ("t", lambda: random.t(KEY, 9.0, (N,)), 0.0, 9 / 7),
    ("poisson", lambda: random.poisson(KEY, 4.0, (N,)), 4.0, 4.0),
    ("poisson large", lambda: random.poisson(KEY, 40.0, (N,)), 40.0, 40.0),
    ("binomial", lambda: random.binomial(KEY, 20.0, 0.3, (N,)), 6.0, 4.2),
    ("binomial large", lambda: random.binomial(KEY, 200.0, 0.3, (N,)), 60.0, 42.0),
    ("geometric", lambda: random.geometric(KEY, 0.25, (N,)), 4.0, 12.0),
    ("rademacher", lambda: random.rademacher(KEY, (N,)), 0.0, 1.0),
    ("bernoulli", lambda: random.bernoulli(KEY, 0.2, (N,)), 0.2, 0.16),
    ("bernoulli high", lambda: random.bernoulli(KEY, 0.2, (N,), mode="high"), 0.2, 0.16),
    (
        "rayleigh",
        lambda: random.rayleigh(KEY, 2.0, (N,)),
        2 * np.sqrt(np.pi / 2),
        4 * (2 - np.pi / 2),
    ),
    ("wald", lambda: random.wald(KEY, 1.0, (N,)), 1.0, 1.0),
    ("triangular", lambda: random.triangular(KEY, 0.0, 1.0, 2.0, (N,)), 1.0, 1 / 6),
    ("maxwell", lambda: random.maxwell(KEY, (N,)), 2 * np.sqrt(2 / np.pi), 3 - 8 / np.pi),
    ("randint", lambda: random.randint(KEY, (N,), 10, 20), 14.5, 8.25),
    ("choice", lambda: random.choice(KEY, 3, (N,), p=jnp.array([0.5, 0.0, 0.5])), 1.0, 1.0),
]


@pytest.mark.parametrize(
    ("draw", "mean", "variance"), [m[1:] for m in MOMENTS], ids=[m[0] for m in MOMENTS]
)
def test_moments(draw, mean, variance):
    x = np.asarray(draw(), np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / N)
    assert abs(x.var() - variance) < 0.08 * variance


def test_normal_is_normal():
    from scipy.stats import kstest

    assert kstest(np.asarray(random.normal(KEY, (N,))), "norm").pvalue > 1e-3


def test_permutations_are_uniform():
    keys = random.split(KEY, 6000)
    drawn = np.asarray(effax.vmap(lambda k: random.permutation(k, 3))(keys))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 6
    assert (abs(counts - 1000) < 150).all()


def test_multinomial_and_dirichlet():
    counts = np.asarray(random.multinomial(KEY, 100.0, jnp.array([0.2, 0.3, 0.5])))
    assert counts.sum() == 100
    parts = np.asarray(random.dirichlet(KEY, jnp.ones(4), (10,)))
    np.testing.assert_allclose(parts.sum(-1), 1, rtol=1e-5)


def test_truncated_normal_stays_inside():
    x = np.asarray(random.truncated_normal(KEY, -0.1, 0.1, (1000,)))
    assert (x > -0.1).all() and (x < 0.1).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32"])
def test_randint_reaches_its_ends(dtype):
    info = np.iinfo(dtype)
    x = np.asarray(random.randint(KEY, (5000,), info.min, min(int(info.max) + 1, 2**31 - 1), dtype))
    if info.bits == 8:
        assert (x.min(), x.max()) == (info.min, info.max)
    assert x.dtype == dtype


def test_empty_shapes():
    assert random.uniform(KEY, (0, 3)).shape == (0, 3)
    assert random.permutation(KEY, 0).shape == (0,)
    assert random.choice(KEY, 5, (0,)).shape == (0,)
    assert random.split(KEY, 0).shape == (0, 2)


def test_out_sharding():
    """Samplers and initializers say where their results lie, and draw the same numbers."""
    where = NamedSharding(effax.make_mesh((1,), ("x",)), PartitionSpec("x"))
    for draw in (
        lambda **o: random.normal(KEY, (4,), **o),
        lambda **o: random.randint(KEY, (4,), 0, 9, **o),
        lambda **o: effax.nn.initializers.normal()(KEY, (4,), **o),
    ):
        placed = draw(out_sharding=where)
        assert placed.sharding == where
        np.testing.assert_array_equal(placed, draw())
        inside = effax.jit(lambda draw=draw: draw(out_sharding=where))()
        np.testing.assert_array_equal(inside, placed)


def test_uniform_of_the_shape_of_its_bounds_of_one_element():
    keys, low = random.split(KEY, 3), jnp.array([[0.0], [1.0], [2.0]])
    drawn = effax.vmap(random.uniform, in_axes=(0, None, None, 0, 0))(
        keys, (), jnp.float32, low, low + 1
    )
    assert drawn.shape == (3, 1)
    plain = [
        random.uniform(key, (), minval=x, maxval=x + 1)
        for key, x in zip(keys, low[:, 0], strict=True)
    ]
    np.testing.assert_array_equal(drawn[:, 0], jnp.stack(plain))
    with pytest.raises(TypeError, match="must broadcast to shape"):
        random.uniform(KEY, (), minval=jnp.zeros(2))
    for shape in (jnp.array([2, 3]), np.array([2, 3]), [2, 3]):
        assert random.uniform(KEY, shape).shape == (2, 3)
