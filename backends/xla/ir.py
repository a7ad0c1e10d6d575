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
            raise ValueError(f"the text written as the body of {name} is not valid MLIR")
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


def emit_python_callback(
    ctx: Any,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool = False,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
) -> tuple[Any, Any, Any]:
    """Write a call of a Python function where the rule is.

    Args:
      ctx: the context that the rule is told.
      callback: a function of NumPy arrays that returns a sequence of them.
      token: passed on; calls here have no order.
      operands: the values that the function is given.
      operand_avals: their types.
      result_avals: the types of the results.
      has_side_effect: whether it is called even if no result is used.
      returns_token, partitioned, sharding: accepted.

    Returns:
      The results, the token, and what keeps the function alive.
    """
    from effax.backends.xla.execution_errors import noted
    from effax.backends.xla.lowering.callback import TARGETS
    from effax.effects.runtime import ir, stablehlo

    index = len(ctx.callbacks)
    ctx.callbacks.append(lambda *arrays: noted(lambda *xs: tuple(callback(*xs)), arrays))

    def row_major(types: Sequence[ShapedArray]) -> Any:
        made = [np.arange(t.ndim)[::-1].astype(np.int64) for t in types]
        index_type = ir.IndexType.get()
        return ir.ArrayAttr.get(
            [ir.DenseIntElementsAttr.get(x, type=index_type, shape=x.shape) for x in made]
        )

    unsigned = ir.IntegerType.get_unsigned(64)
    call: Any = stablehlo.CustomCallOp(
        [aval_to_ir_type(t) for t in result_avals],
        operands,
        call_target_name=ir.StringAttr.get(TARGETS[ctx.platforms[0]]),
        has_side_effect=ir.BoolAttr.get(has_side_effect),
        backend_config=ir.DictAttr.get({"index": ir.IntegerAttr.get(unsigned, index)}),
        api_version=i32_attr(4),
        operand_layouts=row_major(operand_avals),
        result_layouts=row_major(result_avals),
    )
    return list(call.results), token, callback


def __getattr__(name: str) -> Any:
    """`ir`, MLIR's Python module, which is not loaded before it is named."""
    if name == "ir":
        from effax.effects.runtime import ir

        return ir
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
