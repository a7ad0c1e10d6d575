"""Pytrees: containers of leaves, by jaxlib's registry in C++.

Lists, tuples, named tuples, dicts (in the order of sorted keys), `OrderedDict`, `defaultdict` and
None (a node without children) are nodes, and so is what is registered here; all else is a leaf.
The registry is effax's own: what a program registers with jax is not seen here, and vice versa.

>>> leaves, treedef = tree_flatten({"b": [1, 2], "a": (3, None)})
>>> leaves, treedef
([3, 1, 2], PyTreeDef({'a': (*, None), 'b': [*, *]}))
>>> tree_unflatten(treedef, "xyz")
{'a': ('x', None), 'b': ['y', 'z']}
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from effax.effects.mismatch import IsLeaf, is_one_leaf, mismatches, one_level, prefix_message
from effax.effects.nodes import Nodes, Partial
from effax.effects.runtime import _jax

PyTreeDef: TypeAlias = _jax.pytree.PyTreeDef
PyTreeRegistry: TypeAlias = _jax.pytree.PyTreeRegistry
SequenceKey: Any = _jax.pytree.SequenceKey
DictKey: Any = _jax.pytree.DictKey
GetAttrKey: Any = _jax.pytree.GetAttrKey
FlattenedIndexKey: Any = _jax.pytree.FlattenedIndexKey
KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]
Leaf: TypeAlias = Any

registry: Final = PyTreeRegistry()
"""The registry of every function here that doesn't say otherwise."""
none_leaf_registry: Final = PyTreeRegistry(enable_none=False)
"""The same nodes, but None is a leaf: for trees of axes, where None says "no axis"."""
for _name, _registry in (("registry", registry), ("none_leaf_registry", none_leaf_registry)):
    # A treedef is pickled by the global name of its registry.
    _registry.__module__ = __name__
    _registry.__name__ = _name

nodes: Final = Nodes((registry, none_leaf_registry), GetAttrKey)
register_pytree_node = nodes.register_pytree_node
register_pytree_node_class = nodes.register_pytree_node_class
register_pytree_with_keys = nodes.register_pytree_with_keys
register_pytree_with_keys_class = nodes.register_pytree_with_keys_class
register_dataclass = nodes.register_dataclass
register_attrs = nodes.register_attrs
register_static = nodes.register_static


def _defaultdict_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Hashable]:
    keys = tuple(sorted(d))
    return [(DictKey(key), d[key]) for key in keys], (d.default_factory, keys)


register_pytree_with_keys(
    collections.OrderedDict,
    lambda d: ([(DictKey(key), x) for key, x in d.items()], tuple(d)),
    lambda keys, xs: collections.OrderedDict(zip(keys, xs, strict=True)),
)
register_pytree_with_keys(
    collections.defaultdict,
    _defaultdict_with_keys,
    lambda meta, xs: collections.defaultdict(meta[0], zip(meta[1], xs, strict=True)),
)
register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, bound: Partial(func, *bound[0], **bound[1]),
)


# ------------------------------------------------------------------------- flatten and unflatten


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Leaf], PyTreeDef]:
    """Return the leaves of a tree, in order, and its structure.

    `is_leaf(subtree)`, when given, is asked at every step whether to stop there.

    >>> tree_flatten({"b": [1, None], "a": 2})
    ([2, 1], PyTreeDef({'a': *, 'b': [*, None]}))
    """
    try:
        return registry.flatten(tree, is_leaf)
    except ValueError as error:
        from effax.effects.key_order import refuse_unsortable

        refuse_unsortable(registry, tree, error)
        raise


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Leaf]) -> Any:
    """Build the tree of a structure with these leaves.

    Raises `ValueError` for too few or too many leaves.

    Args:
      treedef: the structure of the result.
      leaves: its leaves, in order.

    >>> tree_unflatten(tree_structure({"a": 0, "b": 0}), [1, 2])
    {'a': 1, 'b': 2}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Leaf]:
    """Return the leaves of a tree, in order.

    Args:
      tree: a pytree.
      is_leaf: a predicate at which a tree is not opened further.

    >>> tree_leaves({"b": [1, None], "a": 2})
    [2, 1]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Return the structure of a tree: hashable, comparable, picklable.

    Args:
      tree: a pytree.
      is_leaf: a predicate at which a tree is not opened further.

    >>> tree_structure({"b": [1, None], "a": 2})
    PyTreeDef({'a': *, 'b': [*, None]})
    """
    return tree_flatten(tree, is_leaf)[1]


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees with these structures.

    Args:
      treedefs: the structures of the elements.

    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeDef((*, [*]))
    """
    return _jax.pytree.treedef_tuple(registry, list(treedefs))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of a structure's immediate children.

    Args:
      treedef: the structure of a tree.

    >>> treedef_children(tree_structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a structure has a single node: a leaf, or a node without children.

    Args:
      treedef: the structure of a tree.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return bool(treedef.num_nodes == 1)


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is a leaf; that of None is not."""
    return bool(treedef.num_nodes == 1 and treedef.num_leaves == 1)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Return whether every element is a leaf.

    Args:
      iterable: the elements.
      is_leaf: a predicate at which a tree is not opened further.

    >>> all_leaves([1, "a"]), all_leaves([1, (2,)])
    (True, False)
    """
    if is_leaf is None:
        return _jax.pytree.all_leaves(registry, iterable)
    return all(is_one_leaf(registry, x, is_leaf) for x in iterable)


def is_tree_node(typ: type) -> bool:
    """Return whether instances of a class are nodes.

    Args:
      typ: a class; a subclass is a node only if it is registered, or a named tuple.

    >>> is_tree_node(list), is_tree_node(int)
    (True, False)
    """
    return registry.is_node(typ)


# ---------------------------------------------------------------------------- map, reduce, ...


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the tree of the results of a function of each leaf.

    Args:
      f: a function of a leaf of `tree` and the subtrees of `rest` at its place.
      tree: a pytree; a prefix of each tree of `rest`.
      *rest: more pytrees.
      is_leaf: a predicate at which a tree is not opened further.

    Raises:
      ValueError: where `tree` is no prefix of another; it names the path.

    >>> tree_map(lambda x, y: x + y, (1, [2]), (10, [20]))
    (11, [22])
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = [leaves, *flatten_up_to(treedef, tree, rest, is_leaf, "tree_map tree")]
    return treedef.unflatten(f(*row) for row in zip(*columns, strict=True))


def flatten_up_to(
    treedef: PyTreeDef, tree: Any, rest: Sequence[Any], is_leaf: IsLeaf, name: str
) -> list[list[Any]]:
    """Flatten each tree of `rest` down to the leaves of `treedef`, the structure of `tree`.

    Raises `ValueError` with the path where a tree differs; `name` says what the trees are.
    """
    columns = []
    for other in rest:
        try:
            columns.append(treedef.flatten_up_to(other))
        except (ValueError, TypeError):
            for error in prefix_errors(tree, other, is_leaf):
                raise error(name) from None
            raise
    return columns


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves are true.

    Args:
      tree: a pytree.
      is_leaf: a predicate at which a tree is not opened further.

    >>> tree_all({"a": True, "b": [1]})
    True
    """
    return all(tree_leaves(tree, is_leaf))


class Unspecified:
    """Stands for an argument that was not given."""


UNSPECIFIED: Final = Unspecified()


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves from left to right.

    Raises `TypeError` for a tree without leaves and no initial value.

    Args:
      function: a function of the result so far and a leaf.
      tree: a pytree.
      initializer: the value to start from; by default the first leaf.
      is_leaf: a predicate at which a tree is not opened further.

    >>> tree_reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
    6
    """
    return reduce_leaves(function, tree_leaves(tree, is_leaf), initializer)


def reduce_leaves(function: Callable[[Any, Any], Any], leaves: list[Leaf], initializer: Any) -> Any:
    """Combine a list from left to right, from an initial value unless it is unspecified."""
    if isinstance(initializer, Unspecified):
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = UNSPECIFIED,
    is_leaf: IsLeaf = None,
) -> Any:
    """Combine the leaves by an associative operation, in logarithmic depth.

    Each half of the leaves is combined first; of an odd number the second half has one more.

    Args:
      operation: a function of two leaves or results.
      tree: a pytree.
      identity: the result for a tree without leaves; by default `TypeError` is raised for it.
      is_leaf: a predicate at which a tree is not opened further.

    >>> tree_reduce_associative(max, [1, 3, 2])
    3
    """
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if isinstance(identity, Unspecified):
            raise TypeError("a reduction of a tree without leaves needs its identity")
        return identity

    def halves(start: int, end: int) -> Any:
        if end - start == 1:
            return leaves[start]
        middle = start + (end - start) // 2
        return operation(halves(start, middle), halves(middle, end))

    return halves(0, len(leaves))


def tree_transpose(
    outer_treedef: PyTreeDef,
    inner_treedef: PyTreeDef | None,
    pytree_to_transpose: Any,
    is_leaf: IsLeaf = None,
) -> Any:
    """Turn a tree of trees inside out: an inner structure of outer ones.

    Args:
      outer_treedef: the outer structure of `pytree_to_transpose`.
      inner_treedef: the structure of each of its subtrees there; None for that of the first.
      pytree_to_transpose: the tree of trees.
      is_leaf: a predicate at which a tree is not opened further.

    >>> outer, inner = tree_structure({"a": 0, "b": 0}), tree_structure((0, 0))
    >>> tree_transpose(outer, inner, {"a": (1, 2), "b": (3, 4)})
    ({'a': 1, 'b': 3}, {'a': 2, 'b': 4})
    """
    leaves, treedef = tree_flatten(pytree_to_transpose, is_leaf)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    width = inner_treedef.num_leaves
    if treedef.num_leaves != width * outer_treedef.num_leaves:
        expected = outer_treedef.compose(inner_treedef)
        raise TypeError(f"Mismatch of tree structures: expected\n{expected}\ngot\n{treedef}")
    return inner_treedef.unflatten(outer_treedef.unflatten(leaves[i::width]) for i in range(width))


# -------------------------------------------------------------------------------------- paths


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return the leaves with their paths, and the structure.

    Args:
      tree: a pytree.
      is_leaf: a predicate at which a tree is not opened further.
      is_leaf_takes_path: whether `is_leaf` is called with the path and the subtree.

    >>> leaves, _ = tree_flatten_with_path({"a": [1]})
    >>> [(keystr(path), leaf) for path, leaf in leaves]
    [("['a'][0]", 1)]
    """
    asked = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:

        def asked(_: KeyPath, subtree: Any) -> bool:
            return is_leaf(subtree)

    try:
        return registry.flatten_with_path(tree, asked)
    except ValueError:
        tree_flatten(tree)  # says which keys of a dict can't be sorted, if that is the reason
        raise


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """Return the leaves with their paths.

    Args:
      tree: a pytree.
      is_leaf: a predicate at which a tree is not opened further.
      is_leaf_takes_path: whether `is_leaf` is called with the path and the subtree.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1]})]
    [("['a'][0]", 1)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


generate_key_paths = tree_leaves_with_path


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Map a function over a tree, as `tree_map` does; it takes the leaf's path first.

    Args:
      f: a function of a path, the leaf of `tree` there and the subtrees of `rest` there.
      tree: a pytree; a prefix of each tree of `rest`.
      *rest: more pytrees.
      is_leaf: a predicate at which a tree is not opened further.
      is_leaf_takes_path: whether `is_leaf` is called with the path and the subtree.

    >>> tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    plain = None if is_leaf_takes_path else is_leaf
    columns = flatten_up_to(treedef, tree, rest, plain, "tree_map_with_path tree")
    rows = zip(pairs, *columns, strict=True)
    return treedef.unflatten(f(path, leaf, *others) for (path, leaf), *others in rows)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a path as text, as Python writes the accesses.

    Args:
      keys: the path, a tuple of keys.
      simple: whether only the keys are written, without brackets, dots and quotes.
      separator: the text between two keys.

    >>> ((path, _),) = tree_leaves_with_path({"a": [1]})
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['a'][0]", 'a/0')
    """
    return separator.join(_simple_key(key) if simple else str(key) for key in keys)


def _simple_key(key: KeyEntry) -> str:
    match key:
        case SequenceKey(idx=name) | DictKey(key=name) | GetAttrKey(name=name):
            return str(name)
        case FlattenedIndexKey(key=name):
            return str(name)
        case _:
            return str(key)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return a node's children and metadata. Raises `ValueError` for a leaf.

    Args:
      tree: a pytree that is a node.

    >>> flatten_one_level([1, (2, 3)])
    ([1, (2, 3)], None)
    """
    found = registry.flatten_one_level(tree)
    if found is None:
        raise ValueError(f"expected a container, got a leaf of type {type(tree)}")
    return found


def flatten_one_level_with_keys(tree: Any) -> tuple[list[tuple[KeyEntry, Any]], Hashable]:
    """Return a node's children with their keys, and its metadata. Raises `ValueError` for a leaf.

    Args:
      tree: a pytree that is a node.

    >>> flatten_one_level_with_keys([1, (2, 3)])
    ([(SequenceKey(idx=0), 1), (SequenceKey(idx=1), (2, 3))], None)
    """
    found = one_level(registry, tree)
    if found is None:
        raise ValueError(f"expected a container, got a leaf of type {type(tree)}")
    return found


# ----------------------------------------------------------------------------------- prefixes


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Leaf]:
    """A leaf for every leaf of the full tree: that of the prefix which stands above it.

    Raises `ValueError`, with the path, where the one is no prefix of the other.

    >>> broadcast_prefix((0, 1), ("a", ["b", "c"]))
    [0, 1, 1]
    """
    leaves, treedef = registry.flatten(prefix_tree, is_leaf)
    name = "broadcast_prefix prefix_tree"
    (below,) = flatten_up_to(treedef, prefix_tree, (full_tree,), is_leaf, name)
    return _repeat(leaves, below)


def _repeat(leaves: Sequence[Leaf], below: Sequence[Any]) -> list[Leaf]:
    spread = []
    for leaf, subtree in zip(leaves, below, strict=True):
        spread += [leaf] * registry.flatten(subtree)[1].num_leaves
    return spread


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Repeat the leaves of a prefix to a tree of the full tree's structure.

    Args:
      prefix_tree: a pytree that is a prefix of `full_tree`.
      full_tree: a pytree, whose structure the result has.
      is_leaf: a predicate at which `prefix_tree` is not opened further.

    >>> tree_broadcast((0, 1), ("a", ["b", "c"]))
    (0, [1, 1])
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def flatten_axes(name: str, treedef: PyTreeDef, axes: Any) -> list[Any]:
    """An axis for every leaf of a structure, from a prefix of it in which None is a leaf.

    A list may stand where the structure has a tuple, as in `vmap(f, in_axes=[0, None])`.
    Raises `ValueError`, naming `name` and the path, where it is no prefix.

    >>> flatten_axes("in_axes", tree_structure((1, [2, 3])), (None, 0))
    [None, 0, 0]
    """
    full = treedef.unflatten([UNSPECIFIED] * treedef.num_leaves)
    if type(full) is tuple and type(axes) is list:
        axes = tuple(axes)
    leaves, prefix = none_leaf_registry.flatten(axes)
    try:
        return _repeat(leaves, prefix.flatten_up_to(full))
    except (ValueError, TypeError) as error:
        details = mismatch_details(name, axes, full, none_leaf_registry)
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value: {prefix} is "
            f"not one of {treedef}. {details}"
        ) from (None if details else error)


def mismatch_details(name: str, prefix_tree: Any, full_tree: Any, known: Any = registry) -> str:
    """All places where a tree called `name` is no prefix of another, for a message."""
    found = list(mismatches(known, prefix_tree, full_tree, None, prefix=True))
    if not found:
        return ""
    told = "\n".join(prefix_message(mismatch, name) for mismatch in found)
    return f"Mismatch details ({len(found)} found):\n{told}"


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None
) -> list[Callable[[str], ValueError]]:
    """Return why a tree is no prefix of another, as functions from its name to the errors."""
    found = mismatches(registry, prefix_tree, full_tree, is_leaf, prefix=True)
    return [functools.partial(_prefix_error, mismatch) for mismatch in found]


def _prefix_error(mismatch: Any, name: str) -> ValueError:
    return ValueError(prefix_message(mismatch, name))


def equality_errors(
    tree1: Any, tree2: Any, is_leaf: IsLeaf = None
) -> list[tuple[KeyPath, str, str, str]]:
    """Return the structural differences of two trees: path, both values, and the reason."""
    found = mismatches(registry, tree1, tree2, is_leaf, prefix=False)
    return [(m.path, m.first, m.second, m.explanation) for m in found]


def equality_errors_pytreedef(
    tree1: PyTreeDef, tree2: PyTreeDef
) -> list[tuple[KeyPath, str, str, str]]:
    """`equality_errors` of two structures."""
    first, second = (t.unflatten([UNSPECIFIED] * t.num_leaves) for t in (tree1, tree2))
    return equality_errors(first, second)


def check_same_structure(
    first: PyTreeDef, second: PyTreeDef, first_name: str, second_name: str
) -> None:
    """Raise `TypeError`, with both structures and the places, unless they are equal."""
    if first == second:
        return
    lines = [
        f"  at {keystr(path) or 'the root'}: {one} in {first_name}, {other} in {second_name}: {why}"
        for path, one, other, why in equality_errors_pytreedef(first, second)
    ]
    raise TypeError(
        f"tree structure mismatch: {first_name} has the structure\n  {first}\n"
        f"and {second_name} has\n  {second}\n" + "\n".join(lines)
    )
