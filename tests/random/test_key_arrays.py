"""Arrays of keys where arrays of numbers would be: under custom rules, in tangents, on devices."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import custom_derivatives, lax, random, tree
from effax.dtypes import float0
from effax.effects.rows.random import threefry2x32

KEY = random.key(0)
KEYS = random.split(KEY, 3)


def nothing(*shape):
    return np.zeros(shape, float0)


def is_nothing(x, shape):
    return type(x) is np.ndarray and x.dtype == float0 and x.shape == shape


def product(x, keys):
    return x * random.normal(keys[0]), keys


def test_the_tangent_of_keys_has_their_shape():
    """It is one leaf of dtype float0, in every derivative, on the way in and out."""
    _, (_, tangent) = effax.jvp(product, (2.0, KEYS), (1.0, nothing(3)))
    assert is_nothing(tangent, (3,))
    _, push = effax.linearize(product, 2.0, KEYS)
    assert is_nothing(push(1.0, nothing(3))[1], (3,))
    _, pull = effax.vjp(product, 2.0, KEYS)
    assert is_nothing(pull((1.0, nothing(3)))[1], (3,))
    grads = effax.grad(lambda x, k: product(x, k)[0], argnums=(0, 1), allow_int=True)(2.0, KEYS)
    assert is_nothing(grads[1], (3,))
    with pytest.raises(ValueError, match="float0"):
        effax.jvp(product, (2.0, KEYS), (1.0, nothing()))
    with pytest.raises(ValueError, match="float0"):
        effax.jvp(lambda n: n, (jnp.arange(3),), (nothing(2),))
    with pytest.raises(TypeError, match="same tree structure"):
        effax.jvp(product, (2.0, KEYS), (1.0, (nothing(3),)))


@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit], ids=["eager", "jit"])
def test_custom_rules_are_given_tangents_of_keys(wrap):
    seen = []

    @effax.custom_jvp
    def forward(x, keys):
        return 2.0 * x, keys

    @forward.defjvp
    def _(primals, tangents):
        seen.append(tangents[1])
        return forward(*primals), (5.0 * tangents[0], tangents[1])

    assert wrap(effax.grad(lambda x: forward(x, KEYS)[0]))(1.0) == 5.0
    assert is_nothing(seen[0], (3,))

    @effax.custom_vjp
    def backward(x, keys):
        return 2.0 * x, keys

    def bwd(keys, cts):
        seen.append(cts[1])
        return 7.0 * cts[0], cts[1]

    backward.defvjp(lambda x, keys: (backward(x, keys), keys), bwd)
    assert wrap(effax.grad(lambda x: backward(x, KEYS)[0]))(1.0) == 7.0
    assert is_nothing(seen[-1], (3,))
    found = effax.vmap(effax.grad(lambda x, k: backward(x, k)[0]), (None, 0))(1.0, KEYS)
    assert found.tolist() == [7.0, 7.0, 7.0] and is_nothing(seen[-1], ())


def test_symbolic_zeros_of_keys():
    @effax.custom_vjp
    def f(x, state):
        return state

    def fwd(x, state):
        assert state[1].perturbed is False and random.key_data(state[1].value).shape == (2,)
        return tree.map(lambda leaf: leaf.value, state), None

    def bwd(_, cts):
        assert type(cts[1]) is custom_derivatives.SymbolicZero
        assert cts[1].dtype == float0 and cts[1].shape == ()
        return cts[0], cts

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert effax.grad(lambda x: f(x, (8.0, KEY))[0])(3.0) == 1.0


def test_where_keys_lie():
    """Keys answer for their words."""
    device = effax.devices()[0]
    assert KEYS.device == device and KEYS.devices() == {device} and not KEYS.committed
    assert KEYS.is_fully_addressable and KEYS.is_fully_replicated
    assert KEYS.on_device_size_in_bytes() == 24 and KEYS.copy_to_host_async() is None
    assert KEYS.unsafe_buffer_pointer() == random.key_data(KEYS).unsafe_buffer_pointer()
    assert (KEYS.addressable_data(0) == KEYS).all()
    (shard,) = KEYS.addressable_shards
    assert shard.index == (slice(None),) and (shard.data == KEYS).all()
    assert len(KEYS.global_shards) == 1
    deleted = random.split(KEY, 2)
    assert not deleted.is_deleted()
    deleted.delete()
    assert deleted.is_deleted()


def test_global_arrays_of_keys():
    count = len(effax.devices())
    keys = random.split(KEY, count)
    where = effax.NamedSharding(effax.make_mesh((count,), ("x",)), effax.P("x"))
    pieces = [effax.device_put(keys[i : i + 1], d) for i, d in enumerate(where.mesh.devices.flat)]
    for made in (
        effax.make_array_from_callback((count,), where, lambda index: keys[index]),
        effax.make_array_from_single_device_arrays((count,), where, pieces),
        effax.make_array_from_process_local_data(where, keys),
    ):
        assert made.dtype == keys.dtype and made.shape == (count,)
        np.testing.assert_array_equal(random.key_data(made), random.key_data(keys))


def test_stand_ins_for_keys_compare():
    like = effax.ShapeDtypeStruct.like(KEYS)
    assert like == effax.ShapeDtypeStruct((3,), KEYS.dtype) == effax.eval_shape(lambda k: k, like)
    assert hash(like) == hash(effax.ShapeDtypeStruct((3,), KEYS.dtype))
    assert like != effax.ShapeDtypeStruct((2,), KEYS.dtype)
    assert like != effax.ShapeDtypeStruct((3,), random.key_dtype("rbg"))
    with pytest.raises(TypeError, match="unhashable type"):
        hash(KEYS)


def test_arrays_of_one_key():
    """A number fills each word; a key each place; another dtype takes only the shape of keys."""
    words = np.full((3, 2), 100, np.uint32)
    for made in (
        jnp.full((3,), 100, KEYS.dtype), jnp.full_like(KEYS, 100), lax.full_like(KEYS, 100),
        lax.full((3,), 100, KEYS.dtype), effax.jit(lambda k: jnp.full_like(k, 100))(KEYS),
        jnp.full_like(KEY, 100, shape=(3,)), jnp.full_like(jnp.ones(3), 100, dtype=KEY.dtype),
    ):  # fmt: skip
        np.testing.assert_array_equal(random.key_data(made), words)
    for made in (jnp.full((3,), KEY, dtype=KEY.dtype), jnp.full_like(KEYS, KEY),
                 lax.full((3,), KEY)):  # fmt: skip
        assert made.shape == (3,) and (made == KEY).all()
    assert random.key_data(jnp.zeros_like(KEYS)).tolist() == [[0, 0]] * 3
    assert jnp.ones_like(KEYS, dtype=float).tolist() == [1.0, 1.0, 1.0]
    assert jnp.ones_like(KEYS, dtype=float).dtype == "float32"
    for wrong in (random.key_dtype("rbg"), jnp.int32):
        with pytest.raises(ValueError, match="convert_element_type from key<fry> to"):
            jnp.full((3,), KEY, dtype=wrong)


def test_keys_are_converted_to_keys_only():
    for same in (jnp.array(KEY, dtype=KEY.dtype), jnp.asarray(KEY, dtype=KEY.dtype),
                 KEY.astype(KEY.dtype), lax.convert_element_type(KEY, KEY.dtype)):  # fmt: skip
        assert same == KEY
    assert (jnp.array([KEYS[0], KEYS[1], KEYS[2]], dtype=KEYS.dtype) == KEYS).all()
    for convert in (lambda: lax.convert_element_type(KEY, int), lambda: jnp.array(KEY, jnp.int32),
                    lambda: KEY.astype("int32")):  # fmt: skip
        with pytest.raises(ValueError, match="from key<fry> to int32"):
            convert()
    with pytest.raises(ValueError, match="from int32 to key<fry>"):
        lax.convert_element_type(np.int32(0), KEY.dtype)


def test_arithmetic_names_the_function_and_the_dtypes():
    for add in (jnp.add, lambda x, y: x + y):
        with pytest.raises(TypeError, match="add does not accept dtypes key<fry>, int"):
            add(KEY, 1)
        with pytest.raises(TypeError, match="add does not accept dtype key<fry>"):
            add(KEY, KEY)
    for neg in (jnp.negative, lax.neg, lambda x: -x):
        with pytest.raises(TypeError, match="neg does not accept dtype key<fry>"):
            neg(KEY)


def test_what_is_no_key_is_refused_before_its_form():
    with effax.legacy_prng_key("error"):
        with pytest.raises(TypeError, match="invalid PRNG key data"):
            random.uniform(jnp.zeros(1))
        with pytest.raises(ValueError, match="Legacy"):
            random.uniform(jnp.zeros(2, "uint32"))


def test_more_numbers_than_a_word_counts():
    """The counter has 64 bits without x64, and without a warning about them."""
    late = effax.jit(lambda k: random.bits(k, (4, 1 << 31))[3, 5:9])(KEY)
    high, low = np.uint32([1] * 4), np.uint32((1 << 31) + np.arange(5, 9))
    pair = threefry2x32(*np.repeat(random.key_data(KEY), 4).reshape(2, 4), high, low)
    np.testing.assert_array_equal(late, np.bitwise_xor(*pair))
    shape = effax.eval_shape(lambda k: random.normal(k, (int(1e12),)), KEY)
    assert shape.shape == (int(1e12),)


@pytest.mark.parametrize(
    "f",
    [lambda n: random.permutation(KEY, n), lambda n: random.choice(KEY, n),
     lambda n: effax.nn.one_hot(0, n), lambda n: jnp.indices((n,)),
     lambda n: effax.ops.segment_sum(jnp.ones(3), jnp.arange(3), num_segments=n)],
    ids=["permutation", "choice", "one_hot", "indices", "segment_sum"],
)  # fmt: skip
def test_a_traced_size_is_told_as_one(f):
    with pytest.raises(effax.errors.ConcretizationTypeError):
        effax.jit(f)(3)


def test_keys_are_compared_with_what_has_no_elements_by_identity():
    key = random.key(0)
    for other in ("x", None, object()):
        assert (key == other) is False and (other == key) is False and (key != other) is True
        assert effax.jit(lambda k, other=other: jnp.int32(k == other))(key) == 0
    assert key not in ["a", None]
    for other in ([1], (key,), {}):
        with pytest.raises(TypeError, match="unsupported operand type"):
            _ = key == other
    with pytest.raises(TypeError, match="equal does not accept dtypes"):
        _ = key == 1
