"""tree, tree_util and flatten_util on the grid: containers of all kinds, and what is None."""

from __future__ import annotations

from tests.grid.draw import Grid
from tests.grid.play import Entry

TREES = (
    "[a, (b, None)]", "{'y': a, 'x': [b]}", "(a, {'k': ()}, b)", "a", "None", "[]", "{'b': 1, 'a': 2.5}",
    "[None, a]", "((a,), [b, b])", "{1: a, 0: b}",
)  # fmt: skip
FUNCTIONS = ("lambda x: x * 2", "lambda x: (x, x)", "lambda x: None", "str")
LEAVES = (
    "",
    "",
    "lambda x: x is None",
    "lambda x: isinstance(x, tuple)",
    "lambda x: isinstance(x, dict)",
)


def _trees(g: Grid, count: int) -> list[str]:
    """Trees over two arrays; mostly of one form."""
    g.array((2,), "float32", "normal")
    g.array((), "int32", "normal")
    form = g.pick(*TREES)
    return [form] + [form if g.usually(85) else g.pick(*TREES) for _ in range(count - 1)]


def _leaf(g: Grid) -> str:
    chosen = g.pick(*LEAVES)
    return f", is_leaf={chosen}" if chosen else ""


def of_one(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    return f"{name}({tree}{_leaf(g)})"


def mapped(g: Grid, name: str) -> str:
    two = g.chance(50)
    trees = _trees(g, 2 if two else 1)
    function = "lambda x, y: (x, y)" if two else g.pick(*FUNCTIONS)
    if "path" in name:
        function = "lambda p, x, *xs: jax.tree_util.keystr(p)"
    return f"{name}({function}, {', '.join(trees)}{_leaf(g)})"


def reduced(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    start = g.pick("", ", 0", ", 1.5")
    return f"{name}(lambda x, y: x + jnp.sum(y), {tree}{start}{_leaf(g)})"


def associatively(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    return f"{name}(lambda x, y: x + jnp.sum(y), {tree}{g.pick('', ', identity=0')})"


def transposed(g: Grid, name: str) -> str:
    g.array((2,), "float32", "normal")
    outer, inner = g.pick("[0, 0]", "(0, {'k': 0})"), g.pick("(0, 0)", "{'a': 0}", "None")
    sides = f"jax.tree.structure({outer}), {g.pick(f'jax.tree.structure({inner})', 'None')}"
    return f"{name}({sides}, jax.tree.map(lambda _: {inner.replace('0', 'a')}, {outer}))"


def unflattened(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    leaves = f"jax.tree.leaves({tree})" + g.pick("", "", " + [1]")
    if name.startswith("jax.tree."):
        return f"{name}(jax.tree.structure({tree}), {leaves})"
    return f"{name}(jax.tree_util.tree_structure({tree}), {leaves})"


def broadcast(g: Grid, name: str) -> str:
    g.array((2,), "float32", "normal")
    prefix = g.pick("1", "(1, 2)", "[1, (2, 3)]", "{'x': 1}")
    full = g.pick("([a], (a, a))", "[a, (a, a)]", "{'x': [a, a]}")
    return f"{name}({prefix}, {full}{_leaf(g)})"


def parts_of_definition(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    given = f"jax.tree_util.tree_structure({tree})"
    return f"{name}([{given}, {given}])" if name.endswith("tuple") else f"{name}({given})"


def all_leaves(g: Grid, name: str) -> str:
    _trees(g, 1)
    return f"{name}({g.pick('[a, b]', '[a, (b,)]', '[]', '[None]')}{_leaf(g)})"


def key_string(g: Grid, name: str) -> str:
    (tree,) = _trees(g, 1)
    words = g.words(simple=["True", "False"], separator=["'/'", "''"])
    path = f"jax.tree_util.tree_flatten_with_path({tree})[0]"
    return f"[{name}(p{words}) for p, _ in {path}]"


def raveled(g: Grid, name: str) -> str:
    """Flattened and put together again; of several dtypes sometimes."""
    g.array(g.shape(), g.dtype("ifc"), "normal")
    g.array((2,), g.dtype("ifb"), "normal")
    tree = g.pick("[a, b]", "{'x': a, 'y': (b, a)}", "a", "[]", "(a, 1.5)")
    return f"(lambda r: (r[0], r[1](r[0])))({name}({tree}))"


def _names(prefix: str, names: str) -> list[str]:
    return [f"{prefix}{name}" for name in names.split()]


_DRAWERS = {
    of_one: "leaves flatten leaves_with_path flatten_with_path structure all",
    mapped: "map map_with_path",
    reduced: "reduce",
    associatively: "reduce_associative",
    transposed: "transpose",
    unflattened: "unflatten",
    broadcast: "broadcast",
}
_PLAIN = Entry(of_one, wide=False, smooth=False, vmap=False)
TABLE = {
    name: _PLAIN._replace(draw=drawer)
    for drawer, names in _DRAWERS.items()
    for name in _names("jax.tree.", names) + _names("jax.tree_util.tree_", names)
}
TABLE |= {
    f"jax.tree_util.{name}": _PLAIN._replace(draw=drawer)
    for drawer, names in {
        parts_of_definition: "treedef_children treedef_is_leaf treedef_tuple",
        all_leaves: "all_leaves",
        key_string: "keystr",
    }.items()
    for name in names.split()
}
TABLE["jax.flatten_util.ravel_pytree"] = _PLAIN._replace(draw=raveled, smooth=True, vmap=True)
