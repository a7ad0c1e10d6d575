"""Functions of the host that a program reaches by sending and receiving arrays, as on a TPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.runtime import xla_client
from effax.effects.types import ShapedArray


@attrs.frozen
class HostTransfer:
    """A function, the types that it is sent and returns, and the channels they take.

    `function` takes NumPy arrays and returns a tuple of them.
    """

    function: Callable[..., tuple[Any, ...]]
    operands: Sequence[ShapedArray]
    results: Sequence[ShapedArray]
    sending: Sequence[int]
    receiving: Sequence[int]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Call the function."""
        return self.function(*arrays)

    def registered(self, client: Any) -> Any:
        """The callback that a client calls while the program runs."""
        return client.make_python_callback_from_host_send_and_recv(
            self.function,
            [_shape(t) for t in self.operands],
            [_shape(t) for t in self.results],
            list(self.sending),
            list(self.receiving),
        )


def _shape(type: ShapedArray) -> Any:
    return xla_client.Shape.array_shape(type.dtype, type.shape)
