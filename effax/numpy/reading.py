"""`x[...]` and `x.reshape(...)` where nothing is installed: straight to an executable.

An index of integers, slices, `None` and `...` is known whole. It leads, with the array's spec, to
the executable that reads there and to the buffers of its integers; what is not found, or has arrays
in it, goes the way of `effax.numpy.indexing`. A shape of integers leads to one that reshapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array
from effax.eager.whole import compiled, remembered
from effax.effects import config
from effax.effects.config import trace_key
from effax.effects.frames import boundary, filtered, settle, strip
from effax.effects.handler import bottom, current
from effax.effects.interning import keep
from effax.effects.value import OutSharding
from effax.numpy.indexing import getitem, to_be_gathered
from effax.numpy.manipulation import reshape_values

_LIMIT: Final = 4096
_FEW, _OFTEN = 64, 500
"""Lengths that are taken apart at once, and after how many times: 30 ms, for 3 µs an element."""
_known: Final[dict[Any, Any]] = remembered()
_iterated: Final[dict[Any, int]] = remembered()
_installed: Final = current.get


@boundary
def array_getitem(x: Array, index: Any) -> Any:
    """`x[index]`, by NumPy's rules; see `effax.numpy.indexing.getitem`."""
    try:
        if _installed() is bottom:
            key = index if type(index) is int else _key_of(index)
            try:
                launch, positions = _known[trace_key(), x.spec, key]
            except KeyError:
                if key is not None and not config.guarded:
                    return _first(x, index, key)
            else:
                return launch([x.buffer, *positions])
        result = getitem(x, index)
        settle()
        return result
    except Exception as error:
        strip(error)
        raise


@filtered
def array_iter(x: Array) -> Iterator[Any]:
    """Iterate over the arrays along the first axis.

    Each is read by itself, by an executable that serves every place; once that was done as often as
    compiling takes, few of them are the results of one executable.
    """
    shape = x.spec.type.shape
    if not shape:
        raise TypeError("iteration over a 0-d array")
    if 1 < shape[0] <= _FEW and _installed() is bottom:
        times = _iterated.get(x.spec, 0)
        if times >= _OFTEN:
            from effax.numpy.joining import unstack

            return iter(unstack(x))
        keep(_iterated, x.spec, times + 1, _LIMIT)
    return (x[i] for i in range(shape[0]))


@boundary
@placed
def array_reshape(
    self: Array, *args: Any, order: str = "C", copy: Any = None, out_sharding: OutSharding = None
) -> Any:
    """Return the same elements in another shape.

    Args:
      args: the shape, as one tuple or as integers; one of them may be -1.
      order: the order of elements, as for `reshape`.
      copy: ignored.
      out_sharding: the sharding of the result, on a mesh with explicit axes.
    """
    try:
        lengths = args[0] if len(args) == 1 else args
        if _installed() is bottom and order == "C":
            known = type(lengths) is int or (
                type(lengths) is tuple and _INTEGERS.issuperset(map(type, lengths))
            )
            key = trace_key(), self.spec, reshape_values, lengths if known else None
            found = _known.get(key)
            if found is None and known:
                found = keep(_known, key, compiled(reshape_values, self, lengths)[0], _LIMIT)
            if found is not None:
                return found([self.buffer])
        result = reshape_values(self, lengths, order)
        settle()
        return result
    except Exception as error:
        strip(error)
        raise


_INTEGERS: Final = frozenset({int})


def _first(x: Array, index: Any, key: Any) -> Any:
    """`x[index]` for an index not met before, which is remembered."""
    launch, buffers = to_be_gathered(x, index)
    keep(_known, (trace_key(), x.spec, key), (launch, buffers[1:]), _LIMIT)
    return launch(buffers)


def _key_of(index: Any) -> Any:
    """Return a cache key for an index; None if it has none.

    Numbers of other classes than `int` are left out, since True == 1 == 1.0.
    """
    kind = type(index)
    if kind is slice:
        return _of_slice(index)
    if kind is not tuple:
        return (...,) if index is ... else None
    parts: list[Any] = []
    for x in index:
        kind = type(x)
        if kind is int or x is None or x is ...:
            parts.append(x)
        elif kind is slice:
            part = _of_slice(x)
            if part is None:
                return None
            parts.append(part)
        else:
            return None
    return tuple(parts)


_BOUNDS: Final = frozenset({int, type(None)})


def _of_slice(index: slice) -> Any:
    bounds = index.start, index.stop, index.step
    return (slice, *bounds) if _BOUNDS.issuperset(map(type, bounds)) else None
