"""Run time of what networks are made of: maxima, softmax, convolutions by groups, attention."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.operation import F4, MILLION, Row, enter

KEEPS_NAN = (
    "JAX's kernel loses NaNs from 1024 elements on; here numbers are compared on ordered bits, or "
    "a sum says that there is none"
)
HALF = 2.0**-7
"""An error of one unit of bfloat16."""


def _slope(loss: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function of a library and arrays by the first of them."""
    return lambda lib, *xs: lib.grad(lambda *xs: loss(lib, *xs))(*xs)


def _sizes_of_slopes(loss: Callable[..., Any]) -> Callable[..., Any]:
    """The squared norm of the gradient by each array, so that the compiler drops none of them."""

    def sizes(lib: Any, *xs: Any) -> Any:
        slopes = lib.grad(lambda *xs: loss(lib, *xs), tuple(range(len(xs))))(*xs)
        return lib.numpy.stack([(slope * slope).sum() for slope in slopes])

    return sizes


def _softmax_numpy(axis: int) -> Callable[..., Any]:
    def softmax(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return softmax


def _logsumexp_numpy(np: Any, x: Any) -> Any:
    top = x.max(1)
    return top + np.log(np.exp(x - top[:, None]).sum(1))


def _log_softmax_loss(lib: Any, x: Any) -> Any:
    return (lib.nn.log_softmax(x) * x).sum()


def _log_softmax_slope(np: Any, x: Any) -> Any:
    wide = x.astype("f8")
    found = wide - _logsumexp_numpy(np, wide)[:, None]
    return found + wide - np.exp(found) * wide.sum(1, keepdims=True)


MAXIMA = [
    Row(
        f"softmax_{name}",
        f"softmax {what}, {dtype}[1000, 1000]",
        None,
        f"square_{dtype}" if dtype != "float32" else "square",
        lambda lib, x, axis=axis: lib.nn.softmax(x, axis=axis),
        lambda np, x, axis=axis: _softmax_numpy(axis)(np, x.astype("f4")).astype(x.dtype),
        (lambda t, x, axis=axis: t.softmax(x, axis)) if dtype == "float32" else None,
        error=4 * F4 if dtype == "float32" else 2 * HALF,
        why="" if dtype == "float32" else "sums are of float32: an error of 2.5e-2, not 3.3e-2",
    )
    for name, what, dtype, axis in (
        ("rows", "of rows", "float32", 1),
        ("columns", "of columns", "float32", 0),
        ("half", "of rows", "bfloat16", 1),
    )
] + [
    Row(
        "log_softmax_slope",
        "gradient of log-softmax, float32[1000, 1000]",
        None,
        "square",
        _slope(_log_softmax_loss),
        _log_softmax_slope,
        error=32 * F4,
    ),
    Row(
        "logsumexp",
        "logsumexp of rows, float32[4096, 1024]",
        None,
        "tall",
        lambda lib, x: lib.nn.logsumexp(x, axis=1),
        _logsumexp_numpy,
        lambda t, x: t.logsumexp(x, 1),
        error=4 * F4,
        why="alone, an hour later, 1.09 (0.99 to 1.44): the same two passes as in JAX, by memory",
    ),
    Row(
        "maximum_columns",
        "max of columns, float32[1000, 1000]",
        None,
        "square",
        lambda lib, x: lib.numpy.max(x, 0),
        lambda np, x: x.max(0),
        lambda t, x: t.amax(x, 0),
        why=KEEPS_NAN,
    ),
    Row(
        "maximum_half",
        "max of rows, bfloat16[1000, 1000]",
        None,
        "square_bfloat16",
        lambda lib, x: lib.numpy.max(x, 1),
        lambda np, x: x.max(1),
        why=KEEPS_NAN,
    ),
    Row(
        "maximum_float16",
        "max of rows, float16[1000, 1000]",
        None,
        "square_float16",
        lambda lib, x: lib.numpy.max(x, 1),
        lambda np, x: x.max(1),
        why=KEEPS_NAN,
    ),
    Row(
        "power_large",
        "power of a positive base, float32[10000000]",
        None,
        "positive_large exponents_large",
        lambda lib, x, y: lib.numpy.power(x, y),
        lambda np, x, y: np.power(x, y),
        error=64 * F4,
        why="98 to 100 ms of processor time in either library, 40 of which are new pages",
    ),
    Row(
        "cumsum_large",
        "cumsum of rows, float32[2000, 2000]",
        None,
        "wide",
        lambda lib, x: lib.numpy.cumsum(x, 1),
        lambda np, x: np.cumsum(x.astype("f8"), 1),
        lambda t, x: t.cumsum(x, 1),
        error=32 * F4,
    ),
    Row(
        "cumlogsumexp",
        "cumlogsumexp of rows, float32[1000, 1000]",
        None,
        "square",
        lambda lib, x: lib.lax.cumlogsumexp(x, 1),
        lambda np, x: np.logaddexp.accumulate(x.astype("f8"), 1),
        lambda t, x: t.logcumsumexp(x, 1),
        error=16 * F4,
    ),
    Row(
        "categorical_narrow",
        "categorical of 100000 rows of 16 logits",
        None,
        "choices",
        lambda lib, x: lib.random.categorical(lib.random.PRNGKey(0), x),
        None,
        lambda t, x: t.distributions.Categorical(logits=x).sample(),
        check=lambda np, found, x: np.testing.assert_array_equal(found.shape, x.shape[:1]),
    ),
]


def _grouped(lib: Any, x: Any, kernel: Any) -> Any:
    """A convolution of as many groups as the input has channels for each of the kernel's."""
    spatial = x.ndim - 2
    axes = "DHW"[3 - spatial :]
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    return lib.lax.conv_general_dilated(
        x,
        kernel,
        (1,) * spatial,
        "SAME",
        dimension_numbers=layout,
        feature_group_count=x.shape[-1] // kernel.shape[-2],
    )


def _grouped_torch(t: Any, x: Any, kernel: Any) -> Any:
    spatial = x.ndim - 2
    conv = getattr(t.nn.functional, f"conv{spatial}d")
    groups = x.shape[-1] // kernel.shape[-2]
    back = (spatial + 1, spatial, *range(spatial))
    return conv(x.movedim(-1, 1), kernel.permute(back), padding="same", groups=groups)


def _one_place(np: Any, found: Any, x: Any, kernel: Any) -> None:
    """The convolution in the middle of the first image, channel by channel."""
    window = tuple(
        slice(n // 2 - (k - 1) // 2, n // 2 + 1 + k // 2)
        for n, k in zip(x.shape[1:-1], kernel.shape[:-2], strict=True)
    )
    piece = x[(0, *window)]
    groups = x.shape[-1] // kernel.shape[-2]
    piece = piece.reshape(*piece.shape[:-1], groups, -1, 1)
    spread = kernel.reshape(*kernel.shape[:-1], groups, -1).swapaxes(-3, -2)
    middle = tuple(n // 2 for n in x.shape[1:-1])
    wanted = (piece * spread).sum((*range(x.ndim - 2), -2)).ravel()
    np.testing.assert_allclose(found[(0, *middle)], wanted, rtol=1e-4, atol=1e-5)


def _grouped_loss(lib: Any, kernel: Any, x: Any) -> Any:
    return (_grouped(lib, x, kernel) ** 2).sum()


CONVOLUTIONS = [
    row
    for name, title, given in (
        ("depthwise", "depthwise convolution 3 x 3, float32[8, 28, 28, 64]", "maps filters"),
        ("depthwise_long", "depthwise convolution of 4, float32[8, 512, 256]", "series taps"),
        ("groups", "convolution 3 x 3 of 32 groups, float32[8, 28, 28, 128]", "planes bundles"),
        (
            "volumes",
            "convolution 3 x 3 x 3, float32[2, 16, 16, 16, 16], 32 channels",
            "blocks cubes",
        ),
    )
    for row in (
        Row(name, title, None, given, _grouped, None, _grouped_torch, check=_one_place),
        Row(
            f"{name}_slopes",
            "its gradient by kernel and input",
            None,
            " ".join(reversed(given.split())),
            _sizes_of_slopes(_grouped_loss),
        ),
    )
]


def _attention(causal: bool) -> Callable[..., Any]:
    def attention(lib: Any, q: Any, k: Any, v: Any) -> Any:
        return lib.nn.dot_product_attention(q, k, v, is_causal=causal)

    return attention


def _attention_torch(causal: bool) -> Callable[..., Any]:
    def attention(t: Any, *xs: Any) -> Any:
        q, k, v = (x.transpose(1, 2) for x in xs)
        return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return attention


def _attention_numpy(causal: bool) -> Callable[..., Any]:
    def attention(np: Any, q: Any, k: Any, v: Any) -> Any:
        logits = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
        if causal:
            logits = np.where(np.tri(*logits.shape[2:], dtype=bool), logits, -np.inf)
        return np.einsum("bnts,bsnh->btnh", _softmax_numpy(3)(np, logits), v)

    return attention


ATTENTION = [
    row
    for name, title, causal in (
        ("attention", "attention of 2048 places, 4 heads of 64", False),
        ("attention_causal", "the same, causal", True),
    )
    for row in (
        Row(
            name,
            title,
            None,
            "queries keys values",
            _attention(causal),
            _attention_numpy(causal),
            _attention_torch(causal),
            error=64 * F4,
        ),
        Row(
            f"{name}_slopes",
            "its gradient by all three",
            None,
            "queries keys values",
            _sizes_of_slopes(
                lambda lib, *xs, causal=causal: (_attention(causal)(lib, *xs) ** 2).sum()
            ),
        ),
    )
]

REMAINDERS = [
    Row(
        "mod_float",
        f"mod, float32[{MILLION}]",
        None,
        "angles positive",
        lambda lib, x, y: x % y,
        lambda np, x, y: np.mod(x, y),
        lambda t, x, y: t.remainder(x, y),
        error=F4,
    ),
    Row(
        "floor_divide_float",
        f"floor_divide, float32[{MILLION}]",
        None,
        "angles positive",
        lambda lib, x, y: x // y,
        lambda np, x, y: np.floor_divide(x, y),
        lambda t, x, y: t.floor_divide(x, y),
        error=F4,
    ),
    Row(
        "argsort_whole",
        "argsort, int32[100000]",
        None,
        "few",
        lambda lib, x: lib.numpy.argsort(x),
        None,
        lambda t, x: t.argsort(x),
        check=lambda np, found, x: np.testing.assert_array_equal(x[found], np.sort(x)),
    ),
    Row(
        "vector_matrix_half",
        "vector times matrix, bfloat16[1024] by [1024, 4096]",
        None,
        "vector_bfloat16 matrix_bfloat16",
        lambda lib, x, y: x @ y,
        lambda np, x, y: (x.astype("f4") @ y.astype("f4")).astype(x.dtype),
        error=4 * HALF,
    ),
]

OTHERS = [
    Row(
        "unique",
        "unique, int32[100000]",
        None,
        "few",
        lambda lib, x: lib.numpy.unique(x, size=len(x)),
        lambda np, x: np.concatenate([u := np.unique(x), np.full(len(x) - len(u), u[0], "i4")]),
        None,
    ),
    Row(
        "cumsum_half",
        "cumsum of rows, bfloat16[1000, 1000]",
        None,
        "square_bfloat16",
        lambda lib, x: lib.numpy.cumsum(x, 1),
        None,
        check=lambda np, found, x: np.testing.assert_allclose(
            found[:, -1].astype("f4"), x.astype("f4").sum(1), atol=4.0
        ),
    ),
    Row(
        "sum_half",
        "sum, float16[1000000]",
        None,
        "x_float16",
        lambda lib, x: lib.numpy.sum(x),
        lambda np, x: x.astype("f4").sum().astype(x.dtype),
        lambda t, x: t.sum(x),
        error=2.0**-8,
        why="alone, an hour later, 0.94 (0.94 to 1.10)",
    ),
    Row(
        "scan_half",
        "scan of 4000 steps that stacks its carry, bfloat16",
        None,
        "few_bfloat16",
        lambda lib, x: lib.lax.scan(lambda c, y: (lib.numpy.maximum(c, y), c), x[0], x)[1],
        lambda np, x: np.concatenate(
            [x[:1], np.maximum.accumulate(x.astype("f4"))[:-1].astype(x.dtype)]
        ),
    ),
    Row(
        "prod_half",
        "prod of rows, float16[1000, 1000]",
        None,
        "square_float16",
        lambda lib, x: lib.numpy.prod(x, 1),
        lambda np, x: x.astype("f4").prod(1).astype(x.dtype),
        error=2.0**-8,
        why="products in float32 in either library, 0.7 to 1.4 ms of processor time in turns",
    ),
    Row(
        "histogram",
        f"histogram of 100 bins, float32[{MILLION}]",
        None,
        "x",
        lambda lib, x: lib.numpy.histogram(x, 100, (-4, 4))[0],
        None,
        lambda t, x: t.histc(x, 100, -4, 4),
        check=lambda np, found, x: np.testing.assert_allclose(
            found, np.histogram(x, 100, (-4, 4))[0], atol=3
        ),
        why="the search of bins is JAX's (26 to 43 ms of processor time in turns, JAX 38 to 44), "
        "and adding up takes 2.4 (1.6)",
    ),
    Row(
        "expm",
        "expm, float32[64, 64]",
        None,
        "little",
        lambda lib, x: lib.scipy.linalg.expm(x),
        None,
        lambda t, x: t.linalg.matrix_exp(x),
        check=lambda np, found, x: np.testing.assert_allclose(
            np.linalg.slogdet(found)[1], np.trace(x), rtol=1e-2, atol=1e-2
        ),
        why="within what runs differ by: 0.77 and 1.39 in the two before; the same products and "
        "solve in either library",
    ),
    Row(
        "bilinear",
        'einsum "bi,ijk,bk->bj", float32[256, 64], [64, 64, 64], [256, 64]',
        None,
        "lefts cube rights",
        lambda lib, x, w, y: lib.numpy.einsum("bi,ijk,bk->bj", x, w, y),
        lambda np, x, w, y: np.einsum("bi,ijk,bk->bj", x, w, y, optimize=True),
        lambda t, x, w, y: t.einsum("bi,ijk,bk->bj", x, w, y),
        error=64 * F4,
        why="since the operands are turned as the result asks, the same product as JAX's",
    ),
]

enter((*MAXIMA, *CONVOLUTIONS, *ATTENTION, *REMAINDERS, *OTHERS), __name__)
