"""Modules of StableHLO in their portable form: bytes that outlive the process.

The portable form is bytecode of versioned operations (VHLO): it can be read by any later version
of StableHLO for five years, and by earlier ones for four weeks. MLIR's reader trusts its input: it
may end the process over bytes that were damaged, so whoever keeps them must know that they are
whole before they are read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from effax.backends.xla.client import XlaRuntimeError
from effax.backends.xla.compile import mlir_context, parse
from effax.effects.errors import ExportError
from effax.effects.runtime import _jax

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
    from effax.effects.runtime import ir

    module = _read(artifact)
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
    return [op.operation.get_asm(enable_debug_info=False) for op in found], entry
