"""Functions that fold axes, run along them, sort and search: reductions, statistics, sets."""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry

METHODS = ["'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'cubic'"]
WHERES = ["a > 0", "True", "False"]


def _where(g: Grid) -> str:
    a = g.operands[0]
    mask = g.array(g.pick(a.shape, a.shape, a.shape[-1:], ()), "bool", "few")
    return mask if g.chance(80) else g.pick(mask, "0.5", f"~{mask}")


def reduction(*more: str, kinds: str = "bifc48") -> Drawer:
    """Of axes; `more` are further keyword arguments that it takes."""

    def drawer(g: Grid, name: str) -> str:
        a = _folded(g, kinds)
        options = {
            "axis": lambda: g.axes(a),
            "keepdims": ["True", "False"],
            "dtype": lambda: g.name_of(g.dtype("ifc") if g.chance(70) else g.dtype()),
            "initial": lambda: g.pick("0", "1", "2.5", "-3", "True"),
            "where": lambda: _where(g),
            "promote_integers": ["False", "True"],
            "ddof": ["0", "1", "2", "0.5"],
            "correction": ["1", "0"],
            "mean": ["0.5"],
        }
        taken = {key: option for key, option in options.items() if key in more}
        words = g.words(axis=options["axis"], keepdims=options["keepdims"])
        return f"{name}({a}{words}{g.words(25, **taken)})"

    return drawer


def _folded(g: Grid, kinds: str) -> str:
    """Floats of eight bits without extremes and NaN: in which order JAX adds them up is seen then,
    and some of them have no infinity by which it could leave NaN out."""
    chosen = g.dtype(kinds)
    values = ["normal", "few"] if chosen.startswith("float8") else []
    return g.operand(g.shape(), chosen, *values)


def position(g: Grid, name: str) -> str:
    a = _folded(g, "bif48")
    return f"{name}({a}{g.words(axis=lambda: g.axis(a), keepdims=['True', 'False'])})"


def running(g: Grid, name: str) -> str:
    a = _folded(g, "bifc48")
    words = g.words(axis=lambda: g.axis(a)) + g.words(20, dtype=lambda: g.name_of(g.dtype("ifcb")))
    return f"{name}({a}{words})"


def standard_running(g: Grid, name: str) -> str:
    return running(g, name)[:-1] + g.words(include_initial=["True", "False"]) + ")"


def sorting(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    words = g.words(axis=lambda: g.pick(g.axis(a), "None"), stable=["True", "False"])
    return f"{name}({a}{words}{g.words(descending=['True', 'False'])})"


def partitions(g: Grid, name: str) -> str:
    """Sort the parts whose order partition leaves open; elements stand for their positions."""
    a = g.operand(g.shape(1), g.dtype("if48"))
    axis, k = g.axis(a), g.pick("0", "1", "-1", "2", "9")
    method = name.removeprefix("Array.")
    parts = (
        f"{a}.{method}({k}, axis={axis})" if method != name else f"{name}({a}, {k}, axis={axis})"
    )
    if name.endswith("argpartition"):
        parts = f"jnp.take_along_axis({a}, {parts}, axis={axis})"
    before = f"jnp.sort(jnp.take(p, jnp.arange({k} % p.shape[{axis}]), axis={axis}), axis={axis})"
    return f"(lambda p: ({before}, jnp.sort(p, axis={axis})))({parts})"


def lexical(g: Grid, name: str) -> str:
    shape = g.shape(1, 2)
    keys = ", ".join(
        g.array(shape, g.dtype("bifc"), "few", "edges") for _ in range(g.integer(1, 3))
    )
    return f"{name}(({keys},){g.words(20, axis=['0', '-1', '1'])})"


def insertion(g: Grid, name: str) -> str:
    """Places in what is sorted."""
    chosen = g.dtype("bif48c")
    a = g.array((g.integer(0, 5),), chosen, "sorted")
    v = g.operand(g.shape(), chosen if g.chance(80) else g.dtype("if"), "normal", "few", "edges")
    if name.endswith("digitize"):
        return f"{name}({v}, {a}{g.words(right=['True', 'False'])})"
    methods = ["'scan'", "'sort'", "'compare_all'", "'scan_unrolled'", "'default'"]
    words = g.words(side=["'left'", "'right'", "'right'", "'middle'"], method=methods)
    return f"{name}({a}, {v}{words})"


def found(g: Grid, name: str) -> str:
    """Places of what is not zero, with a size or without."""
    a = g.operand(g.shape(empty=False), g.dtype(), "few", "edges")
    words = g.words(70, size=["2", "5", "0", "1"])
    return f"{name}({a}{words}{g.words(30, fill_value=['-1', '0', '9'])})"


def unique(g: Grid, name: str) -> str:
    chosen = g.dtype("bifc4")
    # Which of the complex numbers with a NaN comes first, NumPy says, and JAX otherwise.
    a = g.operand(
        g.shape(), chosen, *(["few"] if chosen.startswith("complex") else ["few", "edges"])
    )
    flags = {}
    if name.endswith(".unique"):
        flags = {
            "return_index": ["True"],
            "return_inverse": ["True"],
            "return_counts": ["True"],
            "axis": ["0", "-1", "None", "1"],
            "equal_nan": ["False", "True"],
        }
    words = g.words(25, **flags)
    return f"{name}({a}{words}{g.words(60, size=['2', '4', '7'])}{g.words(25, fill_value=['0', '-3'])})"


def set_operation(g: Grid, name: str) -> str:
    chosen = g.dtype("ifc")
    kinds = ["few", "normal"] if chosen.startswith("complex") else ["few", "normal", "edges"]
    a = g.operand(g.shape(0, 2), chosen, *kinds)
    b = g.operand(g.shape(0, 1), chosen if g.chance(80) else g.dtype("if"), "few", "normal")
    flags = {}
    if not name.endswith("union1d"):
        flags["assume_unique"] = ["False"]
    if name.endswith("intersect1d"):
        flags["return_indices"] = ["True"]
    words = g.words(30, **flags) + g.words(60, size=["2", "4", "7"])
    return f"{name}({a}, {b}{words}{g.words(25, fill_value=['0', '-3'])})"


def membership(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc"), "few", "edges", "normal")
    b = g.operand(g.shape(), g.dtype("bif"), "few", "edges", "normal")
    methods = ["'auto'", "'sort'", "'compare_all'", "'binary_search'"]
    return f"{name}({a}, {b}{g.words(invert=['True', 'False'], method=methods)})"


def middle(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1, empty=False), g.dtype("bifc"), "normal", "few", "edges", "distinct")
    return f"{name}({a}{g.words(axis=lambda: g.axes(a), keepdims=['True', 'False'])})"


def quantiles(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1, empty=False), g.dtype("bifc"), "normal", "few", "edges", "distinct")
    top = 100 if "percentile" in name else 1
    literal = [f"{x * top}" for x in (0.5, 0.25, 1.0, 0.0, 0.9)]
    q = g.pick(
        *literal, f"jnp.array([0.1, {0.75 * top}])", f"jnp.array([[{0.3 * top}]])", "0", "-1"
    )
    words = g.words(axis=lambda: g.axes(a), keepdims=["True", "False"], method=METHODS)
    return f"{name}({a}, {q}{words})"


def averages(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc"), "normal", "positive")
    words = g.words(axis=lambda: g.axes(a), keepdims=["True", "False"], returned=["True"])
    if g.chance(40):
        shape = g.shape_of(a)
        weights = g.array(g.pick(shape, shape[-1:], shape[:1]), g.dtype("if"), "positive")
        words += f", weights={weights}"
    return f"{name}({a}{words})"


def correlations(g: Grid, name: str) -> str:
    a = g.operand(g.shape(0, 2), g.dtype("bifc"), "normal")
    words = g.words(30, rowvar=["True", "False"])
    if g.chance(25):
        words = f", {g.array(g.shape_of(a), g.dtype('ifc'), 'normal')}" + words
    if name.endswith("cov"):
        words += g.words(30, bias=["True"], ddof=["0", "1", "2"])
        if g.chance(25) and g.shape_of(a):
            words += f", fweights={g.array(g.shape_of(a)[-1:], 'int32', 'positive')}"
        if g.chance(25) and g.shape_of(a):
            words += f", aweights={g.array(g.shape_of(a)[-1:], g.dtype('if'), 'positive')}"
    return f"{name}({a}{words})"


def _histogram_words(g: Grid, a: str, bins: list[str]) -> str:
    words = g.words(bins=bins, density=["True", "False"])
    if g.chance(25):
        words += f", weights={g.array(g.shape_of(a), g.dtype('if'), 'positive')}"
    return words


def histograms(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bif"), "normal", "few")
    bins = ["3", "jnp.array([-2., 0., 1., 4.])", "1", "np.array([0, 2])", "0"]
    words = g.words(30, range=["(-1, 2)", "(0.0, 5.0)", "(1, 1)", "None"])
    if name.endswith("edges"):
        return f"{name}({a}{g.words(bins=bins)}{words})"
    return f"{name}({a}{words}{_histogram_words(g, a, bins)})"


def histograms_in_two(g: Grid, name: str) -> str:
    shape = g.shape(1, 1)
    chosen = g.dtype("if")
    a, b = g.array(shape, chosen, "normal", "few"), g.array(shape, chosen, "normal")
    bins = ["3", "(2, 3)", "jnp.array([-2., 0., 3.])"]
    words = g.words(30, range=["((-1, 2), (0, 3))", "None"]) + _histogram_words(g, a, bins)
    return f"{name}({a}, {b}{words})"


def histograms_in_many(g: Grid, name: str) -> str:
    a = g.array((g.integer(0, 5), g.integer(1, 3)), g.dtype("if"), "normal", "few")
    words = g.words(bins=["2", "3"], density=["True", "False"])
    return f"{name}({a}{words})"


def counts(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1, 1), g.dtype("i4") if g.chance(85) else g.dtype(), "few", "index:0:6")
    words = g.words(minlength=["0", "4", "8"], length=["3", "7", "0"])
    if g.chance(30):
        words += f", weights={g.array(g.shape_of(a), g.dtype('bifc'), 'normal')}"
    return f"{name}({a}{words})"


EMPTY = "of no elements, as in NumPy"
TABLE: dict[str, Entry] = {
    **dict.fromkeys(
        named("sum prod"), Entry(reduction("dtype", "initial", "where", "promote_integers"))
    ),
    **dict.fromkeys(named("nansum nanprod"), Entry(reduction("dtype", "initial", "where"))),
    **dict.fromkeys(named("max min amax amin nanmax nanmin"), Entry(reduction("initial", "where"))),
    **dict.fromkeys(named("any all"), Entry(reduction("where"), smooth=False)),
    "jnp.count_nonzero": Entry(reduction(), smooth=False),
    "jnp.ptp": Entry(reduction()),
    **dict.fromkeys(named("mean nanmean"), Entry(reduction("dtype", "where"))),
    **dict.fromkeys(
        named("var std"),
        Entry(reduction("dtype", "ddof", "where", "correction", "mean"), slack=4, kinks=True),
    ),
    **dict.fromkeys(
        named("nanvar nanstd"),
        Entry(reduction("dtype", "ddof", "where", "mean"), slack=4, kinks=True, more="as bool"),
    ),
    **dict.fromkeys(named("argmax argmin nanargmax nanargmin"), Entry(position, smooth=False)),
    **dict.fromkeys(
        named("cumsum cumprod nancumsum nancumprod"),
        Entry(running, more="of rank 0, along its axis"),
    ),
    **dict.fromkeys(named("cumulative_sum cumulative_prod"), Entry(standard_running)),
    "jnp.sort": Entry(sorting),
    "jnp.argsort": Entry(sorting, smooth=False),
    "jnp.partition": Entry(partitions, wide=False),
    "jnp.argpartition": Entry(partitions, smooth=False, wide=False),
    "jnp.lexsort": Entry(lexical, smooth=False),
    **dict.fromkeys(named("searchsorted digitize"), Entry(insertion, smooth=False)),
    **dict.fromkeys(named("nonzero flatnonzero argwhere"), Entry(found, smooth=False)),
    **dict.fromkeys(
        named("unique unique_all unique_counts unique_inverse unique_values"),
        Entry(unique, smooth=False),
    ),
    **dict.fromkeys(
        named("intersect1d setdiff1d setxor1d union1d"), Entry(set_operation, smooth=False)
    ),
    "jnp.isin": Entry(membership, smooth=False),
    **dict.fromkeys(named("median nanmedian"), Entry(middle)),
    **dict.fromkeys(
        named("quantile percentile nanquantile nanpercentile"),
        Entry(quantiles, more="whole numbers for q"),
    ),
    "jnp.average": Entry(averages, slack=4, kinks=True),
    **dict.fromkeys(named("cov corrcoef"), Entry(correlations, slack=16, either=True)),
    **dict.fromkeys(
        named("histogram histogram_bin_edges"), Entry(histograms, smooth=False, more=EMPTY)
    ),
    "jnp.histogram2d": Entry(histograms_in_two, smooth=False, more=EMPTY),
    "jnp.histogramdd": Entry(histograms_in_many, smooth=False, more=EMPTY),
    "jnp.bincount": Entry(counts),
}
