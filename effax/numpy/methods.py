"""The operators and methods of every value, arrays and carriers alike: functions of this library.

They are installed on `Value` once, so that a user's own carriers have them too.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

from effax.api.placed import placed
from effax.backends.xla.array import Array
from effax.backends.xla.executable import XlaRuntimeError, explain_failure
from effax.effects.config import trace_key
from effax.effects.errors import ConcretizationTypeError
from effax.effects.frames import boundary, filtered, strip
from effax.effects.handler import bottom, current
from effax.effects.value import Value
from effax.numpy.standard import array_namespace
from effax.whole import compiled_calls

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
UNARY: Final = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}
METHODS: Final = (
    "all",
    "any",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "astype",
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
    return isinstance(x, _KNOWN) or hasattr(x, "__jax_array__") or hasattr(x, "__effax_array__")


# Python would compare these with an array by identity, and say False of equal elements.
_CONTAINERS: Final = (list, tuple, set, dict)


def _forward(function: Callable[..., Any], symbol: str = "") -> Callable[..., Any]:
    """The operator; a comparison `symbol` is one that Python would answer itself."""
    compiled = compiled_calls(function)
    installed = current.get

    @boundary
    def operator(self: Any, other: Any) -> Any:
        try:
            if type(self) is type(other) is Array and installed() is bottom:
                found = compiled.get((trace_key(), self.spec, other.spec))
                if found is not None:
                    run, handlers, spec = found
                    try:
                        outs = run([self.buffer, other.buffer]).consume_with_handlers(handlers)
                    except XlaRuntimeError as error:
                        explain_failure(error, [(x.spec, x.buffer) for x in (self, other)])
                        raise
                    return Array(outs[0], spec)
            if isinstance(other, _KNOWN) or _accepts(other):
                return function(self, other)
            if symbol and isinstance(other, _CONTAINERS):
                kind = type(other).__name__
                raise TypeError(
                    f"unsupported operand type(s) for {symbol}: 'Array' and {kind!r}; make an "
                    "array of it first, with jnp.asarray"
                )
        except Exception as error:
            strip(error)
            raise
        return NotImplemented

    return operator


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    @boundary
    def operator(self: Any, other: Any) -> Any:
        try:
            if _accepts(other):
                return function(other, self)
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
    return method


def install(numpy: ModuleType) -> None:
    """Install the operators and methods, from the functions of `effax.numpy`."""
    for name, target in BINARY.items():
        function = getattr(numpy, target)
        setattr(Value, f"__{name}__", _forward(function))
        setattr(Value, f"__r{name}__", _reflected(function))
    for name, target in COMPARISONS.items():
        symbol = {"eq": "==", "ne": "!="}.get(name, "")
        setattr(Value, f"__{name}__", _forward(getattr(numpy, target), symbol))
    for name, target in UNARY.items():
        setattr(Value, f"__{name}__", _method(getattr(numpy, target)))
    for name in METHODS:
        setattr(Value, name, _method(getattr(numpy, name)))
    _install_shapes(numpy)
    _install_indexing(numpy)
    Value.__array_namespace__ = filtered(array_namespace)  # type: ignore[attr-defined]
    Value.__array_priority__ = 100  # type: ignore[attr-defined]


def _install_shapes(numpy: Any) -> None:
    from effax.numpy.reading import array_reshape

    @placed
    def reshape(self: Any, *args: Any, order: str = "C", copy: Any = None) -> Any:
        """The same elements in another shape, given as one tuple or as integers."""
        shape = args[0] if len(args) == 1 else args
        return numpy.reshape(self, shape, order=order)

    def transpose(self: Any, *args: Any) -> Any:
        """The axes in another order, reversed by default."""
        axes = args[0] if len(args) == 1 and not isinstance(args[0], int) else (args or None)
        return numpy.transpose(self, axes)

    def flatten(self: Any, order: str = "C") -> Any:
        """The elements along one axis."""
        return numpy.ravel(self, order=order)

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
        raise ConcretizationTypeError(self, "tobytes() needs the elements.")

    def byteswap(self: Any) -> Any:
        """The bytes of each number in the opposite order; of both parts of complex ones."""
        from effax.effects import conversion, shape
        from effax.effects.complex import complex as complex_of
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
            raise NotImplementedError("stream argument of array.to_device()")
        from effax.api.devices import device_put

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
    setattr(Array, "reshape", array_reshape)  # noqa: B010
    Value.conjugate = Value.conj  # type: ignore[attr-defined]
    Value.T = property(lambda self: numpy.transpose(self))  # type: ignore[attr-defined]
    # NumPy's iterator, for reading: the elements in order, along one axis.
    Value.flat = property(lambda self: numpy.ravel(self))  # type: ignore[attr-defined]
    Value.mT = property(lambda self: numpy.matrix_transpose(self))  # type: ignore[attr-defined]
    Value.real = property(lambda self: numpy.real(self))  # type: ignore[attr-defined]
    Value.imag = property(lambda self: numpy.imag(self))  # type: ignore[attr-defined]

    def rounded(self: Any, ndigits: int | None = None) -> Any:
        """Of so many decimals; integers where nothing is said, as Python rounds its own numbers."""
        result = numpy.round(self, ndigits or 0)
        return result.astype(int) if ndigits is None else result

    Value.__round__ = filtered(rounded)  # type: ignore[attr-defined]


def _install_indexing(numpy: Any) -> None:
    from effax.numpy.indexing import At, getitem
    from effax.numpy.reading import array_getitem

    setattr(Array, "__getitem__", array_getitem)  # noqa: B010
    setattr(Value, "__getitem__", filtered(getitem))  # noqa: B010  (the type checker reads it as an alias)
    Value.at = property(At)  # type: ignore[attr-defined]
