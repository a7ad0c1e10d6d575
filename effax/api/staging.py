"""Looking at programs: the types of results, and programs as text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, NoReturn

import numpy as np

from effax.api.arguments import as_tuple, flat_function, name_of, normalise, wearing
from effax.effects.frames import filtered
from effax.effects.program import Program
from effax.effects.shape import full
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.effects.types import ShapedArray, canonical_dtype, register_type, typeof
from effax.interpreters.stage import stage
from effax.key_arrays import KeyArray, KeyType


class ShapeDtypeStruct:
    """A shape and a dtype, standing for an array where only the type matters.

    >>> import effax
    >>> effax.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    One with a dtype of keys stands for their words: it is an array of keys without elements.
    """

    __slots__ = ("dtype", "manual_axis_type", "shape", "sharding", "weak_type")
    # Not by `attrs`: to other libraries of trees such a class is a node of its fields.

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    sharding: Any
    manual_axis_type: Any

    def __new__(cls, shape: Any = (), dtype: Any = None, **_: Any) -> Any:
        """One that stands for an array of keys is one of keys over what stands for their words."""
        if isinstance(dtype, KeyType):
            words = cls((*shape, dtype.width), np.uint32)
            return KeyArray(words, implementation=dtype.implementation)
        return super().__new__(cls)

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        weak_type: bool = False,
        sharding: Any = None,
        manual_axis_type: Any = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        give = partial(object.__setattr__, self)
        give("shape", tuple(shape))
        give("dtype", np.dtype(dtype))
        give("weak_type", weak_type)
        give("sharding", sharding)
        give("manual_axis_type", manual_axis_type)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a ShapeDtypeStruct does not change: take .update({name}=...) of it")

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __reduce__(self) -> Any:
        return partial(ShapeDtypeStruct, **self._parts()), ()

    def __eq__(self, other: object) -> bool:
        return type(other) is ShapeDtypeStruct and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(tuple(self._parts().values()))

    @classmethod
    def of(cls, type: ShapedArray) -> ShapeDtypeStruct:
        """The same for a type."""
        along = type.manual_axis_type if type.varying else None
        return cls(type.shape, type.dtype, weak_type=type.weak_type, manual_axis_type=along)

    @classmethod
    def like(cls, x: Any) -> Any:
        """The shape, dtype and weak type of an array (or of a number), and where it was put.

        An array that nobody put anywhere, by a device or a sharding, has no `sharding` here.

        >>> import effax, numpy as np
        >>> effax.ShapeDtypeStruct.like(np.zeros((2, 3), np.float32))
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        if isinstance(x, KeyArray):
            return cls(x.shape, x.dtype)
        given = typeof(x)
        put = x.sharding if getattr(x, "committed", False) else None
        return cls.of(given).update(sharding=put)

    @property
    def type(self) -> ShapedArray:
        """The type."""
        found = ShapedArray(self.shape, canonical_dtype(self.dtype), self.weak_type)
        along = self.manual_axis_type
        return found if along is None else found.vary(along.varying)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    def update(self, **parts: Any) -> Any:
        """The same with some parts replaced."""
        return ShapeDtypeStruct(**{**self._parts(), **parts})

    def __len__(self) -> int:
        """The length of the first axis."""
        return len(self.type)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"


register_type(ShapeDtypeStruct, lambda x: x.type)


def type_of_float0(x: Any) -> Any:
    """The type of an array of float0, which a program returns as it is; anything else unchanged."""
    return ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, np.ndarray) else x


@filtered
def eval_shape(fun: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The types of a function's results, without computing anything.

    Arguments may be arrays or `ShapeDtypeStruct`s; so may what the function returns.

    >>> import effax, effax.numpy as jnp
    >>> effax.eval_shape(jnp.ones, (2, 3))
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """
    from effax.api.jit import jit

    @wearing(fun)
    def of_arrays(*a: Any, **k: Any) -> Any:
        return tree_map(_as_array, fun(*a, **k))

    leaves = tree_flatten((args, keywords))[0]
    if any(not hasattr(x, "dtype") for x in leaves):
        return _eval_shape_with_values(of_arrays, args, keywords)
    return jit(of_arrays).eval_shape(*args, **keywords)


def _as_array(x: Any) -> Any:
    """What only has a type as an array of that type; its elements don't matter."""
    if isinstance(x, ShapeDtypeStruct):
        return full(x.shape, 0, x.type.dtype)
    return x


def _eval_shape_with_values(
    fun: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Python values (a shape, an axis) stay what they are; arrays are known by type only."""
    leaves, tree = tree_flatten((args, keywords))
    dynamic = [i for i, x in enumerate(leaves) if hasattr(x, "dtype")]
    flat, out = flat_function(fun, tree)

    def of_arrays(*values: Any) -> list[Any]:
        filled = list(leaves)
        for i, x in zip(dynamic, values, strict=True):
            filled[i] = x
        return flat(*filled)

    from effax.api.differentiable import typeof_like

    staged = stage(of_arrays, [typeof_like(leaves[i]) for i in dynamic], name_of(fun))
    found = tree_unflatten(out[0], [ShapeDtypeStruct.of(t) for t in staged.program.out_types])
    return tree_map(type_of_float0, found)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | tuple[int, ...] = (),
    axis_env: Any = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """A function that stages `fun` for its arguments, and returns the program.

    The name is JAX's; `make_program` is the same. Arrays that `fun` holds are the program's first
    inputs, and its `consts`: `program.run(*program.consts, *args)` runs it. `axis_env` are named
    axes, pairs of a name and a size, along which the function is staged for one place.

    >>> import effax
    >>> print(effax.make_jaxpr(lambda x: 2.0 * x)(1.0))
    { lambda a:f32[] .
      b:f32[] = mul 2.0:f32[] a
      in (b) }
    """

    @filtered
    def staged_program(*args: Any, **keywords: Any) -> Program | tuple[Program, Any]:
        from effax.api.differentiable import typeof_like

        fixed = set(normalise(as_tuple(static_argnums), len(args), "static_argnums"))
        dynamic = [x for i, x in enumerate(args) if i not in fixed]
        leaves, tree = tree_flatten((tuple(dynamic), keywords))

        def with_statics(*rest: Any, **named: Any) -> Any:
            given = iter(rest)
            return fun(*(x if i in fixed else next(given) for i, x in enumerate(args)), **named)

        flat, out = flat_function(with_statics, tree)
        with ExitStack() as bound:
            for name, size in axis_env or ():
                bound.enter_context(_bound(name, size))
            staged = stage(flat, [typeof_like(x) for x in leaves], name_of(fun))
        program = staged.program
        program.consts = tuple(staged.captured)
        if return_shape:
            shapes = [ShapeDtypeStruct.of(t) for t in program.out_types]
            return program, tree_unflatten(out[0], shapes)
        return program

    return staged_program


def _bound(name: Hashable, size: int) -> AbstractContextManager[Any]:
    """Return a context in which a named axis has a size, as inside of a mapped function."""
    from effax.api.pmap import Places

    return Places(name, size).installed()


make_program = make_jaxpr
