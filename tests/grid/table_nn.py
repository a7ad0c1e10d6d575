"""nn and its initializers, image and ops on the grid."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Entry

KINKS = "among:0:-0.0:1:-1:3:-3:6:0.5:-0.5"
EDGES = "among:nan:inf:-inf:0:-0.0:1:-1"
WIDE = "within:-30:30"
FLAGS = ["True", "False"]


def activation(g: Grid, name: str) -> str:
    dtype = g.dtype("fffib8")
    if name in ("nn.log1mexp", "nn.hard_tanh") and dtype.startswith("uint"):
        dtype = "int32"  # JAX negates it as it is, and takes -1 for the greatest number
    a = g.operand(g.shape(), dtype, "normal", KINKS, EDGES, WIDE)
    alphas = ["2.0", "0.5", "1", "0"]
    options = {
        "celu": {"alpha": alphas},
        "elu": {"alpha": alphas},
        "gelu": {"approximate": FLAGS},
        "leaky_relu": {"negative_slope": ["0.2", "1e-2", "2"]},
        "squareplus": {"b": ["2.0", "1", "0.0"]},
    }
    return f"{name}({a}{g.words(**options.get(name.split('.')[1], {}))})"


def gated(g: Grid, name: str) -> str:
    a = g.operand(
        g.pick((4,), (2, 4), (4, 3), (2, 2), (0,), (3,)), g.dtype("fffi"), "normal", EDGES
    )
    return f"{name}({a}{g.words(axis=lambda: g.axis(a))})"


def softmaxes(g: Grid, name: str) -> str:
    a = g.operand(g.shape(0), g.dtype("fffib"), "normal", EDGES, WIDE)
    where = g.array(g.pick(g.shape_of(a), ()), "bool", "normal") if g.chance(30) else "None"
    words = f", where={where}" if where != "None" else ""
    axes = g.axes(a)
    return f"{name}({a}, axis={axes if axes != '()' else 'None'}{words})"


def logs_of_sums(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("fffi"), "normal", EDGES, WIDE)
    where = g.array(g.pick(g.shape_of(a), ()), "bool", "normal") if g.chance(30) else "None"
    words = f", where={where}" if where != "None" else ""
    words += g.words(keepdims=FLAGS)
    return f"{name}({a}, axis={g.axes(a)}{words})"


def standardized(g: Grid, name: str) -> str:
    a = g.operand(g.shape(0), g.dtype("fffi"), "normal", "distinct")
    words = g.words(epsilon=["1e-3", "0.5"], mean=["0.5"], variance=["2.0"])
    return f"{name}({a}, axis={g.axes(a)}{words})"


def one_hot(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("iiif"), "index:5")
    words = g.words(dtype=lambda: g.name_of(g.dtype("bif")), axis=["0", "-1", "1", "9"])
    return f"{name}({a}, {g.pick(3, 4, 1, 0)}{words})"


def attention(g: Grid, name: str) -> str:
    """Heads in groups, with all that can be said of who sees whom."""
    dtype = g.dtype("f")
    b, t, s, h, d = g.pick(1, 2), g.integer(1, 4), g.integer(1, 5), g.pick(2, 4), g.pick(2, 3)
    groups = g.pick(h, h, 1, 2)
    q = g.array((b, t, h, d), dtype, "normal")
    k, v = g.array((b, s, groups, d), dtype, "normal"), g.array((b, s, groups, d), dtype, "normal")
    lead = (g.pick(1, b), g.pick(1, h))
    words = g.words(
        25,
        bias=lambda: g.array((*lead, t, s), dtype, "normal"),
        mask=lambda: g.array((*lead, t, s), "bool", "normal"),
        scale=["0.5", "1"],
        is_causal=FLAGS,
        local_window_size=["1", "(1, 2)", "(2, 0)"],
        query_seq_lengths=lambda: g.array((b,), "int32", f"index:1:{t + 1}"),
        key_value_seq_lengths=lambda: g.array((b,), "int32", f"index:1:{s + 1}"),
    )
    return f"{name}({q}, {k}, {v}{words})"


def initializer(g: Grid, name: str) -> str:
    """The draws are JAX's, bit for bit nearly."""
    shape = g.pick((3, 4), (2, 3, 4), (4, 3), (3,), (0, 3), (2, 2, 3, 4))
    dtype = g.name_of(g.dtype("fffc"))
    word = name.rsplit(".", 1)[1]
    made = {
        "zeros": name,
        "ones": name,
        "constant": f"{name}({g.pick('2.5', '3')})",
        "normal": f"{name}({g.pick('', '0.5')})",
        "uniform": f"{name}({g.pick('', '0.5')})",
        "truncated_normal": f"{name}({g.pick('', '0.5, lower=-1.0, upper=1.5')})",
        "orthogonal": f"{name}({g.pick('', '2.0', '1.0, 0')})",
        "delta_orthogonal": f"{name}({g.pick('', '2.0')})",
        "variance_scaling": f"{name}({g.pick('1.0', '2.0')}, {g.pick(*_FANS)}, {g.pick(*_LAWS)})",
    }
    axes = g.words(20, in_axis=["0", "-1", "(0, 1)"], out_axis=["-1", "1"], batch_axis=["0", "()"])
    made_by = made.get(word, f"{name}({axes[2:]})")
    return f"{made_by}(random.key({g.integer(0, 3)}), {shape}, {dtype})"


_FANS = ("'fan_in'", "'fan_out'", "'fan_avg'", "'fan_geo_avg'", "'fan'")
_LAWS = ("'normal'", "'uniform'", "'truncated_normal'", "'cauchy'")


METHODS = ["'nearest'", "'linear'", "'bilinear'", "'triangle'", "'cubic'", "'bicubic'"]
METHODS += ["'lanczos3'", "'lanczos5'", "'sinc'"]


def resized(g: Grid, name: str) -> str:
    rank = g.integer(1, 3)
    a = g.operand(g.shape(rank, rank, empty=False), g.dtype("fffic"), "normal")
    shape = tuple(g.pick(1, 2, 3, 5, 8) for _ in range(rank))
    return f"{name}({a}, {shape}, {g.pick(*METHODS)}{g.words(antialias=FLAGS)})"


def translated(g: Grid, name: str) -> str:
    a = g.array((g.integer(2, 5), g.integer(2, 5)), g.dtype("f"), "normal")
    # The weights are as precise as the scale.
    wide = "float64" if g.last().dtype == "float64" else "float32"
    scale, move = g.array((2,), wide, "positive"), g.array((2,), wide, "normal")
    shape = (g.integer(1, 6), g.integer(1, 6))
    return f"{name}({a}, {shape}, (0, 1), {scale}, {move}, {g.pick(*METHODS)}{g.words(antialias=FLAGS)})"


def segments(g: Grid, name: str) -> str:
    n = g.integer(0, 6)
    a = g.operand((n, *g.pick((), (2,))), g.dtype("bifc"), "normal", "few", EDGES)
    ids = g.array((n,), g.dtype("i"), "index:0:4", "index:5", "sorted")
    words = g.words(
        20,
        indices_are_sorted=["False"],
        # Of nothing JAX makes no buckets.
        bucket_size=["1", "2", "4"] if n else ["None"],
        mode=["'drop'", "'clip'", "'fill'", "'promise'"],
    )
    return f"{name}({a}, {ids}, {g.pick(3, 4, 5, 1, 0)}{words})"


def _all(names: str, entry: Entry, module: str = "nn") -> dict[str, Entry]:
    return {f"{module}.{name}": entry for name in names.split()}


TABLE = {
    **_all(
        "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp "
        "log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus "
        "sparse_sigmoid squareplus swish tanh",
        Entry(activation, slack=4),
    ),
    **_all("glu", Entry(gated)),
    **_all("softmax log_softmax", Entry(softmaxes, slack=4)),
    **_all("logsumexp logmeanexp", Entry(logs_of_sums, slack=4)),
    **_all("standardize", Entry(standardized, slack=30)),
    **_all("one_hot", Entry(one_hot)),
    # The softmax is in 32 bits, JAX's too: differences in 64 are not defined.
    **_all("dot_product_attention", Entry(attention, slack=8, smooth=False)),
    **_all(
        "constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform "
        "kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal ones orthogonal "
        "truncated_normal uniform variance_scaling xavier_normal xavier_uniform zeros",
        Entry(initializer, slack=30),
        "nn.initializers",
    ),
    "jax.image.resize": Entry(resized, slack=16),
    "jax.image.scale_and_translate": Entry(translated, slack=16),
    **_all("segment_sum segment_prod segment_max segment_min", Entry(segments, slack=4), "jax.ops"),
}
