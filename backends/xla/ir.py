"""Operations written by MLIR's Python bindings: functions of a module, and the types in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.compile import mlir_context
from effax.effects.dtypes import element_name
from effax.effects.types import ShapedArray


def function_text(
    name: str,
    ins: Sequence[ShapedArray],
    outs: Sequence[ShapedArray],
    write: Callable[..., Any],
) -> str:
    """The text of a private function; `write(*arguments)` writes its body, and gives the results.

    Raises `ValueError` where what was written is no program.
    """
    from effax.effects.runtime import func, ir

    with mlir_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            signature = [*map(aval_to_ir_type, ins)], [*map(aval_to_ir_type, outs)]
            function: Any = func.FuncOp(name, signature, visibility="private")
            with ir.InsertionPoint(function.add_entry_block()):
                func.ReturnOp(_flat(write(*function.arguments)))
        if not module.operation.verify():
            raise ValueError(f"what was written as the body of {name} is no program of MLIR")
        return str(function.operation.get_asm(enable_debug_info=False))


def _flat(results: Any) -> list[Any]:
    """The values of results: a value, an operation, or sequences of them."""
    if isinstance(results, list | tuple):
        return [y for x in results for y in _flat(x)]
    return [getattr(results, "result", results)]


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of elements of that dtype; an MLIR context is open."""
    return aval_to_ir_type(ShapedArray((), dtype)).element_type


def aval_to_ir_type(aval: ShapedArray) -> Any:
    """The MLIR type of a tensor of that shape and dtype; an MLIR context is open."""
    from effax.effects.runtime import ir

    sizes = "".join(f"{n}x" for n in aval.shape)
    return ir.Type.parse(f"tensor<{sizes}{element_name(aval.dtype)}>")


def ir_constant(value: Any) -> Any:
    """A constant of a NumPy value, written where the rule is."""
    from effax.effects.runtime import ir, stablehlo

    value = np.asarray(value)
    type = aval_to_ir_type(ShapedArray(value.shape, value.dtype))
    held = np.packbits(value, bitorder="little") if value.dtype == bool else value
    dense = ir.DenseElementsAttr.get(
        np.ascontiguousarray(held), type=type.element_type, shape=value.shape
    )
    return stablehlo.constant(dense)


def i32_attr(i: int) -> Any:
    """A 32-bit integer attribute."""
    from effax.effects.runtime import ir

    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """A 64-bit integer attribute."""
    from effax.effects.runtime import ir

    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)


def dense_int_array(xs: Any) -> Any:
    """An attribute of 64-bit integers."""
    from effax.effects.runtime import ir

    return ir.DenseI64ArrayAttr.get([int(x) for x in xs])


def dense_int_elements(xs: Any) -> Any:
    """An attribute of a tensor of 64-bit integers."""
    from effax.effects.runtime import ir

    return ir.DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def __getattr__(name: str) -> Any:
    """`ir`, MLIR's Python module, which is not loaded before it is named."""
    if name == "ir":
        from effax.effects.runtime import ir

        return ir
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
