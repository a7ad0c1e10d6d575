"""Exported functions in the file format of JAX, read and written.

The format is a flatbuffer, whose schema JAX publishes (`jax/_src/export/serialization.fbs`). Since
April 2026 types, meshes and shardings are written once each, and referred to by index; before,
with each operand. Both forms are read, and both are written, as JAX does.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any, Final

import attrs

from effax.backends.xla.mesh import NamedSharding
from effax.effects.cuts import entry_of
from effax.effects.dtypes import ELEMENTS
from effax.effects.errors import ExportError
from effax.effects.mesh import AbstractDevice, AbstractMesh, AxisType, PartitionSpec
from effax.effects.types import ShapedArray
from effax.export.flatbuffer import Schema, read, write
from effax.export.symbolic import SymbolicScope, symbolic_shape
from effax.export.trees import Described, described, structure
from effax.export.unknowns import scope_of
from effax.keys.arrays import IMPLEMENTATIONS

SCHEMA: Final[Schema] = {
    "PyTreeDef": [
        ("kind", "int8"),
        ("children", ["PyTreeDef"]),
        ("children_names", ["string"]),
        ("custom_name", "string"),
        ("custom_auxdata", "bytes"),
    ],
    "AbstractDevice": [
        ("device_kind", "string"),
        ("num_cores", "uint32"),
        ("platform", "string"),
    ],
    "AbstractMesh": [
        ("axis_sizes", ["uint32"]),
        ("axis_names", ["string"]),
        ("axis_types", ["int8"]),
        ("abstract_device", "AbstractDevice"),
    ],
    "PartitionSpecOneAxis": [("axes", ["string"])],
    "PartitionSpec": [
        ("partitions", ["PartitionSpecOneAxis"]),
        ("reduced", ["string"]),
        ("unreduced", ["string"]),
    ],
    "NamedSharding": [
        ("mesh", "AbstractMesh"),
        ("spec", "PartitionSpec"),
        ("memory_kind", "string"),
        ("abstract_mesh_idx", "uint32"),
    ],
    "AbstractValue": [
        ("kind", "int8"),
        ("shape", ["string"]),
        ("dtype", "int8"),
        ("memory_space", "int8"),
    ],
    "Sharding": [
        ("kind", "int8"),
        ("hlo_sharding_proto", "bytes"),
        ("named_sharding", "NamedSharding"),
    ],
    "Effect": [("type_name", "string")],
    "DisabledSafetyCheck": [("kind", "int8"), ("custom_call_target", "string")],
    "Exported": [
        ("serialization_version", "uint16"),
        ("function_name", "string"),
        ("in_tree", "PyTreeDef"),
        ("in_avals", ["AbstractValue"]),
        ("out_tree", "PyTreeDef"),
        ("out_avals", ["AbstractValue"]),
        ("nr_devices_short", "int16"),
        ("in_shardings", ["Sharding"]),
        ("out_shardings", ["Sharding"]),
        ("platforms", ["string"]),
        ("ordered_effects", ["Effect"]),
        ("unordered_effects", ["Effect"]),
        ("disabled_checks", ["DisabledSafetyCheck"]),
        ("mlir_module_serialized", "bytes"),
        ("calling_convention_version", "uint16"),
        ("module_kept_var_idx", ["uint16"]),
        ("uses_global_constants", "bool"),
        ("vjp", "Exported"),
        ("nr_devices", "uint32"),
        ("unique_avals", ["AbstractValue"]),
        ("unique_abstract_meshes", ["AbstractMesh"]),
        ("unique_named_shardings", ["NamedSharding"]),
        ("in_avals_idxs", ["uint32"]),
        ("out_avals_idxs", ["uint32"]),
        ("in_shardings_idxs", ["uint32"]),
        ("out_shardings_idxs", ["uint32"]),
        ("jax_version", "string"),
    ],
}
"""The fields of each table, in the order that the schema gives them; fields are never removed."""

_SERIALIZATION_VERSION: Final = 3
"""The version that JAX writes: earlier readers refuse a later one, and later ones ignore it."""
_TREES: Final = ("leaf", "none", "tuple", "list", "dict", "node")
_DTYPES: Final = {
    **dict(enumerate(("bool", "int8", "int16", "int32", "int64"))),
    **dict(enumerate(("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"), 5)),
    **dict(enumerate(("complex64", "complex128", "bfloat16", "int4", "uint4"), 12)),
    **dict(enumerate(("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"), 17)),
    **dict(enumerate(("float8_e5m2", "float8_e5m2fnuz", "void", "float8_e4m3"), 20)),
    **dict(enumerate(("float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn"), 24)),
}
"""The names of dtypes by number; `void` is float0."""
_DTYPE_NUMBERS: Final = {name: number for number, name in _DTYPES.items()}
_BY_NAME: Final = {dtype.name: dtype for dtype in ELEMENTS}
_KEYS: Final = {27: "threefry2x32", 28: "rbg", 29: "unsafe_rbg"}
"""The generators of typed keys by number. In JAX a key is an element of an array, and here the
tree has a node for it, whose leaf are the words."""
_KEY_NUMBERS: Final = {name: number for number, name in _KEYS.items()}
_DEVICE_MEMORY: Final = 1
_HOST_MEMORY: Final = 2
_NAMES: Final = {"OrderedDict": "collections.OrderedDict"}
"""Names of nodes that effax registers, where JAX registers them under another one."""
_OUR_NAMES: Final = {theirs: ours for ours, theirs in _NAMES.items()}


def written_as_jax(exported: Any, vjp_order: int) -> bytearray:
    """Return an `Exported` as the bytes of a file of JAX, with derivatives up to some order."""
    try:
        return write(_table(exported, vjp_order), SCHEMA, "Exported")
    except struct.error as error:
        raise ExportError(
            f"serialize: {exported.fun_name} has more operands than JAX's format can number "
            f"({error}); pass them in fewer arrays"
        ) from error


def tables_of(blob: bytes) -> dict[str, Any]:
    """Return the tables of a file of JAX. Raises `ValueError` where it is none."""
    found = read(blob, SCHEMA, "Exported")
    lacking = [k for k in ("function_name", "in_tree", "out_tree") if found[k] is None]
    if lacking or not found["mlir_module_serialized"]:
        raise ValueError(f"it lacks {', '.join(lacking) or 'the module'}")
    return found


# ---------------------------------------------------------------------------------------- reading


def fields_of(table: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an `Exported` that a table of JAX's file holds, by their names."""
    _check_that_it_can_be_called(table)
    name = table["function_name"]
    nr_devices = table["nr_devices"] or table["nr_devices_short"] or 1
    ins, outs = (_shardings(table, side, nr_devices) for side in ("in", "out"))
    scope = SymbolicScope()
    in_tree, in_avals = _tree_with_types(table["in_tree"], _types(table, "in"), scope)
    out_tree, out_avals = _tree_with_types(table["out_tree"], _types(table, "out"), scope)
    return {
        "in_named_shardings": ins,
        "out_named_shardings": outs,
        "fun_name": name,
        "in_tree": structure(in_tree),
        "in_avals": typed(in_avals, ins),
        "out_tree": structure(out_tree),
        "out_avals": typed(out_avals, outs),
        "platforms": tuple(table["platforms"]),
        "disabled_safety_checks": tuple(map(_check_of, table["disabled_checks"])),
        "mlir_module_serialized": table["mlir_module_serialized"],
        "calling_convention_version": table["calling_convention_version"],
        "nr_devices": nr_devices,
        "kept": kept(table["module_kept_var_idx"], len(in_avals)),
    }


def has_keys(table: dict[str, Any]) -> bool:
    """Whether the function takes typed keys, whose derivative JAX writes in a form of its own."""
    return any(x["dtype"] in _KEYS for x in _types(table, "in"))


def _check_that_it_can_be_called(table: dict[str, Any]) -> None:
    effects = [x["type_name"] for x in (*table["ordered_effects"], *table["unordered_effects"])]
    if effects:
        raise ExportError(
            f"the exported function {table['function_name']} has effects that effax does not "
            f"have: {', '.join(map(str, effects))}; export it without them"
        )
    if not table["platforms"]:
        raise ExportError("the exported function is damaged: it names no platform")
    version = table["calling_convention_version"]
    if version not in (9, 10):
        raise ExportError(
            f"the exported function {table['function_name']} is called by version {version} of "
            "JAX's convention, but effax knows 9 and 10; export it again with a present JAX"
        )


def kept(indices: Sequence[int], count: int) -> tuple[int, ...] | None:
    """Return which operands a module takes, in order; None for all of `count`."""
    if any(not 0 <= x < y for x, y in zip(indices, [*indices[1:], count], strict=True)):
        raise ExportError(f"the exported function is damaged: it keeps the operands {indices}")
    return None if len(indices) == count else tuple(indices)


def _check_of(table: dict[str, Any]) -> str:
    match table["kind"] or 0:
        case 0:
            return "platform"
        case 1:
            return f"custom_call:{table['custom_call_target']}"
    raise ExportError(f"the exported function leaves out a check of unknown kind {table['kind']}")


def _types(table: dict[str, Any], side: str) -> list[dict[str, Any]]:
    unique = table["unique_avals"]
    return [unique[i] for i in table[f"{side}_avals_idxs"]] or table[f"{side}_avals"]


def _tree_with_types(
    tree: dict[str, Any], types: Sequence[dict[str, Any]], scope: SymbolicScope
) -> tuple[Described, tuple[ShapedArray, ...]]:
    """The tree as `structure` reads it, and the types of its leaves, with the words of keys."""
    left = iter(types)
    found: list[ShapedArray] = []

    def node(table: dict[str, Any]) -> Described:
        kind = _TREES[table["kind"] or 0]
        children = [node(child) for child in table["children"]]
        match kind:
            case "leaf":
                type = next(left, None)
                if type is None:
                    raise ExportError(_MISFIT)
                found.append(_type(type, scope))
                words = _KEYS.get(type["dtype"])
                return ["leaf"] if words is None else _of_key(words)
            case "dict":
                return ["dict", children, table["children_names"]]
            case "node":
                name = _OUR_NAMES.get(table["custom_name"], table["custom_name"])
                data = base64.b64encode(table["custom_auxdata"] or b"").decode()
                return ["node", children, name, data]
        return [kind, children]

    result = node(tree)
    if next(left, None) is not None:
        raise ExportError(_MISFIT)
    return result, tuple(found)


_MISFIT: Final = "the exported function is damaged: its trees do not match its types"


def _of_key(implementation: str) -> Described:
    return ["node", [["leaf"]], "KeyArray", base64.b64encode(implementation.encode()).decode()]


def _type(table: dict[str, Any], scope: SymbolicScope) -> ShapedArray:
    number = table["dtype"] or 0
    shape = tuple([_length(n, scope) for n in table["shape"]])
    if table["memory_space"] == _HOST_MEMORY:
        raise ExportError(
            "the exported function has operands or results in the memory of the host, where "
            "effax's exported functions have none; export it for the memory of the device"
        )
    if number in _KEYS:
        return ShapedArray((*shape, IMPLEMENTATIONS[_KEYS[number]].width), _BY_NAME["uint32"])
    return ShapedArray(shape, _BY_NAME[_DTYPES[number]])


def _length(text: str, scope: SymbolicScope) -> Any:
    if text.isdecimal():
        return int(text)
    (found,) = symbolic_shape(text, scope=scope)
    return found


def _shardings(
    table: dict[str, Any], side: str, nr_devices: int
) -> tuple[NamedSharding | None, ...] | None:
    if nr_devices == 1:
        return None
    meshes = list(map(_mesh, table["unique_abstract_meshes"]))
    indices = table[f"{side}_shardings_idxs"]
    if indices:
        unique = [_sharding(x, meshes) for x in table["unique_named_shardings"]]
        found = tuple(None if i == 0 else unique[i - 1] for i in indices)
    else:
        if any(x["hlo_sharding_proto"] for x in table[f"{side}_shardings"]):
            raise ExportError(
                "the exported function has shardings as JAX wrote them before 2026, which effax "
                "does not read; export it again with a present JAX"
            )
        named = [x["named_sharding"] for x in table[f"{side}_shardings"]]
        found = tuple(None if x is None else _sharding(x, meshes) for x in named)
    if len(found) != len(_types(table, side)):
        raise ExportError("the exported function is damaged: its shardings do not match its types")
    return found


def _mesh(table: dict[str, Any]) -> AbstractMesh:
    kinds = tuple(AxisType[_AXIS_TYPES[i]] for i in table["axis_types"])
    told = table["abstract_device"]
    device = told and AbstractDevice(
        told["device_kind"], told["num_cores"] or None, told["platform"] or "unknown"
    )
    return AbstractMesh(table["axis_sizes"], table["axis_names"], kinds, abstract_device=device)


_AXIS_TYPES: Final = {1: "Auto", 2: "Explicit", 3: "Manual"}
_AXIS_TYPE_NUMBERS: Final = {name: number for number, name in _AXIS_TYPES.items()}


def _sharding(table: dict[str, Any], meshes: Sequence[AbstractMesh]) -> NamedSharding:
    mesh = meshes[table["abstract_mesh_idx"] or 0] if meshes else _mesh(table["mesh"])
    spec = table["spec"]
    entries = [entry_of(x["axes"]) for x in spec["partitions"]]
    made = PartitionSpec(*entries, reduced=spec["reduced"], unreduced=spec["unreduced"])
    return NamedSharding(mesh, made, memory_kind=table["memory_kind"])


def typed(
    types: Sequence[ShapedArray], shardings: Sequence[NamedSharding | None] | None
) -> tuple[ShapedArray, ...]:
    """Return the types, cut as the shardings say along explicit axes."""
    where = shardings or (None,) * len(types)
    return tuple(t if s is None else s.typed(t) for t, s in zip(types, where, strict=True))


# ---------------------------------------------------------------------------------------- writing


def _table(exported: Any, vjp_order: int) -> dict[str, Any]:
    in_tree, in_avals = _with_keys(described(exported.in_tree), exported.in_avals)
    out_tree, out_avals = _with_keys(described(exported.out_tree), exported.out_avals)
    ins = exported._in_named_shardings or (None,) * len(in_avals)
    outs = exported._out_named_shardings or (None,) * len(out_avals)
    shardings = list(dict.fromkeys(s for s in (*ins, *outs) if s is not None))
    meshes = list(dict.fromkeys(s.mesh.abstract_mesh for s in shardings))
    named = {s: _of_sharding(s, meshes) for s in shardings}
    scope = scope_of(exported.in_avals)
    if scope is not None and scope.constraints:
        raise ExportError(
            f"serialize: {exported.fun_name} was exported with the constraints {scope}, which "
            'JAX\'s format does not hold; use format="effax", or symbolic_shape without them'
        )
    table = {
        "serialization_version": _SERIALIZATION_VERSION,
        "function_name": exported.fun_name,
        "in_tree": in_tree,
        "in_avals": in_avals,
        "out_tree": out_tree,
        "out_avals": out_avals,
        "in_shardings": [{"named_sharding": named.get(s)} for s in ins],
        "out_shardings": [{"named_sharding": named.get(s)} for s in outs],
        "platforms": list(exported.platforms),
        "ordered_effects": [],
        "unordered_effects": [],
        "disabled_checks": [_of_check(x) for x in exported.disabled_safety_checks],
        "mlir_module_serialized": exported.mlir_module_serialized,
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": list(exported.module_kept_var_idx),
        "uses_global_constants": exported.uses_global_constants,
        "nr_devices": exported.nr_devices,
        "unique_avals": [*in_avals, *out_avals],
        "unique_abstract_meshes": list(map(_of_mesh, meshes)),
        "unique_named_shardings": list(named.values()),
        "in_avals_idxs": list(range(len(in_avals))),
        "out_avals_idxs": list(range(len(in_avals), len(in_avals) + len(out_avals))),
        "in_shardings_idxs": [0 if s is None else 1 + shardings.index(s) for s in ins],
        "out_shardings_idxs": [0 if s is None else 1 + shardings.index(s) for s in outs],
    }
    if vjp_order:
        if any(x["dtype"] in _KEYS for x in in_avals):
            raise ExportError(
                f"serialize: {exported.fun_name} takes typed random keys, whose derivative JAX "
                "exports in another form; take random.key_data of them, or use vjp_order=0"
            )
        table["vjp"] = _table(exported.vjp(), vjp_order - 1)
    return table


def _with_keys(
    tree: Described, types: Sequence[ShapedArray]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A tree and its types as JAX has them: an array of keys is a leaf."""
    left = iter(types)
    found: list[dict[str, Any]] = []

    def leaf(shape: Sequence[int], number: int) -> dict[str, Any]:
        found.append(
            {
                "kind": 0,
                "shape": list(map(str, shape)),
                "dtype": number,
                "memory_space": _DEVICE_MEMORY,
            }
        )
        return {"kind": _TREES.index("leaf")}

    def node(text: Described) -> dict[str, Any]:
        match text:
            case ["leaf"]:
                type = next(left)
                if type.dtype.name not in _DTYPE_NUMBERS:
                    raise ExportError(
                        f"serialize: JAX's format has no {type.dtype.name}; write the function "
                        'with format="effax", or cast the values'
                    )
                return leaf(type.shape, _DTYPE_NUMBERS[type.dtype.name])
            case ["node", [["leaf"]], "KeyArray", data]:
                return leaf(next(left).shape[:-1], _KEY_NUMBERS[base64.b64decode(data).decode()])
            case ["node", children, name, data]:
                return {
                    "kind": _TREES.index("node"),
                    "children": list(map(node, children)),
                    "custom_name": _NAMES.get(name, name),
                    "custom_auxdata": base64.b64decode(data),
                }
            case ["dict", children, keys]:
                if not all(isinstance(key, str) for key in keys):
                    raise ExportError(
                        f"serialize: the keys {keys} of a dict can't be written in JAX's format, "
                        'which takes strings only; use those, or format="effax"'
                    )
                below = list(map(node, children))
                return {"kind": _TREES.index("dict"), "children": below, "children_names": keys}
        kind, children = text
        return {"kind": _TREES.index(kind), "children": list(map(node, children))}

    return node(tree), found


def _of_check(check: Any) -> dict[str, Any]:
    target = check.is_custom_call()
    return {"kind": 0 if target is None else 1, "custom_call_target": target}


def _of_mesh(mesh: AbstractMesh) -> dict[str, Any]:
    if not all(isinstance(name, str) for name in mesh.axis_names):
        raise ExportError(
            f"an exported function over {mesh} can't be written: names of mesh axes must be strings"
        )
    table: dict[str, Any] = {
        "axis_sizes": list(mesh.axis_sizes),
        "axis_names": list(mesh.axis_names),
        "axis_types": [_AXIS_TYPE_NUMBERS[kind.name] for kind in mesh.axis_types],
    }
    device = mesh.abstract_device
    if device is not None:
        table["abstract_device"] = attrs.asdict(device)
    return table


def _of_sharding(sharding: NamedSharding, meshes: Sequence[AbstractMesh]) -> dict[str, Any]:
    spec = sharding.spec
    entries = [{"axes": list(spec.names(i))} for i in range(len(spec))]
    mesh = sharding.mesh.abstract_mesh
    return {
        "mesh": _of_mesh(mesh),
        "spec": {"partitions": entries, "reduced": [], "unreduced": []},
        "memory_kind": sharding._kind,
        "abstract_mesh_idx": meshes.index(mesh),
    }
