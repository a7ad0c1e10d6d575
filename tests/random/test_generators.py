"""Generators beside Threefry: published answers, JAX's streams, generators of users."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax, random
from effax.extend.random import define_prng_impl
from effax.random.ciphers import CIPHERS

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    "name, word, answer",
    [
        ("philox2x32", 0, "ff1dae59 6cd10df2"),
        ("philox2x32", ONES, "2c3f628b ab4fd7ad"),
        ("philox4x32", 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("philox4x32", ONES, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("threefry4x32", 0, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
        ("threefry4x32", ONES, "2a881696 57012287 f6c7446e a16a6732"),
    ],
)
def test_published_answers(name, word, answer):
    """Of Random123's `kat_vectors`, with the usual numbers of rounds."""
    cipher = CIPHERS[name]
    given = jnp.asarray(np.uint32(word))
    found = cipher.encipher([given] * cipher.width, [given] * cipher.block)
    assert " ".join(f"{int(x):08x}" for x in found) == answer


STREAMS = {
    "threefry4x32": [
        [1917176136, 491376067, 92901752, 3858974678],
        [
            [3812020652, 3373190181, 3388331836, 3697755725],
            [1389266881, 350666183, 1848958460, 2805923642],
        ],
        [1044047666, 4142951441, 3971071368, 1608685532],
        [248, 3],
        [3081313785955846760, 13623129719448512078],
        [1, 2, 0, 4, 3],
    ],
    "philox2x32": [
        [2756049022],
        [[3707468927], [2539550455]],
        [1819919844],
        [134, 27],
        [15923457795576217849, 10907286152339750892],
        [1, 0, 3, 4, 2],
    ],
    "philox4x32": [
        [2914289240, 2322071047],
        [[1964476573, 2779312174], [1281870303, 4217972161]],
        [3828304906, 4143918656],
        [70, 45],
        [8437362637572468782, 10905927641555827571],
        [4, 0, 3, 1, 2],
    ],
}
"""Of JAX 0.10.2, with x64: words of key(-5), of its split in 2, of fold_in 7; bits; permutation."""


@pytest.mark.parametrize("name", STREAMS)
def test_streams_are_those_of_jax(name):
    with fx.enable_x64(True):
        key = random.key(-5, impl=name)
        found = [
            random.key_data(key).tolist(),
            random.key_data(random.split(key)).tolist(),
            random.key_data(random.fold_in(key, 7)).tolist(),
            random.bits(key, (2,), "uint8").tolist(),
            random.bits(key, (2,), "uint64").tolist(),
            random.permutation(key, 5).tolist(),
        ]
    assert found == STREAMS[name]


@pytest.mark.parametrize("name", CIPHERS)
def test_keys_of_a_kind(name):
    key = random.key(0, impl=name)
    assert random.key_impl(key) == name
    assert random.key_data(key).shape == (CIPHERS[name].width,)
    keys = random.split(key, 3)
    batched = fx.vmap(lambda k: random.normal(k, (2,)))(keys)
    np.testing.assert_array_equal(batched, [random.normal(k, (2,)) for k in keys])
    compiled = fx.jit(lambda k: random.uniform(k, (4,)))(key)
    np.testing.assert_array_equal(compiled, random.uniform(key, (4,)))
    with fx.debug_key_reuse(True):
        fresh = random.key(1, impl=name)
        random.bits(fresh)
        with pytest.raises(fx.errors.KeyReuseError):
            random.bits(fresh)


def weyl(words, width, shape):
    """A generator that any one may write: multiples of the golden ratio."""
    place = lax.iota("uint32", int(np.prod(shape))).reshape(shape)
    word = (place + words[0] + 1) * np.uint32(0x9E3779B9) ^ words[1]
    if width == 64:
        return word.astype("uint64") << 32 | word.astype("uint64")
    return (word >> (32 - width)).astype(f"uint{width}")


def defined(**changes):
    given = {
        "key_shape": (2,),
        "seed": lambda seed: jnp.stack([seed.astype("uint32"), jnp.uint32(1)]),
        "split": lambda words, shape: weyl(words, 32, (*shape, 2)),
        "random_bits": weyl,
        "fold_in": lambda words, data: words ^ data,
        "name": "weyl",
        "tag": "weyl",
    }
    return define_prng_impl(**given | changes)


def test_a_generator_of_a_users():
    impl = defined()
    key = random.key(3, impl=impl)
    assert str(key.dtype) == "key<weyl>"
    drawn = random.uniform(key, (1000,))
    assert 0.45 < float(drawn.mean()) < 0.55
    assert random.permutation(key, 6).sum() == 15
    keys = random.split(key, (2, 3))
    assert keys.shape == (2, 3) and len(np.unique(random.key_data(keys).reshape(6, 2), axis=0)) == 6
    batched = fx.jit(fx.vmap(lambda k: random.normal(k, (2,))))(keys[0])
    np.testing.assert_allclose(batched, [random.normal(k, (2,)) for k in keys[0]], rtol=1e-6)
    with fx.debug_key_reuse(True):
        fresh = random.key(1, impl=impl)
        random.split(fresh)
        with pytest.raises(fx.errors.KeyReuseError):
            random.split(fresh)


def test_generators_of_one_name_are_told_apart():
    one, other = defined(name="twice"), defined(name="twice", fold_in=lambda words, data: words)
    assert one != other
    keys = [random.fold_in(random.key(3, impl=impl), 5) for impl in (one, other)]
    assert keys[0].dtype != keys[1].dtype
    assert random.key_data(keys[0]).tolist() == [3 ^ 5, 1 ^ 5]
    assert random.key_data(keys[1]).tolist() == [3, 1]


@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2), ()])
def test_words_of_several_axes(shape):
    """They have their shape wherever users see them, and are those of one axis otherwise."""
    width = int(np.prod(shape))

    def words_of(words):
        return jnp.resize(words.reshape(-1), 2)

    flat = {
        "seed": lambda seed: seed.astype("uint32") + jnp.arange(width, dtype="uint32"),
        "split": lambda words, batch: weyl(words_of(words), 32, (*batch, width)),
        "random_bits": lambda words, *how: weyl(words_of(words), *how),
    }
    plain = defined(key_shape=(width,), **flat)
    shaped = defined(
        key_shape=shape,
        seed=lambda seed: flat["seed"](seed).reshape(shape),
        split=lambda words, batch: flat["split"](words, batch).reshape(*batch, *shape),
        random_bits=flat["random_bits"],
    )
    one, other = (random.key(3, impl=impl) for impl in (plain, shaped))
    assert random.PRNGKey(3, impl=shaped).shape == random.key_data(other).shape == shape
    for draw in (lambda k: random.bits(k, (3,)), lambda k: random.normal(random.fold_in(k, 5))):
        assert draw(one).tolist() == draw(other).tolist() == fx.jit(draw)(other).tolist()
    mine, theirs = (fx.vmap(lambda k: random.split(k, 2))(random.split(k, 3)) for k in (one, other))
    data = random.key_data(theirs)
    assert theirs.shape == (3, 2) and data.shape == (3, 2, *shape)
    assert data.reshape(-1).tolist() == random.key_data(mine).reshape(-1).tolist()
    assert (random.wrap_key_data(data, impl=shaped) == theirs).all()
    assert (random.wrap_key_data(np.asarray(data), impl=shaped) == theirs).all()
    assert fx.eval_shape(random.key_data, theirs).shape == data.shape
    assert str(random.key_data(other)) in repr(other)
    if shape:
        with pytest.raises(TypeError, match=r"whose shape ends in \(.*2, 2\)"):
            random.wrap_key_data(jnp.zeros(width, "uint32"), impl=shaped)
