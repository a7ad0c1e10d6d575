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
    from effax.effects.runtime import ir

    index = len(ctx.callbacks)
    ctx.callbacks.append(lambda *arrays: noted(lambda *xs: tuple(callback(*xs)), arrays))

    unsigned = ir.IntegerType.get_unsigned(64)
    call = custom_call(
        TARGETS[ctx.platforms[0]],
        result_types=[aval_to_ir_type(t) for t in result_avals],
        operands=operands,
        backend_config={"index": ir.IntegerAttr.get(unsigned, index)},
        has_side_effect=has_side_effect,
        api_version=4,
        operand_layouts=[row_major(t) for t in operand_avals],
        result_layouts=[row_major(t) for t in result_avals],
    )
    return list(call.results), token, callback


def row_major(type: ShapedArray) -> tuple[int, ...]:
    """The axes of an array from minor to major, where the last one is the most minor."""
    return tuple(reversed(range(type.ndim)))


def custom_call(
    call_target_name: str,
    *,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    backend_config: str | bytes | dict[str, Any] = "",
    has_side_effect: bool = False,
    result_shapes: Sequence[Any] | None = None,
    called_computations: Sequence[str] = (),
    api_version: int = 2,
    operand_output_aliases: dict[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    extra_attributes: dict[str, Any] | None = None,
) -> Any:
    """Write a call of a registered function where the rule is.

    Args:
      call_target_name: the name that it is registered under.
      result_types: the MLIR types of its results.
      operands: the values that it is given.
      backend_config: text, or attributes by name, which `api_version` 4 takes.
      has_side_effect: whether it is called even if no result is used.
      result_shapes: values that hold the lengths of results of symbolic shapes.
      called_computations: names of functions of the module that it calls.
      api_version: the convention of the call; 4 is the one of `ffi_call`.
      operand_output_aliases: numbers of operands whose memory a result takes, to its number.
      operand_layouts, result_layouts: axes of each, from minor to major.
      extra_attributes: attributes of the operation itself, by name.

    Returns:
      The operation.
    """
    from effax.effects.runtime import ir, stablehlo

    operands = list(operands)
    attributes = dict(extra_attributes or {})
    if result_shapes:
        places = range(len(operands), len(operands) + len(result_shapes))
        attributes["indices_of_shape_operands"] = dense_int_elements(places)
        operands += result_shapes
    aliases = [
        stablehlo.OutputOperandAlias.get(
            output_tuple_indices=[] if len(result_types) == 1 else [output],
            operand_index=operand,
            operand_tuple_indices=[],
        )
        for operand, output in (operand_output_aliases or {}).items()
    ]
    call: Any = stablehlo.CustomCallOp(
        result_types,
        operands,
        call_target_name=ir.StringAttr.get(call_target_name),
        has_side_effect=ir.BoolAttr.get(has_side_effect),
        backend_config=(
            ir.DictAttr.get(backend_config)
            if isinstance(backend_config, dict)
            else ir.StringAttr.get(backend_config)
        ),
        api_version=i32_attr(api_version),
        called_computations=ir.ArrayAttr.get(
            [ir.FlatSymbolRefAttr.get(name) for name in called_computations]
        ),
        output_operand_aliases=ir.ArrayAttr.get(aliases),
        **{
            name: ir.ArrayAttr.get([_order(axes) for axes in layouts])
            for name, layouts in (
                ("operand_layouts", operand_layouts),
                ("result_layouts", result_layouts),
            )
            if layouts is not None
        },
    )
    for name, attribute in attributes.items():
        call.operation.attributes[name] = attribute
    return call


def _order(axes: Sequence[int]) -> Any:
    """An order of axes as an attribute of a call."""
    from effax.effects.runtime import ir

    numbers = np.asarray(axes, np.int64)
    return ir.DenseIntElementsAttr.get(numbers, type=ir.IndexType.get(), shape=numbers.shape)


def ir_attribute(value: Any) -> Any:
    """The MLIR attribute of a static value, by the rules of `ffi.ffi_call`; an attribute as it is.

    An MLIR context is open.
    """
    from effax.backends.xla.lowering.foreign import attribute_text
    from effax.effects.runtime import ir

    if isinstance(value, ir.Attribute):
        return value
    return ir.Attribute.parse(attribute_text(value))


def __getattr__(name: str) -> Any:
    """`ir`, MLIR's Python module, which is not loaded before it is named."""
    if name == "ir":
        from effax.effects.runtime import ir

        return ir
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
