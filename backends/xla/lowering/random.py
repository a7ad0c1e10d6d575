"""Random bits in StableHLO: Threefry's rounds written out, once per shape, and XLA's generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.rows import random
from effax.effects.types import ShapedArray, uint32, uint64
from effax.effects.value import is_symbolic


@rule(random.threefry2x32)
def lower_threefry2x32(
    w: Writer, types: Sequence[ShapedArray], k1: Name, k2: Name, x1: Name, x2: Name
) -> list[Name]:
    if is_symbolic(types[0].shape):  # a function would need the shape, too
        return [
            *_cipher(
                lambda operation, x, y: w.simple(operation, [x, y], types[0]),
                lambda n: w.constant(n, types[0]),
                *(k1, k2, x1, x2),
            )
        ]
    text = tensor(types[0])
    name = "threefry2x32_" + text[len("tensor<") : -1]
    if name not in w.taken:
        w.taken.add(name)
        w.functions.append(_function(name, text))
    return w.call(name, (k1, k2, x1, x2), types)


@rule(random.use_key)
def lower_use_key(w: Writer, types: Sequence[ShapedArray], words: Name, *, use: str) -> Name:
    return words


_ALGORITHMS = {
    random.RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    random.RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    random.RandomAlgorithm.RNG_PHILOX: "PHILOX",
}
_PAIRS = ShapedArray((2, 2), uint32)
_STATE = ShapedArray((2,), uint64)


@rule(random.rng_bit_generator)
def lower_rng_bit_generator(
    w: Writer,
    types: Sequence[ShapedArray],
    state: Name,
    *,
    shape: tuple[int, ...],
    dtype: object,
    algorithm: random.RandomAlgorithm,
) -> list[Name]:
    words = types[0].dtype == uint32
    if words:
        state = w.simple("bitcast_convert", [w.simple("reshape", [state], _PAIRS)], _STATE)
    results = [state.type, types[1]]
    after, bits = w.ops(
        f"stablehlo.rng_bit_generator {state}, algorithm = {_ALGORITHMS[algorithm]} : "
        f"({tensor(state.type)}) -> ({', '.join(map(tensor, results))})",
        results,
    )
    if words:
        after = w.simple("reshape", [w.simple("bitcast_convert", [after], _PAIRS)], types[0])
    return [after, bits]


@rule(random.rng_uniform)
def lower_rng_uniform(
    w: Writer, types: Sequence[ShapedArray], low: Name, high: Name, *, shape: tuple[int, ...]
) -> Name:
    lengths = w.array(np.array(shape, np.int64))
    operands = ", ".join(map(tensor, (low.type, high.type, lengths.type)))
    return w.op(
        f"stablehlo.rng {low}, {high}, {lengths}, distribution = UNIFORM : ({operands}) -> "
        f"{tensor(types[0])}",
        types[0],
    )


def _function(name: str, text: str) -> str:
    """The cipher as a function on four tensors of the type `text`."""
    lines: list[str] = []

    def written(line: str) -> str:
        lines.append(f"%{len(lines)} = stablehlo.{line} : {text}")
        return f"%{len(lines) - 1}"

    def op(operation: str, x: str, y: str) -> str:
        return written(f"{operation} {x}, {y}")

    operands = ("%k1", "%k2", "%x1", "%x2")
    x1, x2 = _cipher(op, lambda n: written(f"constant dense<{n}>"), *operands)
    arguments = ", ".join(f"{a}: {text}" for a in operands)
    return (
        f"func.func private @{name}({arguments}) -> ({text}, {text}) {{\n"
        + "\n".join(lines)
        + f"\nreturn {x1}, {x2} : {text}, {text}\n}}"
    )


def _cipher(
    op: Callable[..., Any], number: Callable[[int], Any], k1: Any, k2: Any, x1: Any, x2: Any
) -> tuple[Any, Any]:
    """Threefry-2x32 of twenty rounds, in operations of two operands."""

    def rotate_left(x: Any, bits: int) -> Any:
        left = op("shift_left", x, number(bits))
        return op("or", left, op("shift_right_logical", x, number(32 - bits)))

    keys = (k1, k2, op("xor", op("xor", k1, k2), number(random.PARITY)))
    x1, x2 = op("add", x1, k1), op("add", x2, k2)
    for group in range(5):
        for bits in random.ROTATIONS[group % 2]:
            x1 = op("add", x1, x2)
            x2 = op("xor", x1, rotate_left(x2, bits))
        x1 = op("add", x1, keys[(group + 1) % 3])
        x2 = op("add", op("add", x2, keys[(group + 2) % 3]), number(group + 1))
    return x1, x2
