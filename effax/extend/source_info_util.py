"""The source lines of equations, under the names of `jax.extend.source_info_util`."""

from __future__ import annotations

from effax.effects.frames import describe, hide
from effax.effects.jaxpr import SourceInfo

__all__ = ["SourceInfo", "register_exclusion", "summarize"]

register_exclusion = hide


def summarize(source_info: SourceInfo) -> str:
    """The user's line: file, line and function.

    >>> import effax
    >>> (equation,) = effax.make_jaxpr(lambda x: x + 1.0)(0.0).eqns
    >>> summarize(equation.source_info)
    '<doctest effax.extend.source_info_util.summarize[1]>:1 (<lambda>)'
    """
    return describe(source_info.frame)
