"""Callbacks in StableHLO: custom calls to functions that the executable keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.execution_errors import noted
from effax.backends.xla.host_transfer import HostTransfer
from effax.backends.xla.lowering.writer import Name, NotMapped, Writer, named, rule, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows.callback import (
    TOKEN,
    Inspection,
    answer,
    debug_callback,
    innermost,
    io_callback,
    lanes_of_pieces,
    pure_callback,
    sequenced_callback,
)
from effax.effects.types import ShapedArray, float32

TARGETS: Final = {
    "cpu": "xla_ffi_python_cpu_callback",
    "gpu": "xla_ffi_python_gpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}

_FIRST: Final = "sdy.mesh @first_device = <[], device_ids=[0]>"


def call_host(
    w: Writer,
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
    host: Callable[..., tuple[Any, ...]],
    acts: bool,
    name: str,
    lanes: Sequence[int] | None = None,
) -> list[Name]:
    """Write a call of a function of NumPy arrays; one that `acts` is called exactly once.

    `name` is the public function that asked for it. With `lanes` each device calls it with its
    pieces of the operands, of which so many axes are not cut, the first ones.
    """
    in_pieces = lanes is not None and w.mesh is not None and not w.axes
    target = TARGETS.get(w.platform)
    if target is None and w.platform != "tpu":
        raise UnhandledEffectError(
            f"callbacks need a backend that calls Python, and {w.platform} does not; run this "
            "program on one of " + ", ".join((*TARGETS, "tpu"))
        )
    if in_pieces:
        if target is None:
            raise NotImplementedError(
                f"{name} with partitioned=True is not implemented for {w.platform}; leave it out, "
                "or call it inside a shard_map"
            )
        target = target.replace("_ffi_", "_ffi_partitioned_")
        operands = [_whole_lanes(w, x, n) for x, n in zip(operands, lanes or (), strict=True)]
    else:
        operands = [_everywhere(w, x) for x in operands]
    if acts and w.mesh is not None and w.is_partly_mapped:
        raise NotImplementedError(
            "a callback with effects (debug.print, io_callback) is not supported inside a "
            "shard_map over some axes of its mesh: map over all axes, or return the value"
        )

    def called(*arrays: Any) -> tuple[Any, ...]:
        return noted(host, arrays, name)

    if target is None:
        found = _by_transfers(w, types, operands, called)
        return [_everywhere(w, x) for x in found]
    index = len(w.callbacks)
    w.callbacks.append(called)
    ins, outs = ", ".join(x.text for x in operands), ", ".join(map(tensor, types))
    result = outs if len(types) == 1 else f"({outs})"
    found = w.ops(
        f"stablehlo.custom_call @{target}({', '.join(operands)}) {{api_version = 4 : i32, "
        f"has_side_effect = {'true' if acts else 'false'}, "
        f"backend_config = {{index = {index} : ui64}}, "
        f"operand_layouts = {_layouts([x.type for x in operands])}, "
        f"result_layouts = {_layouts(types)}{'' if in_pieces else _on_one(w, len(types))}}} : "
        f"({ins}) -> {result}",
        types,
    )
    return [_everywhere(w, x) for x in found]


_HANDLER: Final = '_xla_host_transfer_handler_name = "pjrt_rendezvous"'
_SEND, _RECEIVE = 2, 3
"""StableHLO's numbers for channels to the host, and from it."""


def _by_transfers(
    w: Writer, types: Sequence[ShapedArray], operands: Sequence[Name], host: Callable[..., Any]
) -> list[Name]:
    """Send the operands to the host, and receive the results: a TPU's program calls no functions.

    Arrays without elements are not transferred. The host's function is called when all it is sent
    is there, so a call without operands sends a number.
    """
    sent = [x for x in operands if 0 not in x.shape]
    received = [t for t in types if 0 not in t.shape]
    given = [x.type for x in operands]

    def called(*arrays: Any) -> tuple[Any, ...]:
        rest = iter(arrays)
        results = host(*(np.zeros(t.shape, t.dtype) if 0 in t.shape else next(rest) for t in given))
        return tuple(y for y in results if 0 not in np.shape(y))

    token = _token(w, '"stablehlo.create_token"() : () -> !stablehlo.token')
    sending: list[int] = []
    receiving: list[int] = []
    for x in sent or [w.constant(0.0, ShapedArray((1,), float32))]:
        how = _channel(w, sending, _SEND, 1)
        token = _token(
            w,
            f'"stablehlo.send"({x}, {token}) {how} : ({x.text}, !stablehlo.token) -> '
            "!stablehlo.token",
        )
    found = []
    for t in received:
        how = _channel(w, receiving, _RECEIVE, 2)
        both = _token(
            w,
            f'"stablehlo.recv"({token}) {how} : (!stablehlo.token) -> '
            f"({tensor(t)}, !stablehlo.token)",
            2,
        )
        found.append(named(f"{both}#0", t))
        token = f"{both}#1"
    arguments = [x.type for x in sent] or [ShapedArray((1,), float32)]
    w.callbacks.append(HostTransfer(called, arguments, received, sending, receiving))
    rest = iter(found)
    return [w.constant(0, t) if 0 in t.shape else next(rest) for t in types]


def _token(w: Writer, text: str, results: int = 1) -> str:
    """Write an operation with a token among its results; the name of these."""
    w.counter += 1
    name = f"%{w.counter}"
    w.lines.append(f"{name}{f':{results}' if results > 1 else ''} = {text}")
    return name


def _channel(w: Writer, channels: list[int], kind: int, results: int) -> str:
    """The attributes of a transfer over a new channel."""
    w.channels += 1
    channels.append(w.channels)
    rendezvous = f'_xla_host_transfer_rendezvous = "{w.channels}"'
    return (
        f"{{channel_handle = #stablehlo.channel_handle<handle = {w.channels}, type = {kind}>, "
        f"is_host_transfer = true, mhlo.frontend_attributes = {{{_HANDLER}, {rendezvous}}}"
        f"{_on_one(w, results)}}}"
    )


def _everywhere(w: Writer, x: Name) -> Name:
    """Over a mesh, what the first device tells the host, or is told, all devices have."""
    if w.mesh is None or w.axes:
        return x
    whole = w.mesh.spec((), len(x.shape))
    return w.op(f"sdy.sharding_constraint {x} {whole} : {x.text}", x.type)


def _whole_lanes(w: Writer, x: Name, lanes: int) -> Name:
    """A value whose first axes, those of batches, are not cut; others are as the compiler likes."""
    if w.mesh is None or not lanes:
        return x
    ndim = len(x.shape)
    cut = w.mesh.spec([*[()] * lanes, *[None] * (ndim - lanes)], ndim)
    return w.op(f"sdy.sharding_constraint {x} {cut} : {x.text}", x.type)


def _on_one(w: Writer, results: int) -> str:
    """A program over a mesh calls the host on its first device, with whole arrays.

    Under `shard_map` and `pmap`, where the writer has axes, each place calls it with its own.
    """
    if w.mesh is None or w.axes:
        return ""
    if _FIRST not in w.functions:
        w.functions.append(_FIRST)
    each = ", ".join(["<@first_device, []>"] * max(1, results))
    return f", sdy.sharding = #sdy.sharding_per_value<[{each}]>"


def _layouts(types: Sequence[ShapedArray]) -> str:
    """Row-major for all: what NumPy expects."""
    return "[" + ", ".join(map(layout, types)) + "]"


def layout(type: ShapedArray, order: Sequence[int] | None = None) -> str:
    """The layout of an array whose axes lie in this order, the slowest first (row-major)."""
    axes = ", ".join(map(str, reversed(range(type.ndim) if order is None else order)))
    dense = f"[{axes}]" if axes else ""
    return f"dense<{dense}> : tensor<{type.ndim}xindex>"


@rule(debug_callback)
def lower_debug_callback(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, callback: Any, ordered: bool
) -> list[Name]:
    asking = innermost(callback)
    if isinstance(asking, Inspection):
        if w.asked is not None:
            _ask(w, operands[-1], asking)
        return []
    lanes = lanes_of_pieces(callback, len(operands))
    host = _host(callback, ())
    return call_host(w, types, operands, host, acts=True, name="debug.callback", lanes=lanes)


def _ask(w: Writer, x: Name, asking: Inspection) -> None:
    """Let the compiler say how it cuts a value."""
    from effax.backends.xla.inspecting import Asked

    left = [(a.stride, a.size) for name, a in w.axes.items() if type(name) is NotMapped]
    asked = Asked(asking.told, len(x.shape), sorted(left, reverse=True) if w.axes else None)
    w.asked.append(asked)
    w.op(
        f"stablehlo.custom_call @InspectSharding({x}) {{api_version = 1 : i32, "
        f'backend_config = "{asked.key}", has_side_effect = true}} : ({x.text}) -> {x.text}',
        x.type,
    )


@rule(pure_callback)
def lower_pure_callback(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, callback: Any, **_: Any
) -> list[Name]:
    return call_host(w, types, operands, _host(callback, types), acts=False, name="pure_callback")


@rule(io_callback)
def lower_io_callback(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, callback: Any, **_: Any
) -> list[Name]:
    return call_host(w, types, operands, _host(callback, types), acts=True, name="io_callback")


@rule(sequenced_callback)
def lower_sequenced_callback(
    w: Writer,
    types: Sequence[ShapedArray],
    token: Name,
    *operands: Name,
    callback: Any,
    result_types: tuple[ShapedArray, ...],
    debugs: bool,
) -> list[Name]:
    name = "debug.callback" if debugs else "io_callback"
    if w.mesh is not None and lanes_of_pieces(callback, len(operands)) is not None:
        raise NotImplementedError(
            "debug.callback with ordered=True and partitioned=True over several devices: their "
            "calls have no order; leave out one of the two"
        )
    plain = _host(callback, result_types)

    def host(token: Any, *arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return (np.zeros((), TOKEN.dtype), *plain(*arrays))

    return call_host(w, types, [token, *operands], host, acts=True, name=name)


def _host(callback: Any, types: Sequence[ShapedArray]) -> Callable[..., tuple[Any, ...]]:
    types = tuple(types)

    def host(*arrays: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        return answer(callback, arrays, types)

    return host
