"""lax on the grid: shapes, slices known beforehand or at run time, gathers and scatters."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

FLAGS = ["True", "False"]


def _array(g: Grid, least: int = 1, most: int = 3, kinds: str = "bifc8") -> str:
    return g.array(g.shape(least, most), g.dtype(kinds), "normal")


def _front(g: Grid, a: str, *, wrong: int = 5) -> int:
    """An axis counted from the front; seldom none."""
    rank = len(g.shape_of(a))
    if g.chance(wrong) or not rank:
        return int(g.pick(-1, rank))
    return g.integer(0, rank - 1)


def _order(g: Grid, count: int) -> tuple[int, ...]:
    return tuple(g.draw(st.permutations(range(count)))) if count > 1 else tuple(range(count))


def full(g: Grid, name: str) -> str:
    value = (
        g.operand((), g.dtype("bifc"), "normal") if g.usually(60) else g.pick("1", "2.5", "True")
    )
    return f"{name}({g.pick((2, 3), (), (0,), (4,))}, {value}{g.words(dtype=lambda: g.name_of(g.dtype('bifc8')))})"


def full_like(g: Grid, name: str) -> str:
    a = g.operand(g.shape(), g.dtype())
    words = g.words(dtype=lambda: g.name_of(g.dtype("bifc")), shape=["(2,)", "()"])
    return f"{name}({a}, {g.pick('1', '2.5', 'True')}{words})"


def empty(g: Grid, name: str) -> str:
    # Python's `int` is 64 bits wide to JAX's, whatever the setting.
    return f"jnp.zeros_like({name}({g.shape()}, '{g.dtype()}'))"


def counted(g: Grid, name: str) -> str:
    return f"{name}({g.name_of(g.dtype('iifcb'))}, {g.pick(0, 1, 5, 200)})"


def counted_along(g: Grid, name: str) -> str:
    shape = g.shape(1)
    return f"{name}({g.name_of(g.dtype('iifc'))}, {shape}, {g.integer(0, len(shape))})"


def broadcast(g: Grid, name: str) -> str:
    return f"{name}({g.operand(g.shape(0, 2), g.dtype())}, {g.pick((2,), (), (0,), (2, 1), (-1,))})"


def broadcast_in_dim(g: Grid, name: str) -> str:
    shape = g.shape(3, 3)
    dims = _order(g, 3)[: g.integer(0, 3)]
    dims = tuple(sorted(dims)) if g.usually(70) else dims
    given = tuple(g.pick(1, shape[d]) if g.usually(97) else 7 for d in dims)
    return f"{name}({g.array(given, g.dtype(), 'normal')}, {shape}, {dims})"


def to_rank(g: Grid, name: str) -> str:
    return f"{name}({_array(g, 0, 2)}, {g.integer(2, 4)})"


def like(g: Grid, name: str) -> str:
    left, right = g.broadcast()
    return f"{name}({g.array(left, g.dtype(), 'normal')}, {g.array(right, 'float32', 'normal')})"


def shapes(g: Grid, name: str) -> str:
    left, right = g.broadcast()
    return f"{name}({left}, {right})"


def reshaped(g: Grid, name: str) -> str:
    a = g.operand(g.pick((2, 3), (6,), (1, 6), (3, 2, 1)), g.dtype(), "normal")
    words = f", {_order(g, len(g.shape_of(a)))}" if g.chance(40) else ""
    return f"{name}({a}, {g.pick((6,), (2, 3), (3, 1, 2), (1, 6))}{words})"


def transposed(g: Grid, name: str) -> str:
    a = _array(g)
    return f"{name}({a}, {_order(g, len(g.shape_of(a)))})"


def along_some(g: Grid, name: str) -> str:
    """rev, expand_dims: axes of the operand or of the result."""
    a = _array(g)
    count = len(g.shape_of(a)) + (1 if name.endswith("dims") else 0)
    dims = _order(g, count)[: 1 if name.endswith("dims") else g.integer(0, count)]
    return f"{name}({a}, {dims if g.usually(95) else (-1,)})"


def squeezed(g: Grid, name: str) -> str:
    a = g.array(g.pick((1, 3), (2, 1, 3), (1, 1), (3,)), g.dtype(), "normal")
    return f"{name}({a}, {g.pick((0,), (1,), (-1,), ())})"


def collapsed(g: Grid, name: str) -> str:
    a = _array(g, 2)
    return f"{name}({a}, {g.integer(0, 1)}, {g.integer(0, 3)})"


def joined(g: Grid, name: str) -> str:
    a = _array(g)
    shape, dtype = g.shape_of(a), g.last().dtype
    parts = [a, *(g.array(shape, dtype if g.usually(97) else "int8", "normal") for _ in "ab")]
    axis = _front(g, a) if name.endswith("concatenate") else g.axis(a)
    return f"{name}([{', '.join(parts)}], {axis})"


def unstacked(g: Grid, name: str) -> str:
    a = _array(g)
    return f"{name}({a}, {g.axis(a)})"


def split(g: Grid, name: str) -> str:
    a = g.array((5, 2), g.dtype(), "normal")
    return f"{name}({a}, {g.pick((2, 3), (5,), (0, 4, 1), (2, 2))}{g.words(10, axis=['0', '1'])})"


def tiled(g: Grid, name: str) -> str:
    a = _array(g, 1, 2)
    reps = tuple(g.integer(0, 3) for _ in g.shape_of(a))
    return f"{name}({a}, {reps})"


def padded(g: Grid, name: str) -> str:
    a = _array(g, 1, 2)
    fill = g.array(() if g.usually(97) else (1,), g.last().dtype, "normal")
    low = -1 if g.usually(95) else -4
    config = [(g.integer(low, 2), g.integer(-1, 2), g.integer(0, 2)) for _ in g.shape_of(a)]
    return f"{name}({a}, {fill}, {config})"


def sliced(g: Grid, name: str) -> str:
    a = _array(g)
    starts = [g.integer(0, n) for n in g.shape_of(a)]
    limits = [g.integer(s, n) for s, n in zip(starts, g.shape_of(a), strict=True)]
    limits = limits if g.usually(95) else [9 for _ in limits]
    strides = [g.integer(1, 3) for _ in starts] if g.chance(50) else None
    return f"{name}({a}, {starts}, {limits}, {strides})"


def sliced_along(g: Grid, name: str) -> str:
    a = _array(g)
    return f"{name}({a}, {g.pick(None, 0, 1, -1)}, {g.pick(None, 1, 2, -1)}, {g.pick(1, 2)}, {g.axis(a)})"


def indexed_along(g: Grid, name: str) -> str:
    a = _array(g)
    index = g.pick("0", "1", "-1", "4")
    if "dynamic" in name and g.usually(60):
        index = g.array((), g.dtype("i"), "normal")
    return f"{name}({a}, {index}, {g.axis(a, wrong=0)}{g.words(keepdims=FLAGS)})"


def _starts(g: Grid, a: str) -> str:
    rank = len(g.shape_of(a))
    if g.chance(40):
        return g.array((rank,), g.dtype("i"), "normal", "extreme")
    dtype = g.dtype("i")
    values = ("normal", "extreme")
    parts = [
        g.array((), dtype, *values) if g.chance(50) else str(g.pick(0, 1, -1, 9))
        for _ in range(rank)
    ]
    return f"({', '.join(parts)},)" if parts else "()"


def dynamic_slice(g: Grid, name: str) -> str:
    a = _array(g)
    sizes = tuple(g.integer(0, n) for n in g.shape_of(a))
    return f"{name}({a}, {_starts(g, a)}, {sizes if g.usually(97) else (9, *sizes[1:])})"


def dynamic_update(g: Grid, name: str) -> str:
    a = _array(g)
    sizes = tuple(g.integer(0, n) for n in g.shape_of(a))
    update = g.array(sizes, g.last().dtype, "normal")
    return f"{name}({a}, {update}, {_starts(g, a)})"


def dynamic_along(g: Grid, name: str) -> str:
    a = _array(g)
    axis = g.integer(0, len(g.shape_of(a)) - 1)
    start = (
        g.array((), g.dtype("i"), "normal", "extreme") if g.usually(60) else g.pick("1", "-1", "9")
    )
    if "update" not in name:
        return f"{name}({a}, {start}, {g.integer(0, g.shape_of(a)[axis])}, {axis})"
    shape = list(g.shape_of(a))
    one = "index" in name
    size = 1 if one else g.integer(0, shape[axis])
    if one and g.chance(50):
        del shape[axis]
    else:
        shape[axis] = size
    update = g.array(shape, g.operands[0].dtype, "normal")
    return f"{name}({a}, {update}, {start}, {axis})"


MODES = ["'fill'", "'clip'", "'promise_in_bounds'", "None"]


def gathered(g: Grid, name: str) -> str:
    """Rows, boxes or batches of an array of two axes."""
    dtype = g.dtype()
    a = g.array((3, 4), dtype, "normal")
    form = g.pick("rows", "boxes", "batch")
    inside = "index:0:3"
    mode = g.pick("'fill'", "'clip'", "'fill'", "'promise_in_bounds'")
    values = (inside,) if "promise" in mode else (inside, "index:5")
    words = f", mode={mode}" + (g.words(30, fill_value=["7", "0"]) if "fill" in mode else "")
    if form == "rows":
        i = g.array((2, 1), g.dtype("i"), *values)
        dims, sizes = "lax.GatherDimensionNumbers((1,), (0,), (0,))", "(1, 4)"
    elif form == "boxes":
        i = g.array((2, 2), "int32", *(values if "promise" not in mode else ("index:0:2",)))
        dims, sizes = "lax.GatherDimensionNumbers((1, 2), (), (0, 1))", "(2, 3)"
    else:
        i = g.array((3, 1), "int32", *values)
        dims, sizes = "lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))", "(1, 1)"
    return f"{name}({a}, {i}, {dims}, {sizes}{words})"


def scattered(g: Grid, name: str) -> str:
    dtype = g.dtype("bifc" if name == "lax.scatter" else "ifc")
    a = g.array((3, 4), dtype, "normal")
    mode = g.pick("'fill'", "'clip'", "None", "'drop'")
    if name == "lax.scatter":  # which of two updates of one place wins is not said
        i = "jnp.array([[2], [0]])"
    else:
        i = g.array((2, 1), g.dtype("i"), "index:0:3", "index:5")
    u = g.array((2, 4), dtype if g.usually(97) else "float16", "normal")
    dims = "lax.ScatterDimensionNumbers((1,), (0,), (0,))"
    return f"{name}({a}, {i}, {u}, {dims}, mode={mode})"


def applied(g: Grid, name: str) -> str:
    a = g.array((3, 4), g.dtype("f"), "normal")
    i = g.array((2, 1), "int32", "index:0:3", "index:5")
    dims = "lax.ScatterDimensionNumbers((1,), (0,), (0,))"
    function = g.pick("lambda x: x * 2", "jnp.sin")
    return f"{name}({a}, {i}, {function}, {dims}, update_shape=(2, 4){g.words(mode=MODES)})"


def taken(g: Grid, name: str) -> str:
    a = g.array((3, 4), g.dtype(), "normal")
    i, j = g.array((2,), "int32", "normal"), g.array((2,), "int32", "normal")
    return f"{name}({a}, ({i},), (1,))" if g.chance(50) else f"{name}({a}, ({i}, {j}), (0, 1))"


def one(g: Grid, name: str) -> str:
    return f"{name}({g.operand(g.shape(), g.dtype())})"


def shape_value(g: Grid, name: str) -> str:
    return f"{name}({g.shape()})"


def _entries(table: dict[str, Drawer]) -> dict[str, Entry]:
    return {
        f"lax.{name}": Entry(draw, wide=False)
        for names, draw in table.items()
        for name in names.split()
    }


TABLE = _entries(
    {
        "full": full,
        "full_like": full_like,
        "empty": empty,
        "iota": counted,
        "broadcasted_iota": counted_along,
        "broadcast": broadcast,
        "broadcast_in_dim": broadcast_in_dim,
        "broadcast_to_rank": to_rank,
        "broadcast_like": like,
        "broadcast_shapes": shapes,
        "reshape": reshaped,
        "transpose": transposed,
        "rev expand_dims": along_some,
        "squeeze": squeezed,
        "collapse": collapsed,
        "concatenate stack": joined,
        "unstack": unstacked,
        "split": split,
        "tile": tiled,
        "pad": padded,
        "slice": sliced,
        "slice_in_dim": sliced_along,
        "index_in_dim dynamic_index_in_dim": indexed_along,
        "dynamic_slice": dynamic_slice,
        "dynamic_update_slice": dynamic_update,
        "dynamic_slice_in_dim dynamic_update_slice_in_dim dynamic_update_index_in_dim": dynamic_along,
        "gather": gathered,
        "scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max": scattered,
        "scatter_apply": applied,
        "index_take": taken,
        "optimization_barrier": one,
        "shape_as_value": shape_value,
    }
)
for _name in ("lax.dynamic_slice", "lax.dynamic_update_slice"):
    TABLE[_name] = TABLE[_name]._replace(more="starts of several integer dtypes are taken")
TABLE["lax.scatter_mul"] = TABLE["lax.scatter_mul"]._replace(smooth=False)
TABLE["lax.scatter_apply"] = TABLE["lax.scatter_apply"]._replace(underived=True, smooth=False)
