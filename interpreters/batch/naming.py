"""Names under batch: of the whole batch."""

from __future__ import annotations

from effax.effects import naming
from effax.interpreters.batch.batched import elementwise

elementwise(naming.named, naming.moved)
