"""Modules of StableHLO that outlive the process: written in its portable form, and read again.

The portable form is bytecode of versioned operations (VHLO): it can be read by any later version
of StableHLO for five years, and by earlier ones for four weeks. MLIR's reader trusts its input: it
may end the process over bytes that were damaged, so whoever keeps them must know that they are
whole before they are read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from jaxlib import _jax

from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.compile import mlir_context, parse
from effax.backends.xla.dispatch import check_row
from effax.backends.xla.lowering.writer import Name, Writer, named, tensor, written
from effax.effects.errors import ExportError
from effax.effects.program import Program
from effax.effects.types import ShapedArray
from effax.interpreters.ordering import in_order

_PLATFORM: Final = ShapedArray((), np.dtype(np.int32))
_CUSTOM_CALL: Final = re.compile(r"custom_call @(\"[^\"]*\"|[\w.$-]+)")


def canonical_platform(name: str) -> str:
    """A platform under the name by which programs are lowered for it: "gpu" is "cuda"."""
    return "cuda" if name == "gpu" else name


# ------------------------------------------------------------------------------------- writing


def module_text(
    program: Program, captured: Sequence[Any], platforms: Sequence[str]
) -> tuple[str, list[Callable[..., Any]]]:
    """A program as a module, and the host functions it calls; what it captured are constants.

    For several platforms `main` takes, before its operands, which of them it runs on.
    """
    check_row(program)
    ordered = in_order(program)

    def write(w: Writer) -> str:
        w.taken.add("main")
        entries = []
        for platform in platforms:
            w.platform, w.function_names = platform, {}
            entries.append(w.function(ordered))
        return w.module(_main(w, ordered, captured, entries), w._name(f"jit_{program.name}"))

    return written(write, platforms[0])


def _main(w: Writer, program: Program, captured: Sequence[Any], entries: Sequence[str]) -> str:
    types = program.in_types[len(captured) :]
    w.lines = []
    operands = [_constant(w, np.asarray(x)) for x in captured]
    operands += [named(f"%a{i}", t) for i, t in enumerate(types)]
    head = [f"{x}: {x.text}" for x in operands[len(captured) :]]
    if len(entries) == 1:
        results = _call(w, entries[0], operands, program.out_types)
    else:
        head.insert(0, f'%p: {tensor(_PLATFORM)} {{jax.global_constant = "_platform_index"}}')
        results = _case(w, entries, operands, program.out_types)
    outs = ", ".join(map(tensor, program.out_types))
    w.lines.append(f"return {', '.join(results)} : {outs}" if results else "return")
    body = "\n".join(w.lines)
    return f"func.func public @main({', '.join(head)}) -> ({outs}) {{\n{body}\n}}"


def _call(
    w: Writer, entry: str, operands: Sequence[Name], types: Sequence[ShapedArray]
) -> list[Name]:
    ins, outs = ", ".join(x.text for x in operands), ", ".join(map(tensor, types))
    return w.ops(f"func.call @{entry}({', '.join(operands)}) : ({ins}) -> ({outs})", types)


def _case(
    w: Writer, entries: Sequence[str], operands: Sequence[Name], types: Sequence[ShapedArray]
) -> list[Name]:
    regions = [
        w.region([], lambda entry=entry: _call(w, entry, operands, types), "stablehlo.return")
        for entry in entries
    ]
    outs = ", ".join(map(tensor, types))
    return w.ops(
        f'"stablehlo.case"(%p) ({", ".join(regions)}) : ({tensor(_PLATFORM)}) -> ({outs})', types
    )


def _constant(w: Writer, value: np.ndarray[Any, Any]) -> Name:
    """An array written out, as the bytes of its elements where each takes whole ones."""
    type = ShapedArray(value.shape, value.dtype)
    if value.size == 0:
        return w.op(f"stablehlo.constant dense<> : {tensor(type)}", type)
    if value.dtype.kind == "b" or value.dtype.name in _NARROW:
        bytes_ = _constant(w, value.astype(np.int8))
        return w.op(f"stablehlo.convert {bytes_} : ({bytes_.text}) -> {tensor(type)}", type)
    text = np.ascontiguousarray(value).tobytes().hex().upper()
    return w.op(f'stablehlo.constant dense<"0x{text}"> : {tensor(type)}', type)


_NARROW: Final = frozenset({"int2", "int4", "uint2", "uint4", "float4_e2m1fn"})


def custom_calls(text: str) -> set[str]:
    """The targets of the custom calls of a module."""
    return {name.strip('"') for name in _CUSTOM_CALL.findall(text)}


def to_artifact(text: str) -> bytes:
    """The portable form of a module. Raises `ExportError` where it has operations without one."""
    from jaxlib.mlir.dialects import stablehlo

    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    version = stablehlo.get_version_from_compatibility_requirement(requirement)
    try:
        found: bytes = _jax.mlir.serialize_portable_artifact(parse(text), version)
    except (ValueError, XlaRuntimeError) as error:
        raise ExportError(f"the program has no portable form: {error}") from error
    return found


# ------------------------------------------------------------------------------------- reading


def _read(artifact: bytes) -> Any:
    try:
        return _jax.mlir.deserialize_portable_artifact(artifact, mlir_context())
    except (ValueError, XlaRuntimeError) as error:
        raise ExportError(
            "the module can't be read as a portable artifact of StableHLO; it may be of a newer "
            f"version than this jaxlib knows: {error}"
        ) from error


def to_text(artifact: bytes) -> str:
    """The text of a module in its portable form."""
    return str(_read(artifact))


def functions(artifact: bytes, fresh: Callable[[str], str]) -> tuple[list[str], str]:
    """The functions of a module as texts, renamed by `fresh`, and what `main` is called then."""
    from jaxlib.mlir import ir

    module = _read(artifact)
    found: list[Any] = list(module.body.operations)
    entry = ""
    with module.context:
        for op in found:
            old = ir.StringAttr(op.attributes["sym_name"]).value
            new = fresh(old)
            ir.SymbolTable.set_symbol_name(op, new)
            ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if old == "main":
                entry = new
                for name in ("arg_attrs", "res_attrs"):
                    if name in op.attributes:
                        del op.attributes[name]
    if not entry:
        raise ExportError("the module has no function @main")
    return [op.operation.get_asm(enable_debug_info=False) for op in found], entry
