"""lax on the grid: reductions, cumulative ones, windows, order; products and convolutions."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

FLAGS = ["True", "False"]
VALUES = ("normal", "normal", "edges", "few")


def _front(g: Grid, a: str) -> int:
    rank = len(g.shape_of(a))
    return int(g.pick(-1, rank)) if g.chance(4) else g.integer(0, max(rank - 1, 0))


def _some(g: Grid, a: str) -> tuple[int, ...]:
    rank = len(g.shape_of(a))
    chosen = tuple(i for i in range(rank) if g.usually(60))
    return chosen if g.usually(96) else g.pick((-1,), (0, 0), (rank,))


def reduction(kinds: str) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        a = g.operand(g.shape(), g.dtype(kinds) if g.usually(92) else g.dtype("bifc"), *VALUES)
        return f"{name}({a}, {_some(g, a)})"

    return drawer


def position(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("bif8"), *VALUES)
    return f"{name}({a}, {_front(g, a)}, {g.pick(repr('int32'), repr('int32'), 'jnp.int8', 'jnp.float32')})"


def cumulative(kinds: str) -> Drawer:
    def drawer(g: Grid, name: str) -> str:
        a = g.operand(g.shape(1), g.dtype(kinds), *VALUES)
        return f"{name}({a}, {_front(g, a)}{g.words(reverse=FLAGS)})"

    return drawer


def scanned(g: Grid, name: str) -> str:
    a = g.array(g.shape(1), g.dtype("if"), "normal")
    function = g.pick("lax.add", "lax.mul", "lax.max", "lambda x, y: y", "jnp.minimum")
    axis = g.integer(0, len(g.shape_of(a)) - 1)
    return f"{name}({function}, {a}{g.words(reverse=FLAGS)}, axis={axis})"


FOLDS = (("add", 0), ("mul", 1), ("max", -9), ("min", 9))


def folded(g: Grid, name: str) -> str:
    """By a known function, or one that is not seen through; of one array or two."""
    dtype = g.dtype("if")
    a = g.array(g.shape(1), dtype, "normal", "few")
    fold, start = g.pick(*FOLDS)
    unit = f"jnp.array({max(start, 0) if dtype.startswith('u') else start}, '{dtype}')"
    plain = g.pick(f"lax.{fold}", f"lambda x, y: lax.{fold}(y, x)")
    axes = _some(g, a)
    if g.usually(75):
        return f"{name}({a}, {unit}, {plain}, {axes})"
    b = g.array(g.shape_of(a), dtype, "normal")
    both = f"lambda x, y: (lax.{fold}(x[0], y[0]), lax.{fold}(x[1], y[1]))"
    return f"{name}(({a}, {b}), ({unit}, {unit}), {both}, {axes})"


def windowed(g: Grid, name: str) -> str:
    dtype = g.dtype("ifc")
    a = g.array(g.pick((5,), (4, 3), (2, 5), (1, 3, 4)), dtype, "normal", "few")
    n = len(g.shape_of(a))
    fold, start = g.pick(*(FOLDS[:2] if dtype.startswith("complex") else FOLDS))
    unit = f"jnp.array({max(start, 0) if dtype.startswith('u') else start}, '{dtype}')"
    ones = [tuple(g.integer(1, k) for _ in range(n)) for k in (3, 2, 2, 2)]
    pads = [(g.integer(-1, 2), g.integer(0, 2)) for _ in range(n)]
    padding = g.pick("'VALID'", "'SAME'", "'SAME_LOWER'", repr(pads), repr(pads))
    words = g.words(base_dilation=[repr(ones[2])], window_dilation=[repr(ones[3])])
    seen = g.pick(f"lax.{fold}", f"lax.{fold}", f"lambda x, y: lax.{fold}(y, x)")
    return f"{name}({a}, {unit}, {seen}, {ones[0]}, {ones[1]}, {padding}{words})"


def padding(g: Grid, name: str) -> str:
    word = g.pick("SAME", "VALID", "SAME_LOWER", "same", "FULL")
    return f"{name}(({g.integer(1, 9)},), ({g.integer(1, 4)},), ({g.integer(1, 3)},), '{word}')"


def window_shape(g: Grid, name: str) -> str:
    pads = [(g.integer(0, 2), g.integer(0, 2))]
    return f"{name}(({g.integer(3, 9)},), ({g.integer(1, 3)},), ({g.integer(1, 3)},), {pads})"


def sorted_(g: Grid, name: str) -> str:
    a = g.array(g.shape(1), g.dtype("bif8"), *VALUES, "extreme")
    axis = g.axis(a)
    if g.chance(50):
        return f"{name}({a}, {axis}{g.words(is_stable=['True'])})"
    b = g.array(g.shape_of(a), g.dtype("bif"), "few", "normal")
    keys = g.integer(1, 2) if g.usually(96) else 3
    return f"{name}(({a}, {b}), {axis}, num_keys={keys})"


def sorted_pairs(g: Grid, name: str) -> str:
    a = g.array(g.shape(1), g.dtype("if"), *VALUES)
    return f"{name}({a}, {g.array(g.shape_of(a), g.dtype('bifc'), 'normal')}, {g.axis(a)})"


def largest(g: Grid, name: str) -> str:
    a = g.array(g.shape(1), g.dtype("if8"), "distinct", "few", "edges")
    return f"{name}({a}, {g.integer(0, 3)}{g.words(20, axis=lambda: g.axis(a))})"


def approximately(g: Grid, name: str) -> str:
    a = g.array(g.pick((4, 8), (8,), (2, 9)), g.dtype("fff" if g.usually(95) else "i"), "distinct")
    words = g.words(20, recall_target=["0.5", "0.99"], reduction_dimension=["-1", "0"])
    return f"{name}({a}, {g.integer(1, 4)}{words})"


def product(g: Grid, name: str) -> str:
    """Contracted, batch and free axes, up to one of each, in any order."""
    lengths = {
        "b": g.pick(None, 2),
        "c": g.pick(None, 3, 4),
        "m": g.pick(None, 2),
        "n": g.pick(None, 3),
    }
    sides = []
    for letters in ("bcm", "bcn"):
        order = g.draw(st.permutations([x for x in letters if lengths[x]]))
        sides.append(list(order))
    dtype = g.dtype("iffc8b")
    other = dtype if g.usually(85) else g.dtype("ifc")
    a, b = (
        g.array(tuple(lengths[x] for x in side), d, "normal")
        for side, d in zip(sides, (dtype, other), strict=True)
    )
    pairs = [tuple((s.index(x),) if lengths[x] else () for s in sides) for x in "cb"]
    words = g.words(
        20,
        preferred_element_type=lambda: g.name_of(g.dtype("iffc")),
        precision=["'highest'", "lax.Precision.HIGH", "('highest', 'default')", "'extreme'"],
    )
    return f"{name}({a}, {b}, {tuple(pairs)}{words})"


def simple_product(g: Grid, name: str) -> str:
    dtype = g.dtype("iffc")
    left = g.pick((3,), (2, 3), (3,), (2, 3), ())
    right = g.pick((3,), (3, 2), (3, 4), (4,))
    return f"{name}({g.array(left, dtype, 'normal')}, {g.array(right, dtype if g.usually(85) else 'int32', 'normal')})"


def batched_product(g: Grid, name: str) -> str:
    dtype, lead = g.dtype("ifc"), g.pick((2,), (), (2, 2))
    a = g.array((*lead, 2, 3), dtype, "normal")
    return f"{name}({a}, {g.array((*lead, 3, g.pick(2, 4)), dtype, 'normal')})"


def ragged(g: Grid, name: str) -> str:
    dtype = g.dtype("fffi")
    n, groups = g.integer(2, 5), g.integer(1, 3)
    a, b = g.array((n, 3), dtype, "normal"), g.array((groups, 3, 2), dtype, "normal")
    sizes = [g.integer(0, 2) for _ in range(groups)]
    return f"{name}({a}, {b}, jnp.array({sizes}, dtype='int32'))"


NUMBERS = (
    "('NCHW', 'OIHW', 'NCHW')",
    "('NHWC', 'HWIO', 'NHWC')",
    "('HWNC', 'OHWI', 'CNHW')",
    "None",
)


def convolved(g: Grid, name: str) -> str:
    """Two spatial axes under any dimension numbers, with groups of features or of batches."""
    dtype = g.dtype("fffic")
    numbers = g.pick(*NUMBERS)
    groups, batches = g.pick((1, 1), (1, 1), (2, 1), (1, 2))
    n, c, o = 2 * batches, 2 * groups, 2 * g.pick(1, 2)
    size = {"N": n, "C": c, "H": g.integer(3, 5), "W": 4, "O": o, "I": c // groups}
    kernel = {**size, "H": g.integer(1, 3), "W": g.integer(1, 2)}
    left, right = (eval(numbers) or ("NCHW", "OIHW"))[:2]
    a = g.array(tuple(size[x] for x in left), dtype, "normal")
    b = g.array(tuple(kernel[x] for x in right), dtype if g.usually(97) else "float16", "normal")
    pads = [(g.integer(-1, 2), g.integer(0, 2)) for _ in "HW"]
    padding = g.pick("'SAME'", "'VALID'", "'SAME_LOWER'", repr(pads), repr(pads))
    words = g.words(
        40,
        lhs_dilation=["(2, 1)", "(1, 2)"] if padding.startswith("[") else ["(1, 1)"],
        rhs_dilation=["(1, 2)", "(2, 1)"],
    )
    words += g.words(10, preferred_element_type=["'float32'"])
    strides = g.pick((1, 1), (2, 1), (1, 2))
    return (
        f"{name}({a}, {b}, {strides}, {padding}, dimension_numbers={numbers}, "
        f"feature_group_count={groups}, batch_group_count={batches}{words})"
    )


def plainly_convolved(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    a, b = g.array((1, 2, 5, 4), dtype, "normal"), g.array((3, 2, 2, 2), dtype, "normal")
    pads = g.pick("'SAME'", "'VALID'") if "padding" not in name else "[(1, 0), (0, 1)]"
    extra = ", (1, 1), (1, 2)" if "padding" in name else ""
    return f"{name}({a}, {b}, {g.pick((1, 1), (2, 1))}, {pads}{extra})"


def transposed_convolution(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    a, b = g.array((1, 4, 3, 2), dtype, "normal"), g.array((2, 2, 2, 3), dtype, "normal")
    words = g.words(rhs_dilation=["(2, 1)"], transpose_kernel=["False"])
    return f"{name}({a}, {b}, {g.pick((1, 1), (2, 2), (2, 1))}, {g.pick(repr('SAME'), repr('VALID'))}{words})"


def patched(g: Grid, name: str) -> str:
    a = g.array((1, 2, 5, 4), g.dtype("f"), "normal")
    words = g.words(rhs_dilation=["(1, 2)"])
    return f"{name}({a}, {g.pick((2, 2), (1, 3))}, {g.pick((1, 1), (2, 1))}, {g.pick(repr('SAME'), repr('VALID'))}{words})"


def locally_convolved(g: Grid, name: str) -> str:
    dtype = g.dtype("f")
    a, b = g.array((1, 2, 4, 4), dtype, "normal"), g.array((3, 8, 3, 3), dtype, "normal")
    return f"{name}({a}, {b}, (1, 1), 'VALID', (2, 2))"


def numbers_of(g: Grid, name: str) -> str:
    return f"{name}((1, 2, 5, 4), (3, 2, 2, 2), {g.pick(*NUMBERS)})"


def shape_of_convolution(g: Grid, name: str) -> str:
    pads = g.pick("'SAME'", "'VALID'", "[(1, 0), (0, 1)]")
    extra = ", ('NCHW', 'OIHW', 'NCHW')" if "general" in name or "transpose" in name else ""
    return f"tuple(int(n) for n in {name}((1, 2, 5, 4), (3, 2, 2, 2), {g.pick((1, 1), (2, 1))}, {pads}{extra}))"


def transform(g: Grid, name: str) -> str:
    kind = g.pick("FFT", "IFFT", "RFFT", "IRFFT")
    dtype = g.dtype("f" if kind == "RFFT" else "c") if g.usually(93) else g.dtype("ifc")
    a = g.array(g.pick((4,), (2, 3), (2, 3, 4), (5,)), dtype, "normal")
    count = g.integer(1, min(2, len(g.shape_of(a))))
    lengths = list(g.shape_of(a)[-count:])
    if kind == "IRFFT":
        lengths[-1] = 2 * (lengths[-1] - 1) + g.integer(0, 1)
    form = g.pick(f"'{kind}'", f"lax.FftType.{kind}")
    return f"{name}({a}, {form}, {tuple(lengths)})"


def _entries(table: dict[str, Drawer], **how: object) -> dict[str, Entry]:
    entry = Entry(unused, wide=False)._replace(**how)  # type: ignore[arg-type]
    return {
        f"lax.{name}": entry._replace(draw=draw)
        for names, draw in table.items()
        for name in names.split()
    }


def unused(g: Grid, name: str) -> str:
    raise NotImplementedError(name)


TABLE = {
    **_entries({"reduce_sum reduce_prod": reduction("ifc")}, slack=4),
    **_entries(
        {
            "reduce_max reduce_min": reduction("ifb"),
            "reduce_and reduce_or reduce_xor": reduction("ib"),
            "argmax argmin": position,
            "cummax cummin": cumulative("if"),
            "sort": sorted_,
            "sort_key_val": sorted_pairs,
            "top_k": largest,
            "approx_max_k approx_min_k": approximately,
            "padtype_to_pads": padding,
            "reduce_window_shape_tuple": window_shape,
            "conv_dimension_numbers": numbers_of,
            "conv_general_permutations": lambda g, name: f"{name}(('NCHW', 'OIHW', 'NHWC'))",
            "conv_shape_tuple conv_general_shape_tuple conv_transpose_shape_tuple": shape_of_convolution,
        }
    ),
    **_entries(
        {
            "cumsum cumprod": cumulative("ifc"),
            "cumlogsumexp": cumulative("f"),
            "associative_scan": scanned,
            "reduce": folded,
            "reduce_window": windowed,
            "dot_general": product,
            "dot": simple_product,
            "batch_matmul": batched_product,
            "ragged_dot": ragged,
            "conv_general_dilated": convolved,
            "conv conv_with_general_padding": plainly_convolved,
            "conv_transpose": transposed_convolution,
            "conv_general_dilated_patches": patched,
            "conv_general_dilated_local": locally_convolved,
            "fft": transform,
        },
        slack=8,
    ),
}
TABLE["lax.reduce"] = TABLE["lax.reduce"]._replace(smooth=False)
TABLE["lax.reduce_window"] = TABLE["lax.reduce_window"]._replace(underived=True)
