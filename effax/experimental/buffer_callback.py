"""`buffer_callback`: Python functions that read and write the buffers of a program."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from effax.api.callbacks import io_callback, pure_callback
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
__dir__ = __all__.copy


class ExecutionStage(enum.Enum):
    """The runtime's phase at the time of the call."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


@attrs.frozen
class ExecutionContext:
    """The context of a callback's call: `stage` is always `EXECUTE`."""

    stage: ExecutionStage = ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """The stream of an accelerator; raises `NotImplementedError`, as the CPU has none."""
        raise NotImplementedError(
            "ExecutionContext.stream: callbacks run on the CPU, which has no streams"
        )


class Buffer:
    """The memory of an operand or of a result: `numpy.asarray` of it is that memory.

    Operands can't be written to, results can (`numpy.asarray(out)[...] = 1`).
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._memory.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._memory.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._memory.ndim

    @property
    def writeable(self) -> bool:
        """Whether it is a result."""
        return bool(self._memory.flags.writeable)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._memory.__array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self._memory, dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()


def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Return a function that has Python write its results into their buffers.

    Args:
      callback: a function of an `ExecutionContext`, the tree of the results' buffers, and the
        arguments with a `Buffer` in the place of each array. It returns nothing.
      result_shape_dtypes: a tree of the results' shapes and dtypes.
      has_side_effect: whether it is called even where no result is used.
      vmap_method: what `vmap` makes of it, as for `pure_callback`.
      input_output_aliases: result j starts with the contents of operand i, for each `{i: j}`.
      command_buffer_compatible: accepted; the CPU records no commands.

    >>> import numpy as np
    >>> import effax, effax.numpy as jnp
    >>> def double(context, out, x):
    ...     np.asarray(out)[...] = 2 * np.asarray(x)
    >>> buffer_callback(double, effax.ShapeDtypeStruct((2,), "float32"))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    aliases = dict(input_output_aliases or {})

    def call(*args: Any, **keywords: Any) -> Any:
        def written(*arrays: Any, **named: Any) -> Any:
            operands, tree = tree_flatten((arrays, named))
            types, results = tree_flatten(result_shape_dtypes)
            lanes = _lanes(operands, args, keywords) if vmap_method != "sequential" else ()
            outs = [np.zeros((*lanes, *t.shape), t.dtype) for t in types]
            for i, j in aliases.items():
                outs[j][...] = operands[i]
            given, options = tree_unflatten(tree, [Buffer(_read_only(x)) for x in operands])
            into = tree_unflatten(results, [Buffer(x) for x in outs])
            callback(ExecutionContext(), into, *given, **options)
            return tree_unflatten(results, outs)

        if has_side_effect:
            return io_callback(written, result_shape_dtypes, *args, **keywords)
        return pure_callback(
            written, result_shape_dtypes, *args, vmap_method=vmap_method, **keywords
        )

    return call


def _lanes(operands: list[Any], args: Any, keywords: Any) -> tuple[int, ...]:
    """Return the lengths of batch axes: what operands have in front of the axes they were given."""
    given = tree_flatten(tree_map(np.ndim, (args, keywords)))[0]
    found = [np.shape(x)[: np.ndim(x) - n] for x, n in zip(operands, given, strict=True)]
    return np.broadcast_shapes(*found) if found else ()


def _read_only(x: Any) -> np.ndarray[Any, Any]:
    found = np.asarray(x).view()
    found.flags.writeable = False
    return found
