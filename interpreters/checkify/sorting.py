"""Sorting under checkify: it moves what is there."""

from __future__ import annotations

from effax.effects.sorting import sort, top_k
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(sort, top_k)
