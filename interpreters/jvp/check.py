"""Forward mode through checks: they look at primals."""

from __future__ import annotations

from typing import Any

from effax.effects.failures import Site
from effax.effects.rows.check import check, debug_check
from effax.interpreters.jvp.dual import rule


@rule(check, pure=True)
def check_jvp(primals: list[Any], tangents: list[Any], *, site: Site) -> Any:
    return check(*primals, site=site), []


@rule(debug_check, pure=True)
def debug_check_jvp(primals: list[Any], tangents: list[Any], *, site: Site) -> Any:
    return debug_check(*primals, site=site), []
