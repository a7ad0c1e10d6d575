"""Run a file that `effax.export` wrote, by jaxlib alone: effax is not imported.

    python run_exported.py model.effax x.npy ... --out results.npz

The arrays are the leaves of the arguments, in their order. The file has StableHLO in its portable
form, so the jaxlib here may be newer than the one that wrote it. Symbolic lengths get their numbers
from the arrays, and XLA compiles the program once for each list of shapes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import struct
import sys
import threading
import time
from types import SimpleNamespace

import jaxlib.mlir._mlir_libs._jax_mlir_ext as mlir_ext
import numpy as np
from jaxlib import _hlo, _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as _stablehlo  # noqa: F401 - ir finds the dialect

MAGIC = b"\x93EFFAX\r\n"
HEAD = struct.Struct("<8sHQQQ")  # magic, version, bytes of header, module and derivative
VERSION = 4
ELEMENTS = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


def read(data):
    """The header, and the module as bytes. Raises ValueError for a damaged file."""
    if data[:8] != MAGIC:
        raise ValueError("the file was not written by effax's Exported.serialize()")
    _, version, *sizes = HEAD.unpack_from(data)
    if version > VERSION:
        raise ValueError(
            f"the file has version {version}; this program reads those up to {VERSION}"
        )
    end = HEAD.size + sum(sizes)
    if hashlib.sha256(data[:end]).digest() != data[end:]:
        raise ValueError("the file is damaged, or was cut short")
    start = HEAD.size + sizes[0]
    return json.loads(data[HEAD.size : start]), data[start : start + sizes[1]]


def element(dtype):
    """MLIR's name of a dtype."""
    if dtype.name not in ELEMENTS:
        raise TypeError(f"run_exported: arrays of dtype {dtype} are not supported")
    return ELEMENTS[dtype.name]


def tensor(x):
    """MLIR's type of an array."""
    return f"tensor<{''.join(f'{n}x' for n in x.shape)}{element(x.dtype)}>"


def make_context():
    """A context in which modules of StableHLO are parsed."""
    registry = ir.DialectRegistry()
    mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    return context


class Program:
    """A file's program: call it on the leaves of the arguments, as NumPy arrays."""

    def __init__(self, data, platform="cpu"):
        self.header, self.module = read(bytes(data))
        if platform not in self.header["platforms"]:
            raise ValueError(
                f"{self.header['fun_name']} was exported for {self.header['platforms']}, and this "
                f"program runs on {platform}"
            )
        if self.header["nr_devices"] > 1:
            raise ValueError(f"{self.header['fun_name']} runs on several devices")
        self.kept = self.header.get("kept", range(len(self.header["in_avals"])))
        several = len(self.header["platforms"]) > 1
        self.first = [np.int32(self.header["platforms"].index(platform))] if several else []
        self.is_symbolic = any(isinstance(n, str) for _, s, _ in self.header["in_avals"] for n in s)
        self.client = xla_client.make_cpu_client()
        self.device = self.client.local_devices()[0]
        self.devices = _jax.DeviceList((self.device,))
        self.sharding = _jax.GSPMDSharding(self.devices, _hlo.HloSharding.replicate())
        self.executables, self.lock = {}, threading.Lock()
        if b"lapack_" in self.module:
            register_lapack()

    def __call__(self, *leaves):
        """The leaves of the results, as NumPy arrays."""
        self.check(leaves)
        arrays = [np.asarray(x) for x in (*self.first, *[leaves[i] for i in self.kept])]
        executable = self.compiled(arrays)
        found = executable.execute_sharded([self.put(x) for x in arrays])
        return [to_numpy(x[0]) for x in found.disassemble_into_single_device_arrays()]

    def check(self, leaves):
        """Compare the arrays with the types in the header, where lengths are numbers."""
        expected = self.header["in_avals"]
        if len(leaves) != len(expected):
            raise ValueError(f"expected {len(expected)} arrays, got {len(leaves)}")
        for i, (x, (dtype, shape, _)) in enumerate(zip(leaves, expected, strict=True)):
            fits = len(x.shape) == len(shape) and all(
                isinstance(n, str) or n == m for n, m in zip(shape, x.shape, strict=True)
            )
            if not fits or x.dtype.name != dtype:
                raise ValueError(
                    f"array {i}: expected {dtype}{shape}, got {x.dtype}{list(x.shape)}"
                )

    def compiled(self, arrays):
        """The executable for arrays of these types."""
        key = tuple(tensor(x) for x in arrays)
        with self.lock:
            if key not in self.executables:
                options = _jax.CompileOptions()
                options.num_replicas = options.num_partitions = 1
                ids = np.array([[self.device.id]], np.int32)
                options.device_assignment = _jax.DeviceAssignment.create(ids)
                self.executables[key] = self.client.compile_and_load(
                    self.text(key), self.devices, options
                )
            return self.executables[key]

    def text(self, types):
        """The module, with numbers for symbolic lengths.

        Raises ValueError for arrays whose shapes do not satisfy its checks.
        """
        with make_context():
            module = _jax.mlir.deserialize_portable_artifact(self.module, ir.Context.current)
            if not self.is_symbolic:
                return str(module)
            file = io.BytesIO()
            static_main(module, types).operation.write_bytecode(file)
            try:
                refined = _jax.mlir.refine_polymorphic_shapes(file.getvalue(), True, True)
                return str(ir.Module.parse(refined))
            except (ValueError, _jax.JaxRuntimeError) as error:
                raise ValueError(
                    f"the program has no form for {', '.join(types)}: {error}"
                ) from None

    def put(self, x):
        """An array on the device."""
        aval = SimpleNamespace(shape=x.shape, dtype=x.dtype, weak_type=False)
        return _jax.batched_device_put(
            aval, self.sharding, [x], [self.device], True, False, enable_x64=True
        )


def static_main(module, types):
    """A module whose `main` takes arrays of these types, and calls the `main` that there was."""
    found = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in module.body}
    old = ir.FunctionType(ir.TypeAttr(found["main"].attributes["function_type"]).value)
    ir.SymbolTable.set_symbol_name(found["main"], "symbolic_main_")
    found["main"].attributes["sym_visibility"] = ir.StringAttr.get("private")
    for name in ("arg_attrs", "res_attrs"):
        if name in found["main"].attributes:
            del found["main"].attributes[name]
    ins, outs = [str(t) for t in old.inputs], [str(t) for t in old.results]
    head = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    lines = [
        f"%b{i} = stablehlo.convert %a{i} : ({t}) -> {wanted}"
        for i, (t, wanted) in enumerate(zip(types, ins, strict=True))
    ]
    operands = ", ".join(f"%b{i}" for i in range(len(ins)))
    called = f"func.call @symbolic_main_({operands}) : ({', '.join(ins)}) -> ({', '.join(outs)})"
    lines.append(f"%r:{len(outs)} = {called}" if outs else called)
    results = ", ".join(f"%r#{i}" for i in range(len(outs)))
    lines.append(f"return {results} : {', '.join(outs)}" if outs else "return")
    body, inner = "\n".join(lines), str(module)
    main = f"func.func public @main({head}) -> ({', '.join(outs)}) {{\n{body}\n}}\n"
    end = inner.rindex("}")
    return ir.Module.parse(inner[:end] + main + inner[end:])


def register_lapack():
    """Let XLA find the LAPACK that jaxlib takes from SciPy."""
    from jaxlib import lapack
    from jaxlib.cpu import _lapack

    _lapack.initialize()
    known = set(_jax.custom_call_targets("Host"))
    for name, target, version in lapack.registrations()["cpu"]:
        if name not in known:
            _jax.register_custom_call_target(name, target, "cpu", api_version=version)


def to_numpy(buffer):
    """The contents of a device's array."""
    if hasattr(buffer, "_to_np_array_did_copy"):
        return buffer._to_np_array_did_copy()[0]
    return buffer._single_device_array_to_np_array_did_copy()[0]


def main():
    """Run a file on arrays in files, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("arrays", nargs="*", help="files of numpy.save")
    parser.add_argument("--out", default="results.npz")
    parser.add_argument(
        "--repeat", type=int, default=0, help="call it this often, and say how long"
    )
    options = parser.parse_args()
    with open(options.program, "rb") as file:
        program = Program(file.read())
    arrays = [np.load(path) for path in options.arrays]
    results = program(*arrays)
    np.savez(options.out, *results)
    for i, x in enumerate(results):
        print(f"result {i}: {x.dtype}{list(x.shape)}")
    if options.repeat:
        start = time.perf_counter()
        for _ in range(options.repeat):
            program(*arrays)
        print(f"{(time.perf_counter() - start) / options.repeat * 1e6:.0f} us a call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
