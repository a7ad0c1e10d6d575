"""Functions of scalars made functions of arrays, with NumPy's ways to fold an array by them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from typing import TYPE_CHECKING, Any, Literal, overload

from effax.eager.whole import whole
from effax.effects.rows import comparison, logical, shape
from effax.effects.rows.selection import select_n
from effax.effects.types import int32, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.interpreters.stage import stage
from effax.numpy.indexing import ArrayAt
from effax.numpy.manipulation import moveaxis, ravel
from effax.operands.arguments import (
    asked_dtype,
    broadcast,
    canonical_axis,
    cast,
    check_arrays,
    shape_of,
    strong,
)
from effax.operands.promoting import array

_FIXED = frozenset({"nin", "nout", "nargs", "identity", "_func"})


class ufunc(partial):  # type: ignore[type-arg]  # noqa: N801
    """A function of arrays, element by element, with the methods of NumPy's ufuncs.

    A call goes straight to the function, for this is a `functools.partial` without arguments.

    Args:
      func: a function of scalars.
      nin, nout: the numbers of its arguments and results.
      name: by default the function's own.
      nargs: the number of arguments; by default `nin`.
      identity: what `reduce` starts from; without one, from the first element.
      call: the function of arrays; by default `func` is mapped over all axes.
      reduce, accumulate, at, reduceat: quicker ways to do what the methods of these names do.

    >>> import effax.numpy as jnp
    >>> gauge = jnp.ufunc(lambda x, y: x + 2 * y, nin=2, nout=1)
    >>> gauge(jnp.arange(3), 1), gauge.reduce(jnp.arange(4))
    (Array([2, 3, 4], dtype=int32), Array(12, dtype=int32))
    """

    __name__: str
    __qualname__: str
    nin: int
    nout: int
    nargs: int
    identity: Any
    _func: Callable[..., Any]
    _quick: tuple[Callable[..., Any] | None, ...]
    _key: tuple[Any, ...]

    def __new__(
        cls,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> ufunc:
        """The function; raises `TypeError` for what can't be called, or numbers not integers."""
        if not callable(func):
            raise TypeError(f"ufunc: {func!r} is not callable")
        title = str(name or getattr(func, "__name__", type(func).__name__))
        if call is None:
            call = _refusing(partial(_map_over_all, func, title), title)
        self = super().__new__(cls, call)
        # Attributes set on a ufunc describe that ufunc, not the one made of it here.
        update_wrapper(self, func, updated=() if isinstance(func, ufunc) else ("__dict__",))
        self.__name__ = title
        self.nin, self.nout = operator.index(nin), operator.index(nout)
        self.nargs = self.nin if nargs is None else operator.index(nargs)
        self.identity = identity
        self._func = func
        self._quick = reduce, accumulate, at, reduceat
        self._key = (func, self.nin, self.nout, title, self.nargs, identity, self._quick)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and name in self.__dict__:
            raise AttributeError(f"attribute {name!r} of a ufunc can't be set")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ufunc) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> str:
        # Pickle by name, as Python pickles functions.
        return str(self.__qualname__)

    def _check(self, method: str, out: Any) -> None:
        """Raise for functions that are not of two arguments and one result, and for `out`."""
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")
        if out is not None:
            raise NotImplementedError(
                f"out argument of {self.__name__}.{method}() is not supported: effax arrays are "
                "immutable"
            )

    def reduce(
        self,
        a: ArrayLike,
        axis: int | tuple[int, ...] | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The elements along an axis folded, from the first to the last.

        Args:
          a: an array.
          axis: one axis, or all for None; several only where the order doesn't matter.
          dtype: in which to compute.
          keepdims: leave the axis, with the length 1.
          initial: what to start from.
          where: which elements to fold; needs an identity, or `initial`.

        Raises:
          ValueError: where there is nothing to start from, and for functions not of two arguments.

        >>> import effax.numpy as jnp
        >>> jnp.add.reduce(jnp.arange(6).reshape(2, 3))
        Array([3, 5, 7], dtype=int32)
        """
        self._check("reduce", out)
        check_arrays(f"{self.__name__}.reduce", a)
        if self.identity is None and initial is None and where is not None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                "where mask one has to specify 'initial'."
            )
        fold = self._quick[0] or partial(_folded, self)
        return fold(
            a,
            axis=axis,
            dtype=asked_dtype("reduce", dtype),
            keepdims=bool(keepdims),
            initial=initial,
            where=where,
        )

    def accumulate(
        self, a: ArrayLike, axis: int | None = 0, dtype: Any = None, out: None = None
    ) -> Array:
        """The elements along an axis folded up to each of them.

        >>> import effax.numpy as jnp
        >>> jnp.maximum.accumulate(jnp.array([1, 3, 2]))
        Array([1, 3, 3], dtype=int32)
        """
        self._check("accumulate", out)
        kind = asked_dtype("accumulate", dtype)
        if self._quick[1] is not None:
            return self._quick[1](a, axis=axis, dtype=kind)
        check_arrays(f"{self.__name__}.accumulate", a)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        return _accumulated(self, a, axis, kind)

    def at(
        self,
        a: ArrayLike,
        indices: Any,
        b: ArrayLike | None = None,
        /,
        *,
        inplace: bool = True,
    ) -> Array:
        """The array with some of its elements combined with `b`; repeatedly, if an index repeats.

        It must be called with `inplace=False`, for arrays can't be changed: NumPy changes `a`.

        >>> import effax.numpy as jnp
        >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 2, 2]), 1.0, inplace=False)
        Array([1., 0., 2.], dtype=float32)
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at: effax arrays are immutable, so that the result is a new "
                f"array; write a = jnp.{self.__name__}.at(a, indices, b, inplace=False)"
            )
        given = (a,) if b is None else (a, b)
        check_arrays(f"{self.__name__}.at", *given)
        if self.nout != 1:
            raise ValueError("at only supported for functions returning a single value")
        if len(given) != self.nin:
            raise TypeError(f"{self.__name__}.at: expected {self.nin} arrays, got {len(given)}")
        if self._quick[2] is not None:
            return self._quick[2](array(a), indices, b)
        return _combined_at(self, array(a), indices, b)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:  # noqa: N803
        """The function of each element of one array with each of another.

        >>> import effax.numpy as jnp
        >>> jnp.multiply.outer(jnp.arange(3), jnp.array([10, 1]))
        Array([[ 0,  0],
               [10,  1],
               [20,  2]], dtype=int32)
        """
        self._check("outer", None)
        check_arrays(f"{self.__name__}.outer", A, B)
        return _outer(self, A, B)

    def reduceat(
        self,
        a: ArrayLike,
        indices: Any,
        axis: int = 0,
        dtype: Any = None,
        out: None = None,
    ) -> Array:
        """The stretches of an axis between these positions, each folded.

        A stretch goes up to the next position, the last one to the end; where the next position
        is not after its own, it is the one element there.

        Raises `ValueError` for positions that are no vector of integers.

        >>> import effax.numpy as jnp
        >>> jnp.add.reduceat(jnp.arange(5), jnp.array([0, 3]))
        Array([3, 7], dtype=int32)
        """
        self._check("reduceat", out)
        check_arrays(f"{self.__name__}.reduceat", a, indices)
        if axis is None or isinstance(axis, tuple | list):
            raise ValueError("reduceat requires a single integer axis.")
        if not shape_of(a):
            raise ValueError(f"reduceat: a must have 1 or more dimension, got a.shape={()}")
        if len(shape_of(indices)) != 1:
            raise ValueError(
                f"reduceat: indices must be one-dimensional, got indices.shape={shape_of(indices)}"
            )
        if not is_integer(typeof(indices).dtype):
            raise ValueError("indices must have an integer type")
        kind = asked_dtype("reduceat", dtype)
        if self._quick[3] is not None:
            return self._quick[3](a, indices, axis=axis, dtype=kind)
        return _folded_between(self, a, indices, axis, kind)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return a function of scalars as a `ufunc`: mapped over arrays, which are broadcast.

    Args:
      func: a function that can be traced.
      nin, nout: the numbers of its arguments and results.
      identity: what `reduce` starts from.

    >>> import effax.numpy as jnp
    >>> add_twice = jnp.frompyfunc(lambda x, y: x + 2 * y, nin=2, nout=1)
    >>> add_twice.outer(jnp.arange(2), jnp.arange(3))
    Array([[0, 2, 4],
           [1, 3, 5]], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


if TYPE_CHECKING:

    class UnaryUfunc(ufunc):
        """A ufunc of the library with one argument."""

        def __call__(self, x: ArrayLike, /, out: None = None, where: None = None) -> Array:
            """The function's value, element by element."""

    class BinaryUfunc(ufunc):
        """A ufunc of the library with two arguments."""

        def __call__(
            self, x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None
        ) -> Array:
            """The function's value, element by element."""


@overload
def universal(
    nin: Literal[2] = 2, **properties: Any
) -> Callable[[Callable[[ArrayLike, ArrayLike], Array]], BinaryUfunc]: ...
@overload
def universal(
    nin: Literal[1], **properties: Any
) -> Callable[[Callable[[ArrayLike], Array]], UnaryUfunc]: ...
def universal(nin: int = 2, **properties: Any) -> Any:
    """Decorate a function of arrays of one result: `whole`, and with the methods of a ufunc.

    `properties` are the identity and the quick ways of `ufunc`.
    """

    def decorate(function: Callable[..., Any]) -> ufunc:
        name = function.__name__
        return ufunc(
            function, nin, 1, name=name, call=whole()(_refusing(function, name)), **properties
        )

    return decorate


def _refusing(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, with the parameters of ufuncs that no immutable array can serve."""

    @wraps(function)
    def call(*args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            parameter = "where" if out is None else "out"
            raise NotImplementedError(
                f"{parameter} argument of <jnp.ufunc {name!r}> is not supported"
            )
        return function(*args)

    return call


@whole("function", "name")
def _map_over_all(function: Callable[..., Any], name: str, *args: Any) -> Any:
    from effax.numpy.mapping import vectorize

    check_arrays(name, *args)
    return vectorize(function)(*args)


def _result_dtype(function: ufunc, *operands: ArrayLike) -> Any:
    """The dtype of the function's result for elements of these arrays."""
    types = [typeof(x).update(shape=()) for x in operands]
    (result,) = stage(lambda *xs: [function(*xs)], types, function.__name__).program.out_types
    return result.dtype


def _rows(a: ArrayLike, axis: int, dtype: Any) -> Array:
    """The array with an axis in front, to be scanned; of a dtype if one is given."""
    a = array(a)
    a = a if dtype is None else cast(a, dtype)
    return moveaxis(a, canonical_axis(axis, len(shape_of(a))), 0)


def _split(rows: Array) -> tuple[Array, Array]:
    """The first row, and the others."""
    n = shape_of(rows)[0]
    return shape.squeeze(shape.slice_axis(rows, 0, 0, 1), (0,)), shape.slice_axis(rows, 0, 1, n)


def _scan(step: Callable[..., Any], first: Any, rows: Any) -> tuple[Any, Any]:
    """`lax.scan`; every elementwise function has its methods here, and few programs call them."""
    from effax.lax.control import scan

    found: tuple[Any, Any] = scan(step, first, rows)
    return found


@whole("function", "axis", "dtype", "keepdims")
def _folded(
    function: ufunc,
    a: ArrayLike,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise NotImplementedError(
                f"tuple of axes: {function.__name__}.reduce folds one axis, or all for None, as "
                "the order of the elements may matter"
            )
        (axis,) = axis
    lengths = shape_of(a)
    if where is not None:
        where = broadcast(where, lengths)
    if axis is None:
        a, where = ravel(a), None if where is None else ravel(where)
    rows = _rows(a, axis or 0, dtype)
    masks = None if where is None else _rows(where, axis or 0, None)
    kind = _result_dtype(function, rows, rows) if dtype is None else dtype
    start = function.identity if initial is None else initial
    if start is not None:
        first = broadcast(cast(array(start), kind), shape_of(rows)[1:])
    elif shape_of(rows)[0] == 0:
        raise ValueError(
            f"zero-size array to reduction operation {function.__name__} which has no identity"
        )
    else:
        first, rows = _split(rows)
        first = cast(first, kind)

    def step(carry: Array, row: Any) -> tuple[Array, None]:
        x, mask = row
        folded = cast(function(carry, x), kind)
        return (folded if mask is None else select_n(mask, carry, folded)), None

    result = _scan(step, first, (rows, masks))[0]
    if not keepdims:
        return result
    ones = range(len(lengths)) if axis is None else (canonical_axis(axis, len(lengths)),)
    return shape.reshape(result, shape=tuple(1 if i in ones else n for i, n in enumerate(lengths)))


@whole("function", "axis", "dtype")
def _accumulated(function: ufunc, a: ArrayLike, axis: int, dtype: Any) -> Array:
    rows = _rows(a, axis, dtype)
    kind = _result_dtype(function, rows, rows) if dtype is None else dtype
    if shape_of(rows)[0] == 0:
        return cast(array(a), kind)
    first, rest = _split(rows)
    first = cast(first, kind)

    def step(carry: Array, x: Array) -> tuple[Array, Array]:
        carry = cast(function(carry, x), kind)
        return carry, carry

    results = _scan(step, first, rest)[1]
    together = shape.concatenate(shape.expand_dims(first, (0,)), results, axis=0)
    return moveaxis(together, 0, canonical_axis(axis, len(shape_of(a))))


def _combined_at(function: ufunc, a: Array, indices: Any, b: Any) -> Array:
    """One position after the other, for an index may repeat."""
    if b is None:
        return strong(ArrayAt(a)[indices].apply(function))
    lengths, size = shape_of(a), typeof(a).size
    numbers = shape.reshape(shape.iota(dtype=int32, shape=(size,), dimension=0), shape=lengths)
    # Positions outside of the array become `size`, which no element has.
    positions = ArrayAt(numbers)[indices].get(mode="fill", fill_value=size)
    return _combined_in_turn(function, a, positions, b)


@whole("function")
def _combined_in_turn(function: ufunc, a: Array, positions: Array, b: ArrayLike) -> Array:
    kind = _result_dtype(function, a, b)
    values = ravel(broadcast(array(b), shape_of(positions)))

    def step(flat: Array, row: tuple[Array, Array]) -> tuple[Array, None]:
        position, value = row
        result = function(ArrayAt(flat)[position].get(mode="clip"), value)
        return ArrayAt(flat)[position].set(cast(result, kind), mode="drop"), None

    flat = _scan(step, cast(ravel(a), kind), (ravel(positions), values))[0]
    return shape.reshape(flat, shape=shape_of(a))


@whole("function")
def _outer(function: ufunc, a: ArrayLike, b: ArrayLike) -> Array:
    if not shape_of(a) or not shape_of(b):
        return function(a, b)
    n = len(shape_of(a))
    behind = shape.expand_dims(a, tuple(range(n, n + len(shape_of(b)))))
    return function(behind, shape.expand_dims(b, tuple(range(n))))


@whole("function", "axis", "dtype")
def _folded_between(function: ufunc, a: ArrayLike, indices: Array, axis: int, dtype: Any) -> Array:
    """One carry for all stretches: each row is folded into those that it belongs to."""
    rows = _rows(a, axis, dtype)
    kind = _result_dtype(function, rows, rows) if dtype is None else dtype
    if dtype is None and kind.kind == "b":  # truth values have the dtype of the array, as in JAX
        kind = typeof(rows).dtype
    weak = typeof(rows).weak_type and kind == typeof(rows).dtype
    n, *lengths = shape_of(rows)
    (m,) = shape_of(indices)
    if m == 0:
        return cast(moveaxis(shape.full((0, *lengths), 0, kind), 0, axis), kind, weak)
    starts = cast(indices, int32)
    end = shape.full((1,), n, int32)
    ends = shape.concatenate(shape.slice_axis(starts, 0, 1, m), end, axis=0)

    def step(carry: Array, numbered: tuple[Array, Array]) -> tuple[Array, None]:
        number, row = numbered
        number = broadcast(number, (m,))
        inside = logical.and_(comparison.gt(number, starts), comparison.lt(number, ends))
        mask = shape.broadcast_in_dim(inside, shape=(m, *lengths), dims=(0,))
        return select_n(
            mask, carry, cast(function(carry, shape.expand_dims(row, (0,))), kind)
        ), None

    first = cast(ArrayAt(rows)[starts].get(mode="fill"), kind)
    numbers = shape.iota(dtype=int32, shape=(n,), dimension=0)
    folded = _scan(step, first, (numbers, rows))[0]
    return cast(moveaxis(folded, 0, canonical_axis(axis, len(lengths) + 1)), kind, weak)
