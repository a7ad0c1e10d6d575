"""Foreign code in StableHLO: functions of another module, and custom calls by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla import artifact
from effax.backends.xla.lowering.callback import layout
from effax.backends.xla.lowering.sharding import lower_constraint
from effax.backends.xla.lowering.writer import Name, Writer, nested, number, rule, tensor
from effax.effects import config
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows.foreign import (
    Module,
    Target,
    acting_foreign_call,
    exported_call,
    foreign_call,
)
from effax.effects.types import ShapedArray, element_name, float0
from effax.effects.value import is_symbolic

_PLATFORM: Final = ShapedArray((), np.dtype(np.int32))


@rule(exported_call)
def lower_exported_call(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, module: Module
) -> list[Name]:
    platform = artifact.canonical_platform(w.platform)
    if platform not in module.platforms and not module.any_platform:
        raise ValueError(
            f"Function '{module.name}' was exported for platforms '{module.platforms}' but it is "
            f"used on '{platform}'. Export it for that platform too (export(..., platforms=...)), "
            "or with disabled_checks=[DisabledSafetyCheck.platform()]"
        )
    devices = 1 if w.mesh is None else w.mesh.size
    if module.nr_devices > 1 and module.nr_devices != devices:
        raise ValueError(
            f"Function '{module.name}' was exported for {module.nr_devices} devices and is called "
            f"in a context with {devices} devices. Put its arguments on a mesh of "
            f"{module.nr_devices} devices (Exported.in_shardings_jax), or call it under "
            "effax.set_mesh"
        )
    if module.nr_devices > 1 and not config.read("use_shardy_partitioner"):
        raise ValueError(
            f"The function {module.name} was exported with shardy enabled but you are calling it "
            "with Shardy disabled. Please enable Shardy using the setting use_shardy_partitioner"
        )
    open = any(is_symbolic(x.shape) for x in operands)
    sized = bool(module.results) and not open
    key = (module, *[x.type for x in operands]) if sized else module
    entry = w.function_names.get(key)
    if entry is None:
        static = [x.text for x in operands] if sized else None
        texts, entry = artifact.functions(
            module.artifact, lambda name: w._name(f"{module.name}_{name}"), static
        )
        w.functions += texts
        w.function_names[key] = entry
    if len(module.platforms) > 1:
        index = module.platforms.index(platform) if platform in module.platforms else 0
        given: tuple[Name, ...] = (w.constant(index, _PLATFORM),)
    else:
        given = ()
    given += tuple(_placed(w, operands, module.in_shardings))
    if open:  # the function is written as it is, and the refinement of the caller gives it sizes
        n = len(given) - len(operands)
        given = (*given[:n], *_as_types(w, given[n:], module.in_types))
        results = _as_types(w, w.call(entry, given, module.out_types), types)
    else:
        results = w.call(entry, given, types)
    return _placed(w, results, module.out_shardings)


def _as_types(w: Writer, values: Sequence[Name], types: Sequence[ShapedArray]) -> list[Name]:
    """Values under types in which other lengths of theirs are written as unknown."""
    pairs = zip(values, types, strict=True)
    return [x if x.text == tensor(t) else w.simple("convert", [x], t) for x, t in pairs]


def _placed(w: Writer, values: Sequence[Name], shardings: Sequence[Any]) -> list[Name]:
    """Values of a module for several devices, cut among them as it says."""
    if w.mesh is None or not shardings:
        return list(values)
    return [
        x if where is None else lower_constraint(w, [x.type], x, sharding=where)
        for x, where in zip(values, shardings, strict=True)
    ]


def _lower_target(acts: bool) -> Any:
    def lower_foreign_call(
        w: Writer,
        types: Sequence[ShapedArray],
        *operands: Name,
        target: Target,
        **_: Any,
    ) -> list[Name]:
        if target.name.startswith("__cudnn$") and w.platform not in ("cuda", "gpu"):
            raise UnhandledEffectError(
                f"{target.name} is a kernel of cuDNN, which the platform {w.platform!r} has not; "
                "leave out implementation='cudnn', or compile for an NVIDIA GPU"
            )
        ins, outs = ", ".join(x.text for x in operands), ", ".join(map(tensor, types))
        result = outs if len(types) == 1 else f"({outs})"
        given = [
            f"has_side_effect = {'true' if acts else 'false'}",
            f"operand_layouts = {_layouts(target.operand_layouts, [x.type for x in operands])}",
            f"result_layouts = {_layouts(target.result_layouts, types)}",
        ]
        if target.aliases:
            given.append(f"output_operand_aliases = [{', '.join(_aliases(target, len(types)))}]")
        if target.api_version >= 4:  # XLA reads a dictionary under this name as a call of version 4
            attributes = _entries(target.attributes)
            given.append(f'backend_config = "", mhlo.backend_config = {attributes}')
        else:
            given.append(f"api_version = {target.api_version} : i32")
            given.append(f"backend_config = {quoted(target.config)}")
        return w.ops(
            f"stablehlo.custom_call @{quoted(target.name)}({', '.join(operands)}) "
            f"{{{', '.join(given)}}} : ({ins}) -> {result}",
            types,
        )

    return lower_foreign_call


rule(foreign_call)(_lower_target(acts=False))
rule(acting_foreign_call)(_lower_target(acts=True))


def _layouts(asked: Sequence[tuple[int, ...] | None] | None, types: Sequence[ShapedArray]) -> str:
    orders = [None] * len(types) if asked is None else asked
    return "[" + ", ".join(layout(t, order) for t, order in zip(types, orders, strict=True)) + "]"


def _aliases(target: Target, results: int) -> list[str]:
    return [
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[out] if results > 1 else []}, operand_index = {operand}, operand_tuple_indices = []>"
        for operand, out in target.aliases
    ]


def _entries(pairs: Iterable[tuple[str, Any]]) -> str:
    return "{" + ", ".join(f"{quoted(name)} = {text}" for name, text in pairs) + "}"


def quoted(text: str | bytes) -> str:
    """A string in MLIR's syntax; what is not plain ASCII is given byte by byte."""
    data = text.encode() if isinstance(text, str) else text
    plain = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return f'"{plain}"'


def attribute_text(value: Any) -> str:
    """A static value as an attribute of MLIR: what a registered function is told under a name.

    Python's ints are i64 and its floats f64; NumPy's scalars and arrays keep their dtypes; a dtype
    is a type, a tuple an array of attributes, a dict a dictionary. Raises `TypeError` for others.
    """
    match value:
        case bool() | np.bool_():
            return "true" if value else "false"
        case str() | bytes():
            return quoted(value)
        case np.ndarray() if value.dtype == float0:
            return attribute_text(np.zeros(value.shape, bool))
        case np.ndarray():
            return f"dense<{nested(value)}> : {tensor(ShapedArray(value.shape, value.dtype))}"
        case np.dtype():
            return element_name(value)
        case tuple():
            return "[" + ", ".join(map(attribute_text, value)) + "]"
        case dict() if all(isinstance(name, str) for name in value):
            return _entries([(name, attribute_text(x)) for name, x in value.items()])
    scalar = np.asarray(value) if type(value) in (int, float) else value
    if not isinstance(scalar, np.ndarray | np.generic) or scalar.dtype.kind == "c":
        raise TypeError(
            "an attribute of a foreign function must be a bool, an int, a float, a string, a "
            f"dtype, a real scalar, a NumPy array, or a tuple or dict of these, got {value!r} of "
            f"type {type(value)}"
        )
    return f"{number(scalar, scalar.dtype)} : {element_name(scalar.dtype)}"
