"""Promotion: the dtype in which operands of different dtypes meet.

JAX's rules: dtypes form a lattice, with a node of its own for Python's int, float and complex
("weak" types, which yield to any array's width), and operands meet at their least upper bound. It
is associative and commutative, and never leaves a 32-bit accelerator for 64 bits by accident.

>>> from effax.effects.types import typeof
>>> promote_types("int8", "uint8"), promote_types("bfloat16", "float16")
(dtype('int16'), dtype('float32'))
>>> lattice_result([typeof(np.int8(1)), typeof(2.5)])
(dtype('float32'), True)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, reduce
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from effax.effects.config import Settings, trace_key
from effax.effects.dtypes import ELEMENTS, DType, bool_, float0, narrow_floats, narrow_integers
from effax.effects.interning import keep
from effax.effects.types import (
    ShapedArray,
    canonical_dtype,
    default_complex,
    default_float,
    default_int,
    default_uint,
    is_extended,
    issubdtype,
    typeof,
    user_dtype,
)
from effax.effects.value import Value

Node: TypeAlias = Any  # a dtype, or one of the classes int, float, complex: the weak types


class TypePromotionError(ValueError):
    """Dtypes have no least upper bound, or none that the setting allows to be taken silently."""


class NoPromotionError(TypeError, ValueError):
    """A dtype that meets no other: a `TypeError` as of JAX's operators, a `ValueError` as of
    `result_type`."""


# The dtypes directly above each node. "small" are the floats narrower than 16 bits and the integers
# narrower than 8: they are promoted with weak types, and with nothing else.
_ABOVE: Final = {
    "b": "i*",
    "i*": "u8 i8 small_ints",
    "u8": "u16 i16",
    "u16": "u32 i32",
    "u32": "u64 i64",
    "u64": "f*",
    "i8": "i16",
    "i16": "i32",
    "i32": "i64",
    "i64": "f*",
    "f*": "bf16 f16 c* small_floats",
    "bf16": "f32",
    "f16": "f32",
    "f32": "f64 c64",
    "f64": "c128",
    "c*": "c64",
    "c64": "c128",
    "c128": "",
}
# Without 64-bit types, unsigned and signed 32-bit integers promote to 32 bits.
_ABOVE_X32: Final = {**_ABOVE, "u32": "u64 i32"}
_STRICT: Final = {
    "b": "",
    "i*": "f* ints small_ints",
    "f*": "c* floats small_floats",
    "c*": "c64 c128",
}
_WEAK: Final = {"i*": int, "f*": float, "c*": complex}
_SMALL_FLOATS: Final = tuple(d for d in narrow_floats if d != np.dtype(ml_dtypes.bfloat16))
_NODES: Final[dict[str, tuple[Node, ...]]] = {
    **{name: (kind,) for name, kind in _WEAK.items()},
    "b": (bool_,),
    **{f"i{n}": (np.dtype(f"int{n}"),) for n in (8, 16, 32, 64)},
    **{f"u{n}": (np.dtype(f"uint{n}"),) for n in (8, 16, 32, 64)},
    **{f"f{n}": (np.dtype(f"float{n}"),) for n in (16, 32, 64)},
    **{f"c{n}": (np.dtype(f"complex{n}"),) for n in (64, 128)},
    "bf16": (np.dtype(ml_dtypes.bfloat16),),
    "small_floats": _SMALL_FLOATS,
    "small_ints": narrow_integers,
    "ints": tuple(np.dtype(f"{s}int{n}") for s in ("", "u") for n in (8, 16, 32, 64)),
    "floats": tuple(map(np.dtype, (ml_dtypes.bfloat16, "float16", "float32", "float64"))),
}


@cache
def _upper_bounds(strict: bool, x64: bool) -> dict[Node, frozenset[Node]]:
    """For each node, all nodes at or above it: the closure of the table."""
    table = _STRICT if strict else _ABOVE if x64 else _ABOVE_X32
    above: dict[Node, set[Node]] = {d: set() for d in ELEMENTS if d != float0}
    for name, names in table.items():
        (node,) = _NODES[name]
        above[node] = {upper for group in names.split() for upper in _NODES[group]}

    @cache
    def closure(node: Node) -> frozenset[Node]:
        return reduce(frozenset.union, map(closure, above[node]), frozenset((node,)))

    return {node: closure(node) for node in above}


def _join(nodes: Iterable[Node], settings: Settings) -> Node:
    """The least upper bound of nodes. Raises `TypePromotionError` where there is none."""
    nodes = list(dict.fromkeys(nodes))
    strict = settings.numpy_dtype_promotion == "strict"
    bounds = _upper_bounds(strict, settings.enable_x64)
    for node in nodes:
        if node not in bounds:
            raise NoPromotionError(f"dtype {_name(node)} takes no part in promotion")
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    for candidate in common:
        if common <= bounds[candidate]:
            return candidate
    raise TypePromotionError(_refusal(nodes, strict))


def _name(node: Node) -> str:
    return f"{node.__name__} (weak)" if isinstance(node, type) else str(node)


def _refusal(nodes: Sequence[Node], strict: bool) -> str:
    names = ", ".join(map(_name, nodes))
    message = f"Input dtypes {names} have no available implicit dtype promotion path"
    narrow = {str(n) for n in nodes if n in _SMALL_FLOATS or n in narrow_integers}
    if strict:
        return (
            f"{message} under numpy_dtype_promotion='strict'; convert by astype, or set "
            "numpy_dtype_promotion='standard'"
        )
    if narrow:
        return (
            f"{message}: {', '.join(sorted(narrow))} is too narrow to be left unintentionally; "
            "convert by astype, as in x.astype('float32')"
        )
    return f"{message}; convert by astype"


def _node(dtype: DType, weak: bool) -> Node:
    if not weak or dtype == bool_:
        return dtype
    if issubdtype(dtype, np.integer):
        return int
    return complex if dtype.kind == "c" else float


def _default(node: Node) -> DType:
    """The dtype of a node: a weak one's is the default of its kind."""
    if node is int:
        return default_int()
    if node is float:
        return default_float()
    if node is complex:
        return default_complex()
    return node


_memo: Final[dict[tuple[Any, ...], tuple[DType, bool]]] = {}


def lattice_result(types: Sequence[ShapedArray]) -> tuple[DType, bool]:
    """The dtype in which operands of these types meet, and whether it is weak. Memoised.

    Raises `TypePromotionError` where they don't meet, and `ValueError` for no types at all.
    """
    key = (trace_key(), *types)
    found = _memo.get(key)
    if found is None:
        found = keep(_memo, key, _meet([(t.dtype, t.weak_type) for t in types]))
    return found


def _meet(pairs: Sequence[tuple[DType, bool]]) -> tuple[DType, bool]:
    if not pairs:
        raise ValueError("at least one array or dtype is needed")
    first, weak = pairs[0]
    all_weak = all(w for _, w in pairs)
    if len(pairs) == 1:
        return first, weak and first != bool_
    if not all_weak and all(d == first for d, _ in pairs):
        return first, False
    settings = trace_key()
    if all_weak and settings.numpy_dtype_promotion != "strict":
        # Weak types of unusual widths (a weak int16) are promoted as the strong ones are.
        node, weak = _join([d for d, _ in pairs], settings), True
    else:
        node = _join([_node(d, w) for d, w in pairs], settings)
        weak = isinstance(node, type)
    dtype = canonical_dtype(_default(node))
    return dtype, weak and dtype != bool_


def promote_types(a: Any, b: Any) -> DType:
    """Return the dtype in which two dtypes meet.

    Raises `TypePromotionError` where they don't meet.

    Args:
      a, b: dtypes or their names; or the classes int, float, complex, which stand for weak types.

    >>> promote_types("uint8", int), promote_types("float16", "int64")
    (dtype('uint8'), dtype('float16'))
    """
    nodes = [x if any(x is kind for kind in _WEAK.values()) else np.dtype(x) for x in (a, b)]
    return np.dtype(_join(nodes, trace_key()))


def dtype_and_weakness(x: Any) -> tuple[DType, bool]:
    """The dtype, and whether it is weak, of a value, a type, a dtype or its name.

    A dtype given by name is narrowed to 32 bits, with a warning, where 64 bits are off.
    """
    if isinstance(x, Value):
        return x.type.dtype, x.type.weak_type
    if x is None:
        return default_float(), False
    if any(x is kind for kind in _WEAK.values()):
        return _default(x), True
    if isinstance(x, str | np.dtype) or (isinstance(x, type) and not isinstance(x, ShapedArray)):
        return user_dtype(x, "dtype"), False
    if is_extended(x):
        return x, False
    dtype = getattr(x, "dtype", None)
    if dtype is None or isinstance(x, ShapedArray | np.generic | np.ndarray):
        type_ = typeof(x)
        return type_.dtype, type_.weak_type
    return canonical_dtype(dtype), bool(getattr(x, "weak_type", False))


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype to which values, types and dtypes promote, as `numpy.result_type` does.

    Weak types count as the default dtype of their kind. With `return_weak_type_flag` the answer
    is a pair, the dtype and whether it is weak. Raises `ValueError` without arguments.

    >>> result_type(np.int8(1), 2), result_type("int32", 1.0), result_type(1.0)
    (dtype('int8'), dtype('float32'), dtype('float32'))
    """
    dtype, weak = _meet([dtype_and_weakness(x) for x in args])
    if weak:
        dtype = _default_of_kind(dtype)
    return (dtype, weak) if return_weak_type_flag else dtype


def _default_of_kind(dtype: DType) -> DType:
    if issubdtype(dtype, np.unsignedinteger):
        return default_uint()
    return _default(_node(dtype, weak=True))


def safe_to_cast(source: Any, target: Any) -> bool:
    """Whether a value or dtype can take the dtype of another without changing its kind or width.

    >>> safe_to_cast("int16", "float32"), safe_to_cast("float32", "int16")
    (True, False)
    """
    given, wanted = dtype_and_weakness(source)[0], dtype_and_weakness(target)[0]
    return bool(given == wanted or result_type(source, wanted) == wanted)
