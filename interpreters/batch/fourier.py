"""Batching of Fourier transforms: the batch is one more axis before theirs."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import fourier
from effax.interpreters.batch.batched import Batch, rule


@rule(fourier.fft)
def fft_batch(handler: Batch, values: list[Any], batched: list[bool], **attributes: Any) -> Any:
    return fourier.fft(values[0], **attributes), True
