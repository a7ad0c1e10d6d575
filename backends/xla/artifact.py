"""Modules of StableHLO in their portable form: bytes that outlive the process.

The portable form is bytecode of versioned operations (VHLO): it can be read by any later version
of StableHLO for five years, and by earlier ones for four weeks. MLIR's reader trusts its input: it
may end the process over bytes that were damaged, so whoever keeps them must know that they are
whole before they are read here.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.compile import mlir_context, parse
from effax.effects.errors import ExportError
from effax.effects.runtime import _jax

_LONG: Final = re.compile(r"(?<=[<x])\d{10,}(?=x)")
_LARGEST_INT32: Final = 2**31 - 1
_CUSTOM_CALL: Final = re.compile(r"custom_call @(\"[^\"]*\"|[\w.$-]+)")


def canonical_platform(name: str) -> str:
    """A platform under the name by which programs are lowered for it: "gpu" is "cuda"."""
    return "cuda" if name == "gpu" else name


def custom_calls(text: str) -> set[str]:
    """The targets of the custom calls of a module."""
    return {name.strip('"') for name in _CUSTOM_CALL.findall(text)}


def to_artifact(text: str, sharded: bool = False) -> bytes:
    """The portable form of a module. Raises `ExportError` where it has operations without one.

    A `sharded` one keeps Shardy's operations and attributes as they are.
    """
    from effax.effects.runtime import stablehlo

    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    version = stablehlo.get_version_from_compatibility_requirement(requirement)
    try:
        found: bytes = _jax.mlir.serialize_portable_artifact(parse(text), version, sharded)
    except (ValueError, XlaRuntimeError) as error:
        raise ExportError(f"the program has no portable form: {error}") from error
    return found


def of_hlo(hlo: bytes) -> str | None:
    """The text of a serialized module of HLO in StableHLO; None where it has no such form."""
    from effax.effects.runtime import ir

    try:
        return str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo), mlir_context()))
    except (ir.MLIRError, XlaRuntimeError):
        return None


def signature(text: str) -> tuple[list[str], list[str]]:
    """The types of the operands and results of a module's function `main`, as texts."""
    from effax.effects.runtime import ir

    module = ir.Module.parse(text, mlir_context())
    with module.context:
        return _types(_functions(module)["main"])


def _functions(module: Any) -> dict[str, Any]:
    """The functions of a module by their names."""
    from effax.effects.runtime import ir

    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in module.body}


def _types(function: Any) -> tuple[list[str], list[str]]:
    """The types of a function's operands and results, as texts."""
    from effax.effects.runtime import ir

    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return [str(t) for t in kind.inputs], [str(t) for t in kind.results]


def for_older_readers(artifact: bytes) -> bytes:
    """The module for readers that are up to twelve weeks older, if it has such a form."""
    from effax.effects.runtime import stablehlo

    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = stablehlo.get_version_from_compatibility_requirement(requirement)
    try:
        found: bytes = _jax.mlir.serialize_portable_artifact(_read(artifact), version, False)
    except (ValueError, XlaRuntimeError):
        return artifact
    return found


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


def _refined(module: Any, types: Sequence[str]) -> Any:
    """The module for operands of these types (as text): with static shapes for symbolic ones."""
    from effax.effects.runtime import ir

    with module.context:
        found = _functions(module)
        main = found["main"]
        ins, results = _types(main)
        outs = ", ".join(results)
        inner = "main_symbolic"
        while inner in found:
            inner += "_"
        ir.SymbolTable.set_symbol_name(main, inner)
        ir.SymbolTable.replace_all_symbol_uses("main", inner, module.operation)
        main.attributes["sym_visibility"] = ir.StringAttr.get("private")
        wrapper = ir.Module.parse(_wrapper(inner, ins, outs, types), module.context)
        for op in [*wrapper.body.operations][:1]:
            op.operation.detach_from_parent()
            module.body.append(op)
    try:
        static = _jax.mlir.refine_polymorphic_shapes(_bytecode(module), True, True)
        return ir.Module.parse(static, module.context)
    except (ValueError, XlaRuntimeError, ir.MLIRError) as error:
        raise ExportError(
            f"the exported function can't be made for operands of the types {', '.join(types)}: "
            f"{error}"
        ) from error


def _refuse_long(texts: Sequence[str]) -> None:
    """Raise `ExportError` for an axis whose positions functions would count in too few bits."""
    for n in [n for text in texts for n in _LONG.findall(text)]:
        if int(n) > _LARGEST_INT32:
            raise ExportError(
                f"the exported function would have an array with an axis of {n} elements, but with "
                f"symbolic lengths an axis must have at most {_LARGEST_INT32}; export the function "
                "at fixed sizes"
            )


def _wrapper(inner: str, ins: Sequence[str], outs: str, types: Sequence[str]) -> str:
    """The text of a module whose `main` takes static types and calls the function `inner`."""
    given = [*ins[: len(ins) - len(types)], *types]
    lines, passed = [], []
    for i, (static, wanted) in enumerate(zip(given, ins, strict=True)):
        passed.append(f"%a{i}" if static == wanted else f"%b{i}")
        if static != wanted:
            lines.append(f"%b{i} = stablehlo.convert %a{i} : ({static}) -> {wanted}")
    names = [f"%r#{i}" for i in range(outs.count("tensor"))] if outs.count("tensor") > 1 else ["%r"]
    count = f":{len(names)}" if len(names) > 1 else ""
    result = f"%r{count} = " if outs else ""
    called = f"({', '.join(passed)}) : ({', '.join(ins)}) -> ({outs})"
    lines.append(f"{result}func.call @{inner}{called}")
    lines.append(f"return {', '.join(names)} : {outs}" if outs else "return")
    head = ", ".join(f"%a{i}: {static}" for i, static in enumerate(given))
    body = "\n".join(lines)
    return (
        f"func.func public @main({head}) -> ({outs}) {{\n{body}\n}}\n"
        f"func.func private @{inner}({', '.join(ins)}) -> ({outs})\n"
    )


def _bytecode(module: Any) -> bytes:
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def functions(
    artifact: bytes, fresh: Callable[[str], str], types: Sequence[str] | None = None
) -> tuple[list[str], str]:
    """The functions of a module as texts, renamed by `fresh`, and what `main` is called then.

    Where a module has symbolic lengths, `types` are those of the operands of a call, as text.
    """
    from effax.effects.runtime import ir

    module = _read(artifact)
    if types is not None:
        module = _refined(module, types)
    found: list[Any] = list(module.body.operations)
    entry = ""
    with module.context:
        for op in found:
            old = ir.StringAttr(op.attributes["sym_name"]).value
            new = fresh(old)
            ir.SymbolTable.set_symbol_name(op, new)
            ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
            if op.operation.name == "sdy.mesh":
                continue
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if old == "main":
                entry = new
                for name in ("arg_attrs", "res_attrs"):
                    if name in op.attributes:
                        del op.attributes[name]
    if not entry:
        raise ExportError("the module has no function @main")
    texts = [op.operation.get_asm(enable_debug_info=False) for op in found]
    if types is not None:
        _refuse_long(texts)
    return texts, entry
