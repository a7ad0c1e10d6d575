"""Registration: how a class becomes a node of pytrees."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

C = TypeVar("C", bound=type[Any])
Flatten: TypeAlias = Callable[[Any], tuple[Iterable[Any], Hashable]]
Unflatten: TypeAlias = Callable[[Any, Any], Any]


class Nodes:
    """Registries that learn the same classes; `effects.tree` offers these methods as functions.

    Metadata must be hashable and comparable: it is part of structures, and so of cache keys.
    Registering a class twice is a `ValueError`. Unflattening meets leaves of any kind, so that
    `unflatten` must not look at them.
    """

    def __init__(self, registries: Sequence[Any], attribute_key: Callable[[str], Any]) -> None:
        self.registries = tuple(registries)
        self.attribute_key = attribute_key

    def register_pytree_node(
        self,
        nodetype: type,
        flatten_func: Flatten,
        unflatten_func: Unflatten,
        flatten_with_keys_func: Flatten | None = None,
    ) -> None:
        """Make a class a node of pytrees.

        Args:
          nodetype: the class.
          flatten_func: a function from an instance to `(children, metadata)`; metadata is hashable.
          unflatten_func: a function of metadata and children that makes an instance.
          flatten_with_keys_func: like `flatten_func`, with pairs `(key, child)` in place of
            children; without it, paths number them.

        >>> from effax import tree, tree_util
        >>> class Pair:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        >>> tree_util.register_pytree_node(
        ...     Pair, lambda p: ((p.x, p.y), None), lambda _, children: Pair(*children)
        ... )
        >>> tree.leaves(Pair(1, [2, 3]))
        [1, 2, 3]
        """
        for registry in self.registries:
            registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)

    def register_pytree_node_class(self, cls: C) -> C:
        """Decorate a class with `tree_flatten(self)` and classmethod `tree_unflatten(aux, xs)`.

        Args:
          cls: the class.

        Returns:
          The class.

        >>> from effax import tree, tree_util
        >>> @tree_util.register_pytree_node_class
        ... class Named:
        ...     def __init__(self, x, name):
        ...         self.x, self.name = x, name
        ...     def tree_flatten(self):
        ...         return (self.x,), self.name
        ...     @classmethod
        ...     def tree_unflatten(cls, name, children):
        ...         return cls(*children, name)
        >>> tree.map(lambda x: x + 1, Named(1, "one")).x
        2
        """
        self.register_pytree_node(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten)
        return cls

    def register_pytree_with_keys(
        self,
        nodetype: type,
        flatten_with_keys: Flatten,
        unflatten_func: Unflatten,
        flatten_func: Flatten | None = None,
    ) -> None:
        """Make a class a node of pytrees whose children have keys.

        Args:
          nodetype: the class.
          flatten_with_keys: a function from an instance to pairs `(key, child)`, and metadata.
          unflatten_func: a function of metadata and children that makes an instance.
          flatten_func: a function from an instance to `(children, metadata)`, for use where keys
            are not asked for; by default made from `flatten_with_keys`.

        >>> from effax import tree, tree_util
        >>> class Point:
        ...     def __init__(self, x):
        ...         self.x = x
        >>> tree_util.register_pytree_with_keys(
        ...     Point,
        ...     lambda p: ([(tree_util.GetAttrKey("x"), p.x)], None),
        ...     lambda _, children: Point(*children),
        ... )
        >>> ((path, _),) = tree.leaves_with_path(Point(1))
        >>> tree_util.keystr(path)
        '.x'
        """

        def flatten(node: Any) -> tuple[Iterable[Any], Hashable]:
            pairs, metadata = flatten_with_keys(node)
            return [child for _, child in pairs], metadata

        self.register_pytree_node(
            nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys
        )

    def register_pytree_with_keys_class(self, cls: C) -> C:
        """Decorate a class with `tree_flatten_with_keys(self)` and `tree_unflatten(aux, xs)`.

        Its `tree_flatten`, if it has one, is used where keys are not asked for.

        Args:
          cls: the class.

        Returns:
          The class.

        >>> from effax import tree, tree_util
        >>> @tree_util.register_pytree_with_keys_class
        ... class Box:
        ...     def __init__(self, x):
        ...         self.x = x
        ...     def tree_flatten_with_keys(self):
        ...         return [(tree_util.GetAttrKey("x"), self.x)], None
        ...     @classmethod
        ...     def tree_unflatten(cls, _, children):
        ...         return cls(*children)
        >>> tree.leaves(Box([1, 2]))
        [1, 2]
        """
        plain = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
        self.register_pytree_with_keys(
            cls, operator.methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, plain
        )
        return cls

    def register_dataclass(
        self,
        nodetype: C,
        data_fields: Sequence[str] | None = None,
        meta_fields: Sequence[str] | None = None,
        drop_fields: Sequence[str] = (),
    ) -> C:
        """Make a dataclass a node: data fields are children, meta fields are metadata.

        Without lists of fields, those declared with `field(metadata={"static": True})` are meta and
        the others data.

        Args:
          nodetype: the class; one that is no dataclass needs both lists of fields.
          data_fields: names of the fields that are children.
          meta_fields: names of the fields that are metadata, hashable and comparable.
          drop_fields: names of the fields that are left out; they take their defaults.

        Returns:
          The class.

        Raises:
          TypeError: where a list is missing and the class is no dataclass, or only one is given.
          ValueError: where the lists do not fit the class.

        >>> import dataclasses
        >>> from effax import tree, tree_util
        >>> @tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Line:
        ...     slope: float
        ...     name: str = dataclasses.field(default="", metadata={"static": True})
        >>> tree.leaves(Line(2.0, "steep"))
        [2.0]
        """
        if (data_fields is None) != (meta_fields is None):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields must both be specified when "
                f"either is specified. Got {data_fields=} {meta_fields=}."
            )
        is_dataclass = dataclasses.is_dataclass(nodetype)
        fields = dataclasses.fields(nodetype) if is_dataclass else ()
        if data_fields is None or meta_fields is None:
            if not is_dataclass:
                raise TypeError(
                    "register_dataclass: data_fields and meta_fields are required when nodetype "
                    f"is not a dataclass. Got {nodetype=}"
                )
            meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
            data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
            data_fields = [name for name in data_fields if name not in drop_fields]
            meta_fields = [name for name in meta_fields if name not in drop_fields]
        if overlap := {*data_fields} & {*meta_fields}:
            raise ValueError(
                f"data_fields and meta_fields must not overlap. Overlapping fields: {overlap}"
            )
        if is_dataclass:
            _check_fields(
                nodetype,
                {f.name for f in fields if f.init} - {*drop_fields},
                {*data_fields, *meta_fields},
            )
        for registry in self.registries:
            registry.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))
        return nodetype

    def register_attrs(self, cls: C) -> C:
        """Make an `attrs` class a node: a field is a child unless its metadata says "static".

        Fields with `init=False` are left out. Unflattening calls the class, so that converters
        and validators meet leaves of any kind.

        Args:
          cls: a class decorated by `attrs`.

        Returns:
          The class.

        >>> import attrs
        >>> from effax import tree, tree_util
        >>> @tree_util.register_attrs
        ... @attrs.frozen
        ... class Ray:
        ...     start: float
        ...     name: str = attrs.field(default="", metadata={"static": True})
        >>> tree.leaves(Ray(2.0, "up"))
        [2.0]
        """
        fields = [field for field in cls.__attrs_attrs__ if field.init]
        data = [f for f in fields if not f.metadata.get("static", False)]
        meta = [f for f in fields if f.metadata.get("static", False)]
        if all(f.alias == f.name for f in fields):
            for registry in self.registries:
                names = [f.name for f in data], [f.name for f in meta]
                registry.register_dataclass_node(cls, *names)
            return cls

        def flatten_with_keys(node: Any) -> tuple[Iterable[Any], Hashable]:
            pairs = [(self.attribute_key(f.name), getattr(node, f.name)) for f in data]
            return pairs, tuple(getattr(node, f.name) for f in meta)

        def unflatten(metadata: Any, children: Any) -> Any:
            arguments = {f.alias: x for f, x in zip(data, children, strict=True)}
            arguments |= {f.alias: x for f, x in zip(meta, metadata, strict=True)}
            return cls(**arguments)

        self.register_pytree_with_keys(cls, flatten_with_keys, unflatten)
        return cls

    def register_static(self, cls: C) -> C:
        """Make a hashable class a node without children: its instances are metadata.

        Args:
          cls: the class; its instances are hashable and comparable.

        Returns:
          The class.

        >>> from effax import tree, tree_util
        >>> @tree_util.register_static
        ... class Mode(str):
        ...     pass
        >>> tree.leaves([Mode("train"), 1])
        [1]
        """
        self.register_pytree_with_keys(cls, lambda node: ((), node), lambda node, _: node)
        return cls


def _check_fields(nodetype: type, wanted: set[str], given: set[str]) -> None:
    if wanted == given:
        return
    differences = wanted - given, given - wanted
    missing, unexpected = ("{" + ", ".join(map(repr, sorted(x))) + "}" for x in differences)
    message = (
        "data_fields and meta_fields must include all dataclass fields with init=True and only "
        f"these, of {nodetype}"
    )
    if wanted - given:
        message += f". Missing fields: {missing}; name them in drop_fields to leave them out"
    if given - wanted:
        message += f". Unexpected fields: {unexpected}"
    raise ValueError(message)


class _Wrapped:
    """A callable around another, equal when that is; it hides a `partial` from `partial`."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.wrapped = func

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.wrapped(*args, **keywords)

    def __hash__(self) -> int:
        return hash(self.wrapped)

    def __eq__(self, other: object) -> bool:
        return self.wrapped == (other.wrapped if isinstance(other, _Wrapped) else other)

    def __repr__(self) -> str:
        return repr(self.wrapped)


class Partial(functools.partial):  # type: ignore[type-arg]
    """A `functools.partial` that is a node: the arguments it binds are children.

    >>> from effax.effects.tree import tree_map
    >>> tree_map(lambda x: x + 1, Partial(max, 1, key=None))(0)
    2
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **keywords: Any) -> Partial:
        """Bind arguments to a function."""
        # functools would merge the arguments of a partial that is wrapped; those belong to its own
        # node.
        inner = _Wrapped(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, inner, *args, **keywords)
