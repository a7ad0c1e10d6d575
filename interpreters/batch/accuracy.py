"""Accuracy for a batch: the same for each element."""

from __future__ import annotations

from effax.effects.accuracy import accurate
from effax.interpreters.batch.batched import elementwise

elementwise(accurate)
