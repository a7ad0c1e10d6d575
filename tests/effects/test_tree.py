"""Pytrees behave as JAX's do."""

import collections
import copy
import dataclasses
import functools
import pickle
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effax import api_util
from effax.effects import tree as T
from effax.effects.tree import keystr, tree_flatten, tree_leaves, tree_map, tree_structure


class Point(NamedTuple):
    x: Any
    y: Any


@T.register_pytree_node_class
class Box:
    def __init__(self, inside, label="box"):
        self.inside = inside
        self.label = label

    def tree_flatten(self):
        return (self.inside,), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)

    def __eq__(self, other):
        return (self.inside, self.label) == (other.inside, other.label)

    __hash__ = None


@T.register_pytree_with_keys_class
class Keyed:
    def __init__(self, **parts):
        self.parts = parts

    def tree_flatten_with_keys(self):
        return [(T.GetAttrKey(k), v) for k, v in self.parts.items()], tuple(self.parts)

    @classmethod
    def tree_unflatten(cls, names, children):
        return cls(**dict(zip(names, children, strict=True)))


@T.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    name: str = dataclasses.field(metadata={"static": True}, default="layer")


@functools.partial(T.register_dataclass, data_fields=["a"], meta_fields=["b"])
@dataclasses.dataclass(frozen=True)
class Explicit:
    a: Any
    b: int


@T.register_attrs
@attrs.frozen
class Frozen:
    value: Any
    tag: str = attrs.field(metadata={"static": True}, default="t")


@T.register_attrs
@attrs.define
class Hidden:
    _value: Any
    tag: str = attrs.field(metadata={"static": True}, default="t")
    cache: int = attrs.field(init=False, default=0)


@T.register_static
class Name(str):
    __slots__ = ()


leaf = st.integers() | st.text(max_size=2) | st.booleans()
trees = st.recursive(
    leaf | st.none(),
    lambda t: (
        st.lists(t, max_size=3)
        | st.lists(t, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), t, max_size=3)
        | st.builds(Point, t, t)
        | st.builds(Box, t)
        | st.builds(Layer, t)
        | st.builds(Frozen, t)
        | st.dictionaries(st.text(max_size=2), t, max_size=3).map(collections.OrderedDict)
    ),
    max_leaves=12,
)


@given(trees)
def test_unflatten_inverts_flatten(tree):
    leaves, treedef = tree_flatten(tree)
    assert T.tree_unflatten(treedef, leaves) == tree
    assert treedef == tree_structure(tree)
    assert hash(treedef) == hash(tree_structure(tree))
    assert treedef.num_leaves == len(leaves)
    assert tree_map(lambda x: x, tree) == tree
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) == treedef
    paths, with_path = T.tree_flatten_with_path(tree)
    assert [x for _, x in paths] == leaves
    assert with_path == treedef
    assert len({keystr(path) for path, _ in paths}) == len(leaves)
    assert T.broadcast_prefix(0, tree) == [0] * len(leaves)
    assert T.broadcast_prefix(tree, tree) == leaves


def test_order_and_kinds_of_nodes():
    counts = collections.defaultdict(list, {"b": 1, "a": 2})
    assert tree_leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree_leaves(collections.OrderedDict(b=1, a=2)) == [1, 2]
    assert tree_leaves(counts) == [2, 1]
    again = tree_map(lambda x: x, counts)
    assert type(again) is collections.defaultdict
    assert again.default_factory is list
    assert tree_leaves(None) == []
    assert tree_leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    assert tree_leaves(Name("a")) == []
    assert tree_structure(Name("a")) != tree_structure(Name("b"))
    assert type(tree_map(lambda x: x, Point(1, 2))) is Point


def test_classes():
    assert tree_map(lambda x: x + 1, Layer(1, "n")) == Layer(2, "n")
    assert tree_structure(Layer(1, "n")) != tree_structure(Layer(1, "m"))
    assert tree_map(lambda x: x + 1, Explicit(1, 5)) == Explicit(2, 5)
    assert tree_map(lambda x: x + 1, Frozen(1)) == Frozen(2)
    assert tree_map(lambda x: x + 1, Hidden(1, "u")) == Hidden(2, "u")
    assert tree_map(lambda x: x + 1, Box([1, 2], "l")) == Box([2, 3], "l")


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ([1], "[0]"),
        (Point(1, None), ".x"),
        ({"a": 1}, "['a']"),
        ({3: 1}, "[3]"),
        (Box(1), "[<flat index 0>]"),
        (Keyed(p=1), ".p"),
        (Layer(1), ".weight"),
        (Frozen(1), ".value"),
        (Hidden(1), "._value"),
        (collections.OrderedDict(k=1), "['k']"),
        (collections.defaultdict(int, k=1), "['k']"),
    ],
)
def test_paths(tree, path):
    (((key,), x),) = T.tree_leaves_with_path(tree)
    assert (keystr((key,)), x) == (path, 1)


def test_keystr():
    (path, _), *_ = T.tree_leaves_with_path({"a": [Layer(1)]})
    assert keystr(path) == "['a'][0].weight"
    assert keystr(path, simple=True, separator="/") == "a/0/weight"
    assert keystr(("own", 3), simple=True, separator=".") == "own.3"


def test_is_leaf_may_take_the_path():
    tree = {"a": [1, 2], "b": [3]}
    stop = [p for p, _ in T.tree_leaves_with_path(tree, lambda x: type(x) is list)]
    assert list(map(keystr, stop)) == ["['a']", "['b']"]
    pairs = T.tree_leaves_with_path(
        tree, lambda path, _: keystr(path) == "['a']", is_leaf_takes_path=True
    )
    assert [x for _, x in pairs] == [[1, 2], 3]


def test_map_of_several_trees_takes_subtrees():
    assert tree_map(lambda x, y: (x, y), [1, 2], [[3], {"a": 4}]) == [(1, [3]), (2, {"a": 4})]
    named = T.tree_map_with_path(lambda p, x, y: f"{keystr(p)}{x}{y}", [1], [2])
    assert named == ["[0]12"]
    assert tree_map(lambda x, y: y, None, None) is None


@pytest.mark.parametrize(
    ("tree", "other", "message"),
    [
        ({"a": (1,)}, {"a": [1]}, r"different types at key path\n    tree_map tree\['a'\]"),
        ((1, 2), (1,), "different lengths of tuple at key path"),
        ({"a": 1}, {"a": 1, "b": 2}, r"(?s)different numbers of pytree children.*\['b'\]"),
        ({"a": 1}, {"b": 1}, "different pytree metadata"),
        (Layer(1, "m"), Layer(1, "n"), "(?s)different pytree metadata.*'m'.*'n'"),
        (1, 1, None),
    ],
)
def test_a_mismatch_names_the_path(tree, other, message):
    if message is None:
        assert tree_map(lambda x, y: x + y, tree, other) == 2
        return
    with pytest.raises(ValueError, match=message):
        tree_map(lambda x, y: x, tree, other)


def test_errors_of_the_function_pass():
    with pytest.raises(ZeroDivisionError):
        tree_map(lambda x: 1 / x, [0])
    with pytest.raises(ValueError, match=r"[Cc]omparator|<"):
        tree_flatten({1: 1, "a": 2})


def test_reductions():
    assert T.tree_reduce(lambda x, y: x + y, [1, (2, 3)]) == 6
    assert T.tree_reduce(lambda x, y: x + y, [], 7) == 7
    assert T.tree_reduce(lambda x, y: x + y, [[1], [2]], is_leaf=lambda x: x in ([1], [2])) == [
        1,
        2,
    ]
    assert T.tree_reduce_associative(lambda x, y: x + y, list("abcde")) == "abcde"
    assert T.tree_reduce_associative(max, [], identity=0) == 0
    with pytest.raises(TypeError):
        T.tree_reduce(max, [])
    with pytest.raises(TypeError):
        T.tree_reduce_associative(max, [])
    assert T.tree_all([True, [1, None]])
    assert not T.tree_all([True, [0]])


def test_transpose():
    outer, inner = tree_structure([0, 0]), tree_structure({"a": 0})
    assert T.tree_transpose(outer, inner, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    assert T.tree_transpose(outer, None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    with pytest.raises(TypeError, match="Mismatch of tree structures"):
        T.tree_transpose(outer, inner, [1])


def test_structures():
    pair = T.treedef_tuple([tree_structure([1]), tree_structure({"a": 1})])
    assert pair == tree_structure(([1], {"a": 1}))
    assert T.treedef_children(pair) == [tree_structure([1]), tree_structure({"a": 1})]
    assert T.treedef_is_leaf(tree_structure(1))
    assert T.treedef_is_leaf(tree_structure(None))
    assert not T.treedef_is_strict_leaf(tree_structure(None))
    assert str(tree_structure([1, (2, None)])) == "PyTreeDef([*, (*, None)])"
    assert T.all_leaves([1, 2])
    assert not T.all_leaves([1, [2]])
    assert T.all_leaves([1, [2]], is_leaf=lambda x: type(x) is list and x == [2])
    assert T.is_tree_node(Layer)
    assert not T.is_tree_node(int)


def test_one_level():
    children, meta = T.flatten_one_level({"a": [1], "b": 2})
    assert list(children) == [[1], 2]
    assert meta == ("a", "b")
    pairs, _ = T.flatten_one_level_with_keys(Point(1, 2))
    assert [keystr((key,)) for key, _ in pairs] == [".x", ".y"]
    for flatten in (T.flatten_one_level, T.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="leaf"):
            flatten(1)


def test_prefixes():
    full = {"a": [1, 2], "b": (3, None)}
    assert T.broadcast_prefix({"a": 0, "b": 1}, full) == [0, 0, 1]
    assert T.tree_broadcast({"a": 0, "b": 1}, full) == {"a": [0, 0], "b": (1, None)}
    with pytest.raises(ValueError, match=r"broadcast_prefix prefix_tree\['b'\]"):
        T.broadcast_prefix({"a": 0, "b": [1, 2]}, full)
    (error,) = T.prefix_errors((1, 2), (1,))
    assert "in_axes" in str(error("in_axes"))


def test_axes():
    args = tree_structure(({"w": 1, "b": None}, [2, 3]))
    assert T.flatten_axes("in_axes", args, 0) == [0, 0, 0]
    assert T.flatten_axes("in_axes", args, None) == [None] * 3
    assert T.flatten_axes("in_axes", args, [None, 1]) == [None, 1, 1]
    assert T.flatten_axes("in_axes", args, ({"w": 2, "b": None}, [0, None])) == [2, 0, None]
    with pytest.raises(ValueError, match=r"(?s)different lengths of tuple.*in_axes"):
        T.flatten_axes("in_axes", args, (0,))
    assert api_util.flatten_axes("in_axes", args, [None, 1]) == [None, 1, 1]
    wrong = {"a": [0, 1], "b": (2, 3)}
    with pytest.raises(ValueError, match=r"(?s)\(2 found\).*in_axes\['a'\].*in_axes\['b'\]"):
        api_util.flatten_axes("in_axes", tree_structure({"a": 1, "b": 2}), wrong)


def test_equality_errors():
    ((path, one, other, why),) = T.equality_errors({"a": (1, 2)}, {"a": (1,)})
    assert keystr(path) == "['a']"
    assert (one, other) == ("tuple of length 2", "tuple of length 1")
    assert why == "the lengths do not match"
    ((path, _, _, why),) = T.equality_errors((1, [2]), (1, 2))
    assert keystr(path) == "[1]"
    assert T.equality_errors((1, 2), (3, 4)) == []
    first, second = tree_structure((1, [2])), tree_structure((1, 2))
    T.check_same_structure(first, first, "one", "two")
    with pytest.raises(TypeError, match=r"(?s)tree structure mismatch.*at \[1\].*carry in"):
        T.check_same_structure(first, second, "carry in", "carry out")


def test_partial():
    p = T.Partial(max, 1, key=None)
    assert tree_leaves(p) == [1]
    assert tree_map(lambda x: x + 1, p)(0) == 2
    nested = T.Partial(functools.partial(pow, 2), 3)
    assert tree_leaves(nested) == [3]
    assert nested() == 8
    assert tree_structure(nested) == tree_structure(tree_map(lambda x: x, nested))
    assert isinstance(p, functools.partial)


def test_registration_is_checked():
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any
        c: int = dataclasses.field(init=False, default=0)

    with pytest.raises(TypeError, match="both"):
        T.register_dataclass(Pair, data_fields=["a"])
    with pytest.raises(TypeError, match="required"):
        T.register_dataclass(int)
    with pytest.raises(ValueError, match="overlap"):
        T.register_dataclass(Pair, ["a", "b"], ["b"])
    with pytest.raises(ValueError, match=r"Missing fields: \{'b'\}"):
        T.register_dataclass(Pair, ["a"], [])
    with pytest.raises(ValueError, match=r"Unexpected fields: \{'z'\}"):
        T.register_dataclass(Pair, ["a", "b", "z"], [])
    assert T.register_dataclass(Pair, ["a"], ["b"]) is Pair
    with pytest.raises(ValueError, match=r"[Dd]uplicate"):
        T.register_dataclass(Pair, ["a"], ["b"])


def test_fields_may_be_dropped():
    @functools.partial(T.register_dataclass, drop_fields=["b"])
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any = 5

    assert tree_map(lambda x: x, Pair(1, 2)) == Pair(1, 5)
