"""A machine for Triton's text, in NumPy: what the kernels that are written for a GPU compute.

It knows the operations that `backends/xla/blocks` writes, one to a line. Addresses are arrays of
positions in a flat array; reading or writing outside of one fails, unless a mask says not to.
"""

from __future__ import annotations

import re

import numpy as np
from scipy import special

_TYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "i32": "i4", "i64": "i8", "i8": "i1", "i1": "?"}
_BINARY = {
    "addf": np.add, "addi": np.add, "subf": np.subtract, "subi": np.subtract, "mulf": np.multiply,
    "muli": np.multiply, "divf": np.divide, "maximumf": np.maximum, "minimumf": np.minimum,
    "maxsi": np.maximum, "minsi": np.minimum, "andi": np.bitwise_and, "ori": np.bitwise_or,
    "xori": np.bitwise_xor, "remf": np.fmod, "remsi": np.fmod,
    "divsi": lambda x, y: np.trunc(x / y).astype(x.dtype),
}  # fmt: skip
_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
            "gt": np.greater, "ge": np.greater_equal}  # fmt: skip
_LIBRARY = {
    "tanh": np.tanh,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "erf": special.erf,
    "pow": np.power,
}


class Pointer:
    """Positions in a flat array."""

    def __init__(self, array, at):
        self.array, self.at = array, at


def lengths_of(text):
    """The shape and dtype of an MLIR type."""
    inner = re.fullmatch(r"tensor<(.*)>", text)
    parts = (inner.group(1) if inner else text).split("x")
    return tuple(map(int, parts[:-1])), np.dtype(_TYPES[parts[-1]])


class Machine:
    """The lines of one kernel, run at each point of its grid."""

    def __init__(self, text):
        self.lines = [line.strip() for line in text.split("\n")]
        self.arguments = re.findall(r"(%a\d+): !tt.ptr", self.lines[0])

    def launch(self, programs, arrays):
        """Run it on flat arrays, which it changes."""
        for self.program in range(programs):
            values = {
                name: Pointer(x, np.int32(0))
                for name, x in zip(self.arguments, arrays, strict=True)
            }
            self.run(1, values)

    def run(self, at, values):
        """Run a region; where it ends, and what it yields."""
        while True:
            line = self.lines[at]
            if line == "gpu.barrier":
                at += 1
                continue
            if line == "tt.return":
                return at, []
            if line.startswith(("scf.yield", "tt.reduce.return", "tt.scan.return")):
                return at, self.operands(line.split(" ", 1)[-1].split(" : ")[0], values)
            if line.startswith("scf.condition"):
                names = re.findall(r"%[\w#]+", line)
                return at, [values[name] for name in names]
            at = self.step(at, line, values)

    def operands(self, text, values):
        return [values[name] for name in re.findall(r"%[\w#]+", text)]

    def bind(self, left, results, values):
        if left is None:
            return
        name, _, count = left.partition(":")
        if not count:
            values[name] = results[0]
        for i, x in enumerate(results if count else ()):
            values[f"{name}#{i}"] = x

    def end_of(self, at):
        """The line that closes the region which begins on a line."""
        depth = 0
        for i in range(at, len(self.lines)):
            line = self.lines[i]
            if i > at and line.startswith("}"):
                depth -= 1
                if not depth:
                    return i
            if line.endswith("{"):
                depth += 1
        raise AssertionError("a region has no end")

    def step(self, at, line, values):
        """Run one operation; the line after it."""
        head = re.match(r"(%\w+(?::\d+)?) = (.*)", line)
        left, text = head.groups() if head else (None, line)
        if text.startswith("scf.if"):
            middle = self.end_of(at)
            end = self.end_of(middle)
            chosen = at if values[re.search(r"%[\w#]+", text).group()] else middle
            _, results = self.run(chosen + 1, dict(values))
            self.bind(left, results, values)
            return end + 1
        if text.startswith("scf.for"):
            i, low, high, step = re.findall(r"%[\w#]+", text)[:4]
            pairs = re.findall(r"(%\w+) = (%[\w#]+)", text.split("iter_args")[-1]) if left else []
            names, carry = [a for a, _ in pairs], [values[b] for _, b in pairs]
            for k in range(int(values[low]), int(values[high]), int(values[step])):
                inner = {**values, i: np.int32(k), **dict(zip(names, carry, strict=True))}
                _, carry = self.run(at + 1, inner)
            self.bind(left, carry, values)
            return self.end_of(at) + 1
        if text.startswith("scf.while"):
            pairs = re.findall(r"(%\w+) = (%[\w#]+)", text)
            middle = self.end_of(at)
            inner = re.findall(r"(%\w+):", self.lines[middle + 1])
            names, carry = [a for a, _ in pairs], [values[b] for _, b in pairs]
            while True:
                given = {**values, **dict(zip(names, carry, strict=True))}
                _, (go, *carry) = self.run(at + 1, given)
                if not go:
                    break
                _, carry = self.run(middle + 2, {**values, **dict(zip(inner, carry, strict=True))})
            self.bind(left, carry, values)
            return self.end_of(middle) + 1
        if text.startswith(('"tt.reduce"', '"tt.scan"')):
            self.bind(left, self.folded(at, text, values), values)
            return self.end_of(at) + 1
        found = self.compute(text, values)
        if left is not None:
            values[left] = found
        return at + 1

    def folded(self, at, text, values):
        xs = self.operands(text.split("(")[1].split(")")[0], values)
        axis = int(re.search(r"axis = (\d+)", text).group(1))
        names = re.findall(r"(%\w+):", self.lines[at + 1])
        rows = [np.moveaxis(x, axis, 0) for x in xs]
        if "reverse = true" in text:
            rows = [x[::-1] for x in rows]
        carry, seen = [x[0] for x in rows], [[x[0] for x in rows]]
        for k in range(1, len(rows[0])):
            inner = {**values, **dict(zip(names, [*carry, *(x[k] for x in rows)], strict=True))}
            _, carry = self.run(at + 2, inner)
            seen.append(carry)
        if "tt.reduce" in text:
            return carry
        stacked = [np.stack(x) for x in zip(*seen, strict=True)]
        return [np.moveaxis(x[::-1] if "reverse = true" in text else x, 0, axis) for x in stacked]

    def compute(self, text, values):
        """The result of an operation without regions."""
        op, _, rest = text.partition(" ")
        body, _, type_text = rest.rpartition(" : ")
        xs = self.operands(body, values)
        last = type_text.rpartition("-> ")[2].rpartition(" to ")[2].strip()
        with np.errstate(all="ignore"):
            return self.value(op, body, xs, last)

    def value(self, op, body, xs, last):
        dialect, _, name = op.partition(".")
        if op == "arith.constant":
            shape, dtype = lengths_of(last)
            word = re.sub(r"dense<(.*)>", r"\1", body)
            if word.startswith("0x"):
                bits = np.array(int(word, 16), f"u{dtype.itemsize}")
                return np.full(shape, bits.view(dtype))
            return np.full(shape, {"true": True, "false": False}.get(word, word), dtype)[()]
        if dialect == "arith" and name in _BINARY:
            return _BINARY[name](*xs)
        if op in ("arith.cmpi", "arith.cmpf"):
            return _COMPARE[body.split(",")[0].removeprefix("cmp")[-2:]](*xs)
        if op == "arith.select":
            return np.where(*xs)
        if dialect == "arith" and " to " not in body and name == "negf":
            return -xs[0]
        if dialect == "arith":  # conversions
            return np.asarray(xs[0]).astype(lengths_of(last)[1])
        if dialect == "math":
            name = {"absf": "abs", "absi": "abs"}.get(name, name)
            return 1 / np.sqrt(xs[0]) if name == "rsqrt" else getattr(np, name)(xs[0])
        return self.of_triton(name, body, xs, last)

    def of_triton(self, name, body, xs, last):
        if name == "get_program_id":
            return np.int32(self.program)
        if name == "make_range":
            return np.arange(int(re.search(r"end = (\d+)", body).group(1)), dtype="i4")
        if name == "addptr":
            return Pointer(xs[0].array, xs[0].at + xs[1])
        if name == "splat":
            shape = tuple(map(int, re.findall(r"(\d+)x", last.split("!")[0])))
            if isinstance(xs[0], Pointer):
                return Pointer(xs[0].array, np.broadcast_to(xs[0].at, shape))
            return np.broadcast_to(xs[0], shape)
        if name == "expand_dims":
            return np.expand_dims(xs[0], int(re.search(r"axis = (\d+)", body).group(1)))
        if name == "broadcast":
            return np.broadcast_to(xs[0], lengths_of(last)[0])
        if name == "reshape":
            return np.reshape(xs[0], lengths_of(last)[0])
        if name == "trans":
            return np.transpose(xs[0], eval(re.search(r"array<i32: (.*?)>", body).group(1)))
        if name == "load":
            return self.loaded(*xs)
        if name == "store":
            return self.stored(*xs)
        if name == "dot":
            return xs[0] @ xs[1] + xs[2]
        if name == "extern_elementwise":
            symbol = re.search(r'symbol = "__nv_(\w+?)f?"', body).group(1)
            return _LIBRARY[symbol](*xs).astype(xs[0].dtype)
        raise AssertionError(f"no operation tt.{name}")

    def loaded(self, pointer, mask=None, other=None):
        if mask is None:
            return pointer.array[self.inside(pointer)]
        safe = np.where(mask, pointer.at, 0)
        return np.where(mask, pointer.array[safe], other)

    def stored(self, pointer, value, mask=None):
        keep = np.broadcast_to(True if mask is None else mask, np.shape(pointer.at))
        where = np.asarray(self.inside(pointer, keep))
        pointer.array[where[keep]] = np.broadcast_to(value, where.shape)[keep]

    def inside(self, pointer, keep=True):
        assert ((pointer.at >= 0) & (pointer.at < pointer.array.size) | ~np.asarray(keep)).all()
        return pointer.at


def execute(first, text, grid, arrays, results):
    """Run a kernel's text on arrays; its results, of these shapes and dtypes."""
    outs = [np.full(t.shape, 7, t.dtype) for t in results]
    flat = [np.array(x).reshape(-1) for x in (*arrays, *outs)]
    Machine(text).launch(int(np.prod(grid[:first])), flat)
    return [x.reshape(t.shape) for x, t in zip(flat[len(arrays) :], results, strict=True)]
