"""Slices, borders and ranges of symbolic lengths, and lengths among numbers and arrays."""

import operator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import export
from effax.errors import InconclusiveDimensionOperation


def exported(function, text, dtype="float32", constraints=()):
    shape = export.symbolic_shape(text, constraints=constraints)
    return export.export(effax.jit(function))(effax.ShapeDtypeStruct(shape, dtype))


def numbers(*shape):
    return np.arange(1.0, 1 + np.prod(shape), dtype="float32").reshape(shape)


@pytest.mark.parametrize(
    "bounds",
    [
        lambda n: (0, -4, 2),
        lambda n: (0, -2 * n - 2, -1),
        lambda n: (None, None, n),
        lambda n: (2, 0, -2),
        lambda n: (2, 2 * n + 2, -n),
        lambda n: (-2, -4, -1),
        lambda n: (-n, None, 2),
        lambda n: (2 * n + 2, 4, -2),
    ],
)
def test_slices_that_are_empty_for_some_lengths(bounds):
    def read(x):
        return x[slice(*bounds(x.shape[1]))]

    def write(x):
        return jnp.asarray(x).at[slice(*bounds(x.shape[1]))].add(2.0)

    made = [(f, exported(f, "c, b")) for f in (read, write)]
    for shape in [(16, 8), (3, 2), (1, 1), (2, 5)]:
        x = numbers(*shape)
        for f, e in made:
            assert_array_equal(e.call(x), f(x))


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("constant", {"constant_values": ((1, 2), (3, 4))}),
        ("edge", {}),
        ("maximum", {}),
        ("mean", {"stat_length": True}),
        ("median", {}),
        ("linear_ramp", {"end_values": 3}),
        ("reflect", {"reflect_type": "odd"}),
        ("symmetric", {}),
        ("wrap", {}),
    ],
)
def test_borders_of_symbolic_width(mode, options):
    def bordered(x):
        n = x.shape[0]
        more = {"stat_length": ((n // 2, 2), (2, 2))} if "stat_length" in options else {}
        width = [[n - (mode == "reflect"), 0], [5, 1]]
        return jnp.pad(x, width, mode, **{**options, **more})

    e = exported(bordered, "b, 6", constraints=["b >= 2"])
    for b in (2, 3, 6):
        assert_allclose(e.call(numbers(b, 6)), bordered(numbers(b, 6)), rtol=1e-6)


def test_borders_that_may_be_mirrored_twice_are_refused():
    with pytest.raises(ValueError, match=r"Shape polymorphism .* the axis size \(= b\)"):
        exported(lambda x: jnp.pad(x, [[x.shape[0] - 1, 0]], "reflect"), "b")


def test_ranges():
    e = exported(lambda x: jnp.arange(0, x.shape[0], 1, jnp.float32), "b")
    assert_array_equal(e.call(np.zeros(3, "float32")), [0.0, 1.0, 2.0])
    for function, error, message in [
        (lambda n: jnp.arange(0.0, n), ValueError, "either dimension expressions or integers"),
        (lambda n: jnp.arange(0, n, 0.5), ValueError, "either dimension expressions or integers"),
        (lambda n: jnp.arange(0, n, 0), ValueError, "has step == 0"),
        (lambda n: jnp.arange(0, n, n - 2), InconclusiveDimensionOperation, "if it is > 0 or < 0"),
    ]:
        with pytest.raises(error, match=message):
            exported(lambda x, function=function: function(x.shape[0]), "b")


OTHERS = [2, 2.0, np.int32(2), np.float32(2), np.array(2), np.arange(1, 5), np.arange(1.0, 7.0)]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize(
    "op", [operator.add, operator.mul, operator.sub, operator.mod, operator.floordiv, divmod]
)
def test_lengths_among_numbers_and_arrays(op, other):
    def both(x):
        n = 2 * x.shape[0]
        return op(n, other), op(other, n)

    def length(x):
        return isinstance(x, int) or export.is_symbolic_dim(x)

    (b,) = export.symbolic_shape("b")
    whole = isinstance(other, int | np.integer) or (
        np.ndim(other) == 0 and np.array(other).dtype.kind == "i"
    )
    if whole:  # the result is a length as well
        assert all(map(length, effax.tree.leaves((op(2 * b, other), op(other, 2 * b)))))
    wanted = effax.tree.leaves(both(np.zeros(3)))
    found = effax.tree.leaves(exported(both, "b").call(np.zeros(3, "float32")))
    for x, y in zip(found, wanted, strict=True):
        assert_allclose(x, y, rtol=1e-6)


def test_powers_of_lengths():
    (b,) = export.symbolic_shape("b")
    assert b ** np.int64(3) == b * b * b
    e = exported(lambda x: (2 ** x.shape[0], x.shape[0] ** x.shape[0]), "b")
    assert [int(x) for x in e.call(np.zeros(3, "float32"))] == [8, 27]
    for power, kind in [(-2, "negative"), (1.5, "non-integer")]:
        with pytest.raises(ValueError, match=f"cannot be raised to {kind} powers"):
            b**power


@pytest.mark.parametrize(
    ("text", "like", "message"),
    [
        ("2a", None, "not a list of lengths"),
        ("a ^ a", None, "'a \\*\\* a' is not a length"),
        ("..., 3", None, "must stand at the end"),
        ("3", (4,), "different size"),
        ("b, ...", None, "no 'like' shape was given"),
        ("b, 6, c, _", (4, 6, 7), "parsed 3 already and 'like' shape has only 3 dimensions"),
        ("b, 7, c, ...", (4, 7), "parsed 3 already and 'like' shape has only 2 dimensions"),
    ],
)
def test_texts_that_are_no_shapes(text, like, message):
    with pytest.raises(ValueError, match=f"syntax error in symbolic shape .*{message}"):
        export.symbolic_shape(text, like=like)


def test_captured_arrays_of_64_bits_are_exported_as_the_program_has_them():
    e = exported(lambda x: jnp.pad(x, 1, constant_values=((1, 2), (3, 4))), "3, 5")
    assert e.call(numbers(3, 5))[0, 2] == 1


@pytest.mark.parametrize("bucket", [None, 2, "poly"])
def test_segments(bucket):
    def totals(x):
        ids = jnp.arange(x.shape[0]) % 3
        size = x.shape[1] if bucket == "poly" else bucket
        return effax.ops.segment_sum(x, ids, num_segments=x.shape[1], bucket_size=size)

    e = exported(totals, "b, n")
    for shape in [(7, 5), (2, 3)]:
        assert_allclose(e.call(numbers(*shape)), totals(numbers(*shape)), rtol=1e-6)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("name", ["qr", "svd"])
def test_decompositions_of_matrices_that_are_tall_or_wide(name, full):
    factors = getattr(jnp.linalg, name)
    options = {"full_matrices": full} if name == "svd" else {"mode": ["reduced", "complete"][full]}

    def again(x):
        found = [*factors(x, **options)]
        if name == "svd":
            k = x.shape[1]
            return (found[0][:, :k] * found[1]) @ found[2][:k]
        return found[0] @ found[1]

    e = exported(again, "m, n", constraints=["n <= m", "m <= 32"])
    for shape in [(5, 3), (4, 4)]:
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        assert_allclose(e.call(x), x, rtol=1e-4, atol=1e-5)


def test_bits_in_a_row_and_shuffles():
    def drawn(x):
        key = effax.random.key(0)
        return effax.random.uniform(key, x.shape), effax.random.split(key, x.shape[0])[-1]

    effax.config.update("threefry_partitionable", False)
    try:
        e = exported(drawn, "b, n")
        for shape in [(2, 2), (3, 5)]:
            (u, last), (wanted, key) = e.call(numbers(*shape)), drawn(numbers(*shape))
            assert_array_equal(u, wanted)
            assert_array_equal(*map(effax.random.key_data, (last, key)))
    finally:
        effax.config.update("threefry_partitionable", True)
    with pytest.raises(NotImplementedError, match="shape polymorphism for `permutation`"):
        exported(lambda x: effax.random.permutation(effax.random.key(0), x), "b")
