"""The operators and methods of every value, arrays and carriers alike: functions of this library.

They are installed on `Value` once, so that a user's own carriers have them too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, Final

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array
from effax.eager.whole import compiled_calls
from effax.effects.config import trace_key
from effax.effects.errors import ConcretizationTypeError
from effax.effects.frames import boundary, filtered, strip
from effax.effects.handler import Carrier, bottom, current
from effax.effects.value import Value, is_symbolic_length

BINARY: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "divmod": "divmod",
    "pow": "power",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARISONS: Final = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
SYMBOLS: Final = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"},
    **{"divmod": "divmod()", "pow": "** or pow()", "matmul": "@", "and": "&", "or": "|"},
    **{"xor": "^", "lshift": "<<", "rshift": ">>"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}
UNARY: Final = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}
METHODS: Final = (
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "choose",
    "clip",
    "conj",
    "cumprod",
    "cumsum",
    "diagonal",
    "dot",
    "max",
    "mean",
    "min",
    "nonzero",
    "prod",
    "ptp",
    "ravel",
    "repeat",
    "round",
    "searchsorted",
    "sort",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "take",
    "trace",
    "var",
)

_KNOWN: Final = (Value, np.ndarray, np.generic, bool, int, float, complex)


def _accepts(x: Any) -> bool:
    opens = hasattr(x, "__jax_array__") or hasattr(x, "__effax_array__")
    return isinstance(x, _KNOWN) or opens or is_symbolic_length(x)


# Refused here, because Python would compare these with an array by identity, and would repeat a
# list or tuple as often as an integer array of rank 0 says.
_CONTAINERS: Final = (list, tuple, set, dict)
_REFUSED: Final = (*_CONTAINERS, type(None))


def _forward(function: Callable[..., Any], symbol: str) -> Callable[..., Any]:
    """The operator that Python writes as `symbol`."""
    compiled = compiled_calls(function)
    installed = current.get
    # An array is compared with None and texts by identity; an integer repeats a text.
    by_symbol: dict[str, tuple[type, ...]] = {"==": (), "!=": (), "*": (type(None),)}
    refused = (*_CONTAINERS, *by_symbol.get(symbol, (type(None), str)))

    @boundary
    def operator(self: Any, other: Any) -> Any:
        try:
            if type(self) is type(other) is Array and installed() is bottom:
                try:
                    launch = compiled[trace_key(), self.spec, other.spec]
                except KeyError:
                    pass
                else:
                    return launch([self.buffer, other.buffer])
            if isinstance(other, _KNOWN) or _accepts(other):
                return function(self, other)
            if type(other) in refused:  # a subclass may have the operator itself
                raise _unsupported(symbol, _kind(self), type(other).__name__)
        except Exception as error:
            strip(error)
            raise
        return NotImplemented

    return operator


def _unsupported(symbol: str, left: str, right: str) -> TypeError:
    advice = (
        "; make an array of the container first, with jnp.asarray"
        if not {left, right}.isdisjoint(t.__name__ for t in _CONTAINERS)
        else ""
    )
    return TypeError(f"unsupported operand type(s) for {symbol}: {left!r} and {right!r}{advice}")


def _kind(x: Any) -> str:
    """A value in Python's messages about operators."""
    return f"Traced<{x.type.str_short()}>" if isinstance(x, Carrier) else "Array"


def _reflected(function: Callable[..., Any], symbol: str) -> Callable[..., Any]:
    @boundary
    def operator(self: Any, other: Any) -> Any:
        try:
            if _accepts(other):
                return function(other, self)
            if type(other) in _REFUSED:  # a subclass may have the operator itself
                raise _unsupported(symbol, type(other).__name__, _kind(self))
        except Exception as error:
            strip(error)
            raise
        return NotImplemented

    return operator


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    @boundary
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return function(self, *args, **keywords)
        except Exception as error:
            strip(error)
            raise

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    method.__wrapped__ = function  # type: ignore[attr-defined]  # for inspect.signature, and help
    return method


class _OnDemand:
    """Stands for an attribute of a class until someone looks it up, and puts it in its own place.

    The modules of most methods' functions are not imported before that.
    """

    __slots__ = ("make", "name", "owner")

    def __init__(self, owner: type, name: str, make: Callable[[], Any]) -> None:
        self.owner = owner
        self.name = name
        self.make = make
        setattr(owner, name, self)

    def __get__(self, instance: Any, owner: type) -> Any:
        made = self.make()
        setattr(self.owner, self.name, made)
        return made.__get__(instance, owner)


def install(numpy: ModuleType) -> None:
    """Install the operators and methods, from the functions of `effax.numpy`."""

    def put(name: str, kind: Callable[..., Any], target: str) -> None:
        _OnDemand(Value, name, lambda: kind(getattr(numpy, target)))

    for name, target in BINARY.items():
        put(f"__{name}__", partial(_forward, symbol=SYMBOLS[name]), target)
        put(f"__r{name}__", partial(_reflected, symbol=SYMBOLS[name]), target)
    for name, target in COMPARISONS.items():
        put(f"__{name}__", partial(_forward, symbol=SYMBOLS[name]), target)
    for name, target in UNARY.items():
        put(f"__{name}__", _method, target)
    for name in METHODS:
        put(name, _method, name)
    put("conjugate", _method, "conj")
    _install_shapes(numpy)
    _install_indexing()
    installed: Any = Value  # typed Any, since type checkers refuse to assign declared methods
    installed.__array_priority__ = 100


def _install_shapes(numpy: Any) -> None:
    @placed
    def reshape(self: Any, *args: Any, order: str = "C", copy: Any = None) -> Any:
        """The same elements in another shape, given as one tuple or as integers."""
        shape = args[0] if len(args) == 1 else args
        return numpy.reshape(self, shape, order=order)

    def transpose(self: Any, *args: Any) -> Any:
        """The axes in another order, reversed by default."""
        axes = args[0] if len(args) == 1 and not isinstance(args[0], int) else (args or None)
        return numpy.transpose(self, axes)

    def flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
        """The elements along one axis."""
        return numpy.ravel(self, order=order, out_sharding=out_sharding)

    def astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
        """The array with another dtype; complex numbers may lose their imaginary part."""
        return numpy.astype(self, dtype, copy=copy, device=device)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        """The bits read as another dtype."""
        if type is not None:
            raise NotImplementedError("`type` argument of array.view() is not supported.")
        from effax.numpy.viewing import viewed

        return self if dtype is None else viewed(self, dtype)

    def compress(
        self: Any,
        condition: Any,
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: Any = 0,
    ) -> Any:
        """The slices where a vector of conditions is true; see `effax.numpy.compress`."""
        return numpy.compress(condition, self, axis, out, size=size, fill_value=fill_value)

    def tobytes(self: Any, order: str = "C") -> bytes:
        """The elements' bytes; refused for what is not known."""
        raise ConcretizationTypeError(
            self, f"The tobytes() method was called on traced array with shape {self.type!r}."
        )

    def byteswap(self: Any) -> Any:
        """The bytes of each number in the opposite order; of both parts of complex ones."""
        from effax.effects.rows import conversion, shape
        from effax.effects.rows.complex import complex as complex_of
        from effax.effects.types import is_complex, uint8

        if self.dtype.itemsize == 1:
            return self
        if is_complex(self.dtype):
            return complex_of(byteswap(numpy.real(self)), byteswap(numpy.imag(self)))
        bits = conversion.bitcast_convert_type(self, dtype=uint8)
        swapped = shape.rev(bits, dims=(bits.ndim - 1,))
        return conversion.bitcast_convert_type(swapped, dtype=self.dtype)

    def copy(self: Any) -> Any:
        """A copy; values are immutable, so it matters for donation only."""
        return numpy.copy(self)

    def clone(self: Any) -> Any:
        """A copy, as `copy` makes it."""
        return numpy.copy(self)

    def to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
        """The array on another device (array API). Raises `NotImplementedError` for a stream."""
        if stream is not None:
            raise NotImplementedError("stream argument of array.to_device() is not supported")
        from effax.api.placing.devices import device_put

        return device_put(self, device)

    def platform(self: Any) -> str:
        """The platform of the device: "cpu", "cuda", ..."""
        from effax.backends.xla.placement import default

        where = getattr(self, "spec", None)
        return str((default() if where is None else where.placement).device.platform)

    for method in (
        reshape,
        transpose,
        flatten,
        astype,
        view,
        compress,
        tobytes,
        byteswap,
        copy,
        clone,
        to_device,
        platform,
    ):
        setattr(Value, method.__name__, filtered(method))
    installed: Any = Value
    installed.T = property(lambda self: numpy.transpose(self))
    # A read-only counterpart of NumPy's iterator: the elements in order, along one axis.
    installed.flat = property(lambda self: numpy.ravel(self))
    installed.mT = property(lambda self: numpy.matrix_transpose(self))
    installed.real = property(lambda self: numpy.real(self))
    installed.imag = property(lambda self: numpy.imag(self))

    def rounded(self: Any, ndigits: int | None = None) -> Any:
        """Of so many decimals; integers where nothing is said, as Python rounds its own numbers."""
        result = numpy.round(self, ndigits or 0)
        return result.astype(int) if ndigits is None else result

    installed.__contains__ = filtered(_contains)
    installed.__round__ = filtered(rounded)


def _contains(self: Any, item: Any) -> bool:
    """Whether an element of the vector equals a number."""
    if self.ndim != 1:
        raise ValueError(
            "Array.__contains__: search array must be one-dimensional; got "
            f"{self.ndim} dimensions. Use jnp.isin, or (x == y).any()"
        )
    if not _accepts(item):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(item)}")
    if np.ndim(item) != 0:
        raise ValueError(
            f"Array.__contains__: query value must be a scalar; got the shape {np.shape(item)}"
        )
    return bool((self == item).any())


def _install_indexing() -> None:
    def from_reading(name: str) -> Any:
        from effax.numpy import reading

        return getattr(reading, name)

    def from_indexing(name: str) -> Any:
        from effax.numpy import indexing

        return getattr(indexing, name)

    def array_namespace() -> Any:
        from effax.numpy import standard

        return filtered(standard.array_namespace)

    _OnDemand(Value, "__array_namespace__", array_namespace)
    _OnDemand(Array, "reshape", lambda: from_reading("array_reshape"))
    _OnDemand(Array, "__getitem__", lambda: from_reading("array_getitem"))
    _OnDemand(Array, "__iter__", lambda: from_reading("array_iter"))
    _OnDemand(Value, "__getitem__", lambda: filtered(from_indexing("getitem")))
    _OnDemand(Value, "at", lambda: property(from_indexing("ArrayAt")))
