"""Indices put together of parts: what is read by them, and what `.at` does there."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Entry
from tests.grid.table_methods import MODES

SLICES = [":", "1:", ":-1", "::2", "::-1", "2:0:-1", "-2:9", "5:9", "-9:2", "0:0", "1:2"]
SCALARS = ["0", "-1", "1", "-3", "5", "np.int32(1)", "jnp.int8(-1)", "jnp.uint8(1)", "np.array(0)"]


def part(g: Grid, extent: int, shape: tuple[int, ...]) -> str:
    """Draw the index of one axis."""
    form = g.pick("slice", "slice", "scalar", "array", "array", "mask", "list", "new")
    if form == "slice":
        return str(g.pick(*SLICES))
    if form == "scalar":
        return str(g.pick(*SCALARS))
    if form == "new":
        return "None"
    if form == "list":
        return str(g.pick("[0, 1]", "[0]", "[True, False]", "[]", "[-1, 0, 0]", "[[0], [1]]"))
    if form == "mask":
        lengths = (extent,) if g.usually(85) else (extent + 1,)
        return g.array(lengths, "bool", "few", form=g.pick("host", "host", "array"))
    kind = g.pick("index:2", f"index:{max(extent, 1)}", "index:9")
    return g.array(shape, g.dtype("iiii4"), kind, form=g.pick("array", "array", "host"))


def index(g: Grid, shape: tuple[int, ...]) -> str:
    """An index into an array of a shape."""
    common = g.pick((2,), (), (3,), (2, 1), (0,), (2, 2))
    parts = []
    for extent in shape[: g.integer(0, len(shape))]:
        lengths = common if g.usually(70) else g.pick((), (1,), (2,), (3, 1))
        parts.append(part(g, extent, lengths))
    if g.chance(30):
        parts.insert(g.integer(0, len(parts)), "...")
    if g.chance(4):
        parts.append(g.pick("...", "0", "1.5", "'x'", "True"))
    return ", ".join(parts) + ("," if len(parts) == 1 and g.chance(30) else "") if parts else "()"


def read(g: Grid, name: str) -> str:
    shape = g.shape()
    a = g.array(shape, g.dtype(), "normal")
    return f"{a}[{index(g, shape)}]"


def gotten(g: Grid, name: str) -> str:
    shape = g.shape()
    a = g.array(shape, g.dtype(), "normal")
    words = g.words(30, mode=MODES[:3] + MODES[4:], fill_value=["0", "7", "-1"])
    return f"{a}.at[{index(g, shape)}].get({words.removeprefix(', ')})"


def updated(g: Grid, name: str) -> str:
    verb = name.rpartition(".")[2].removesuffix(" drawn")
    shape = g.shape()
    dtype = g.dtype("bifc8")
    a = g.array(shape, dtype, "normal", "few")
    place = index(g, shape)
    given = g.operand(g.shape(0, 2), dtype if g.usually(75) else g.dtype(), "normal")
    words = g.words(25, mode=MODES[:3] + MODES[4:])
    return f"{a}.at[{place}].{verb}({given}{words})"


# In which order equal places are written, no one says: values are compared where they add up.
TABLE = {
    "Array.__getitem__ drawn": Entry(read, smooth=False),
    "Array.at[].get drawn": Entry(gotten, wide=False, smooth=False),
    **{
        f"Array.at[].{verb} drawn": Entry(
            updated,
            wide=False,
            smooth=False,
            slack=4,
            less="values that do not fit a place without elements: NumPy refuses them too",
        )
        for verb in "set add multiply min max divide power subtract".split()  # noqa: SIM905
    },
}
