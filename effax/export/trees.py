"""Trees as JSON, for files: which nodes can be written, and how."""

from __future__ import annotations

import base64
import collections
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import attrs

from effax.effects.errors import ExportError
from effax.effects.tree import PyTreeDef, registry, tree_structure
from effax.keys.arrays import IMPLEMENTATIONS, KeyArray

T = TypeVar("T", bound=type)
Described = list[Any]


@attrs.frozen
class _Node:
    """The serialization of one class of nodes: its name in files, and its metadata as bytes."""

    kind: type
    name: str
    serialize: Callable[[Any], bytes | bytearray]
    deserialize: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any] | None


_by_type: Final[dict[type, _Node]] = {}
_by_name: Final[dict[str, _Node]] = {}


def register_pytree_node_serialization(
    nodetype: T,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> T:
    """Let trees with nodes of a class be written to files.

    Args:
      nodetype: a class that is registered as a pytree node.
      serialized_name: what it is called in files; whoever reads them registers the same name.
      serialize_auxdata, deserialize_auxdata: its metadata as bytes, and back.
      from_children: makes a node of metadata and children; by default the way it was registered.

    Returns:
      The class. Raises `ValueError` if the class or the name is taken.

    >>> import effax
    >>> from effax import export, tree_util
    >>> @tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, x, unit):
    ...         self.x, self.unit = x, unit
    ...     def tree_flatten(self):
    ...         return (self.x,), self.unit
    ...     @classmethod
    ...     def tree_unflatten(cls, unit, children):
    ...         return cls(*children, unit)
    >>> kind = export.register_pytree_node_serialization(
    ...     Scaled,
    ...     serialized_name="doctest.Scaled",
    ...     serialize_auxdata=str.encode,
    ...     deserialize_auxdata=bytes.decode,
    ... )
    >>> exported = export.export(effax.jit(lambda s: s))(Scaled(1.0, "m"))
    >>> export.deserialize(exported.serialize()).call(Scaled(2.0, "m")).x
    Array(2., dtype=float32)
    """
    for found in (_by_type.get(nodetype), _by_name.get(serialized_name)):
        if found is not None:
            raise ExportError(
                f"Duplicate serialization registration for type `{nodetype}` as "
                f"`{serialized_name}`. Previous registration was of `{found.kind}` with "
                f"serialized_name `{found.name}`."
            )
    if from_children is None and not registry.is_node(nodetype):
        raise ExportError(
            f"If `from_children` is not present, you must call first "
            f"`tree_util.register_pytree_node` for `{nodetype}`; for named tuples there is "
            "export.register_namedtuple_serialization"
        )
    node = _Node(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children)
    _by_type[nodetype] = _by_name[serialized_name] = node
    return nodetype


def register_namedtuple_serialization(nodetype: T, *, serialized_name: str) -> T:
    """Let trees with named tuples of a class be written to files, under a name.

    Raises `ValueError` for another class, and if the class or the name is taken.

    Args:
      nodetype: the class.
      serialized_name: the class's name in files; it has to be the same where they are read.

    Returns:
      The class.

    >>> from typing import NamedTuple
    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> register_namedtuple_serialization(Point, serialized_name="doctest.Point") is Point
    True
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ExportError(
            f"{nodetype} is not a named tuple: use `export.register_pytree_node_serialization` "
            "for types other than `collections.namedtuple`"
        )
    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: b"",
        deserialize_auxdata=lambda _: None,
        from_children=lambda _, children: nodetype(*children),
    )


def described(tree: PyTreeDef) -> Described:
    """A tree's structure as lists and strings.

    Raises `ValueError` for a node that was not registered for files.
    """
    node = tree.node_data()
    if node is None:
        return ["leaf"]
    kind, metadata = node
    children = [described(child) for child in tree.children()]
    if kind in _PLAIN:
        return [_PLAIN[kind], children]
    if kind is dict:
        return ["dict", children, [_key(key) for key in metadata]]
    found = _by_type.get(kind)
    if found is None:
        raise ExportError(
            f"Cannot serialize PyTreeDef containing an unregistered type `{kind}`. Use "
            "`export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`."
        )
    data = found.serialize(metadata)
    if not isinstance(data, bytes | bytearray):
        raise ExportError(f"serialize_auxdata of {kind} must return bytes, got {type(data)}")
    return ["node", children, found.name, base64.b64encode(data).decode()]


def structure(text: Described) -> PyTreeDef:
    """The structure that `described` told. Raises `ValueError` where it could not have."""
    match text:
        case ["leaf"]:
            return _LEAF
        case ["none", []]:
            return tree_structure(None)
        case [str() as plain, list() as children] if plain in _PLAIN_NAMES:
            return _made(_PLAIN_NAMES[plain], None, children)
        case ["dict", list() as children, list() as keys] if len(children) == len(keys):
            return _made(dict, [_key(key) for key in keys], children)
        case ["node", list() as children, str() as name, str() as data]:
            return _custom(name, base64.b64decode(data, validate=True), children)
    raise ExportError(f"can't read the description of a tree {text!r}")


def _made(kind: type, metadata: Any, children: Sequence[Described]) -> PyTreeDef:
    below = [structure(child) for child in children]
    return PyTreeDef.from_node_data_and_children(registry, (kind, metadata), below)


def _custom(name: str, data: bytes, children: Sequence[Described]) -> PyTreeDef:
    node = _by_name.get(name)
    if node is None:
        raise ExportError(
            f"Cannot deserialize a PyTreeDef with nodes `{name}`: no class is registered under "
            "that name. Call `export.register_pytree_node_serialization` before reading"
        )
    metadata = node.deserialize(data)
    if node.build is None:
        return _made(node.kind, metadata, children)
    leaves = node.build(metadata, [object() for _ in children])
    kind = tree_structure(leaves).node_data()
    below = [structure(child) for child in children]
    return PyTreeDef.from_node_data_and_children(registry, kind, below)


def _key(key: Any) -> str | int:
    if isinstance(key, str) or type(key) is int:
        return key
    raise TypeError(
        "Serialization is supported only for dictionaries with string keys, or ints, got the key "
        f"{key!r}; rename it, or call the exported function before it is written"
    )


_LEAF: Final = tree_structure(0)
_PLAIN: Final[dict[Any, str]] = {tuple: "tuple", list: "list", type(None): "none"}
_PLAIN_NAMES: Final = {"tuple": tuple, "list": list}


def _ordered_keys(metadata: Sequence[Any]) -> bytes:
    import json

    return json.dumps([_key(key) for key in metadata]).encode()


def _keys_of(data: bytes) -> tuple[str | int, ...]:
    import json

    return tuple(map(_key, json.loads(data)))


def _implementation_of(data: bytes) -> str:
    name = data.decode()
    if name not in IMPLEMENTATIONS:
        raise ExportError(f"no generator of random numbers is called {name!r}")
    return name


register_pytree_node_serialization(
    collections.OrderedDict,
    serialized_name="OrderedDict",
    serialize_auxdata=_ordered_keys,
    deserialize_auxdata=_keys_of,
)
register_pytree_node_serialization(
    KeyArray,
    serialized_name="KeyArray",
    serialize_auxdata=str.encode,
    deserialize_auxdata=_implementation_of,
)
