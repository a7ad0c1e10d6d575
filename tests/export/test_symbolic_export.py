"""Functions exported with symbolic lengths: called at several sizes, and compared with themselves."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import export, lax, nn
from effax.errors import ExportError, InconclusiveDimensionOperation, SymbolicShapeError
from effax.export import SymbolicScope, symbolic_shape

B, N = symbolic_shape("b, n")
SIZES = ({"b": 1, "n": 1}, {"b": 2, "n": 7}, {"b": 7, "n": 2})
RNG = np.random.default_rng(0)
W1, W2, W3 = (np.asarray(RNG.normal(size=s), "float32") for s in ((8, 16), (16, 4), (8, 8)))
KERNEL = np.asarray(RNG.normal(size=(3, 3, 3, 5)), "float32")


def struct(*shape, dtype="float32"):
    return effax.ShapeDtypeStruct(shape, dtype)


def ints(*shape):
    return struct(*shape, dtype="int32")


def values(args, sizes):
    rng = np.random.default_rng(1)
    found = []
    for a in args:
        shape = tuple(n.value(sizes) if export.is_symbolic_dim(n) else n for n in a.shape)
        draw = rng.integers(0, 3, shape) if a.dtype == np.int32 else rng.normal(size=shape)
        found.append(jnp.asarray(draw, a.dtype))
    return found


def agrees(exported, function, args, sizes=SIZES):
    for given in sizes:
        inputs = values(args, given)
        got, want = exported.call(*inputs), function(*inputs)
        assert effax.tree.structure(got) == effax.tree.structure(want)
        for x, y in zip(effax.tree.leaves(got), effax.tree.leaves(want), strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            assert_allclose(x, y, rtol=3e-5, atol=3e-5)


def mlp(x):
    return nn.softmax(nn.relu(x @ W1 + 1.0) @ W2)


def loss(w1, w2, x, y):
    scores = nn.log_softmax(jnp.tanh(x @ w1) @ w2)
    return -(scores * y).sum(-1).mean()


def convolved(x, strides, padding):
    dims = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, KERNEL, strides, padding, dimension_numbers=dims)


def cnn(x):
    y = nn.relu(convolved(x, (1, 1), "SAME"))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.reshape(y.shape[0], -1).mean(axis=1)


def attention(x, w):
    n = x.shape[1]
    scores = jnp.einsum("bnd,bmd->bnm", x @ w, x @ w) / jnp.sqrt(8.0)
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
    y = x + jnp.einsum("bnm,bmd->bnd", nn.softmax(scores), x)
    y = y + jnp.sin(jnp.arange(n))[:, None]
    return (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-5)


def summed(x, w):
    return (attention(x, w) ** 2).mean()


PROGRAMS = {
    "mlp": (mlp, [struct(B, 8)], "b, 4"),
    "loss": (loss, [struct(8, 16), struct(16, 4), struct(B, 8), struct(B, 4)], ""),
    "gradient": (
        lambda *a: effax.grad(loss)(*a),
        [struct(8, 16), struct(16, 4), struct(B, 8), struct(B, 4)],
        "8, 16",
    ),
    "cnn": (cnn, [struct(B, 6, 6, 3)], "b"),
    "attention": (attention, [struct(B, N, 8), struct(8, 8)], "b, n, 8"),
    "gradient of attention": (effax.grad(summed), [struct(B, N, 8), struct(8, 8)], "b, n, 8"),
    "causal": (
        lambda q: nn.dot_product_attention(q, q, q, is_causal=True),
        [struct(B, N, 2, 8)],
        "b, n, 2, 8",
    ),
    "embedding": (lambda x, i: jnp.take(x, i, axis=0), [struct(16, 4), ints(B, N)], "b, n, 4"),
    "recurrence": (
        lambda x: lax.scan(lambda c, r: (c + r, c), jnp.zeros(3), x)[1],
        [struct(B, 3)],
        "b, 3",
    ),
    "recurrence backwards": (
        lambda x: lax.scan(lambda c, r: (c * r, c), x[0], x, reverse=True),
        [struct(B, N)],
        None,
    ),
    "steps that may be none": (
        lambda x: lax.scan(lambda c, r: (c + r.sum(), (c * r, r > 0)), 0.0, x[1:], reverse=True),
        [struct(B, 3)],
        None,
    ),
    "gradient of steps that may be none": (
        effax.grad(lambda x: lax.scan(lambda c, r: (c * r.sum(), c), 1.0, x[1:])[0] * x[:1].sum()),
        [struct(B, 3)],
        "b, 3",
    ),
    "an accumulation": (jnp.logaddexp.accumulate, [struct(B)], "b"),
    "loop": (
        lambda x: lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i] * i, jnp.zeros(3)),
        [struct(B, 3)],
        "3",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_at_several_sizes(name):
    function, args, expected = PROGRAMS[name]
    exported = export.export(effax.jit(function))(*args)
    if expected is not None:
        (type_,) = exported.out_avals
        assert type_.shape == symbolic_shape(expected, scope=B.scope)
    agrees(exported, function, args)


OPERATIONS = {
    "a length as a number": (lambda x: x.sum(0) / x.shape[0] + x.shape[0] * 2.5, [struct(B, 3)]),
    "a scalar of numpy": (lambda x: x * (np.float32(2) * x.shape[0]), [struct(B)]),
    "sizes": (lambda x: x / x.size + jnp.sqrt(x.shape[0]) - x.shape[1], [struct(B, N)]),
    "arrays of lengths": (lambda x: x + jnp.array([x.shape[0], 2])[0], [struct(B)]),
    "full": (lambda x: jnp.full((x.shape[0], 2), x.shape[0]), [struct(B)]),
    "arange": (lambda x: x + jnp.arange(x.shape[0]), [struct(B)]),
    "arange with a start": (
        lambda x: jnp.arange(x.shape[0], 3 * x.shape[0] + 1, 2) * 1.0,
        [struct(B)],
    ),
    "eye": (lambda x: jnp.eye(x.shape[0]) @ x, [struct(B, 2)]),
    "reshape": (lambda x: (x.reshape(-1, 2), x.reshape(x.shape[0] * 4)), [struct(B, 4)]),
    "slices": (lambda x: (x[1:], x[:-1], x[::-1], x[:2], x[-2:], x[::2]), [struct(B + 1, 4)]),
    "slices of other axes": (lambda x: (x[:, :2], x[:, 1], x[0], x[-1]), [struct(B, 4)]),
    "a place of the end": (lambda x: x[x.shape[0] - 1] + x[1], [struct(B + 1, 4)]),
    "joined": (lambda x: (jnp.concatenate([x, x[:1]]), jnp.stack([x, x])), [struct(B, 4)]),
    "padded": (lambda x: jnp.pad(x, ((1, 2), (0, 0))), [struct(B, 4)]),
    "gathered": (lambda x, i: x[i], [struct(16, 4), ints(B, N)]),
    "gathered of a symbolic axis": (lambda x, i: x[jnp.minimum(i, 0)], [struct(B, 4), ints(N)]),
    "outside": (lambda x, i: jnp.take(x, i * 5, axis=0, mode="fill"), [struct(B, 4), ints(N)]),
    "clipped": (lambda x, i: jnp.take(x, i * 5, axis=0, mode="clip"), [struct(B, 4), ints(N)]),
    "from the end": (lambda x, i: x[-1 - jnp.minimum(i, 0)], [struct(B, 4), ints(N)]),
    "along": (lambda x, i: jnp.take_along_axis(x, i[:, None], axis=1), [struct(B, 4), ints(B)]),
    "one hot": (lambda i: nn.one_hot(i, 5), [ints(B)]),
    "written": (lambda x: (x.at[0].set(1.0), x.at[:, 1].add(1.0)), [struct(B, 4)]),
    "sorted": (lambda x: (jnp.sort(x, axis=0), jnp.argsort(x, axis=-1)), [struct(B, 4)]),
    "extrema": (lambda x: (x.argmax(0), x.argmin(-1), x.max(0), x.min(-1)), [struct(B, 4)]),
    "products": (lambda x: (jnp.outer(x, x), jnp.prod(x), jnp.any(x > 0)), [struct(B)]),
    "lanes": (effax.vmap(lambda x: jnp.tanh(x).sum()), [struct(B, 4)]),
    "rolled": (lambda x: jnp.roll(x, 1, axis=0), [struct(B, 2)]),
    "tiled": (lambda x: (jnp.tile(x, (2, 1)), jnp.repeat(x, 2, axis=0)), [struct(B, 2)]),
    "branches": (lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda y: -y, x), [struct(B, 3)]),
    "while": (
        lambda x: lax.while_loop(lambda y: (y * y).sum() < 99, lambda y: y * 2 + 1, x),
        [struct(B, 3)],
    ),
    "statistics": (lambda x: (x.mean(0), x.var(0), x.std(), jnp.median(x, axis=0)), [struct(B, 8)]),
    "largest": (lambda x: lax.top_k(x, 2), [struct(B, 8)]),
    "a computed part": (
        lambda x, i: lax.dynamic_slice_in_dim(x, i[0] * 5, 2, axis=1),
        [struct(B, 8), ints(N)],
    ),
    "a part replaced": (
        lambda x, y, i: lax.dynamic_update_slice(x, y, (0, i[0], 0)),
        [struct(B, 8, 4), struct(B, 1, 4), ints(N)],
    ),
    "gradient of slices": (effax.grad(lambda x: (x[1:] * x[:-1]).sum()), [struct(B + 1)]),
    "gradient of a gather": (effax.grad(lambda x, i: (x[i] ** 2).sum()), [struct(16), ints(B)]),
    "gradient of a cnn": (effax.grad(lambda x: cnn(x).sum()), [struct(B, 6, 6, 3)]),
    "recomputed": (
        effax.grad(lambda x: effax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x).sum()),
        [struct(B, 8)],
    ),
    "quotients": (lambda x: jnp.ones(((x.shape[0] + 3) // 2, x.shape[0] % 3 + 1)), [struct(B)]),
    "quotients below zero": (
        lambda x: x * ((2 - x.shape[0]) // 3 + (1 - x.shape[0]) % 4),
        [struct(B)],
    ),
    "cumulative sums": (
        lambda x: (jnp.cumsum(x, axis=0), jnp.cumprod(x, axis=1), lax.cummax(x, reverse=True)),
        [struct(B, N)],
    ),
    "gradient of cumulative sums": (
        effax.grad(lambda x: (jnp.cumsum(x, axis=0) ** 2).sum()),
        [struct(B, 4)],
    ),
    "convolutions of images of any size": (
        lambda x: (convolved(x, (1, 1), "SAME"), convolved(x, (2, 2), "SAME")),
        [struct(B, N, N + 1, 3)],
    ),
    "gradient of a strided convolution": (
        effax.grad(lambda x: (convolved(x, (2, 2), "SAME") ** 2).sum()),
        [struct(B, N + 3, N + 1, 3)],
    ),
    "a convolution without padding": (
        lambda x: convolved(x, (2, 1), "VALID"),
        [struct(B, N + 2, N + 4, 3)],
    ),
    "windows over images of any size": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
        [struct(B, 2 * N + 1, N, 3)],
    ),
    "three factors": (
        lambda x: jnp.einsum("bnd,de,ef->bnf", x, W3, W3),
        [struct(B, N, 8)],
    ),
    "segments": (
        lambda x, i: effax.ops.segment_sum(x, i // 3, num_segments=x.shape[0]),
        [struct(B, 8), ints(B)],
    ),
    "layers": (
        effax.grad(lambda w, x: lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, w)[0].sum()),
        [struct(3, 8, 8), struct(B, 8)],
    ),
    "a recurrence over a sequence": (
        effax.grad(
            lambda w, x: lax.scan(
                lambda h, row: (jnp.tanh(row @ w + h), None), x[:, 0], x.swapaxes(0, 1)
            )[0].sum()
        ),
        [struct(8, 8), struct(B, N, 8)],
    ),
    "derivatives of derivatives": (
        effax.hessian(lambda w, x: (jnp.tanh(x @ w) ** 2).mean()),
        [struct(8), struct(B, 8)],
    ),
    "images resized": (
        lambda x: effax.image.resize(x, (x.shape[0], 8, 8, 3), "bilinear"),
        [struct(B, 4, 4, 3)],
    ),
    "masked means": (
        lambda x, i: (x * (jnp.arange(x.shape[1]) < i[:, None])).sum(1) / jnp.maximum(i, 1),
        [struct(B, N), ints(B)],
    ),
    "the greater length": (
        lambda x: jnp.ones((effax.core.max_dim(x.shape[0], 3), effax.core.min_dim(x.shape[0], 3))),
        [struct(B)],
    ),
    "positions of what is not zero": (
        lambda x: (jnp.nonzero(x > 0, size=3, fill_value=7), jnp.argwhere(x, size=x.shape[0])),
        [struct(B, N)],
    ),
    "members": (
        lambda x, y: (jnp.isin(x, y), jnp.isin(x + 0j, y), jnp.setxor1d(x, y, size=5)),
        [ints(4), ints(B)],
    ),
    "splits": (lambda x: (*jnp.split(x, [1]), *jnp.split(x, [-1])), [struct(B, 3)]),
    "elements left out or put in": (
        lambda x: (jnp.delete(x, 0), jnp.delete(x, -1), jnp.insert(x, np.array([0, -1]), 2.0)),
        [struct(B)],
    ),
    "sums along diagonals": (lambda x: (jnp.trace(x), jnp.trace(x, offset=-1)), [struct(B, N)]),
    "integrals": (lambda x: (jnp.trapezoid(x), jnp.trapezoid(x, axis=0)), [struct(B, N)]),
    "covariances": (jnp.cov, [struct(3, B)]),
    "Fourier transforms of other lengths": (
        lambda x: (jnp.fft.fft(x, 4).real, jnp.fft.rfft(x, 2).imag),
        [struct(B)],
    ),
    "padding by the mean": (lambda x: jnp.pad(x, 1, mode="mean"), [struct(B)]),
    "elements repeated": (lambda x: jnp.resize(x, (2, 5)), [struct(B, 3)]),
    "places among sorted numbers": (
        lambda x, y: jnp.searchsorted(jnp.sort(x), y, side="right"),
        [struct(B), struct(N)],
    ),
    "products of factors": (
        lambda x: (
            (lambda q, r: q @ r)(*jnp.linalg.qr(x)),
            (lambda u, s, v: (u * s) @ v)(*jnp.linalg.svd(x, full_matrices=False)),
            (lambda p, low, up: p @ low @ up)(*effax.scipy.linalg.lu(x)),
            (lambda t, z: z @ t @ z.T)(*effax.scipy.linalg.schur(x @ x.T)),
        ),
        [struct(B, N)],
    ),
    "derivatives of determinants": (effax.grad(jnp.linalg.det), [struct(B, B)]),
    "pseudo-inverses": (lambda x: (jnp.linalg.pinv(x), jnp.linalg.matrix_rank(x)), [struct(B, 3)]),
    "rolled by lengths": (
        lambda x: (jnp.fft.fftshift(x), jnp.roll(x, jnp.array([2, -3]), (0, 1))),
        [struct(B, N)],
    ),
    "polynomials": (lambda x: jnp.polyval(jnp.arange(4.0), x, unroll=1), [struct(B, 3)]),
    "standardized": (
        lambda x: (
            nn.standardize(x),
            nn.standardize(x, mean=0.5),
            effax.scipy.stats.sem(x, ddof=0),
        ),
        [struct(B, N)],
    ),
    "larger images": (
        lambda x: effax.image.resize(x, (2 * x.shape[0], 3), "linear"),
        [struct(B, 4)],
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_at_several_sizes(name):
    function, args = OPERATIONS[name]
    exported = export.export(effax.jit(function))(*args)
    read = export.deserialize(exported.serialize())
    assert list(map(str, read.out_avals)) == list(map(str, exported.out_avals))
    agrees(read, function, args)


def test_shapes_of_results_and_the_text_of_the_module():
    exported = export.export(effax.jit(lambda x: jnp.concatenate([x, x[:1]])))(struct(B, N))
    assert [t.str_short() for t in exported.in_avals] == ["f32[b,n]"]
    assert [t.str_short() for t in exported.out_avals] == ["f32[b + 1,n]"]
    assert exported.uses_global_constants
    text = exported.mlir_module()
    assert "tensor<?x?xf32>" in text and "stablehlo.get_dimension_size" in text


def test_calls_under_transformations():
    exported = export.export(effax.jit(mlp))(struct(B, 8))
    x = np.asarray(RNG.normal(size=(3, 8)), "float32")
    assert_allclose(effax.jit(lambda x: exported.call(x) * 2)(x), mlp(x) * 2, rtol=1e-5)
    assert_allclose(effax.vmap(lambda r: exported.call(r[None])[0])(x), mlp(x), rtol=1e-5)
    found = effax.jit(lambda x: exported.call(x).sum() + exported.call(x[:2]).sum())(x)
    assert_allclose(found, 5.0, rtol=1e-5)


def test_gradients_by_the_stored_derivative():
    args = [struct(B, N, 8), struct(8, 8)]
    exported = export.export(effax.jit(attention))(*args)
    read = export.deserialize(exported.serialize(vjp_order=2))
    assert [t.str_short() for t in read.vjp().in_avals] == ["f32[b,n,8]", "f32[8,8]", "f32[b,n,8]"]
    for e in (exported, read):
        for sizes in SIZES[1:2]:
            x, w = values(args, sizes)
            for i in (0, 1):
                found = effax.grad(lambda x, w, e=e: (e.call(x, w) ** 3).mean(), i)(x, w)
                wanted = effax.grad(lambda x, w: (attention(x, w) ** 3).mean(), i)(x, w)
                assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
    squares = export.export(effax.jit(lambda x: x**3))(struct(B))
    twice = export.deserialize(squares.serialize(vjp_order=2))
    hessian = effax.jacrev(effax.grad(lambda x: twice.call(x).sum()))(
        np.arange(3.0, dtype="float32")
    )
    assert_array_equal(hessian, np.diag([0.0, 6.0, 12.0]))


def test_bytes_keep_lengths_and_constraints():
    (b, n) = symbolic_shape("b, n", constraints=["mod(n, 2) == 0", "b <= n"])
    function = effax.jit(lambda x, y: (x @ y[:, : y.shape[1] // 2], x.reshape(-1)))
    exported = export.export(function)(struct(b, 3), struct(3, n))
    read = export.deserialize(exported.serialize())
    assert list(map(str, read.in_avals)) == list(map(str, exported.in_avals))
    assert [t.str_short() for t in read.out_avals] == ["f32[b,floordiv(n, 2)]", "f32[3*b]"]
    again = export.deserialize(read.serialize())
    assert again.serialize() == read.serialize()
    for e in (exported, read, again):
        assert e.call(jnp.ones((2, 3)), jnp.ones((3, 6)))[0].shape == (2, 3)
        with pytest.raises(
            ExportError, match=r"constraint mod\(n, 2\) == 0.* found 1\..*'n' = 3 from"
        ):
            e.call(jnp.ones((2, 3)), jnp.ones((3, 3)))
        with pytest.raises(
            ExportError, match=r"constraint b <= n\. Expected 'n - b' .* found -2\."
        ):
            e.call(jnp.ones((4, 3)), jnp.ones((3, 2)))


def test_several_platforms():
    made = export.export(effax.jit(lambda x: x - x.mean()), platforms=["cpu", "cuda", "tpu"])
    assert_allclose(made(struct(B)).call(jnp.arange(3.0)), [-1, 0, 1])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(0, 4), (4,)], r"Expected value >= 1 for dimension variable 'b'.*shape\[0\] \(= 0\)"),
        ([(2, 5), (5,)], r"Division had remainder 1 when computing the value of 'n'.*\(b, 2\*n\)"),
        (
            [(2, 4), (3,)],
            r"args\[1\].shape\[0\] \(= 3\) and the specification '2\*n' \(= 4\).*'b' = 2 from",
        ),
        ([(2, 4, 1), (4,)], r"args\[0\]: expected \(b, 2\*n\) and called with \(2, 4, 1\)"),
    ],
)
def test_shapes_that_do_not_fit(shapes, message):
    exported = export.export(effax.jit(lambda x, y: x @ y))(struct(B, 2 * N), struct(2 * N))
    with pytest.raises(ExportError, match=message):
        exported.call(*map(jnp.ones, shapes))
    with pytest.raises(ExportError, match="Dtype mismatch"):
        exported.call(jnp.ones((2, 4), "int32"), jnp.ones(4))


def refused(function, *args):
    return lambda: export.export(effax.jit(function))(*args)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (refused(lambda x: x, struct(B * N)), SymbolicShapeError, "Cannot solve for .* {'b', 'n'}"),
        (
            refused(lambda x, y: x, struct(B), struct(*symbolic_shape("c"))),
            ExportError,
            r"mixing of symbolic scopes when .*\(from args\[0\]\).* found for 'c' \(args\[1\]\)",
        ),
        (
            refused(lambda x: x, struct(*symbolic_shape("c", constraints=["c <= d"]))),
            SymbolicShapeError,
            "compare c with d",
        ),
        (
            refused(lambda x: x if x.shape[0] > 3 else -x, struct(B)),
            InconclusiveDimensionOperation,
            "'b' > '3' is inconclusive",
        ),
        (
            refused(lambda x: x[: x.shape[0] - 1 or 1], struct(B)),
            InconclusiveDimensionOperation,
            "is zero",
        ),
        (
            refused(lambda x: [x for _ in range(x.shape[0])], struct(B)),
            SymbolicShapeError,
            "lax.scan",
        ),
        (
            refused(lambda x: lax.linalg.hessenberg(x), struct(B, 3, 3)),
            SymbolicShapeError,
            "the effect hessenberg",
        ),
        (refused(jnp.fft.fft, struct(B)), SymbolicShapeError, "known only when the program runs"),
        (
            refused(lambda x: x.sum() + jnp.ones(N).sum(), struct(B)),
            SymbolicShapeError,
            "symbolic length n, but a call decides only the unknowns b",
        ),
        (
            refused(lambda x: x.sum() + jnp.ones(symbolic_shape("b")).sum(), struct(B)),
            SymbolicShapeError,
            "symbolic length b, but a call decides only",
        ),
        (lambda: effax.jit(jnp.sin).lower(struct(B)), SymbolicShapeError, "lower: sin was traced"),
    ],
)
def test_functions_that_are_refused(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_a_refused_effect_is_named_with_its_line():
    with pytest.raises(SymbolicShapeError) as caught:
        export.export(effax.jit(lambda x: lax.linalg.tridiagonal(x)[0]))(struct(B, 2, 2))
    assert re.search(
        r"effect tridiagonal, performed on \(f32\[b,2,2\]\) at .*test_symbolic", str(caught.value)
    )
    assert "symbolic length b" in str(caught.value)


def test_one_scope_for_several_arguments():
    scope = SymbolicScope()
    args = export.symbolic_args_specs((np.ones((2, 3)), np.ones(2)), ["b, ...", "b"], scope=scope)
    exported = export.export(effax.jit(lambda x, y: x * y[:, None]))(*args)
    assert exported.call(jnp.ones((5, 3)), jnp.ones(5)).shape == (5, 3)


def test_a_callable_without_a_name():
    class Doubling:
        def __call__(self, x):
            return 2 * x

    assert_allclose(export.export(effax.jit(Doubling()))(struct(B)).call(jnp.ones(2)), [2.0, 2.0])


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["max(a, b) == 4", "a == b"], r"'max\(a, b\) - 4' to be equal to 0, but found -1"),
        (["max(a, b) == b", "b >= 4"], r"'b - 4' to be greater or equal to 0, but found -1"),
        (["a == b", "a + b <= 5"], r"'- 2\*b \+ 5' to be greater or equal to 0, but found -1"),
    ],
)
def test_constraints_on_unknowns_that_equations_replace(constraints, message):
    types = struct(*symbolic_shape("a, b", constraints=constraints))
    for e in (
        made := export.export(effax.jit(jnp.sin))(types),
        export.deserialize(made.serialize()),
    ):
        with pytest.raises(ExportError, match=message):
            e.call(jnp.ones((3, 3)))
