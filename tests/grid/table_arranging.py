"""Functions that move elements: shapes, joins, splits, indices, triangles, padding."""

from __future__ import annotations

from tests.grid.draw import Grid, named
from tests.grid.play import Drawer, Entry


def one(code: str, *kinds: str, dtypes: str = "bifc48", least: int = 0) -> Drawer:
    """A call of one operand `a`; `kinds` are codes of its arguments to choose from. In a code,
    AXIS stands for an axis of the operand and AXES for some."""

    def drawer(g: Grid, name: str) -> str:
        a = g.operand(g.shape(least), g.dtype(dtypes), "normal", "edges")
        chosen = g.pick(*kinds) if kinds else code
        while "AXES" in chosen:
            chosen = chosen.replace("AXES", g.axes(a), 1)
        while "AXIS" in chosen:
            chosen = chosen.replace("AXIS", g.axis(a), 1)
        return f"{name}({chosen})"

    return drawer


def calls(*codes: str, dtypes: str = "bifc48", least: int = 0) -> Drawer:
    return one("", *codes, dtypes=dtypes, least=least)


def reshapes(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    size = 1
    for n in g.shape_of(a):
        size *= n
    right = [
        f"({size},)",
        "-1",
        f"(1, {size})",
        f"({size}, -1)" if size else "(0, 2)",
        f"({size}, 1)",
    ]
    if size % 2 == 0:
        right += [f"(2, {size // 2})", f"({size // 2}, 2)", "(2, -1)"]
    shape = g.pick(*right, "(5, 7)", "(-1, -1)", "(3, -1)")
    return f"{name}({a}, {shape}{g.words(25, order=[repr('F'), repr('C')])})"


def joins(g: Grid, name: str) -> str:
    """Two or three arrays of one shape, but for the axis joined."""
    shape = g.shape(1 if "concat" in name else 0, 3)
    first = g.dtype()
    parts = [g.array(shape, first if g.chance(70) else g.dtype(), "normal") for _ in range(3)]
    used = parts[: g.integer(1, 3)]
    words = ""
    if name.endswith(("stack", "concat", "concatenate")) and "column" not in name:
        if name.endswith((".stack", "concat", "concatenate")):
            words += g.words(axis=lambda: g.pick(g.axis(parts[0]), "0", "-1", "1"))
        if "concat" not in name or name.endswith("ate"):
            words += g.words(15, dtype=lambda: g.name_of(g.dtype("ifc")))
    if name.endswith("block"):
        form = g.pick(f"[{', '.join(used)}]", f"[[{parts[0]}], [{parts[1]}]]", parts[0])
        return f"{name}({form})"
    return f"{name}([{', '.join(used)}]{words})"


def splits(g: Grid, name: str) -> str:
    a = g.array(g.shape(3 if "dsplit" in name and g.chance(80) else 0), g.dtype(), "normal")
    sections = g.pick("2", "3", "[1]", "[1, 2]", "(0, 2)", "1", "[-1]", "0", "[5]")
    words = g.words(axis=lambda: g.axis(a)) if name.endswith(".split") or "array" in name else ""
    return f"{name}({a}, {sections}{words})"


def broadcasts(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    target = g.pick((), (2,)) + g.shape_of(a)
    return f"{name}({a}, {g.pick(target, target, (2, 3), (3,))})"


def broadcast_many(g: Grid, name: str) -> str:
    left, right = g.broadcast()
    return f"{name}({g.operand(left, g.dtype())}, {g.operand(right, g.dtype())})"


def takes(g: Grid, name: str) -> str:
    a = g.operand(g.shape(empty=False), g.dtype(), "normal")
    wild = "index:9" if g.chance(30) else "index:2"
    kinds = "i" if g.chance(92) else "fb"
    i = g.operand(g.shape(0, 2), g.dtype(kinds), wild)
    modes = ["'clip'", "'wrap'", "'fill'", "None"]
    words = g.words(axis=lambda: g.axis(a)) + g.words(50, mode=modes)
    return f"{name}({a}, {i}{words}{g.words(20, fill_value=['0', '7', '-1'])})"


def takes_along(g: Grid, name: str) -> str:
    shape = g.shape(1, empty=False)
    axis = g.integer(0, len(shape) - 1)
    lengths = tuple(g.integer(0, 3) if k == axis else n for k, n in enumerate(shape))
    a = g.array(shape, g.dtype(), "normal")
    i = g.array(lengths, g.dtype("i"), g.pick("index:1", "index:5"))
    words = g.words(40, mode=["'clip'", "'fill'", "'promise_in_bounds'"], fill_value=["0", "-1"])
    if name.endswith("put_along_axis"):
        v = g.array(g.pick(lengths, ()), g.dtype(), "normal")
        return f"{name}({a}, {i}, {v}, {axis}, inplace=False{g.words(20, mode=[repr('clip')])})"
    return f"{name}({a}, {i}, {g.pick(axis, axis - len(shape), 'None')}{words})"


def puts(g: Grid, name: str) -> str:
    chosen = g.dtype("bifc")
    a = g.array(g.shape(1, empty=False), chosen, "normal")
    i = g.array(
        g.shape(0, 1, empty=False), g.pick("int32", "int8", "uint8"), g.pick("index:2", "index:8")
    )
    v = g.operand(g.shape(0, 1, empty=False), chosen if g.chance(70) else g.dtype("if"), "normal")
    words = g.words(40, mode=["'clip'", "'wrap'", "'raise'"])
    return f"{name}({a}, {i}, {v}{words}, inplace={g.chance(4)})"


def placing(g: Grid, name: str) -> str:
    chosen = g.dtype("bifc")
    shape = g.shape()
    a = g.array(shape, chosen, "normal")
    mask = g.array(shape, "bool", "few")
    v = g.array(g.shape(0, 1), chosen, "normal")
    return f"{name}({a}, {mask}, {v}, inplace=False)"


def conditional(g: Grid, name: str) -> str:
    """jnp.compress and jnp.extract."""
    a = g.array(g.shape(), g.dtype(), "normal")
    extract = name.endswith("extract")
    c = g.array(g.shape_of(a) if extract else g.shape(1, 1), g.pick("bool", "bool", "int32"), "few")
    words = "" if extract else g.words(axis=lambda: g.axis(a))
    words += g.words(60, size=["1", "2", "5"]) + g.words(30, fill_value=["0", "7"])
    return f"{name}({c}, {a}{words})"


def fills(g: Grid, name: str) -> str:
    a = g.array(g.shape(), g.dtype("bifc"), "normal")
    v = g.pick("7", "1.5", g.operand(g.shape(0, 1), g.dtype("if"), "normal"))
    return f"{name}({a}, {v}{g.words(20, wrap=['True'])}, inplace=False)"


def rolls(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    if g.chance(25):
        s = g.array(g.pick((), (2,)), g.dtype("i"), "normal")
        return f"{name}({a}, {s}{g.words(axis=['0', '(0, 1)', '-1'])})"
    return f"{name}({a}, {g.pick('1', '-2', '(1, 2)', '7', '0')}{g.words(axis=lambda: g.axes(a))})"


def repeats(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    words = g.words(axis=lambda: g.axis(a))
    if g.chance(40):
        n = g.array(g.pick((3,), (), (1,), (2,)), g.dtype("i"), "index:0:3")
        return f"{name}({a}, {n}{words}{g.words(75, total_repeat_length=['4', '2', '9', '0'])})"
    return f"{name}({a}, {g.pick('2', '0', '1', '[1, 0, 2]', '-1')}{words})"


def deletes(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    gone = g.pick("0", "[0, 1]", "-1", "slice(0, 2)", "[]", "9", "np.array([True, False, False])")
    words = g.words(axis=lambda: g.axis(a)) + g.words(25, assume_unique_indices=["True"])
    if "True" in gone:
        words = words.replace(", assume_unique_indices=True", "")
    if g.chance(15):
        gone = g.array(g.pick((), (2,)), "int32", "index:2")
    return f"{name}({a}, {gone}{words})"


def inserts(g: Grid, name: str) -> str:
    chosen = g.dtype("bifc")
    a = g.operand(g.shape(), chosen)
    place = g.pick("0", "1", "[0, 1]", "-1", "slice(0, 2)", "[1]", "[1, 1]", "9")
    v = g.pick("7", "0.5", g.operand(g.shape(0, 1), chosen, "normal"))
    return f"{name}({a}, {place}, {v}{g.words(axis=lambda: g.axis(a))})"


def appends(g: Grid, name: str) -> str:
    shape = g.shape()
    a = g.operand(shape, g.dtype())
    b = g.operand(shape if g.chance(80) else g.shape(), g.dtype())
    return f"{name}({a}, {b}{g.words(axis=lambda: g.axis(a))})"


def pads(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc48"), "normal", "edges")
    width = g.pick("1", "(1, 2)", "((1, 0), (0, 2))", "0", "(2,)", "((1, 2),)", "-1", "{0: 1}")
    mode = g.pick("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "empty")
    mode = g.pick(mode, mode, "maximum", "mean", "median", "minimum", "other")
    words = ""
    if mode == "constant":
        words = g.words(constant_values=["1", "(1, 2)", "0.5"])
    elif mode == "linear_ramp":
        words = g.words(end_values=["3", "(1, 5)"])
    elif mode in ("maximum", "mean", "median", "minimum"):
        words = g.words(stat_length=["1", "2", "(1, 2)", "None"])
    elif mode in ("reflect", "symmetric"):
        words = g.words(30, reflect_type=["'odd'", "'even'"])
    return f"{name}({a}, {width}, mode={mode!r}{words})"


def choices(g: Grid, name: str) -> str:
    shape = g.shape(0, 2)
    i = g.operand(shape, "int32" if g.chance(85) else g.dtype("ib"), g.pick("index:0:2", "index:4"))
    first = g.dtype("bifc")
    a, b = g.array(shape, first), g.array(g.pick(shape, ()), g.pick(first, "int32"))
    return f"{name}({i}, [{a}, {b}]{g.words(70, mode=[repr('clip'), repr('wrap'), repr('raise')])})"


def selects(g: Grid, name: str) -> str:
    shape = g.shape(0, 2)
    first = g.dtype("bifc")
    c, d = (g.array(shape, "bool" if g.chance(93) else "int32", "few") for _ in range(2))
    a, b = g.array(shape, first), g.array(g.pick(shape, ()), g.pick(first, g.dtype("if")))
    return f"{name}([{c}, {d}], [{a}, {b}]{g.words(default=['1', '0.5', '-1'])})"


def pieces(g: Grid, name: str) -> str:
    a = g.array(g.shape(), g.dtype("if"), "normal")
    conditions = g.pick(f"[{a} > 0]", f"[{a} > 1, {a} < -1]")
    functions = g.pick("[1, 2]", "[0, lambda x: x * 2, 3]", "[jnp.sin, 0]", "[lambda x: x, -1, 1]")
    return f"{name}({a}, {conditions}, {functions})"


def differences(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("bifc48"))
    if name.endswith("ediff1d"):
        ends = ["jnp.array([7])", "1", "jnp.array([[1.5, 2]])"]
        return f"{name}({a}{g.words(30, to_end=ends, to_begin=ends)})"
    words = g.words(n=["1", "2", "0", "-1"], axis=lambda: g.axis(a))
    return f"{name}({a}{words}{g.words(20, prepend=['0', '1.5'], append=['2'])})"


def gradients(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype("ifc"), "normal")
    spacing = g.pick("", "", ", 2.0", ", 0.5", ", 1.0, 2.0", ", jnp.array([0., 1., 3.])")
    return f"{name}({a}{spacing}{g.words(axis=lambda: g.axes(a))})"


def trapezoids(g: Grid, name: str) -> str:
    a = g.operand(g.shape(1), g.dtype("bifc"), "normal")
    if g.chance(30):
        x = g.array(g.pick(g.shape_of(a), g.shape_of(a)[-1:]), g.dtype("if"), "sorted")
        return f"{name}({a}, {x})"
    return f"{name}({a}{g.words(dx=['0.5', '2'], axis=lambda: g.axis(a))})"


def packs(g: Grid, name: str) -> str:
    dtypes = "b" if name.endswith(".packbits") else "i"
    chosen = g.dtype(dtypes) if dtypes == "b" or g.chance(25) else "uint8"
    a = g.operand(g.shape(), chosen, "few", "extreme")
    words = g.words(axis=lambda: g.axis(a), bitorder=["'little'", "'big'"])
    if dtypes == "i":
        words += g.words(25, count=["3", "-2", "12"])
    return f"{name}({a}{words})"


def flat_indices(g: Grid, name: str) -> str:
    kind = g.pick("index:0:6", "index:0:6", "index:9")
    chosen = g.dtype("i") if g.chance(92) else g.dtype("fb")
    if name.endswith("unravel_index"):
        i = g.operand(g.shape(0, 2), g.dtype("i"), kind)
        return f"{name}({i}, {g.pick('(2, 3)', '(6,)', '7', '(1, 2, 3)', '(0, 2)')})"
    i, j = g.array((3,), chosen, g.pick("index:0:2", "index:4")), g.array((3,), chosen, "index:0:3")
    words = g.words(60, mode=["'clip'", "'wrap'", "'raise'"]) + g.words(order=["'F'", "'C'"])
    return f"{name}(({i}, {j}), {g.pick('(2, 3)', '(4, 5)')}{words})"


def along(g: Grid, name: str) -> str:
    a = g.array(g.shape(1), g.dtype("if"), "normal")
    f = g.pick(
        "jnp.sum", "jnp.sort", "lambda x: x[:1]", "lambda x: jnp.outer(x, x)", "lambda x: x * 2"
    )
    return f"{name}({f}, {g.axis(a)}, {a})"


def over(g: Grid, name: str) -> str:
    a = g.array(g.shape(1, empty=False), g.dtype("if"), "normal")
    return f"{name}({g.pick('jnp.sum', 'jnp.max')}, {a}, {g.pick(g.axis(a), [0])})"


TABLE: dict[str, Entry] = {
    "jnp.reshape": Entry(reshapes),
    "jnp.ravel": Entry(calls("a", "a, order='F'", "a, 'K'", "a, order='A'", "a, order='C'")),
    "jnp.transpose": Entry(calls("a", "a, (1, 0)", "a, (0, 2, 1)", "a, (-1, 0)", "a, AXES")),
    "jnp.permute_dims": Entry(
        calls(
            "a, tuple(range(a.ndim))[::-1]", "a, (1, 0)", "a, (0, 2, 1)", "a, (-1, 0)", "a, AXES"
        ),
        more="axes from the end",
    ),
    "jnp.matrix_transpose": Entry(calls("a")),
    "jnp.swapaxes": Entry(calls("a, AXIS, AXIS", least=1)),
    "jnp.moveaxis": Entry(calls("a, AXIS, AXIS", "a, (0, 1), (1, 0)", "a, [0], [-1]", least=1)),
    "jnp.rollaxis": Entry(calls("a, AXIS", "a, AXIS, 1", "a, AXIS, 0", "a, AXIS, -1", least=1)),
    "jnp.squeeze": Entry(calls("a", "a, AXES", "a, axis=AXIS")),
    "jnp.expand_dims": Entry(
        calls("a, 0", "a, -1", "a, (0, 2)", "a, 1", "a, (0, -1)", "a, (1, 1)", "a, 5")
    ),
    "jnp.flip": Entry(calls("a", "a, AXES", "a, axis=AXIS")),
    **dict.fromkeys(["jnp.fliplr", "jnp.flipud"], Entry(calls("a"))),
    "jnp.rot90": Entry(
        calls("a", "a, 2", "a, -1", "a, 3, (1, 0)", "a, axes=(0, -1)", "a, axes=(0, 0)")
    ),
    "jnp.roll": Entry(rolls),
    "jnp.tile": Entry(calls("a, 2", "a, (2, 1)", "a, (1, 2, 1)", "a, ()", "a, 0", "a, (2, -1)")),
    "jnp.repeat": Entry(repeats),
    "jnp.resize": Entry(calls("a, (2, 2)", "a, 7", "a, ()", "a, (0,)", "a, (-1,)", "a, (3, 1, 2)")),
    "jnp.delete": Entry(deletes, more="sequences of places, as in NumPy"),
    "jnp.insert": Entry(inserts, more="positions in a list"),
    "jnp.append": Entry(appends),
    "jnp.trim_zeros": Entry(
        calls("a", "a, 'f'", "a, trim='b'", "a, 'x'", dtypes="bif"), smooth=False
    ),
    "jnp.pad": Entry(pads, more="widths by axis, in a dictionary, as in NumPy"),
    **dict.fromkeys(
        ["jnp.atleast_1d", "jnp.atleast_2d", "jnp.atleast_3d"], Entry(calls("a", "a, 1"))
    ),
    "jnp.broadcast_to": Entry(broadcasts),
    "jnp.broadcast_arrays": Entry(broadcast_many),
    **dict.fromkeys(
        [
            f"jnp.{n}"
            for n in [
                "concatenate",
                "concat",
                "stack",
                "hstack",
                "vstack",
                "dstack",
                "column_stack",
                "block",
            ]
        ],
        Entry(joins),
    ),
    **dict.fromkeys(
        named("split array_split hsplit vsplit dsplit"),
        Entry(splits, more="places behind the end, or from it, as in NumPy"),
    ),
    "jnp.unstack": Entry(calls("a", "a, axis=AXIS")),
    "jnp.take": Entry(takes, smooth=False),
    "jnp.take_along_axis": Entry(takes_along),
    "jnp.put_along_axis": Entry(takes_along, smooth=False, wide=False),
    "jnp.put": Entry(puts, smooth=False, wide=False),
    "jnp.place": Entry(placing, wide=False),
    "jnp.fill_diagonal": Entry(fills, wide=False),
    **dict.fromkeys(["jnp.compress", "jnp.extract"], Entry(conditional)),
    "jnp.choose": Entry(choices),
    "jnp.select": Entry(selects),
    "jnp.piecewise": Entry(pieces),
    **dict.fromkeys(["jnp.diff", "jnp.ediff1d"], Entry(differences)),
    "jnp.gradient": Entry(gradients),
    "jnp.trapezoid": Entry(trapezoids, more="of no elements"),
    **dict.fromkeys(["jnp.packbits", "jnp.unpackbits"], Entry(packs, smooth=False)),
    **dict.fromkeys(
        ["jnp.unravel_index", "jnp.ravel_multi_index"], Entry(flat_indices, smooth=False)
    ),
    "jnp.diag": Entry(calls("a", "a, 1", "a, k=-1", "a, -2", "a, 5")),
    "jnp.diagflat": Entry(calls("a", "a, 1", "a, k=-1")),
    "jnp.diagonal": Entry(
        calls("a", "a, 1", "a, -1", "a, axis1=-1, axis2=0", "a, 0, 1, 0", "a, 1, -2, -1", least=1)
    ),
    "jnp.trace": Entry(
        calls(
            "a", "a, 1", "a, axis1=AXIS, axis2=AXIS", "a, dtype='float32'", "a, -1, 1, 0", least=1
        )
    ),
    **dict.fromkeys(["jnp.tril", "jnp.triu"], Entry(calls("a", "a, 1", "a, k=-1", "a, 7"))),
    **dict.fromkeys(
        ["jnp.tril_indices_from", "jnp.triu_indices_from"], Entry(calls("a", "a, 1"), smooth=False)
    ),
    "jnp.diag_indices_from": Entry(calls("a"), smooth=False, wide=False),
    "jnp.apply_along_axis": Entry(along),
    "jnp.apply_over_axes": Entry(over, more="one axis as an integer"),
    "jnp.sort_complex": Entry(calls("a"), smooth=False),
    **dict.fromkeys(["jnp.shape", "jnp.ndim"], Entry(calls("a"), smooth=False, wide=False)),
    "jnp.size": Entry(calls("a", "a, AXES", "a, axis=AXIS"), smooth=False, wide=False),
    "jnp.ix_": Entry(calls("a", "a, a", dtypes="bi"), smooth=False),
    "jnp.copy": Entry(calls("a", "a, order='C'", "a, 'F'"), more="of lists"),
    "jnp.iterable": Entry(calls("a"), smooth=False, wide=False),
    "jnp.isscalar": Entry(
        calls("a", "1", "'x'", "np.float32(1)", "None", "[1]"), smooth=False, wide=False
    ),
}
