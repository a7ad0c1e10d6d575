"""Start-up: the columns are loaded, and the bottom of the stack is given its backend."""

from __future__ import annotations

from effax.backends.xla import host as host  # answers of its own for what is not staged
from effax.backends.xla.dispatch import evaluate
from effax.effects.columns import load
from effax.effects.handler import bottom

bottom.perform = evaluate

for _column in (
    "effax.effects",
    "effax.interpreters.jvp",
    "effax.interpreters.batch",
    "effax.interpreters.transpose",
    "effax.backends.xla.lowering",
):
    load(_column)
