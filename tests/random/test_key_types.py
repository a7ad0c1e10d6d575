"""Keys of every implementation, and arrays of them, against JAX's recorded answers."""

import json
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, random, tree, tree_util
from effax.backends.reference.evaluate import interpret
from tests.goldens.make_keys import names, outcome

RECORDED = json.loads((Path(__file__).parents[1] / "goldens" / "keys.json").read_text())
MODULES = {"jax": effax, "jnp": jnp, "lax": lax, "random": random}
STRUCTURE = [r for r in RECORDED if r["kind"] == "structure"]
STREAMS = [r for r in RECORDED if r["kind"] == "stream"]
LONG = ("gamma", "beta", "dirichlet", "random.t(", "poisson", "ball", "binomial", "multi", "wald",
        "complex", "choice", "permutation", "geometric", "int8", "orthogonal")  # fmt: skip
TOLERANCE = 2e-6
"""Of floats: one rounding of numbers about 10."""


def described(record):
    return f"{record['impl']}: {record['text']}"


def assert_same(found, expected, exact):
    """The same structure, shapes, dtypes and errors; floats within `TOLERANCE`."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            assert_same(f, e, exact)
    elif isinstance(expected, dict):
        assert isinstance(found, dict), found
        assert (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"])
        tolerance = 0 if exact or found["dtype"].startswith(("uint", "int", "key")) else TOLERANCE
        np.testing.assert_allclose(
            found["values"], expected["values"], rtol=tolerance, atol=tolerance
        )
    else:
        assert found == expected


def check(record):
    found = outcome(record["text"], MODULES, names(random, record["impl"]))
    assert_same(found, record["outcome"], exact=record["kind"] == "structure")


@pytest.mark.parametrize("record", [r for r in STRUCTURE if r["impl"] == "rbg"], ids=described)
def test_structure(record):
    check(record)


@pytest.mark.slow
@pytest.mark.parametrize("record", [r for r in STRUCTURE if r["impl"] != "rbg"], ids=described)
def test_structure_of_threefry(record):
    check(record)


def is_quick(record):
    return record["impl"] == "rbg" and not any(name in record["text"] for name in LONG)


@pytest.mark.parametrize("record", [r for r in STREAMS if is_quick(r)], ids=described)
def test_streams(record):
    check(record)


@pytest.mark.slow
@pytest.mark.parametrize("record", [r for r in STREAMS if not is_quick(r)], ids=described)
def test_streams_at_length(record):
    check(record)


def test_what_has_no_answer_of_jax():
    """`isinstance`, dtypes, old keys under the setting, errors that name the generator."""
    k = random.key(0, impl="rbg")
    assert isinstance(k, effax.Array) and repr(k).startswith("Array((), dtype=key<rbg>)")
    assert effax.dtypes.issubdtype(k.dtype, effax.dtypes.prng_key)
    assert (k.dtype.itemsize, k.nbytes, str(effax.typeof(k))) == (16, 16, "key<rbg>[]")
    assert random.key_dtype("rbg") == k.dtype != random.key_dtype()
    assert random.key(0, impl=k.dtype).dtype == random.key(0, dtype=k.dtype).dtype == k.dtype
    words = random.key_data(k)
    assert (random.wrap_key_data(words, impl="rbg") == k).item()
    with effax.default_prng_impl("rbg"):
        old = random.PRNGKey(0)
        np.testing.assert_array_equal(random.uniform(old, (3,)), random.uniform(k, (3,)))
        np.testing.assert_array_equal(random.split(old), random.key_data(random.split(k)))
        with pytest.raises(TypeError, match="last axis has length 4"):
            random.uniform(np.zeros(2, "uint32"))
    with pytest.raises(TypeError, match="last axis has length 2"):
        random.uniform(old)
    assert (k == None) is False and (k != None) is True  # noqa: E711
    for mixed in (lambda: jnp.arange(4) + k, lambda: np.arange(4) + k, lambda: k == np.zeros(4),
                  lambda: k.at[...].add(k), lambda: lax.neg(k), lambda: jnp.arange(4)[k],
                  lambda: jnp.take(jnp.arange(4), k), lambda: float(k), lambda: jnp.dot(k, k),
                  lambda: k[None].at[0].set(words), lambda: hash(k)):  # fmt: skip
        with pytest.raises(TypeError):
            mixed()
    assert (jnp.full((3,), k) == k).all().item()
    assert (jnp.zeros((2,), dtype=k.dtype) == k).all().item()
    assert (jnp.empty(3, k.dtype).shape, jnp.empty(3).dtype) == ((3,), "float32")
    with pytest.raises(ValueError, match='"rbg", "unsafe_rbg"'):
        random.key(0, impl="philox")
    with pytest.raises(TypeError):
        effax.jit(lambda c: lax.cond(c, lambda: k, lambda: random.key(0)))(True)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize(
    "state",
    [np.arange(4, dtype=np.uint32), np.array([5, 2**64 - 2], np.uint64),
     np.array([5, 2**64 - 2, 2**64 - 1], np.uint64)],
    ids=lambda x: str(x.dtype) + str(x.shape),
)  # fmt: skip
def test_philox_is_as_its_authors_state_it(state, dtype):
    """XLA's against the rounds written out in NumPy, over the ends of the counter's words."""
    with effax.enable_x64(True):
        draw = lambda s: lax.rng_bit_generator(s, (3, 5), dtype)  # noqa: E731
        for found, expected in zip(draw(state), interpret(draw)(state), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_what_the_generators_refuse():
    state = jnp.zeros(4, jnp.uint32)
    for wrong in (state[:2], state[:3], jnp.zeros(4, jnp.int32), jnp.zeros((4, 2), jnp.uint32)):
        with pytest.raises(TypeError, match="state of a generator"):
            lax.rng_bit_generator(wrong, (3,))
    with pytest.raises(TypeError, match="unsupported dtype int32"):
        lax.rng_bit_generator(state, (3,), jnp.int32)
    with pytest.raises(ValueError, match="RandomAlgorithm"):
        lax.rng_bit_generator(state, (3,), algorithm=7)
    with pytest.raises(NotImplementedError, match="order of Threefry"):
        interpret(lambda s: lax.rng_bit_generator(s, (3,), algorithm=1))(state)
    for low, high, error in ((0, 1.0, ValueError), (jnp.ones(3), jnp.ones(3), ValueError),
                             (False, True, TypeError), (jnp.uint8(0), jnp.uint8(9), TypeError),
                             (1j, 2j, TypeError)):  # fmt: skip
        with pytest.raises(error):
            lax.rng_uniform(low, high, (3,))


@pytest.mark.parametrize("run", [lambda f: f, interpret, effax.jit], ids=["eager", "ref", "jit"])
def test_rng_uniform(run):
    """No stream is promised: where the numbers lie, what they average, and that they differ."""
    floats = run(lambda: lax.rng_uniform(-2.0, 3.0, (40, 50)))()
    whole = run(lambda: lax.rng_uniform(jnp.int32(3), jnp.int32(7), (2000,)))()
    floats, whole = np.asarray(floats), np.asarray(whole)
    assert (floats.dtype, whole.dtype, floats.shape) == (np.float32, np.int32, (40, 50))
    assert floats.min() >= -2 and floats.max() < 3 and abs(floats.mean() - 0.5) < 0.2
    assert sorted(set(whole.tolist())) == [3, 4, 5, 6]
    assert effax.vmap(lambda _: lax.rng_uniform(0.0, 1.0, (3,)))(jnp.arange(2)).shape == (2, 3)
    with pytest.raises(NotImplementedError, match="differ along the batch"):
        effax.vmap(lambda high: lax.rng_uniform(0.0, high, (3,)))(jnp.ones(2))
    with pytest.raises(NotImplementedError, match="no derivative"):
        effax.grad(lambda high: lax.rng_uniform(0.0, high, ()))(1.0)


def test_keys_are_leaves_of_trees():
    """In `tree` and `tree_util` an array of keys is one leaf, as in JAX; in `jit` it is words."""
    k, ks = random.key(0), random.split(random.key(1), 3)
    nested = {"key": k, "rest": (1.0, ks)}
    leaves, structure = tree.flatten(nested)
    assert leaves[0] is k and leaves[2] is ks
    assert structure == tree.structure({"key": 0, "rest": (0, 0)}) == tree.structure(nested)
    assert tree.unflatten(structure, leaves)["key"] is k
    assert tree.map(lambda x: getattr(x, "shape", None), nested) == {
        "key": (),
        "rest": (None, (3,)),
    }
    assert tree.map(lambda x, y: x is y, nested, nested)["rest"] == (True, True)
    paths = [tree_util.keystr(path) for path, _ in tree.leaves_with_path(nested)]
    assert paths == ["['key']", "['rest'][0]", "['rest'][1]"]
    shown = tree.map_with_path(lambda path, x: getattr(x, "dtype", None), nested)
    assert shown["rest"][1] == ks.dtype
    asked = []
    tree.leaves(nested, is_leaf=lambda x: asked.append(x) or isinstance(x, tuple))
    assert any(x is nested["rest"] for x in asked)
    assert (
        tree.leaves_with_path(nested, lambda path, x: len(path) == 1, True)[1][1] is nested["rest"]
    )
    assert tree.broadcast({"key": k, "rest": 2.0}, nested) == {"key": k, "rest": (2.0, 2.0)}
    turned = tree.transpose(tree.structure([0, 0]), tree.structure((0, 0)), [(k, 1), (k, 2)])
    assert turned[0][0] is k and turned[1] == [1, 2]
    assert tree.reduce(lambda n, x: n + 1, nested, 0) == 3
    assert tree.reduce_associative(lambda a, b: b, nested) is ks
    assert tree.all({"a": 1}) and tree_util.all_leaves([k, 1]) and not tree_util.all_leaves([(k,)])
    assert not tree_util.is_tree_node(type(k))
    for one_level in (tree_util.flatten_one_level, tree_util.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="expected a container, got a leaf"):
            one_level(k)
    back = effax.jit(lambda t: tree.map(lambda x: x, t))(nested)
    assert back["key"].dtype == k.dtype and (back["rest"][1] == ks).all()


def test_arrays_of_keys_are_compared_whole():
    keys = random.split(random.key(0))
    assert jnp.array_equal(keys, keys, equal_nan=True) and not jnp.array_equal(keys, keys[0])
