"""Shape effects under checkify: they move what is there."""

from __future__ import annotations

from effax.effects import shape as s
from effax.interpreters.checkify.checking import cannot_fail, spreads

cannot_fail(
    s.broadcast_in_dim, s.transpose, s.reshape, s.concatenate, s.pad, s.rev, s.slice, s.iota
)
spreads(s.broadcast_in_dim, s.transpose, s.reshape, s.concatenate, s.rev)
