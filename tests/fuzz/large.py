"""Cases for operands as large as the fast paths of `backends/xla/fast` are for.

The grid's operands have a few elements, and most paths start at thousands. Each function here is
drawn with lengths on both sides of the bounds, odd ones too, along every axis, and with values at
which paths have to be exact: any bits, and rows in which only a few elements are NaN or infinite.
"""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

BITS = ("bits", "bits", "normal", "edges", "extreme", "sparse", "within:-2:2")
ROWS = ("normal", "sparse", "sparse", "edges", "few")
ORDERED = ("normal", "sparse", "edges", "extreme", "few", "bits")
SIZES = (300, 2047, 2500, 4097, 8200, 16400, 33000, 66000)
FLAGS = ["True", "False"]
FLOATS = ("float32", "float32", "float32", "bfloat16", "float16", "float64")


def _shape(g: Grid, most: int = 3) -> tuple[int, ...]:
    """A shape of about one of the sizes, long in any direction."""
    size, rank = g.pick(*SIZES), g.integer(1, most)
    if rank == 1:
        return (size,)
    outer = g.pick(1, 2, 7, 16, 65, 130)
    if rank == 2:
        pair = (outer, max(size // outer, 1))
        return pair if g.pick(True, False) else pair[::-1]
    middle = g.pick(2, 3, 17)
    lengths = [outer, middle, max(size // (outer * middle), 1)]
    return tuple(g.order(*lengths))


def _float(g: Grid) -> str:
    dtype: str = g.pick(*(FLOATS if g.x64 else FLOATS[:-1]))
    return dtype


def one(kinds: str) -> Drawer:
    """A function of one operand, element by element."""

    def drawer(g: Grid, name: str) -> str:
        dtype = _float(g) if kinds == "f" else g.dtype(kinds)
        return f"{_called(name)}({g.array(_shape(g), dtype, *BITS)})"

    return drawer


def two(kinds: str) -> Drawer:
    """A function of two operands, of which one may be a number or a row."""

    def drawer(g: Grid, name: str) -> str:
        dtype = _float(g) if g.pick(*kinds) == "f" else g.dtype("i")
        shape = _shape(g)
        plain = name.split()[1].startswith("lax.")
        other = g.pick(shape, shape, shape, shape if plain else shape[-1:], ())
        a, b = g.array(shape, dtype, *BITS), g.array(other, dtype, *BITS)
        if plain and not other:
            b = f"jnp.full({shape}, {b})"
        return (
            f"{_called(name)}({a}, {b})"
            if g.pick(True, False) or not plain
            else (f"{_called(name)}({b}, {a})")
        )

    return drawer


def _called(name: str) -> str:
    return name.split()[1]


def folded(g: Grid, name: str) -> str:
    a = g.array(_shape(g), g.dtype("bif") if g.pick(0, 1) else _float(g), *ORDERED)
    axis = g.pick("None", *range(-len(g.shape_of(a)), 0))
    return f"{_called(name)}({a}, axis={axis}{g.words(keepdims=FLAGS)})"


def cumulative(g: Grid, name: str) -> str:
    kinds = ORDERED if name.endswith(("max", "min")) else ("normal", "few", "sparse")
    a = g.array(_shape(g), _float(g) if g.usually(60) else g.dtype("i"), *kinds)
    axis = g.integer(0, len(g.shape_of(a)) - 1)
    return f"{_called(name)}({a}, {axis}{g.words(reverse=FLAGS)})"


def scanned(g: Grid, name: str) -> str:
    a = g.array(_shape(g), g.pick(_float(g), "int32", "int8"), "normal", "few", "sparse")
    function = g.pick("lax.add", "lax.max", "lambda x, y: y", "jnp.minimum", "lambda x, y: x")
    axis = g.integer(0, len(g.shape_of(a)) - 1)
    return f"{_called(name)}({function}, {a}{g.words(reverse=FLAGS)}, axis={axis})"


def softmaxes(g: Grid, name: str) -> str:
    a = g.array(_shape(g), _float(g), *ROWS, "within:-90:90")
    axes = [*range(-len(g.shape_of(a)), 0)]
    axis = g.pick("None", *axes, *([(-1, -2)] if len(axes) > 1 else []))
    words = f", where={g.array(g.shape_of(a), 'bool', 'few')}" if g.chance(20) else ""
    return f"{_called(name)}({a}, axis={axis}{words})"


STEPS = (
    *("{} - m", "jnp.exp({} - m)", "jnp.exp({})", "{} - f", "jnp.exp({} - f)", "{} * {}"),
    *("{} / s", "{} - jnp.log(s)", "{} + m", "jnp.abs({})", "-{}", "jnp.tanh({})", "{} * 0.5"),
    *("jnp.where(jnp.isfinite(m), {}, 0)", "jnp.maximum({}, m)", "{} + f * 0", "jnp.sqrt({})"),
)
ENDS = (
    *("{}", "{}", "({}).sum(AXIS)", "({}).sum()", "({}).sum(AXIS) + m.sum(AXIS)", "m + ({}) * 0"),
    *("jnp.isnan({})", "({}).max(AXIS)", "({}) / s", "jnp.log(s) + f", "(m, ({}) / s)"),
    *("({}).sum(OTHER)", "({}) / s.sum()", "jnp.where(({}) > 0, 1, 0)", "({}).mean(AXIS)"),
)


def shifted(g: Grid, name: str) -> str:
    """Draw an expression of an extremum m, its finite part f, and a sum s over an axis.

    A NaN of an element must reach the results that it reaches in NumPy, whichever kernel is taken.
    """
    a = g.array(_shape(g), _float(g), *ROWS)
    rank = len(g.shape_of(a))
    axis, other = g.integer(0, rank - 1), g.integer(0, rank - 1)
    inside = "a"
    for _ in range(g.integer(1, 3)):
        inside = g.pick(*STEPS).format(*[f"({inside})"] * 2)
    total = g.pick("jnp.exp(a - m)", "jnp.exp(a - f)", "jnp.exp(a)", "(a - m)", "a")
    over = g.pick("AXIS", "AXIS", "AXIS", "OTHER", "None")
    end = g.pick(*ENDS).format(*[inside] * 2)
    body = (
        f"(lambda m: (lambda f: (lambda s: {end})({total}.sum({over}, keepdims=True)))"
        f"({g.pick('jnp.where(jnp.isfinite(m), m, 0)', 'm')}))"
        f"({a}.{g.pick('max', 'max', 'min')}({g.pick('AXIS', 'AXIS', 'None')}, keepdims=True))"
    )
    body = body.replace("AXIS", str(axis)).replace("OTHER", str(other))
    return f"jax.jit(lambda a: {body})(a)"


def sorted_(g: Grid, name: str) -> str:
    a = g.array(_shape(g), g.pick(_float(g), g.dtype("bif")), *ORDERED)
    axis = g.integer(0, len(g.shape_of(a)) - 1)
    call = _called(name)
    if call == "lax.sort" and g.usually(60):
        others = [g.array(g.shape_of(a), g.dtype("if"), "few", "bits") for _ in range(g.pick(1, 2))]
        return (
            f"lax.sort(({', '.join([a, *others])}), dimension={axis}, num_keys={g.pick(1, 1, 2)})"
        )
    return f"{call}({a}, {axis})"


def powers(g: Grid, name: str) -> str:
    """Of large and small numbers, by whole and half exponents too."""
    shape, dtype = _shape(g), _float(g)
    a = g.array(shape, dtype, *BITS)
    b = g.array(g.pick(shape, ()), dtype, *BITS, "among:0:-0.0:1:2:3:-1:0.5:-0.5:7:-7:1e9", "few")
    return f"{_called(name)}({a}, {b})"


def pooled(g: Grid, name: str) -> str:
    """The gradient of a pool of extrema, with ties."""
    rank = g.integer(1, 3)
    shape = {1: (1500,), 2: (g.integer(30, 40), 37), 3: (3, g.integer(18, 25), 21)}[rank]
    a = g.array(shape, _float(g), "normal", "few", "sparse")
    window, strides = (tuple(g.integer(1, 3) for _ in shape) for _ in "ab")
    padding = g.pick("'VALID'", "'SAME'")
    fold, start = g.pick(("lax.max", "-jnp.inf"), ("lax.min", "jnp.inf"))
    pool = (
        f"lax.reduce_window(x, jnp.array({start}, x.dtype), {fold}, {window}, {strides}, {padding})"
    )
    return f"jax.grad(lambda x: jnp.cos({pool} * 0.25).sum())({a})"


def convolved(g: Grid, name: str) -> str:
    """Any number of spatial axes and groups, in any layout, with holes, strides and cuts."""
    rank = g.pick(1, 1, 2, 2, 2, 3)
    spatial = "DHW"[3 - rank :]
    groups, batches = g.pick((1, 1), (1, 1), (2, 1), (6, 1), (1, 2), (1, 6), (20, 1), (1, 20))
    n, c = g.pick(1, 2, 3) * batches, g.pick(1, 2, 4) * groups
    o = g.pick(1, 1, 3, 8) * groups * batches
    size, window = {"N": n, "C": c}, {"O": o, "I": c // groups}
    whole = g.chance(15)
    for axis in spatial:
        size[axis] = g.integer(3, {1: 60, 2: 16, 3: 7}[rank])
        window[axis] = size[axis] if whole else g.integer(1, g.pick(3, size[axis]))
    given, kernel = ("".join(g.order(*x, *spatial)) for x in ("NC", "OI"))
    out = "".join(g.order("N", "C", *spatial))
    if g.usually(50):
        given, kernel, out = f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"
    dtype = _float(g)
    a = g.array(tuple(size[x] for x in given), dtype, "normal", "normal", "few")
    b = g.array(tuple(window[x] for x in kernel), dtype, "normal", "normal", "few")
    pads = [(g.integer(-1, 3), g.integer(-1, 3)) for _ in spatial]
    padding = "'VALID'" if whole else g.pick("'SAME'", "'VALID'", repr(pads), repr(pads))
    holes = repr(tuple(g.pick(1, 2, 3) for _ in spatial))
    words = g.words(
        30,
        lhs_dilation=[holes] if padding.startswith("[") else [repr((1,) * rank)],
        rhs_dilation=[repr(tuple(g.pick(1, 1, 2, 3) for _ in spatial))],
    )
    words += g.words(8, preferred_element_type=["'float32'", "'bfloat16'"])
    strides = tuple(g.pick(1, 1, 2, 3) for _ in spatial)
    return (
        f"{_called(name)}({a}, {b}, {strides}, {padding}, "
        f"dimension_numbers={(given, kernel, out)}, "
        f"feature_group_count={groups}, batch_group_count={batches}{words})"
    )


def _all(names: str, draw: Drawer, **how: object) -> dict[str, Entry]:
    entry = Entry(draw)._replace(**how)  # type: ignore[arg-type]
    return {f"large {name}": entry for name in names.split()}


def _unsmooth(names: str, draw: Drawer, **how: object) -> dict[str, Entry]:
    return _all(names, draw, smooth=False, **how)


TABLE = {
    **_all(
        """jnp.sin jnp.cos jnp.tan jnp.arcsin jnp.arccos jnp.arctan jnp.cbrt jnp.exp jnp.log
        jnp.tanh nn.sigmoid nn.softplus nn.silu""",
        one("f"),
        alone=True,
        smooth=False,
        slack=4,
    ),
    **_unsmooth("jnp.arctan2 jnp.hypot jnp.logaddexp", two("f"), alone=True, slack=4),
    **_unsmooth("jnp.float_power jnp.power lax.pow", powers, alone=True, slack=4),
    **_unsmooth(
        """lax.rem lax.div jnp.fmod jnp.remainder jnp.floor_divide jnp.divmod""",
        two("iff"),
        alone=True,
    ),
    **_unsmooth("jnp.max jnp.min jnp.argmax jnp.argmin jnp.nanmax jnp.nanargmin", folded),
    **_unsmooth("jnp.sort jnp.argsort lax.sort jnp.median", sorted_, slack=4),
    **_all("lax.cummax lax.cummin lax.cumsum lax.cumlogsumexp", cumulative, slack=16),
    **_all("lax.associative_scan", scanned, slack=16, smooth=False),
    **_all("nn.softmax nn.log_softmax nn.logsumexp", softmaxes, slack=16, smooth=False),
    **_all("shifted", shifted, slack=16, smooth=False),
    **_all("pooled", pooled, slack=4, smooth=False),
    **_all("lax.conv_general_dilated", convolved, wide=False, slack=16),
}
