"""jax._src.dispatch."""

from __future__ import annotations

import contextlib

import jaxshims


class _RuntimeTokens:
    """Stands for the table of ordered effects' tokens."""

    def clear(self):
        barrier = jaxshims.target_attr("effects_barrier", None)
        if barrier is not None:
            # Whatever an earlier test left behind is none of the next one's business.
            with contextlib.suppress(Exception):
                barrier()

    @property
    def current_tokens(self):
        raise jaxshims.NeedsInternal("jax._src.dispatch.runtime_tokens")


runtime_tokens = _RuntimeTokens()
